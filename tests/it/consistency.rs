//! One point in time: what is loaded from a dump taken beside a busy writer keeps the invariant, and the recorded position is
//! its position: the source's binlog, replayed from there, makes the copy equal to the source.

mod guard;
mod without_snapshots;

use std::time::Duration;

use crate::harness::{
    Kind, Rdump, Run, Server, TestDb, Writer, assert_invariant, binlog_can_be_read, checksums,
    replay_binlog, restore,
};

const MODES: [&str; 4] = ["auto", "flush", "snapshot", "lock"];
const LIMIT: Duration = Duration::from_secs(60);

/// MySQL as a private one: beside table locks that last, the flush under another test's global lock would stall everybody.
fn servers() -> Vec<Server> {
    let shared = [Kind::MariaDb, Kind::MariaDb11];
    let shared = shared.into_iter().filter_map(Server::get);
    shared.chain(Server::private(Kind::MySql, &[])).collect()
}

fn dump(database: &TestDb, mode: &str) -> Run {
    let run = Rdump::dump(database.server())
        .database(database.name())
        .args(["--consistency", mode, "-t", "4", "-r", "1000"])
        .run();
    run.assert_ok();
    run
}

#[test]
fn every_mode_gives_one_point_in_time_beside_a_busy_writer() {
    const REPEATS: u32 = 3;
    for server in servers() {
        let target = Server::target(server.kind()).unwrap();
        for mode in MODES {
            let database = TestDb::seeded(&server, "busy", "invariant", Some(1000));
            let writer = Writer::start(&database, 2);
            writer.await_transactions(5, LIMIT);
            let before = writer.transactions();
            let runs: Vec<Run> = (0..REPEATS).map(|_| dump(&database, mode)).collect();
            writer.await_transactions(5, LIMIT);
            assert!(
                mode == "lock" || writer.transactions() > before + 5,
                "the writer stood still"
            );
            // Stopped before the dumps are loaded, or the ledger grows without end.
            writer.finish();
            for run in runs {
                let reached = run.manifest()["consistency"]["mode"].clone();
                assert!(mode == "auto" || reached == mode, "{mode}: {reached}");
                let _restored = restore(run.output(), &target);
                assert_invariant(&target, database.name());
            }
        }
    }
}

#[test]
fn recorded_position_replayed_makes_the_copy_equal_to_the_source() {
    for server in servers().into_iter().filter(binlog_can_be_read) {
        let target = Server::target(server.kind()).unwrap();
        for mode in MODES {
            let database = TestDb::seeded(&server, "replay", "invariant", Some(1000));
            let writer = Writer::start(&database, 2);
            writer.await_transactions(20, LIMIT);
            let run = dump(&database, mode);
            writer.await_transactions(20, LIMIT);
            writer.finish();
            let restored = restore(run.output(), &target);
            let tables = ["account", "ledger"];
            let checksums = |server: &Server| checksums(server, database.name(), &tables);
            assert_ne!(
                checksums(&target),
                checksums(&server),
                "nothing to replay, so that nothing is tested"
            );
            replay_binlog(&run, &database, &target);
            assert_eq!(
                checksums(&target),
                checksums(&server),
                "--consistency {mode} on {:?}\n{}",
                server.kind(),
                run.report()
            );
            drop(restored);
        }
    }
}
