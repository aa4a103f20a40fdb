//! What cannot work is told at once, before the database server hears of the dump.

use std::time::Duration;

use super::scene::Scene;
use crate::harness::{HttpProxy, Proxy, Rdump, Run, Verdict};

/// Reporting a mistake takes no longer.
const SOON: Duration = Duration::from_secs(5);

/// Runs a dump that is bound to be refused, and sees that no connection to the database server is made.
#[track_caller]
fn assert_refused(scene: &Scene, place: String, arguments: &[&str], words: &[&str]) {
    let proxy = Proxy::to_port(scene.database.server().port());
    let run = refused_run(scene, &proxy, place, arguments);
    scene.assert_failed(&run, words);
    let place = ["s3://", "/"];
    assert!(
        place.iter().all(|part| run.stderr.contains(part)),
        "{}",
        run.stderr
    );
    assert!(run.duration < SOON, "{:?}\n{}", run.duration, run.report());
    assert_eq!(proxy.counters().connections, 0, "{}", run.report());
}

fn refused_run(scene: &Scene, proxy: &Proxy, place: String, arguments: &[&str]) -> Run {
    Rdump::dump(scene.database.server())
        .port(proxy.port())
        .database(scene.database.name())
        .output(place)
        .args(arguments.iter().copied())
        .run()
}

#[test]
fn mistakes_are_told_soon_and_before_any_connection() {
    let Some(scene) = Scene::new("refused") else {
        return;
    };
    let store = scene.store;
    let endpoint = store.fact("endpoint");
    let url = store.url(&scene.prefix, endpoint);
    let read_only = url
        .replace(store.fact("access_key"), "readkey")
        .replace(store.fact("secret_key"), "readsecret");
    let wrong_secret = url.replace(store.fact("secret_key"), "wrong");
    let wrong_key = url.replace(store.fact("access_key"), "nobody");
    let no_bucket = url.replace("s3://rdump/", "s3://nothing/");
    let unknown_host = store.url(&scene.prefix, "http://nowhere.invalid");
    let closed_port = store.url(&scene.prefix, "http://127.0.0.1:1");
    for (place, words) in [
        (wrong_secret, ["403 SignatureDoesNotMatch", "hint:"]),
        (wrong_key, ["403 InvalidAccessKeyId", "hint:"]),
        (read_only, ["403 AccessDenied", "s3:PutObject"]),
        (no_bucket, ["404 NoSuchBucket", "hint:"]),
        (unknown_host, ["nowhere.invalid", "caused by:"]),
        (closed_port, ["refused", "caused by:"]),
    ] {
        assert_refused(&scene, place, &[], &words);
    }
    assert!(store.names(&scene.prefix).is_empty());
}

#[test]
fn the_right_region_is_told() {
    let Some(scene) = Scene::new("region") else {
        return;
    };
    let proxy = HttpProxy::to_port(scene.store.port(), |_| {
        let Verdict::Answer { status, body, .. } = Verdict::error(301, "PermanentRedirect") else {
            unreachable!("an error is an answer")
        };
        Verdict::Answer {
            status,
            headers: "x-amz-bucket-region: eu-north-1\r\n",
            body,
        }
    });
    let place = scene.store.url(&scene.prefix, &proxy.endpoint());
    let words = ["301 PermanentRedirect", "--s3.region eu-north-1"];
    assert_refused(&scene, place, &[], &words);
}

#[test]
fn prefix_that_holds_anything_is_refused() {
    let Some(scene) = Scene::new("full") else {
        return;
    };
    scene.store.plant(&scene.prefix, "old.sql", b"x");
    let place = scene.store.url(&scene.prefix, scene.store.fact("endpoint"));
    assert_refused(
        &scene,
        place,
        &[],
        &["is not empty: it holds old.sql", "prefix"],
    );
    assert_eq!(scene.store.names(&scene.prefix), ["old.sql"]);
}

#[test]
fn missing_keys_are_told_with_the_places_to_put_them() {
    let Some(scene) = Scene::new("no_keys") else {
        return;
    };
    let proxy = Proxy::to_port(scene.database.server().port());
    let run = Rdump::dump(scene.database.server())
        .port(proxy.port())
        .output(format!("s3://rdump/{}", scene.prefix))
        .args(["--s3.endpoint", scene.store.fact("endpoint")])
        .env("AWS_EC2_METADATA_DISABLED", "true")
        .run();
    scene.assert_failed(&run, &["AWS_ACCESS_KEY_ID"]);
    assert!(run.duration < SOON, "{}", run.report());
    assert_eq!(proxy.counters().connections, 0);
}
