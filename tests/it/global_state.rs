//! A dump changes nothing on the server: no global variable, no row, no binlog event, whether it ends well or is killed.

use std::time::Duration;

use rustix::process::Signal;

use crate::harness::{Fault, Kind, Proxy, Query as _, Rdump, Row, Server, TestDb, Trigger};

/// What would differ after a change. The server must be the test's own.
fn state(server: &Server) -> (Vec<Row>, Vec<Row>) {
    let mut session = server.connect();
    let variables = session.rows(
        "SHOW GLOBAL VARIABLES WHERE Variable_name NOT IN \
         ('timestamp', 'innodb_buffer_pool_load_now', 'innodb_buffer_pool_dump_status')",
    );
    let position = match server.kind() {
        Kind::MySql => session.rows("SHOW BINARY LOG STATUS"),
        _ => session.rows("SHOW MASTER STATUS"),
    };
    assert!(variables.len() > 300 && position.len() == 1);
    (variables, position)
}

#[test]
fn dump_leaves_global_variables_and_binlog_as_they_were() {
    let kinds = [Kind::MariaDb, Kind::MySql];
    for server in kinds
        .into_iter()
        .filter_map(|kind| Server::private(kind, &[]))
    {
        let database = TestDb::seeded(&server, "state", "shop", Some(300));
        server.seed(database.name(), "sb", Some(10_000));
        let before = state(&server);
        for mode in ["auto", "flush", "snapshot", "lock", "none"] {
            let run = Rdump::dump(&server)
                .database(database.name())
                .args(["--consistency", mode, "-r", "500"])
                .run();
            run.assert_ok();
            assert_eq!(state(&server), before, "--consistency {mode}");

            let proxy = Proxy::to_port(server.port());
            proxy.inject(Fault::Throttle(200 << 10), Trigger::all());
            let running = Rdump::dump(&server)
                .port(proxy.port())
                .database(database.name())
                .args(["--consistency", mode, "-r", "500"])
                .spawn();
            proxy.await_counters(Duration::from_secs(60), |counters| {
                counters.bytes_to_client > 600 << 10
            });
            running.signal(Signal::KILL);
            let run = running.wait_within(Duration::from_secs(10));
            assert!(!run.status.success(), "it had ended already");
            assert_eq!(state(&server), before, "--consistency {mode}, killed");
        }
    }
}
