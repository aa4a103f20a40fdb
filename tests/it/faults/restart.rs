//! The server goes away for a while: without a lock the snapshots are lost with it, and only an unchanged position proves that
//! fresh ones show the same rows.

use std::thread;
use std::time::Duration;

use super::scene::{LIMIT, Line, MID_CHUNK, Scene, Transport, is_full};
use crate::harness::{Kind, Run, Server, TestDb, Writer};

/// How long the server is away.
const DOWN: Duration = Duration::from_secs(5);
const ROWS: u64 = 60_000;

/// A server that may be stopped, and its table.
fn scene(kind: Kind, options: &[&str]) -> Option<Scene> {
    let server = Server::private(kind, options)?;
    Some(Scene::new(&server, ROWS))
}

/// Restarts the server in the middle of a dump in that mode.
fn dump_through_restart(scene: &Scene, mode: &str) -> Run {
    let line: Line = scene.line_at(Transport::Tcp, 1 << 20);
    let running = scene
        .over(&line)
        .args(["-r", "2000", "--consistency", mode])
        .spawn();
    line.await_bytes(MID_CHUNK);
    scene.server().kill();
    thread::sleep(DOWN);
    scene.server().start();
    running.wait_within(LIMIT)
}

#[track_caller]
fn assert_lost(run: &Run) {
    run.assert_fails(1);
    for text in ["stands at", "is now at"] {
        assert!(run.stderr.contains(text), "{}", run.report());
    }
}

#[test]
fn restart_is_outlived_when_the_gtid_set_proves_that_nothing_was_written() {
    for (kind, options) in [(Kind::MariaDb, ""), (Kind::MySql, "--gtid-mode=ON")] {
        let Some(scene) = scene(kind, &[options]) else {
            continue;
        };
        // Full: also where nothing has to be proven.
        let modes: &[&str] = if is_full() {
            &["flush", "none"]
        } else {
            &["flush"]
        };
        for mode in modes {
            let undisturbed = scene.direct().args(["-r", "2000"]).run();
            let run = dump_through_restart(&scene, mode);
            run.assert_ok();
            let files = super::scene::data_files;
            super::scene::assert_same_files(&files(&run), &files(&undisturbed), &run);
        }
    }
}

#[test]
fn restart_loses_the_snapshot_when_the_position_proves_nothing() {
    // Without GTIDs a restart moves the position to another file.
    let Some(scene) = scene(Kind::MySql, &["--gtid-mode=OFF"]) else {
        return;
    };
    for mode in ["flush", "snapshot"] {
        assert_lost(&dump_through_restart(&scene, mode));
    }
}

#[test]
fn restart_loses_the_snapshot_when_something_was_written() {
    let scene = scene(Kind::MariaDb, &[]).unwrap();
    let busy = TestDb::seeded(scene.server(), "busy", "invariant", None);
    let writer = Writer::start(&busy, 1);
    writer.await_transactions(3, LIMIT);
    assert_lost(&dump_through_restart(&scene, "flush"));
}

#[test]
fn restart_ends_a_dump_that_stands_on_table_locks() {
    let scene = scene(Kind::MariaDb, &[]).unwrap();
    let run = dump_through_restart(&scene, "lock");
    run.assert_fails(1);
    assert!(
        run.stderr.contains("held the table locks"),
        "{}",
        run.report()
    );
}
