//! `--dry-run` tells what would be read, and reads none of it.

use crate::harness::{Kind, Rdump, Server, TestDb};

/// The statements that a general log holds of other sessions than our own.
fn statements_about(server: &Server, table: &str) -> Vec<String> {
    let log = server.rows("SELECT argument FROM mysql.general_log");
    let text = |row: &Vec<Option<Vec<u8>>>| {
        String::from_utf8_lossy(row[0].as_deref().unwrap_or_default()).into_owned()
    };
    let statements = log.iter().map(text);
    statements
        .filter(|sql| sql.contains(table) && !sql.contains("general_log"))
        .collect()
}

#[test]
fn dry_run_prints_the_plan_and_reads_no_row() {
    let kinds = [Kind::MariaDb, Kind::MySql];
    let options = ["--log-output=TABLE"];
    for server in kinds
        .into_iter()
        .filter_map(|kind| Server::private(kind, &options))
    {
        let database = TestDb::seeded(&server, "dry", "sb", Some(20_000));
        database.exec("CREATE TABLE nokey (v INT)");
        database.exec("INSERT INTO nokey VALUES (4711)");
        database.exec("ANALYZE TABLE sbtest1");
        server.exec("SET GLOBAL general_log = 1");
        let run = Rdump::dump(&server)
            .database(database.name())
            .args(["--dry-run", "-r", "1000"])
            .run();
        server.exec("SET GLOBAL general_log = 0");
        assert!(run.status.success(), "{}", run.report());
        assert!(!run.output().exists(), "{}", run.report());
        let told = String::from_utf8_lossy(&run.stdout).into_owned() + &run.stderr;
        for part in ["sbtest1", "nokey", "id", "SELECT", "RELOAD"] {
            assert!(told.contains(part), "no {part:?}\n{told}");
        }
        let chunks = told.lines().filter(|line| line.contains("`id`")).count();
        assert!(chunks >= 15, "{chunks} chunks\n{told}");

        let statements = statements_about(&server, "sbtest1");
        assert!(!statements.is_empty(), "the log is empty");
        let reads: Vec<_> = statements
            .iter()
            .filter(|sql| {
                let sql = sql.trim_start().to_uppercase();
                sql.starts_with("SELECT") && sql.contains("`PAD`")
                    || sql.starts_with("LOCK")
                    || sql.starts_with("FLUSH")
            })
            .collect();
        assert!(reads.is_empty(), "{reads:#?}");
        let rows = statements_about(&server, "nokey");
        let reads: Vec<_> = rows
            .iter()
            .filter(|sql| sql.contains("SELECT") && sql.contains("`v`"))
            .collect();
        assert!(reads.is_empty(), "{reads:#?}");
    }
}
