//! The harness's writer and the schema under it.

use std::time::Duration;

use crate::harness::{Server, TestDb, Writer, assert_invariant};

#[test]
fn writer_keeps_the_invariant() {
    for server in Server::all() {
        let database = TestDb::seeded(&server, "writer", "invariant", None);
        assert_invariant(&server, database.name());
        let writer = Writer::start(&database, 2);
        writer.await_transactions(20, Duration::from_secs(30));
        assert_invariant(&server, database.name());
        let before = writer.transactions();
        assert!(writer.finish() >= before);
        let ledger: u64 = database
            .value("SELECT COUNT(*) FROM ledger")
            .parse()
            .unwrap();
        assert!(ledger >= 2 * before);
    }
}

#[test]
#[should_panic(expected = "the balances' sum")]
fn broken_invariant_is_noticed() {
    let server = Server::mariadb();
    let database = TestDb::seeded(&server, "broken", "invariant", None);
    database.exec("UPDATE account SET balance = balance + 1 WHERE id = 7");
    assert_invariant(&server, database.name());
}
