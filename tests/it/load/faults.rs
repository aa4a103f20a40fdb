//! Connections that die in the middle of a load, and loads that are killed: nothing is lost, nothing is doubled.

use std::time::Duration;

use rustix::process::Signal;

use super::{Copy, dump, load};
use crate::harness::{Fault, Kind, Proxy, Rdump, Server, TestDb, Trigger};

/// Two tables: one with a key, one in which a row that is loaded twice would stand twice.
fn database(server: &Server) -> TestDb {
    let database = TestDb::seeded(server, "load_faults", "sb", Some(20_000));
    database.exec("CREATE TABLE keyless AS SELECT k, c FROM sbtest1");
    database.exec("CREATE VIEW v AS SELECT k FROM sbtest1");
    database
}

/// Small transactions, so that a fault meets every kind of moment.
fn slow_load(copy: &Copy, dump: &std::path::Path, port: u16) -> Rdump {
    load(&copy.server, dump)
        .port(port)
        .args(["-t", "2", "--max-transaction-size", "100KB"])
        .args(["--ssl-mode", "DISABLED", "--read-timeout", "2s"])
}

/// Each connection of the load is struck once it has got so many bytes of answers, whatever it was doing then.
#[test]
fn every_fault_at_every_moment_costs_tries_and_no_row() {
    let faults = [
        Fault::Reset,
        Fault::Finish,
        Fault::HalfClose,
        Fault::BlackHole,
    ];
    for server in [Kind::MariaDb, Kind::MySql]
        .into_iter()
        .filter_map(Server::get)
    {
        let database = database(&server);
        let run = dump(&database, &["-r", "2000", "-s", "20KB"]);
        // Answers are a few bytes each, so each step is another statement.
        for (number, after) in [700, 1150, 1600, 2050, 2500, 3100].into_iter().enumerate() {
            let copy = Copy::of(&database);
            let proxy = Proxy::to_port(copy.server.port());
            let fault = faults[number % faults.len()];
            proxy.inject(fault, Trigger::every(2).after_bytes(after));
            slow_load(&copy, run.output(), proxy.port())
                .run()
                .assert_ends(0);
            assert!(
                proxy.counters().faults > 0,
                "nothing struck after {after} bytes"
            );
            copy.assert_equal(&database);
        }
    }
}

/// Rows of a table that knows no transactions cannot be taken back one by one.
#[test]
fn a_table_without_transactions_is_loaded_anew() {
    let server = Server::mariadb();
    let database = TestDb::seeded(&server, "load_myisam", "sb", Some(20_000));
    database.exec("CREATE TABLE aria ENGINE=Aria TRANSACTIONAL=0 AS SELECT k, c FROM sbtest1");
    database.exec("DROP TABLE sbtest1");
    let run = dump(&database, &["-s", "20KB"]);
    let copy = Copy::of(&database);
    let proxy = Proxy::to_port(copy.server.port());
    proxy.inject(Fault::Reset, Trigger::only(2).after_bytes(1500));
    let run = slow_load(&copy, run.output(), proxy.port()).run();
    run.assert_ends(0);
    assert!(proxy.counters().faults > 0, "{}", run.report());
    copy.assert_equal(&database);
}

#[test]
fn a_load_that_was_killed_goes_on_where_it_stood() {
    for server in [Kind::MariaDb, Kind::MySql]
        .into_iter()
        .filter_map(Server::get)
    {
        let database = database(&server);
        let run = dump(&database, &["-r", "2000", "-s", "20KB"]);
        let copy = Copy::of(&database);
        let proxy = Proxy::to_port(copy.server.port());
        let mut sent = 0;
        for share in [12_000, 300_000, 600_000, 900_000] {
            let running = slow_load(&copy, run.output(), proxy.port()).spawn();
            sent += share;
            proxy.await_counters(Duration::from_secs(20), |counters| {
                counters.bytes_to_server >= sent
            });
            running.signal(Signal::KILL);
            let _ = running.wait();
            sent = proxy.counters().bytes_to_server;
        }
        let last = load(&copy.server, run.output())
            .args(["--report", "json"])
            .run();
        last.assert_ends(0);
        let report: serde_json::Value = serde_json::from_slice(&last.stdout).unwrap();
        assert_eq!(report["resumed"], true, "{}", last.report());
        copy.assert_equal(&database);
    }
}

#[test]
fn a_server_that_restarts_is_waited_for() {
    let server = Server::mariadb();
    let target = Server::private(Kind::MariaDb, &[]).unwrap();
    let database = database(&server);
    let run = dump(&database, &["-r", "2000", "-s", "20KB"]);
    let copy = Copy {
        server: target.clone(),
        name: database.name().to_owned(),
    };
    let running = load(&target, run.output())
        .args(["-t", "2", "--max-transaction-size", "100KB"])
        .spawn();
    let count = "SELECT VARIABLE_VALUE FROM information_schema.GLOBAL_STATUS WHERE VARIABLE_NAME = 'COM_COMMIT'";
    target.await_value(count, Duration::from_secs(20), |commits| {
        commits.parse::<u64>().unwrap() >= 3
    });
    target.kill();
    target.start();
    let run = running.wait();
    run.assert_ends(0);
    assert!(run.stderr.contains("trying again"), "{}", run.report());
    copy.assert_equal(&database);
}
