//! Connections that die before a row is read: while the catalog is read, while sessions are set up, while snapshots start.

use super::scene::{assert_same_files, data_files};
use crate::harness::{Fault, Kind, Proxy, Rdump, Run, Server, TestDb, Trigger};

/// Deaths spread over all that is said before and between the rows.
const DEATHS: u64 = 24;

fn dump(database: &TestDb, proxy: &Proxy, mode: &str) -> Run {
    Rdump::dump(database.server())
        .port(proxy.port())
        .database(database.name())
        .args(["--consistency", mode])
        .run()
}

/// What is in the files must not depend on when a connection died.
fn outlives_deaths(database: &TestDb, mode: &str, trigger: impl Fn(&Proxy, u64)) {
    let reference = dump(database, &Proxy::to_port(database.server().port()), mode);
    reference.assert_ok();
    let reference = data_files(&reference);
    for number in 0..DEATHS {
        let proxy = Proxy::to_port(database.server().port());
        trigger(&proxy, number);
        let run = dump(database, &proxy, mode);
        run.assert_ok();
        assert_same_files(&data_files(&run), &reference, &run);
    }
}

#[test]
fn statement_of_the_catalog_whose_connection_dies_is_asked_again() {
    for kind in [Kind::MariaDb, Kind::MySql] {
        let Some(server) = Server::get(kind) else {
            continue;
        };
        let database = TestDb::seeded(&server, "planning", "shop", Some(300));
        let quiet = Proxy::to_port(server.port());
        dump(&database, &quiet, "snapshot").assert_ok();
        let step = quiet.counters().bytes_to_client / DEATHS;
        outlives_deaths(&database, "snapshot", |proxy, number| {
            proxy.inject(Fault::Reset, Trigger::first_past(number * step));
        });
    }
}

/// The first is the extra one; then come a reader, workers, spares and the lock.
#[test]
fn session_that_dies_while_it_is_set_up_is_replaced() {
    for kind in [Kind::MariaDb, Kind::MySql] {
        let Some(server) = Server::get(kind) else {
            continue;
        };
        let database = TestDb::seeded(&server, "setting_up", "shop", Some(300));
        outlives_deaths(&database, "flush", |proxy, number| {
            // The handshake, the first settings, the later ones; each on one of the first connections.
            let bytes = [700, 30, 200, 400][usize::try_from(number % 4).unwrap()];
            let connection = number / 4 + 1;
            proxy.inject(Fault::Finish, Trigger::only(connection).after_bytes(bytes));
        });
    }
}
