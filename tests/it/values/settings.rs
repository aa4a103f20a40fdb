//! Values where backslashes are plain characters, at the source, at the target or at both.

use super::every_type;
use crate::harness::{Kind, Rdump, Server, TestDb, assert_same_database, restore};

#[test]
fn values_survive_servers_whose_backslash_is_a_plain_character() {
    for kind in [Kind::MariaDb, Kind::MySql] {
        let (Some(usual), Some(plain)) = (
            Server::get(kind),
            Server::private(kind, &["--sql-mode=NO_BACKSLASH_ESCAPES"]),
        ) else {
            continue;
        };
        for (source, target) in [(&usual, &plain), (&plain, &usual)] {
            let database = every_type(source, "plain");
            for escape in ["--escape-backslash=true", "--escape-backslash=false"] {
                let run = Rdump::dump(source)
                    .database(database.name())
                    .args([escape, "-r", "50"])
                    .run();
                run.assert_ok();
                let _restored = restore(run.output(), target);
                assert_same_database((source, database.name()), (target, database.name()));
            }
        }
    }
}

/// MySQL itself cannot open such a table in such a session.
#[test]
fn expression_that_mysql_would_misread_is_named() {
    let Some(server) = Server::get(Kind::MySql) else {
        return;
    };
    let database = TestDb::new(&server, "misread");
    database.exec(r"CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(9) AS (CONCAT(id, '\\')))");
    database.exec(r"CREATE TABLE plain (id INT PRIMARY KEY, v VARCHAR(9) DEFAULT '\\')");
    let warnings = |escape: &str| {
        let run = Rdump::dump(&server)
            .database(database.name())
            .args([escape])
            .run();
        run.assert_ok();
        run.manifest()["warnings"].to_string()
    };
    let told = warnings("--escape-backslash=false");
    assert!(
        told.contains("`t` holds a backslash") && !told.contains("`plain`"),
        "{told}"
    );
    assert_eq!(warnings("--escape-backslash=true"), "[]");
}
