//! `--where` chooses rows in every chunk and cannot reach out of its brackets.

use crate::harness::{Kind, Rdump, Server, TestDb};

#[test]
fn condition_with_or_gives_exactly_its_rows_once() {
    let kinds = [Kind::MariaDb, Kind::MySql];
    for server in kinds.into_iter().filter_map(Server::get) {
        let database = TestDb::case(&server, "where-with-or").unwrap();
        for (condition, sql) in [
            ("grp=1 OR flag=1", "grp=1 OR flag=1"),
            ("grp=1 OR flag=1 -- so", "grp=1 OR flag=1"),
            ("grp=1 OR flag=1 # so", "grp=1 OR flag=1"),
            (
                "grp = 1 /* or 2 */ OR id IN (5, 6)",
                "grp = 1 OR id IN (5, 6)",
            ),
            ("-1 < id AND id < 0", "FALSE"),
        ] {
            let run = Rdump::dump(&server)
                .database(database.name())
                .args(["-r", "50", "--where", condition])
                .run();
            run.assert_ok();
            let data = run.table_data(database.name(), "t");
            let text = String::from_utf8(data).unwrap();
            let mut ids: Vec<u32> = text
                .lines()
                .filter_map(|line| line.strip_prefix('(')?.split(',').next()?.parse().ok())
                .collect();
            ids.sort_unstable();
            let expected: Vec<u32> = database
                .rows(&format!("SELECT id FROM t WHERE {sql} ORDER BY id"))
                .into_iter()
                .map(|row| {
                    String::from_utf8(row[0].clone().unwrap())
                        .unwrap()
                        .parse()
                        .unwrap()
                })
                .collect();
            assert_eq!(ids, expected, "{condition}\n{}", run.report());
            let manifest = run.manifest();
            let noted = manifest["where"].as_str().unwrap();
            assert_eq!(noted[..8], condition[..8], "{noted}");
        }
    }
}

#[test]
fn condition_of_other_letters_matches_what_the_column_holds() {
    let kinds = [Kind::MariaDb, Kind::MySql];
    for server in kinds.into_iter().filter_map(Server::get) {
        let database = TestDb::new(&server, "letters");
        database.load_text(
            "SET NAMES utf8mb4; CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(20) CHARACTER SET latin1);
             INSERT INTO t VALUES (1, 'größe'), (2, 'groesse')",
        );
        let run = Rdump::dump(&server)
            .database(database.name())
            .args(["--where", "v = 'größe'"])
            .run();
        run.assert_ok();
        assert_eq!(run.manifest()["tables"][0]["rows"], 1, "{}", run.report());
    }
}
