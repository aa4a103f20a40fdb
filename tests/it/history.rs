//! `--history`: past versions of MariaDB's system-versioned rows.

use crate::harness::{Kind, Query as _, Rdump, Row, Server, TestDb, restore};

/// A table that names no period, one that does, one in partitions, one whose key comes as lists.
const TABLES: &str = "
CREATE TABLE plain (id INT PRIMARY KEY, v VARCHAR(20)) WITH SYSTEM VERSIONING;
CREATE TABLE named (id INT, v INT, s TIMESTAMP(6) GENERATED ALWAYS AS ROW START, e TIMESTAMP(6) GENERATED ALWAYS AS ROW END INVISIBLE,
  d INT AS (id * 2) VIRTUAL, PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING;
CREATE TABLE parted (id INT PRIMARY KEY, v VARCHAR(20)) WITH SYSTEM VERSIONING PARTITION BY SYSTEM_TIME (PARTITION h HISTORY, PARTITION c CURRENT);
CREATE TABLE listed (e ENUM('a','b','') NOT NULL, i INT NOT NULL, v INT, PRIMARY KEY (e, i)) WITH SYSTEM VERSIONING;
CREATE TABLE today (id INT PRIMARY KEY);
INSERT INTO today VALUES (1);
INSERT INTO plain SELECT seq, 'first' FROM seq_1_to_60; UPDATE plain SET v = 'second' WHERE id MOD 2; DELETE FROM plain WHERE id > 50;
INSERT INTO named (id, v) SELECT seq MOD 5, seq FROM seq_1_to_20; UPDATE named SET v = -v; DELETE FROM named WHERE id = 1;
INSERT INTO parted SELECT seq, 'first' FROM seq_1_to_30; UPDATE parted SET v = 'it''s \\\\'; DELETE FROM parted WHERE id < 4;
INSERT INTO listed SELECT 1 + seq MOD 3, seq, 0 FROM seq_1_to_30; UPDATE listed SET v = v + 1; DELETE FROM listed WHERE e = 'b';
";

const PERIODS: [(&str, &str); 4] = [
    ("plain", "*, row_start, row_end"),
    ("named", "*, e"),
    ("parted", "*, row_start, row_end"),
    ("listed", "*, e + 0, row_start, row_end"),
];

fn versions(server: &Server, database: &str, table: &str, columns: &str) -> Vec<Row> {
    let mut session = server.connect();
    session.execute("SET time_zone = '+00:00'");
    let sql = format!("SELECT {columns} FROM `{database}`.{table} FOR SYSTEM_TIME ALL");
    let mut rows = session.rows(&sql);
    rows.sort();
    rows
}

#[test]
fn past_versions_of_rows_come_back_with_their_times() {
    for server in Server::all() {
        if !server.kind().is_mariadb() {
            continue;
        }
        let target = Server::target(server.kind()).unwrap();
        let database = TestDb::new(&server, "history");
        database.load_text(TABLES);
        for shape in [&["-r", "7"][..], &["--complete-insert"]] {
            let run = Rdump::dump(&server)
                .database(database.name())
                .args(shape)
                .args(["--history"])
                .run();
            run.assert_ok();
            assert_eq!(run.manifest()["warnings"].to_string(), "[]");
            let restored = restore(run.output(), &target);
            for (table, columns) in PERIODS {
                let expected = versions(&server, database.name(), table, columns);
                let found = versions(&target, &restored.databases()[0], table, columns);
                assert!(expected.len() >= 35, "{table}: {}", expected.len());
                assert_eq!(found, expected, "{table} of {:?}", server.kind());
            }
        }
    }
}

#[test]
fn history_that_is_left_out_is_named() {
    let server = Server::mariadb();
    let database = TestDb::new(&server, "no_history");
    database.load_text(TABLES);
    let run = Rdump::dump(&server).database(database.name()).run();
    run.assert_ok();
    let warnings = run.manifest()["warnings"].to_string();
    for (table, _) in PERIODS {
        assert!(warnings.contains(&format!("`{table}`")), "{warnings}");
    }
    assert!(!warnings.contains("`today`"), "{warnings}");
}

#[test]
fn history_that_no_server_could_take_back_is_refused() {
    let server = Server::mariadb();
    let database = TestDb::new(&server, "by_number");
    database.exec(
        "CREATE TABLE counted (id INT PRIMARY KEY, s BIGINT UNSIGNED GENERATED ALWAYS AS ROW START, \
         e BIGINT UNSIGNED GENERATED ALWAYS AS ROW END, PERIOD FOR SYSTEM_TIME (s, e)) WITH SYSTEM VERSIONING",
    );
    let run = Rdump::dump(&server)
        .database(database.name())
        .args(["--history"])
        .run();
    run.assert_fails(1);
    assert!(run.stderr.contains("`counted`"), "{}", run.report());
    if let Some(server) = Server::get(Kind::MySql) {
        let database = TestDb::new(&server, "none_here");
        let run = Rdump::dump(&server)
            .database(database.name())
            .args(["--history"])
            .run();
        run.assert_fails(1);
        assert!(run.stderr.contains("only MariaDB"), "{}", run.report());
    }
}
