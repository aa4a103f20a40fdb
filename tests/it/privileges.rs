//! What an account may not do is left out, worked around or refused, and said either way.

use crate::harness::{Kind, Query as _, Rdump, Run, Server, TestDb};

const PASSWORD: &str = "Pw-rdump!";

fn servers() -> impl Iterator<Item = Server> {
    let kinds = [Kind::MariaDb, Kind::MySql];
    kinds.into_iter().filter_map(Server::get)
}

/// The case's accounts have these words at their end.
fn dump(database: &TestDb, account: &str, arguments: &[&str]) -> Run {
    let account = format!("{}{account}", database.user_prefix());
    Rdump::dump(database.server())
        .database(database.name())
        .account(&account, PASSWORD)
        .args(arguments)
        .run()
}

#[track_caller]
fn assert_whole(run: &Run, database: &TestDb, mode: &str) {
    run.assert_ok();
    let manifest = run.manifest();
    assert_eq!(manifest["consistency"]["mode"], mode, "{}", run.report());
    let told = run
        .stderr
        .lines()
        .any(|line| line.split_whitespace().eq(["mode", mode]));
    assert!(told, "the report does not tell the mode\n{}", run.report());
    let data = run.table_data(database.name(), "t");
    assert!(data.ends_with(b"(1),\n(2),\n(3);\n"), "{}", run.report());
}

#[test]
fn auto_takes_the_best_mode_that_the_account_may_use_and_names_it() {
    for server in servers() {
        let database = TestDb::case(&server, "locks-not-allowed").unwrap();
        assert_whole(&dump(&database, "reload", &[]), &database, "flush");
        let run = dump(&database, "lock", &[]);
        assert_whole(&run, &database, "snapshot");
        assert!(run.stderr.contains("flush: "), "{}", run.report());
    }
}

#[test]
fn without_any_lock_snapshots_are_proven_or_refused() {
    for server in servers() {
        let database = TestDb::case(&server, "locks-not-allowed").unwrap();
        let run = dump(&database, "sel", &[]);
        // MariaDB proves them by its binlog, unless another test writes all the time.
        if server.kind().is_mariadb() && run.status.success() {
            assert_whole(&run, &database, "snapshot");
            continue;
        }
        run.assert_fails(1);
        for part in ["flush: ", "snapshot: ", "RELOAD", "LOCK TABLES", "hint: "] {
            assert!(run.stderr.contains(part), "no {part:?}\n{}", run.report());
        }
        assert!(!run.output().exists(), "{}", run.report());
    }
}

#[test]
fn mode_that_was_asked_for_is_refused_by_the_name_of_the_missing_privilege() {
    for server in servers() {
        let database = TestDb::case(&server, "locks-not-allowed").unwrap();
        for (account, mode, privilege) in [
            ("sel", "flush", "RELOAD"),
            ("lock", "flush", "RELOAD"),
            ("sel", "lock", "LOCK TABLES"),
            ("reload", "lock", "LOCK TABLES"),
        ] {
            let run = dump(&database, account, &["--consistency", mode]);
            run.assert_fails(1);
            assert!(
                run.stderr.contains(privilege),
                "{account}, {mode}\n{}",
                run.report()
            );
            assert!(!run.output().exists(), "{}", run.report());
        }
    }
}

#[test]
fn unknown_position_is_a_warning_and_stands_in_metadata_and_manifest() {
    for server in servers() {
        let database = TestDb::case(&server, "no-replication-client").unwrap();
        for mode in ["none", "snapshot"] {
            let run = dump(&database, "data_only", &["--consistency", mode]);
            assert_whole(&run, &database, mode);
            let manifest = run.manifest();
            let position = &manifest["consistency"]["position"];
            if position["state"] == "known" {
                // MariaDB's snapshots tell it to everybody.
                assert!(server.kind().is_mariadb() && mode == "snapshot");
                continue;
            }
            assert_eq!(position["state"], "denied", "{}", run.report());
            let metadata = String::from_utf8(run.read("metadata")).unwrap();
            assert!(
                metadata.contains("position could not be read"),
                "{metadata}"
            );
            assert!(run.stderr.contains("warning: "), "{}", run.report());
            assert!(run.stderr.contains("position"), "{}", run.report());
        }
    }
}

#[test]
fn position_is_there_when_the_server_has_a_binlog() {
    for server in servers() {
        let database = TestDb::case(&server, "one-snapshot").unwrap();
        let run = Rdump::dump(&server).database(database.name()).run();
        run.assert_ok();
        let metadata = String::from_utf8(run.read("metadata")).unwrap();
        for part in [
            "SHOW MASTER STATUS:\n\tLog: binlog.0",
            "\n\tPos: ",
            "\n\tGTID:",
        ] {
            assert!(metadata.contains(part), "no {part:?} in\n{metadata}");
        }
        let manifest = run.manifest();
        let gtid = manifest["consistency"]["position"]["gtid"]
            .as_str()
            .unwrap();
        assert!(
            metadata.contains(&format!("GTID:{gtid}\n")) && !gtid.is_empty(),
            "{metadata}"
        );
    }
}

#[test]
fn missing_right_to_read_names_the_object() {
    for server in servers() {
        let database = TestDb::new(&server, "rights");
        database.exec("CREATE TABLE open (id INT PRIMARY KEY)");
        database.exec("CREATE TABLE closed (id INT PRIMARY KEY, v INT)");
        database.exec("CREATE VIEW seen AS SELECT id FROM open");
        let account = format!("{}some", database.user_prefix());
        let name = format!("'{account}'@'127.0.0.1'");
        server.exec(&format!("CREATE USER {name} IDENTIFIED BY '{PASSWORD}'"));
        let grant = |rights: &str, object: &str| {
            let place = format!("`{}`.{object}", database.name());
            server.exec(&format!("GRANT {rights} ON {place} TO {name}"));
        };
        grant("SELECT", "open");
        grant("SELECT (id)", "closed");
        let run = dump(&database, "some", &["--consistency", "none", "--no-views"]);
        run.assert_fails(1);
        assert!(run.stderr.contains("closed"), "{}", run.report());
        assert!(!run.stderr.contains("`open`"), "{}", run.report());

        grant("SELECT", "*");
        let run = dump(&database, "some", &["--consistency", "none"]);
        run.assert_fails(1);
        let named = run.stderr.contains("seen") && run.stderr.contains("SHOW VIEW");
        assert!(named, "{}", run.report());
        server.connect().try_rows(&format!("DROP USER {name}")).ok();
    }
}
