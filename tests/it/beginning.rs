//! DDL in the moment between the look at the tables and the snapshot: the definitions are written, the rows are not read yet.
//!
//! The moment is held open by a session that has the table locked for writing: rdump waits for its own lock in vain until the
//! session has done what it wants. MariaDB only: on MySQL the instance's backup lock keeps DDL out by then.

use std::time::Duration;

use crate::harness::{Query as _, Rdump, Run, Server, TestDb};

const LIMIT: Duration = Duration::from_secs(30);

/// Dumps two tables, of which `t` gets `ddl` in that moment.
fn dump_beside(database: &TestDb, ddl: &[&str]) -> Run {
    for table in ["t", "other"] {
        database.exec(&format!("CREATE TABLE {table} (id INT PRIMARY KEY, v INT)"));
        database.exec(&format!("INSERT INTO {table} VALUES (1, 10), (2, 20)"));
    }
    let mut session = database.connect();
    session.execute("LOCK TABLES t WRITE");
    let running = Rdump::dump(database.server())
        .database(database.name())
        .args(["--consistency", "lock", "--lock-wait-timeout", "60s"])
        .spawn();
    let waits = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'LOCK TABLES%`{}`%READ%'",
        database.name()
    );
    database
        .server()
        .await_value(&waits, LIMIT, |count| count == "1");
    for statement in ddl {
        session.execute(statement);
    }
    session.execute("UNLOCK TABLES");
    running.wait()
}

/// The dump failed for `t`, and `other` is there.
fn assert_only_t_failed(run: &Run, database: &TestDb) {
    run.assert_fails(1);
    let name = format!("`{}`.`t`", database.name());
    assert!(run.stderr.contains(&name), "{}", run.report());
    assert!(!run.stderr.contains("`other`"), "{}", run.report());
    let files = run.files();
    assert!(!files.contains(&"manifest.json".to_owned()), "{files:?}");
    let other = run.table_data(database.name(), "other");
    assert!(String::from_utf8(other).unwrap().contains("(2,20)"));
}

#[test]
fn table_that_gets_a_column_before_the_snapshot_is_given_up_and_named() {
    let database = TestDb::new(&Server::mariadb(), "begin_add");
    let ddl = ["ALTER TABLE t ADD COLUMN z INT", "UPDATE t SET z = 5"];
    let run = dump_beside(&database, &ddl);
    assert_only_t_failed(&run, &database);
}

#[test]
fn table_whose_column_is_renamed_before_the_snapshot_is_given_up_and_named() {
    let database = TestDb::new(&Server::mariadb(), "begin_rename");
    let run = dump_beside(&database, &["ALTER TABLE t RENAME COLUMN v TO w"]);
    assert_only_t_failed(&run, &database);
}

#[test]
fn table_that_is_made_before_the_snapshot_is_named_in_a_warning() {
    let server = Server::mariadb();
    let database = TestDb::new(&server, "begin_create");
    // Another session makes it: the one with the lock may not.
    let (mut other, name) = (database.connect(), database.name().to_owned());
    for table in ["t", "other"] {
        database.exec(&format!("CREATE TABLE {table} (id INT PRIMARY KEY)"));
    }
    database.exec("INSERT INTO t VALUES (1)");
    let mut session = database.connect();
    session.execute("LOCK TABLES t WRITE");
    let running = Rdump::dump(&server)
        .database(&name)
        .args(["--consistency", "lock", "--lock-wait-timeout", "60s"])
        .spawn();
    let waits = format!(
        "SELECT COUNT(*) FROM information_schema.PROCESSLIST WHERE INFO LIKE 'LOCK TABLES%`{name}`%READ%'"
    );
    server.await_value(&waits, LIMIT, |count| count == "1");
    other.execute("CREATE TABLE late (id INT PRIMARY KEY)");
    session.execute("UNLOCK TABLES");
    let run = running.wait();
    run.assert_ok();
    let warnings = run.manifest()["warnings"].to_string();
    assert!(warnings.contains("`late`"), "{}", run.report());
}

#[test]
fn variables_of_the_user_cannot_change_what_is_read() {
    let database = TestDb::new(&Server::mariadb(), "params");
    database.exec("CREATE TABLE t (id INT PRIMARY KEY, c CHAR(5), at TIMESTAMP NULL)");
    database.exec("INSERT INTO t VALUES (1, 'a', NULL), (2, 'b', NULL), (3, 'c', NULL)");
    database.exec("UPDATE t SET at = '2026-01-02 03:04:05'");
    let run = Rdump::dump(database.server())
        .database(database.name())
        .args([
            "--params",
            "sql_select_limit=1,time_zone='+05:00',sql_mode='PAD_CHAR_TO_FULL_LENGTH'",
        ])
        .run();
    run.assert_ok();
    let data = String::from_utf8(run.table_data(database.name(), "t")).unwrap();
    for row in ["(1,'a','", "(2,'b','", "(3,'c','"] {
        assert!(data.contains(row), "{data}");
    }
    let undisturbed = Rdump::dump(database.server())
        .database(database.name())
        .run();
    assert_eq!(
        data.as_bytes(),
        undisturbed.table_data(database.name(), "t")
    );
    let warnings = run.manifest()["warnings"].to_string();
    for name in ["sql_select_limit", "time_zone", "sql_mode"] {
        assert!(warnings.contains(name), "{warnings}");
    }
}
