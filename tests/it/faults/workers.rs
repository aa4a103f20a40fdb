//! One worker's connection breaks in mid-chunk: the chunk is read again over another one, in the same snapshot.

use std::time::{Duration, Instant};

use super::scene::{
    LIMIT, Line, MID_CHUNK, Scene, Transport, assert_same_files, cases, data_files,
};
use crate::harness::{Fault, Kind, Query as _, Running, Trigger, announce};

const MODES: [&str; 4] = ["flush", "snapshot", "lock", "none"];
/// What rdump says when a chunk is read again.
const GOES_ON: &str = "goes on reading";
const TRIES_AGAIN: &str = "trying again";
/// From a fault that can be seen at once to the second attempt.
const RETRY_SOON: Duration = Duration::from_secs(2);

/// Waits for the second attempt after a fault at `struck`, and says how long it took.
#[track_caller]
fn await_second_attempt(running: &Running, struck: Instant, limit: Duration, what: &str) {
    running.await_stderr(GOES_ON, limit.saturating_sub(struck.elapsed()));
    announce(&format!(
        "{what}: read again after {:.0?}",
        struck.elapsed()
    ));
}

#[test]
fn broken_connection_costs_a_second_attempt_and_no_row() {
    let faults = [Fault::Reset, Fault::Finish, Fault::HalfClose];
    for case in cases(&faults, &MODES) {
        let line = case.scene.line(case.transport);
        line.proxy
            .inject(case.fault, Trigger::first_past(MID_CHUNK));
        let dump = case.scene.over(&line);
        let running = dump.args(["--consistency", case.mode]).spawn();
        line.await_fault();
        let what = format!(
            "{:?} over {:?} on {:?}, {}",
            case.fault,
            case.transport,
            case.scene.server().kind(),
            case.mode
        );
        await_second_attempt(&running, Instant::now(), RETRY_SOON, &what);
        let run = running.wait();
        case.scene.assert_identical(&run);
        assert_eq!(run.stderr.matches(GOES_ON).count(), 1, "{}", run.report());
    }
}

#[test]
fn killed_session_costs_a_second_attempt_and_no_row() {
    // More than all buffers on the way hold, so that the server is still at it.
    let rows = ["-r", "130000"];
    for case in cases(&["CONNECTION", "QUERY"], &MODES) {
        let undisturbed = case.scene.direct().args(rows).run();
        let line = case.scene.line_at(case.transport, 10 << 20);
        let dump = case.scene.over(&line).args(rows);
        let running = dump.args(["--consistency", case.mode]).spawn();
        line.await_bytes(MID_CHUNK);
        let worker = *case.scene.reading().first().expect("a worker at work");
        let mut admin = case.scene.server().connect();
        admin.execute(&format!("KILL {} {worker}", case.fault));
        let what = format!("KILL {} in {}", case.fault, case.mode);
        // A query is ended when the server has got rid of what it was sending.
        let limit = if case.fault == "QUERY" {
            3 * RETRY_SOON
        } else {
            RETRY_SOON
        };
        await_second_attempt(&running, Instant::now(), limit, &what);
        let run = running.wait();
        run.assert_ok();
        assert_same_files(&data_files(&run), &data_files(&undisturbed), &run);
    }
}

#[test]
fn silent_connection_is_given_up_after_the_read_timeout_and_ended_on_the_server() {
    const READ_TIMEOUT: Duration = Duration::from_secs(3);
    for case in cases(&[Fault::BlackHole], &MODES) {
        let line = case.scene.line(case.transport);
        line.proxy
            .inject(case.fault, Trigger::first_past(MID_CHUNK));
        let running = case
            .scene
            .over(&line)
            .args(["--consistency", case.mode, "--read-timeout", "3s"])
            .spawn();
        line.await_fault();
        let struck = Instant::now();
        running.await_stderr(TRIES_AGAIN, READ_TIMEOUT + Duration::from_secs(1));
        assert!(struck.elapsed() > READ_TIMEOUT / 2, "too soon");
        let what = format!("black hole in {}", case.mode);
        await_second_attempt(&running, struck, READ_TIMEOUT + RETRY_SOON, &what);
        case.scene.assert_identical(&running.wait());
        // The proxy still holds the dead connection open: only a KILL can have ended its session.
        case.scene.assert_no_session_within(Duration::from_secs(3));
    }
}

/// Neither our patience nor the server's may end: its own limit on waiting for the network would be two seconds.
#[test]
fn pause_below_the_read_timeout_is_waited_for() {
    const PAUSE: Duration = Duration::from_secs(5);
    for case in cases(&[Fault::Stall(PAUSE)], &["flush", "none"]) {
        let _limit = Limit::set(case.scene, "net_write_timeout", "2");
        let line = case.scene.line(case.transport);
        line.proxy
            .inject(case.fault, Trigger::first_past(MID_CHUNK));
        let run = case
            .scene
            .over(&line)
            .args(["--consistency", case.mode, "--read-timeout", "15s"])
            .run();
        line.await_fault();
        case.scene.assert_identical(&run);
        assert!(run.duration > PAUSE, "{}", run.report());
        assert!(!run.stderr.contains(TRIES_AGAIN), "{}", run.report());
    }
}

/// Every connection dies after 3 MB, and a chunk has two.
#[test]
fn flapping_line_is_outlasted() {
    for case in cases(&[Fault::Reset], &["lock", "none"]) {
        let rows = ["-r", "10000"];
        let undisturbed = case.scene.direct().args(rows).run();
        let line = case.scene.line(case.transport);
        line.proxy
            .inject(case.fault, Trigger::all().after_bytes(MID_CHUNK));
        let dump = case.scene.over(&line).args(rows);
        let run = dump.args(["--consistency", case.mode]).run();
        run.assert_ok();
        assert_same_files(&data_files(&run), &data_files(&undisturbed), &run);
        let deaths = line.proxy.counters().faults;
        announce(&format!("flapping in {}: {deaths} deaths", case.mode));
        assert!(deaths > 8, "{deaths} deaths are no flapping");
    }
}

#[test]
fn chunk_that_never_comes_through_ends_the_run_after_its_attempts() {
    let scene = Scene::of(Kind::MariaDb).unwrap();
    let line = scene.line(Transport::Tcp);
    // A chunk has four.
    line.proxy
        .inject(Fault::Reset, Trigger::all().after_bytes(MID_CHUNK));
    let run = scene
        .over(&line)
        .args(["--consistency", "none", "--retries", "3"])
        .run();
    run.assert_fails(1);
    let sentence = format!("table `{}`.`sbtest1` could not", scene.database.name());
    assert!(run.stderr.contains(&sentence), "{}", run.report());
    assert!(run.stderr.contains("tried 3 times"), "{}", run.report());
    scene.assert_no_session_within(Duration::from_secs(3));
}

/// A result that ends at any byte, between two packets too, is not the end of the rows.
#[test]
fn result_cut_at_any_byte_is_never_taken_for_whole() {
    let scene = Scene::of(Kind::MariaDb).unwrap();
    let table = "CREATE TABLE narrow (id INT PRIMARY KEY) AS SELECT seq AS id FROM seq_1_to_2000";
    scene.database.exec(table);
    let one = |line: &Line| {
        scene
            .over(line)
            .args(["-t", "1", "--consistency", "none", "-f", "!*.sbtest1"])
            .args(["-f", &format!("{}.narrow", scene.database.name())])
    };
    let undisturbed = scene.line(Transport::Tcp);
    let reference = one(&undisturbed).run();
    reference.assert_ok();
    let reference = data_files(&reference);
    // Packets of nine bytes: so every byte of two of them.
    for byte in 0..18 {
        let line = scene.line(Transport::Tcp);
        line.proxy
            .inject(Fault::Finish, Trigger::first_past(12_000 + byte));
        let run = one(&line).time_limit(LIMIT).run();
        line.await_fault();
        run.assert_ok();
        assert_same_files(&data_files(&run), &reference, &run);
    }
    scene.database.exec("DROP TABLE narrow");
}

/// A global variable of the server, put back at the end.
pub struct Limit {
    scene: &'static Scene,
    restore: String,
}

impl Limit {
    pub fn set(scene: &'static Scene, name: &str, value: &str) -> Self {
        let mut admin = scene.server().connect();
        let old = admin.value(&format!("SELECT @@GLOBAL.{name}"));
        admin.execute(&format!("SET GLOBAL {name} = {value}"));
        Self {
            scene,
            restore: format!("SET GLOBAL {name} = {old}"),
        }
    }
}

impl Drop for Limit {
    fn drop(&mut self) {
        self.scene.server().exec(&self.restore);
    }
}
