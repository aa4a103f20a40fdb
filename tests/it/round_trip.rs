//! A dump loaded by the plain client gives the same databases, whatever the dump's shape.

use crate::harness::{Kind, Rdump, Run, Server, TestDb, assert_round_trip, cases};

/// The shapes that a dump is tried in.
const SHAPES: [&[&str]; 8] = [
    &["-t", "1"],
    &["-t", "4"],
    &["-r", "1000"],
    &["-F", "1MiB"],
    &["-c", "gzip"],
    &["-c", "zstd"],
    &["--complete-insert", "--escape-backslash=false"],
    &["-r", "700", "-F", "64KiB", "-c", "zstd:3", "-s", "10KiB"],
];

#[test]
fn sakila_comes_back_equal_in_every_shape() {
    for server in Server::all() {
        let database = TestDb::sakila(&server, "sakila");
        round_trips(&database);
    }
}

#[test]
fn shop_comes_back_equal_in_every_shape() {
    for server in Server::all() {
        let database = TestDb::seeded(&server, "shop", "shop", Some(2000));
        round_trips(&database);
    }
}

fn round_trips(database: &TestDb) {
    // The oldest and the second MariaDB take every third shape: the bytes of a shape are not theirs.
    let kind = database.server().kind();
    let step = match kind {
        Kind::MariaDb | Kind::MySql => 1,
        _ => 3,
    };
    for shape in SHAPES.into_iter().step_by(step) {
        let run = Rdump::dump(database.server())
            .database(database.name())
            .args(shape)
            .run();
        run.assert_ok();
        assert_round_trip(&run, database);
    }
}

/// Rows cut in small pieces, so that every key of every case is walked.
#[test]
fn every_case_comes_back_equal() {
    // What they are about has tests of its own: a broken table, rows of 16 MB, hundreds of tables, accounts, labels that the
    // server does not tell.
    const ELSEWHERE: [&str; 5] = [
        "unreadable-table",
        "very-wide-row",
        "many-tables",
        "users-and-roles",
        "invalid-views",
    ];
    let mut failures = Vec::new();
    for server in Server::all() {
        for case in cases() {
            if ELSEWHERE.contains(&case.as_str()) {
                continue;
            }
            let Some(database) = TestDb::case(&server, &case) else {
                continue;
            };
            let outcome = std::panic::catch_unwind(|| {
                // The rows of the socket itself, and of the driver.
                let [run, driver] = ["wire", "driver"].map(|rows| {
                    let dump = Rdump::dump(&server).database(database.name());
                    let dump = dump.args(["-r", "37", "--ssl-mode", "DISABLED"]);
                    dump.env("RDUMP_ROWS", rows).run()
                });
                run.assert_ok();
                assert_round_trip(&run, &database);
                driver.assert_ok();
                assert_same_data(&run, &driver);
            });
            if outcome.is_err() {
                failures.push(format!("{case} on {}", server.kind().word()));
            }
        }
    }
    assert!(failures.is_empty(), "not equal:\n{}", failures.join("\n"));
}

#[track_caller]
fn assert_same_data(run: &Run, other: &Run) {
    assert_eq!(run.files(), other.files());
    let data = run.files();
    let data = data
        .iter()
        .filter(|name| name.as_bytes()[name.len() - 5].is_ascii_digit());
    for name in data {
        assert!(run.read(name) == other.read(name), "{name} differs");
    }
}

/// Servers show `?` for a four-byte character in an ENUM's label, so its rows cannot come back; that must not go unsaid.
#[test]
fn labels_that_the_server_does_not_tell_are_named_in_a_warning() {
    for server in Server::all() {
        let Some(database) = TestDb::case(&server, "four-byte-characters") else {
            continue;
        };
        let run = Rdump::dump(&server).database(database.name()).run();
        let warnings = run.manifest()["warnings"].to_string();
        assert!(
            warnings.contains("`t`") && warnings.contains("`e`"),
            "{}",
            run.report()
        );
    }
}
