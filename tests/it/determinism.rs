//! Two dumps of the same data are the same files, whatever the number of threads.

use crate::harness::{Kind, Query as _, Rdump, Run, Server, TestDb, identifier};

/// Chunks of a few hundred rows; files of a few KB.
const CUTS: [&[&str]; 4] = [
    &[],
    &["-r", "300"],
    &["-F", "16KiB"],
    &["-r", "700", "-F", "8KiB"],
];

#[test]
fn number_of_threads_changes_no_byte() {
    let kinds = [Kind::MariaDb, Kind::MySql];
    for server in kinds.into_iter().filter_map(Server::get) {
        let database = TestDb::seeded(&server, "threads", "shop", Some(1500));
        server.seed(database.name(), "sb", Some(5000));
        freeze_statistics(&database);
        for file_type in ["sql", "csv"] {
            for cut in CUTS {
                let dump = |threads| dump(&database, file_type, cut, threads);
                let (one, eight) = (dump("1"), dump("8"));
                assert_same_files(&one, &eight);
                let name = format!("{}.sbtest1.", database.name());
                let files = one.files();
                let parts = files.iter().filter(|file| file.starts_with(&name)).count();
                assert!(cut.is_empty() || parts > 10, "{cut:?}: {parts} files");
            }
        }
    }
}

/// The plan follows the statistics, which InnoDB counts anew when it likes.
fn freeze_statistics(database: &TestDb) {
    let mut session = database.connect();
    for row in session.rows("SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'") {
        let table = identifier(str::from_utf8(row[0].as_ref().unwrap()).unwrap());
        session.execute(&format!("ALTER TABLE {table} STATS_AUTO_RECALC = 0"));
        session.rows(&format!("ANALYZE TABLE {table}"));
    }
}

fn dump(database: &TestDb, file_type: &str, cut: &[&str], threads: &str) -> Run {
    let run = Rdump::dump(database.server())
        .database(database.name())
        .args(["-t", threads, "--filetype", file_type])
        .args(cut)
        .run();
    run.assert_ok();
    run
}

#[track_caller]
fn assert_same_files(left: &Run, right: &Run) {
    assert_eq!(left.files(), right.files());
    for name in left.files() {
        // They tell the time.
        if name != "metadata" && name != "manifest.json" {
            assert!(left.read(&name) == right.read(&name), "{name} differs");
        }
    }
}
