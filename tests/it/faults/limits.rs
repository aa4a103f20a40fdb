//! Limits of the server: on idle sessions, on statements, on connections, on how long a password lives.

use std::time::Duration;

use super::scene::{LIMIT, MID_CHUNK, SOON, Scene, Transport};
use super::workers::Limit;
use crate::harness::{Fault, Kind, Server};

/// Spares and locks idle for longer than the server likes.
#[test]
fn sessions_outlive_a_short_wait_timeout() {
    for kind in [Kind::MariaDb, Kind::MySql] {
        let Some(scene) = Scene::of(kind) else {
            continue;
        };
        let _idle = Limit::set(scene, "wait_timeout", "1");
        let line = scene.line_at(Transport::Tcp, 4 << 20);
        let run = scene
            .over(&line)
            .args(["--consistency", "lock", "--backup-lock"])
            .run();
        scene.assert_identical(&run);
        assert!(run.duration > Duration::from_secs(2), "{}", run.report());
        assert!(!run.stderr.contains("trying again"), "{}", run.report());
    }
}

#[test]
fn limit_on_statements_ends_no_chunk() {
    for (kind, name, value) in [
        (Kind::MariaDb, "max_statement_time", "1"),
        (Kind::MySql, "max_execution_time", "1000"),
    ] {
        let Some(scene) = Scene::of(kind) else {
            continue;
        };
        // A chunk of 4 MB takes two seconds.
        let line = scene.line_at(Transport::Tcp, 2 << 20);
        let _limit = Limit::set(scene, name, value);
        let run = scene
            .over(&line)
            .args(["-t", "8", "--consistency", "none"])
            .run();
        scene.assert_identical(&run);
        assert!(!run.stderr.contains("trying again"), "{}", run.report());
    }
}

/// The account is let in with seven sessions at once; the dump wants eight of them at its beginning.
#[test]
fn too_many_connections_are_waited_for() {
    for kind in [Kind::MariaDb, Kind::MySql] {
        let Some(scene) = Scene::of(kind) else {
            continue;
        };
        let line = scene.line(Transport::Tcp);
        let refused = |extra: &[&str]| {
            scene
                .over(&line)
                .args(["--consistency", "none", "-t", "8"])
                .args(extra)
        };
        let limit = AccountLimit::set(scene, 4);
        let run = refused(&["--retries", "2"]).run();
        let waiting = refused(&[]).spawn();
        waiting.await_stderr("trying again", SOON);
        drop(limit);
        let waited = waiting.wait();
        run.assert_fails(1);
        assert!(run.stderr.contains("--threads"), "{}", run.report());
        scene.assert_identical(&waited);
    }
}

/// How many sessions an account may have; no limit again at the end.
struct AccountLimit(&'static Scene);

impl AccountLimit {
    fn set(scene: &'static Scene, count: u32) -> Self {
        allow_sessions(scene, count);
        Self(scene)
    }
}

impl Drop for AccountLimit {
    fn drop(&mut self) {
        allow_sessions(self.0, 0);
    }
}

fn allow_sessions(scene: &Scene, count: u32) {
    let account = scene.account();
    scene.server().exec(&format!(
        "ALTER USER '{account}'@'%' WITH MAX_USER_CONNECTIONS {count}"
    ));
}

/// A token that was good for the first connections only.
#[test]
fn password_that_changed_meanwhile_ends_the_run_and_says_so() {
    let server = Server::mariadb();
    let scene = Scene::new(&server, 60_000);
    let line = scene.line_at(Transport::Tcp, 2 << 20);
    let running = scene.over(&line).args(["--consistency", "none"]).spawn();
    line.await_bytes(MID_CHUNK);
    let account = format!("'{}'@'%'", scene.account());
    server.exec(&format!("ALTER USER {account} IDENTIFIED BY 'another'"));
    line.proxy.strike(Fault::Reset);
    let run = running.wait_within(LIMIT);
    run.assert_fails(1);
    assert!(run.stderr.contains("1045"), "{}", run.report());
    assert!(
        run.stderr.contains("refused the connection"),
        "{}",
        run.report()
    );
    assert!(!run.stderr.contains("tried 10 times"), "{}", run.report());
    scene.assert_no_session_within(SOON);
}
