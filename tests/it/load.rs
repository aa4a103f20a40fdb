//! `rdump load`: a dump goes back as it was, under its own name or another, and nothing is written where something speaks
//! against it.

mod faults;
mod hostile;

use std::path::Path;

use crate::harness::{Kind, Rdump, Run, Server, TestDb, assert_same_database, cases, identifier};

/// A load of `dump` into `server`.
pub fn load(server: &Server, dump: &Path) -> Rdump {
    Rdump::load(server, dump)
}

/// A database of the target that is dropped in the end.
pub struct Copy {
    pub server: Server,
    pub name: String,
}

impl Copy {
    /// Nothing is there yet.
    pub fn of(database: &TestDb) -> Self {
        let server = Server::target(database.server().kind()).expect("a second server");
        let copy = Self {
            server,
            name: database.name().to_owned(),
        };
        copy.drop_it();
        copy
    }

    fn drop_it(&self) {
        let sql = format!("DROP DATABASE IF EXISTS {}", identifier(&self.name));
        self.server.exec(&sql);
    }

    #[track_caller]
    pub fn assert_equal(&self, database: &TestDb) {
        let source = (database.server(), database.name());
        assert_same_database(source, (&self.server, &self.name));
    }

    pub fn count(&self, table: &str) -> String {
        let name = identifier(&self.name);
        self.server
            .value(&format!("SELECT COUNT(*) FROM {name}.{table}"))
    }
}

impl Drop for Copy {
    fn drop(&mut self) {
        self.drop_it();
    }
}

#[track_caller]
fn dump(database: &TestDb, shape: &[&str]) -> Run {
    let run = Rdump::dump(database.server())
        .database(database.name())
        .args(shape)
        .run();
    run.assert_ok();
    run
}

const SHAPES: [&[&str]; 4] = [
    &["-r", "700", "-F", "64KiB", "-c", "zstd"],
    &["-c", "gzip", "--escape-backslash=false"],
    &["--filetype", "csv"],
    &[
        "--filetype",
        "csv",
        "--csv-binary",
        "base64",
        "--csv-separator",
        ";",
        "--no-header",
    ],
];

#[test]
fn sakila_comes_back_equal_in_every_shape() {
    for server in [Kind::MariaDb, Kind::MySql]
        .into_iter()
        .filter_map(Server::get)
    {
        let database = TestDb::sakila(&server, "load_sakila");
        // The bytes of a shape are not MySQL's.
        let step = if server.kind() == Kind::MySql { 2 } else { 1 };
        for shape in SHAPES.into_iter().step_by(step) {
            let run = dump(&database, shape);
            let copy = Copy::of(&database);
            load(&copy.server, run.output()).run().assert_ends(0);
            copy.assert_equal(&database);
        }
    }
}

/// By turns on both servers; in full (`RDUMP_TEST_FAULTS=full`) each on each.
#[test]
fn every_case_comes_back_equal() {
    const ELSEWHERE: [&str; 5] = [
        "unreadable-table",
        "very-wide-row",
        "many-tables",
        "users-and-roles",
        "invalid-views",
    ];
    let is_full = std::env::var("RDUMP_TEST_FAULTS").is_ok_and(|value| value == "full");
    let servers = [Kind::MariaDb, Kind::MySql];
    let servers: Vec<_> = servers.into_iter().filter_map(Server::get).collect();
    let cases = cases()
        .into_iter()
        .filter(|case| !ELSEWHERE.contains(&case.as_str()));
    let mut failures = Vec::new();
    for (number, case) in cases.enumerate() {
        for (turn, server) in servers.iter().enumerate() {
            if !is_full && number % servers.len() != turn {
                continue;
            }
            let Some(database) = TestDb::case(server, &case) else {
                continue;
            };
            let outcome = std::panic::catch_unwind(|| {
                let run = dump(&database, &["-r", "37"]);
                let copy = Copy::of(&database);
                let load = load(&copy.server, run.output());
                load.args(["--ssl-mode", "DISABLED"]).run().assert_ends(0);
                copy.assert_equal(&database);
            });
            if outcome.is_err() {
                failures.push(format!("{case} on {}", server.kind().word()));
            }
        }
    }
    assert!(failures.is_empty(), "not equal:\n{}", failures.join("\n"));
}

#[test]
fn a_dump_goes_into_a_database_of_another_name() {
    for server in [Kind::MariaDb, Kind::MySql]
        .into_iter()
        .filter_map(Server::get)
    {
        let database = TestDb::seeded(&server, "load_renamed", "shop", Some(200));
        let run = dump(&database, &[]);
        let mut copy = Copy::of(&database);
        copy.name = format!("{}_copy", database.name());
        copy.drop_it();
        let load = load(&copy.server, run.output());
        load.args(["--database", &copy.name]).run().assert_ends(0);
        copy.assert_equal(&database);
    }
}

#[test]
fn indexes_that_are_made_after_the_rows_are_the_same_indexes() {
    for server in [Kind::MariaDb, Kind::MySql]
        .into_iter()
        .filter_map(Server::get)
    {
        let database = TestDb::sakila(&server, "load_indexes");
        let run = dump(&database, &[]);
        let copy = Copy::of(&database);
        let load = load(&copy.server, run.output()).args(["--defer-indexes"]);
        load.run().assert_ends(0);
        copy.assert_equal(&database);
    }
}

#[test]
fn what_is_there_is_left_alone_unless_the_user_says_what_becomes_of_it() {
    let server = Server::mariadb();
    let database = TestDb::new(&server, "load_existing");
    database.exec("CREATE TABLE a (id INT PRIMARY KEY)");
    database.exec("INSERT INTO a VALUES (1),(2)");
    database.exec("CREATE TABLE b (id INT) ENGINE=MyISAM");
    database.exec("INSERT INTO b VALUES (1),(1)");
    database.exec("CREATE VIEW v AS SELECT id FROM a");
    database.exec("CREATE PROCEDURE p() SELECT 1");
    database.exec("CREATE TRIGGER tr BEFORE INSERT ON a FOR EACH ROW SET @x = 1");
    let run = dump(&database, &[]);
    let copy = Copy::of(&database);
    load(&copy.server, run.output()).run().assert_ends(0);
    copy.assert_equal(&database);
    let again = load(&copy.server, run.output()).run();
    again.assert_ends(1);
    assert!(again.stderr.contains("already (and"), "{}", again.report());
    let name = identifier(&copy.name);
    copy.server
        .exec(&format!("INSERT INTO {name}.a VALUES (7)"));
    copy.server
        .exec(&format!("INSERT INTO {name}.b VALUES (7)"));
    for (existing, rows) in [("skip", "3"), ("drop", "2")] {
        let run = load(&copy.server, run.output())
            .args(["--existing", existing])
            .run();
        run.assert_ends(0);
        assert_eq!(
            (copy.count("a").as_str(), copy.count("b").as_str()),
            (rows, rows)
        );
    }
    copy.assert_equal(&database);
    // The table's own trigger would fire.
    let truncate = || load(&copy.server, run.output()).args(["--existing", "truncate"]);
    let refused = truncate().run();
    refused.assert_ends(1);
    assert!(
        refused.stderr.contains("has triggers"),
        "{}",
        refused.report()
    );
    copy.server
        .exec(&format!("INSERT INTO {name}.a VALUES (7)"));
    truncate().args(["--with-triggers"]).run().assert_ends(0);
    copy.assert_equal(&database);
}

#[test]
fn a_damaged_dump_is_refused_before_anything_is_written() {
    let server = Server::mariadb();
    let database = TestDb::seeded(&server, "load_damaged", "shop", Some(100));
    let run = dump(&database, &["-c", "gzip"]);
    let copy = Copy::of(&database);
    let files = run.files();
    let data = files
        .iter()
        .find(|name| name.contains(".000000000."))
        .unwrap();
    let path = run.output().join(data);
    let mut bytes = std::fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    std::fs::write(&path, bytes).unwrap();
    let refused = load(&copy.server, run.output()).run();
    refused.assert_ends(1);
    assert!(refused.stderr.contains(data), "{}", refused.report());
    let there = format!(
        "SELECT COUNT(*) FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = '{}'",
        copy.name
    );
    assert_eq!(copy.server.value(&there), "0");
}

#[test]
fn a_directory_without_manifest_is_loaded_by_its_names() {
    let server = Server::mariadb();
    let database = TestDb::sakila(&server, "load_names");
    let run = dump(&database, &["-r", "1000"]);
    std::fs::remove_file(run.output().join("manifest.json")).unwrap();
    let copy = Copy::of(&database);
    load(&copy.server, run.output()).run().assert_ends(0);
    copy.assert_equal(&database);
}
