//! A dump that is stopped in the middle of an upload.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::scene::Scene;
use crate::harness::{HttpRequest, Verdict};

const LIMIT: Duration = Duration::from_secs(30);

/// Uploads that never end.
fn hang_parts(request: &HttpRequest) -> Verdict {
    if request.is_part() {
        Verdict::Hang
    } else {
        Verdict::Pass
    }
}

#[test]
fn signal_in_an_upload_ends_the_dump_soon_and_leaves_nothing_unfinished() {
    let Some(scene) = Scene::new("signal") else {
        return;
    };
    let proxy = scene.proxy(hang_parts);
    let running = scene.dump_by(&proxy.endpoint()).spawn();
    proxy.await_seen(LIMIT, |seen| seen.iter().any(HttpRequest::is_part));
    assert_eq!(scene.store.uploads(&scene.prefix).len(), 1);
    let signalled = Instant::now();
    running.signal(Signal::TERM);
    let run = running.wait_within(LIMIT);
    let took = signalled.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}\n{}", run.report());
    run.assert_fails(143);
    scene.assert_nothing_unfinished(&run);
    let names = scene.store.names(&scene.prefix);
    assert!(!names.contains(&"manifest.json".to_owned()), "{names:?}");
}

#[test]
fn signal_while_the_store_says_nothing_at_all_ends_the_dump_soon() {
    let Some(scene) = Scene::new("silent") else {
        return;
    };
    let silent = std::sync::atomic::AtomicBool::new(false);
    let proxy = scene.proxy(move |request| {
        let order = std::sync::atomic::Ordering::SeqCst;
        if silent.fetch_or(request.is_part(), order) || request.is_part() {
            Verdict::Hang
        } else {
            Verdict::Pass
        }
    });
    let running = scene.dump_by(&proxy.endpoint()).spawn();
    proxy.await_seen(LIMIT, |seen| seen.iter().any(HttpRequest::is_part));
    let signalled = Instant::now();
    running.signal(Signal::TERM);
    let run = running.wait_within(LIMIT);
    let took = signalled.elapsed();
    assert!(took < Duration::from_secs(2), "{took:?}\n{}", run.report());
    run.assert_fails(143);
    assert!(
        run.stderr.contains("unfinished uploads may be left"),
        "{}",
        run.stderr
    );
}

#[test]
fn next_dump_ends_the_uploads_of_a_killed_one() {
    let Some(scene) = Scene::new("killed") else {
        return;
    };
    let proxy = scene.proxy(hang_parts);
    // Without definitions nothing is complete when the first part is under way.
    let arguments = ["-m", "-T", &format!("{}.large", scene.database.name())];
    let running = scene.dump_by(&proxy.endpoint()).args(arguments).spawn();
    proxy.await_seen(LIMIT, |seen| seen.iter().any(HttpRequest::is_part));
    running.signal(Signal::KILL);
    running.wait_within(LIMIT);
    assert_eq!(scene.store.uploads(&scene.prefix).len(), 1);

    let run = scene
        .dump()
        .args(arguments)
        .args(["--abort-incomplete-age", "0s"])
        .run();
    run.assert_ok();
    scene.assert_nothing_unfinished(&run);
    assert!(
        scene
            .store
            .names(&scene.prefix)
            .contains(&"manifest.json".to_owned())
    );
}

#[test]
fn young_uploads_of_others_are_named_and_left_alone() {
    let Some(scene) = Scene::new("young") else {
        return;
    };
    let proxy = scene.proxy(hang_parts);
    let arguments = ["-m", "-T", &format!("{}.large", scene.database.name())];
    let other = scene.dump_by(&proxy.endpoint()).args(arguments).spawn();
    proxy.await_seen(LIMIT, |seen| seen.iter().any(HttpRequest::is_part));
    let run = scene.dump().run();
    run.assert_ok();
    assert!(
        run.stderr.contains("--abort-incomplete-age"),
        "{}",
        run.stderr
    );
    assert_eq!(scene.store.uploads(&scene.prefix).len(), 1);
    other.signal(Signal::TERM);
    other.wait_within(LIMIT).assert_fails(143);
}
