//! The other connections: the extra one may die at any time, the one that holds a lock takes the dump's promise with it, and
//! spares are only so many.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use super::scene::{LIMIT, MID_CHUNK, SOON, Scene, Transport};
use crate::harness::{Fault, Kind, Query as _, TestDb, Trigger, Writer, announce};

/// Slow enough that there is time to look.
const SLOW: u64 = 4 << 20;

fn scenes() -> impl Iterator<Item = &'static Scene> {
    [Kind::MariaDb, Kind::MySql]
        .into_iter()
        .filter_map(Scene::of)
}

/// The oldest session is the extra one; when it has died, the newest is.
#[test]
fn extra_connection_may_be_killed_every_second() {
    for scene in scenes() {
        let line = scene.line_at(Transport::Tcp, SLOW);
        let running = scene.over(&line).args(["-r", "2000"]).spawn();
        line.await_bytes(MID_CHUNK);
        let ids = || scene.sessions().into_iter().map(|(id, _)| id).collect();
        let mut known: BTreeSet<u64> = ids();
        let mut extra = *known.first().unwrap();
        let mut killed = 0;
        let mut next = Instant::now();
        while !known.is_empty() {
            if Instant::now() >= next {
                // It may be gone already, at the end of the run.
                let kill = format!("KILL {extra}");
                killed += u32::from(scene.server().connect().try_rows(&kill).is_ok());
                next = Instant::now() + Duration::from_secs(1);
            }
            let now: BTreeSet<u64> = ids();
            extra = now.difference(&known).copied().last().unwrap_or(extra);
            known = now;
        }
        let run = running.wait();
        run.assert_ok();
        announce(&format!("the extra connection was killed {killed} times"));
        assert!(killed >= 2, "killed {killed} times\n{}", run.report());
        let rows = run.manifest()["tables"][0]["rows"].clone();
        let count = scene.database.value("SELECT COUNT(*) FROM sbtest1");
        assert_eq!(rows.to_string(), count, "{}", run.report());
    }
}

/// The one that was opened last.
fn newest_session(scene: &Scene) -> u64 {
    scene.sessions().last().expect("a session").0
}

/// The connection that shall end a lost session falls silent while it is set up, and so does the one that takes the lost one's
/// place: both have a session on the server by then.
#[test]
fn sessions_that_fall_silent_while_they_are_set_up_are_ended_too() {
    const SET_UP_BYTES: u64 = 600;
    for scene in scenes() {
        let line = scene.line_at(Transport::Tcp, SLOW);
        // Chunks larger than all buffers on the way, so that the server is still at it.
        let dump = scene.over(&line).args(["-r", "130000"]);
        let running = dump.args(["--connect-timeout", "2s"]).spawn();
        line.await_bytes(MID_CHUNK);
        for next in [1, 2] {
            let silence = Trigger::only(next).after_bytes(SET_UP_BYTES);
            line.proxy.inject(Fault::BlackHole, silence);
        }
        let worker = *scene.reading().first().expect("a worker at work");
        scene.server().exec(&format!("KILL {worker}"));
        let run = running.wait();
        run.assert_ok();
        assert_eq!(line.proxy.counters().faults, 2, "{}", run.report());
        scene.assert_no_session_within(SOON);
    }
}

#[test]
fn lost_table_locks_end_the_run_at_once() {
    for scene in scenes() {
        let line = scene.line_at(Transport::Tcp, SLOW);
        let dump = scene.over(&line).args(["--consistency", "lock"]);
        let running = dump.spawn();
        line.await_bytes(MID_CHUNK);
        let lock = newest_session(scene);
        scene.server().exec(&format!("KILL {lock}"));
        let killed = Instant::now();
        let run = running.wait_within(LIMIT);
        let took = killed.elapsed();
        run.assert_fails(1);
        assert!(
            run.stderr.contains("held the table locks"),
            "{}",
            run.report()
        );
        announce(&format!("lost lock: ended after {took:.0?}"));
        assert!(took < Duration::from_secs(3), "{took:?}\n{}", run.report());
        scene.assert_no_session_within(SOON);
    }
}

#[test]
fn lost_backup_lock_is_taken_again() {
    let Some(scene) = Scene::of(Kind::MySql) else {
        return;
    };
    let line = scene.line_at(Transport::Tcp, SLOW);
    let running = scene
        .over(&line)
        .args(["--consistency", "flush", "--backup-lock"])
        .spawn();
    line.await_bytes(MID_CHUNK);
    let lock = newest_session(scene);
    scene.server().exec(&format!("KILL {lock}"));
    let run = running.wait();
    scene.assert_identical(&run);
    let told = "the backup lock was lost and is taken again";
    assert!(run.stderr.contains(told), "{}", run.report());
}

/// Four workers die at once, two spares are there, and somebody writes.
#[test]
fn more_deaths_than_spares_beside_a_writer_end_the_run_with_both_positions() {
    for scene in scenes() {
        let busy = TestDb::seeded(scene.server(), "busy", "invariant", None);
        for mode in ["flush", "snapshot"] {
            let writer = Writer::start(&busy, 1);
            writer.await_transactions(3, LIMIT);
            let line = scene.line_at(Transport::Tcp, SLOW);
            let running = scene.over(&line).args(["--consistency", mode]).spawn();
            line.await_bytes(2 * MID_CHUNK);
            writer.await_transactions(3, LIMIT);
            line.proxy.strike(Fault::Reset);
            let run = running.wait_within(LIMIT);
            run.assert_fails(1);
            for text in ["no other can take its place", "stands at", "is now at"] {
                assert!(run.stderr.contains(text), "{}", run.report());
            }
            writer.finish();
            scene.assert_no_session_within(SOON);
        }
    }
}

/// The same without a writer: the position proves that nothing has changed.
#[test]
fn more_deaths_than_spares_are_outlived_if_nothing_was_written() {
    for scene in scenes() {
        for mode in ["flush", "snapshot"] {
            let line = scene.line_at(Transport::Tcp, SLOW);
            let running = scene.over(&line).args(["--consistency", mode]).spawn();
            line.await_bytes(2 * MID_CHUNK);
            line.proxy.strike(Fault::Reset);
            scene.assert_identical(&running.wait());
        }
    }
}

#[test]
fn refused_connections_are_tried_again_and_then_named() {
    for scene in scenes() {
        let line = scene.line_at(Transport::Tcp, SLOW);
        let running = scene
            .over(&line)
            .args(["--consistency", "none", "--retries", "4"])
            .spawn();
        line.await_bytes(2 * MID_CHUNK);
        line.proxy.inject(Fault::Refuse, Trigger::all());
        line.proxy.strike(Fault::Reset);
        let run = running.wait_within(LIMIT);
        run.assert_fails(1);
        let address = format!("127.0.0.1:{}", line.proxy.port());
        assert!(run.stderr.contains(&address), "{}", run.report());
        // Only a fresh way to the server can end the sessions there.
        drop(line);
        scene.assert_no_session_within(SOON);
    }
}
