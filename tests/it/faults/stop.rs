//! Ends that come from our side: a signal while the workers wait for bytes that never come, a disk that is full while the
//! server goes on sending. Nothing is waited for and nothing is drained.

use std::time::{Duration, Instant};

use rustix::process::Signal;

use super::scene::{MID_CHUNK, SOON, Scene, Transport};
use crate::harness::{Fault, Kind, Rdump, Run, SmallDisk, Trigger, announce};

fn scenes() -> impl Iterator<Item = &'static Scene> {
    [Kind::MariaDb, Kind::MySql]
        .into_iter()
        .filter_map(Scene::of)
}

#[test]
fn workers_in_a_black_hole_do_not_keep_the_process() {
    for scene in scenes() {
        for mode in ["flush", "lock"] {
            let line = scene.line(Transport::Tcp);
            line.proxy
                .inject(Fault::BlackHole, Trigger::all().after_bytes(MID_CHUNK));
            let running = scene.over(&line).args(["--consistency", mode]).spawn();
            line.proxy
                .await_counters(SOON, |counters| counters.faults == 4);
            running.signal(Signal::TERM);
            let signalled = Instant::now();
            let run = running.wait_within(SOON);
            let took = signalled.elapsed();
            run.assert_fails(143);
            announce(&format!(
                "SIGTERM in a black hole, {mode}: gone after {took:.0?}"
            ));
            assert!(took < Duration::from_secs(1), "{took:?}\n{}", run.report());
            scene.assert_no_session_within(Duration::from_secs(2));
            let left = run.files();
            let temporary = left.iter().any(|name| name.starts_with(".rdump-tmp-"));
            assert!(!temporary, "{}", run.report());
        }
    }
}

/// Runs a dump into a small disk, and says how many bytes the server sent meanwhile.
fn run_on_full_disk(scene: &Scene, dump: Rdump) -> Option<(Run, u64)> {
    let disk = SmallDisk::mount("4m")?;
    let sent = || -> u64 {
        let row = scene.server().rows("SHOW GLOBAL STATUS LIKE 'Bytes_sent'");
        let text = String::from_utf8(row[0][1].clone().unwrap()).unwrap();
        text.parse().unwrap()
    };
    let before = sent();
    // The look at the free space before would refuse what is to fail here.
    let dump = dump.args(["--min-free-space", "0"]);
    let run = dump.output(disk.path().join("out")).run();
    scene.assert_no_session_within(SOON);
    Some((run, sent() - before))
}

#[test]
fn full_disk_ends_the_run_while_two_gigabytes_are_on_their_way() {
    let scene = Scene::of(Kind::MariaDb).unwrap();
    let table = format!("`{}`.sbtest1", scene.database.name());
    let query = &format!("SELECT id, REPEAT('x', 1000000) FROM {table} LIMIT 2000");
    let one_chunk = scene.direct().args(["-r", "100000000"]);
    for dump in [scene.query(query), one_chunk] {
        let Some((run, sent)) = run_on_full_disk(scene, dump) else {
            return;
        };
        run.assert_fails(1);
        let path = run.output().display().to_string();
        assert!(run.stderr.contains(&path), "{}", run.report());
        announce(&format!(
            "full disk: gone after {:.0?}, {} MiB sent",
            run.duration,
            sent >> 20
        ));
        assert!(run.duration < Duration::from_secs(2), "{}", run.report());
        assert!(sent < 40 << 20, "{sent} bytes were sent\n{}", run.report());
    }
}
