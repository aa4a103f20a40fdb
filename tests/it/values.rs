//! Every type at the ends of its range, and every byte that a server lets into a text, comes back as it was.
//!
//! One database per server, in `tests/fixtures/sql/values` and `values/`, dumped in many shapes and loaded into the second
//! server of the kind. The server compares: SHOW CREATE of each object, counts, and CHECKSUM TABLE EXTENDED, which hashes what
//! is stored; where that differs, each column of the rows that do.

mod charsets;
mod json;
mod settings;

use std::fs;
use std::path::Path;

use crate::harness::{Kind, Rdump, Server, TestDb, announce, assert_round_trip};

/// Chunks and files of every size, both ways to escape, with and without names.
const SHAPES: [&[&str]; 4] = [
    &["-t", "1", "-r", "1"],
    &["-t", "8", "-r", "7", "--escape-backslash=false"],
    &["-t", "8", "-r", "100", "-F", "64KiB", "-s", "10KiB"],
    &[
        "-t",
        "1",
        "-r",
        "5000",
        "--complete-insert",
        "--order-by-primary-key=false",
    ],
];

fn load(database: &TestDb, fixture: &str) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sql/values");
    database.load_text(fs::read(folder.join(fixture)).unwrap());
}

/// The database of all types that the server has.
pub fn every_type(server: &Server, test: &str) -> TestDb {
    let database = TestDb::new(server, test);
    let more: &[&str] = match server.kind() {
        Kind::MariaDb => &["modern.sql", "mariadb.sql"],
        Kind::MariaDb11 => &["modern.sql", "mariadb.sql", "vectors.sql"],
        Kind::MySql => &["modern.sql", "mysql.sql", "vectors.sql"],
        Kind::MySql56 => &[],
    };
    for fixture in [&["every-server.sql"], more].concat() {
        load(&database, fixture);
    }
    database.exec(&bits());
    database.exec("INSERT INTO bits (id) VALUES (0)");
    // Only ones, only zeros, and every byte that a literal might trip over, cut to the width.
    for (id, value) in [(1, "~0"), (2, "0"), (3, "0x275c220a0d1a0027"), (4, "0x5c")] {
        let widths = 1..=64;
        let cut = widths.map(|width| format!("({value}) & (~0 >> {})", 64 - width));
        let cells: Vec<String> = cut.collect();
        database.exec(&format!(
            "INSERT INTO bits VALUES ({id}, {})",
            cells.join(", ")
        ));
    }
    database
}

/// A table with a BIT of every width.
fn bits() -> String {
    let columns: Vec<String> = (1..=64).map(|n| format!("b{n} BIT({n})")).collect();
    format!(
        "CREATE TABLE bits (id INT PRIMARY KEY, {})",
        columns.join(", ")
    )
}

#[test]
fn every_type_comes_back_equal_in_every_shape() {
    for server in Server::all() {
        announce(&format!("values: {}", server.version()));
        let database = every_type(&server, "values");
        for shape in SHAPES {
            let run = Rdump::dump(&server)
                .database(database.name())
                .args(shape)
                .run();
            run.assert_ok();
            assert_round_trip(&run, &database);
        }
    }
}

/// A value near the limit of a packet: its hexadecimal form would be over it, so the row is written another way, alone.
#[test]
fn value_of_64_megabytes_comes_back() {
    // MySQL 5.6 takes no value that fills a tenth of its log.
    let servers = Server::all()
        .into_iter()
        .filter(|server| server.kind() != Kind::MySql56);
    for server in servers {
        let database = TestDb::new(&server, "wide");
        database.exec("CREATE TABLE wide (id INT PRIMARY KEY, b LONGBLOB, t LONGTEXT)");
        database.exec(
            "INSERT INTO wide VALUES (1, x'00', 'before'), (3, x'5c', 'after'), \
             (2, REPEAT(x'00275c220a0d1aff', 8 << 20), NULL), (4, NULL, REPEAT('\\\\é\\n\\'', 1 << 20))",
        );
        let run = Rdump::dump(&server)
            .database(database.name())
            .args(["-r", "2"])
            .run();
        run.assert_ok();
        assert_round_trip(&run, &database);
    }
}
