//! The harness's runner of commands, tried on a shell.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::harness::Rdump;

fn shell(script: &str) -> Rdump {
    Rdump::bare().program("/bin/sh").args(["-c", script])
}

#[test]
fn run_reports_exit_code_streams_and_memory() {
    let run = shell("echo out; echo err >&2; exit 3").run();
    assert_eq!(run.status.code(), Some(3));
    assert_eq!(run.stdout, b"out\n");
    run.assert_fails(3);
    assert!(run.report().contains("err"), "{}", run.report());
}

#[test]
fn peak_memory_is_that_of_the_process_alone() {
    let ballast = vec![1_u8; 200 << 20];
    let run = shell("read line < /proc/self/status; sleep 0.1").run();
    assert!(run.peak_rss_bytes > 100 << 10, "{}", run.peak_rss_bytes);
    assert!(run.peak_rss_bytes < 50 << 20, "{}", run.peak_rss_bytes);
    drop(ballast);
}

#[test]
fn command_runs_in_a_folder_of_its_own_without_the_developers_environment() {
    let run = shell(
        "echo $HOME; pwd; echo ${CARGO_MANIFEST_DIR:-clean}; mkdir out; echo x >out/manifest.json",
    )
    .run();
    let stdout = String::from_utf8(run.stdout.clone()).unwrap();
    let lines: Vec<&str> = stdout.lines().collect();
    assert_eq!(lines[0], lines[1]);
    assert_eq!(lines[2], "clean");
    assert_eq!(run.files(), ["manifest.json"]);
}

#[test]
fn overlong_run_is_killed_and_reported() {
    let started = Instant::now();
    let run = || {
        shell("echo begun >&2; exec sleep 100")
            .time_limit(Duration::from_millis(300))
            .run()
    };
    let panic = catch_unwind(AssertUnwindSafe(run))
        .err()
        .expect("a failed test");
    let message = panic.downcast_ref::<String>().unwrap();
    assert!(
        message.contains("begun") && message.contains("/bin/sh"),
        "{message}"
    );
    assert!(started.elapsed() < Duration::from_secs(10));
}

#[test]
fn background_run_is_signalled_and_awaited() {
    let running =
        shell("trap 'exit 130' INT; echo ready >&2; while :; do sleep 0.01; done").spawn();
    running.await_stderr("ready", Duration::from_secs(10));
    running.signal(Signal::INT);
    running
        .wait_within(Duration::from_secs(10))
        .assert_fails(130);
}
