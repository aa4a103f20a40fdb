//! `--sql`: the rows of one query, also when there are none or the query is none.

use crate::harness::{Kind, Rdump, Run, Server, TestDb};

fn servers() -> impl Iterator<Item = Server> {
    let kinds = [Kind::MariaDb, Kind::MySql];
    kinds.into_iter().filter_map(Server::get)
}

fn run(server: &Server, sql: &str) -> Run {
    Rdump::dump(server).args(["--sql", sql]).run()
}

/// All data files, joined.
fn rows(run: &Run) -> String {
    run.assert_ok();
    let files = run.files();
    let data = files.iter().filter(|name| name.starts_with("result."));
    data.map(|name| String::from_utf8(run.read(name)).unwrap())
        .collect()
}

#[test]
fn rows_of_a_query_are_written_as_csv() {
    for server in servers() {
        let database = TestDb::case(&server, "custom-query").unwrap();
        let one = format!(
            "SELECT id, 'a\"b' AS v, NULL AS n, x'00ff' AS b FROM `{}`.one;",
            database.name()
        );
        let run = run(&server, &one);
        let expected = r#""id","v","n","b"
1,"a\"b",\N,"00ff"
"#;
        assert_eq!(rows(&run), expected.replace('\n', "\r\n"));
        let manifest = run.manifest();
        assert_eq!(manifest["files"].as_array().unwrap().len(), 1, "{manifest}");
    }
}

#[test]
fn query_without_a_table_and_with_equal_names_works() {
    for server in servers() {
        let run = run(&server, "SELECT 1 AS a, 2 AS a");
        assert!(rows(&run).ends_with("\r\n1,2\r\n"), "{}", rows(&run));
    }
}

#[test]
fn query_without_rows_gives_a_whole_dump() {
    for server in servers() {
        let database = TestDb::case(&server, "custom-query").unwrap();
        for table in ["e", "e_nokey"] {
            let sql = format!("SELECT * FROM `{}`.{table}", database.name());
            let lines = rows(&run(&server, &sql)).lines().count();
            assert!(lines <= 1, "more than a header");
        }
    }
}

#[test]
fn query_that_fails_is_told_and_leaves_nothing() {
    for server in servers() {
        let database = TestDb::case(&server, "custom-query").unwrap();
        let name = database.name();
        for (sql, part) in [
            ("SELEC".to_owned(), "SELEC"),
            (format!("SELECT * FROM `{name}`.nope"), "nope"),
            (format!("SELECT id FROM `{name}`.one; SELECT 2"), "error"),
            // Fails at a row, after the columns were sent.
            (
                format!("SELECT (SELECT 1 UNION SELECT 2 FROM `{name}`.one) FROM `{name}`.one"),
                "1 row",
            ),
            ("SET @a = 1".to_owned(), "error"),
        ] {
            let run = run(&server, &sql);
            run.assert_fails(1);
            assert!(run.stderr.contains(part), "{sql}\n{}", run.report());
            assert!(run.files().is_empty(), "{sql}\n{}", run.report());
        }
    }
}

#[test]
fn query_cannot_change_data() {
    for server in servers() {
        let database = TestDb::case(&server, "custom-query").unwrap();
        for sql in ["DELETE FROM", "DROP TABLE", "TRUNCATE TABLE"] {
            let sql = format!("{sql} `{}`.one", database.name());
            let run = run(&server, &sql);
            run.assert_fails(1);
            assert!(run.stderr.contains("has no result"), "{}", run.report());
            assert_eq!(database.value("SELECT COUNT(*) FROM one"), "1");
        }
        // A function may write where a SELECT stands.
        database.exec("CREATE FUNCTION empty_one() RETURNS INT DETERMINISTIC MODIFIES SQL DATA BEGIN DELETE FROM one; RETURN 1; END");
        run(
            &server,
            &format!("SELECT `{}`.empty_one()", database.name()),
        )
        .assert_fails(1);
        assert_eq!(database.value("SELECT COUNT(*) FROM one"), "1");
    }
}
