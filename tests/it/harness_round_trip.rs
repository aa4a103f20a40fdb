//! The harness from end to end: a dump by rdump, restored with the plain client into a second server, compares equal.

use crate::harness::{Rdump, Server, TestDb, assert_round_trip};

#[test]
fn seeded_shop_goes_round() {
    for server in Server::all() {
        round_trip(&TestDb::seeded(&server, "shop", "shop", Some(600)), "100");
    }
}

#[test]
fn sakila_goes_round() {
    for server in Server::all() {
        round_trip(&TestDb::sakila(&server, "sakila_round"), "2000");
    }
}

fn round_trip(database: &TestDb, rows_per_chunk: &str) {
    let run = Rdump::dump(database.server())
        .database(database.name())
        .args(["-t", "4", "-r", rows_per_chunk])
        .run();
    run.assert_ok();
    assert!(run.manifest().is_object());
    assert!(run.peak_rss_bytes > 0);
    assert_round_trip(&run, database);
}
