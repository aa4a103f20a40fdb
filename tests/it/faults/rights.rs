//! Accounts with few rights: what they may not see or set must neither tear a dump nor stop it.

use std::thread;

use super::scene::{LIMIT, MID_CHUNK, Scene, Transport};
use crate::harness::{Fault, Query as _, Server};

/// All that a dump of tables profits by on MariaDB.
const RIGHTS: [&str; 7] = [
    "SELECT",
    "RELOAD",
    "PROCESS",
    "LOCK TABLES",
    "BINLOG MONITOR",
    "SLAVE MONITOR",
    "BINLOG ADMIN",
];

fn scene_without(right: Option<&str>) -> Scene {
    let scene = Scene::new(&Server::mariadb(), 60_000);
    let account = format!("'{}'@'%'", scene.account());
    let mut admin = scene.server().connect();
    admin.execute(&format!(
        "REVOKE ALL PRIVILEGES, GRANT OPTION FROM {account}"
    ));
    let held: Vec<_> = RIGHTS
        .into_iter()
        .filter(|held| Some(*held) != right)
        .collect();
    admin.execute(&format!("GRANT {} ON *.* TO {account}", held.join(", ")));
    scene
}

/// By default a replica's binlog lacks what its source sends, so an unchanged binlog is no proof while there may be a source.
#[test]
fn replication_that_the_account_may_not_see_spoils_the_proof() {
    for right in [None, Some("SLAVE MONITOR")] {
        let scene = scene_without(right);
        let line = scene.line_at(Transport::Tcp, 1 << 20);
        let running = scene
            .over(&line)
            .args(["--consistency", "flush", "--spare-connections", "0"])
            .args(["-r", "2000"])
            .spawn();
        line.await_bytes(MID_CHUNK);
        line.proxy.strike(Fault::Reset);
        let run = running.wait_within(LIMIT);
        if right.is_none() {
            run.assert_ok();
        } else {
            run.assert_fails(1);
            let why = "the binlog does not hold every write";
            assert!(run.stderr.contains(why), "{}", run.report());
        }
    }
}

/// Tables that cannot be given back early are held from the beginning: else a worker would come behind an ALTER that waits for
/// another one.
#[test]
fn alter_that_waits_for_one_worker_stops_no_other() {
    let scene = scene_without(Some("BINLOG ADMIN"));
    let line = scene.line_at(Transport::Tcp, 1 << 20);
    let running = scene.over(&line).args(["-r", "2000"]).spawn();
    line.await_bytes(MID_CHUNK);
    let mut session = scene.database.connect();
    let alter = thread::spawn(move || session.execute("ALTER TABLE sbtest1 ADD COLUMN extra INT"));
    let run = running.wait_within(LIMIT);
    run.assert_ok();
    assert!(!run.stderr.contains("trying again"), "{}", run.report());
    alter.join().unwrap();
}
