//! Two databases compared object by object: SHOW CREATE texts, row counts, checksums, and on a difference the rows.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use mysql::Conn;

use super::database::TestDb;
use super::dump::Run;
use super::query::{Query, Row, identifier};
use super::restore::restore;
use super::server::Server;

/// Text of every object, by its kind and name.
type Fingerprint = BTreeMap<(&'static str, String), String>;

/// A database on a server.
type Place<'a> = (&'a Server, &'a str);

/// Loads a dump of `source` into the second server of its kind and compares.
#[track_caller]
pub fn assert_round_trip(run: &Run, source: &TestDb) {
    let server = source.server();
    let target = Server::target(server.kind()).expect("a second server of a covered kind");
    let restored = restore(run.output(), &target);
    assert_eq!(
        restored.databases(),
        [source.name()],
        "databases in the dump"
    );
    assert_same_database((server, source.name()), (&target, source.name()));
}

#[track_caller]
pub fn assert_same_database(left: Place, right: Place) {
    let found = differences(left, right);
    assert!(
        found.is_empty(),
        "{} and its copy differ:\n{}",
        left.1,
        found.join("\n")
    );
}

/// Count and checksum of each table's rows.
pub fn checksums(server: &Server, database: &str, tables: &[&str]) -> Vec<String> {
    let mut session = server.connect();
    let checksum = |table: &&str| {
        let place = format!("{}.{}", identifier(database), identifier(table));
        let count = session.value(&format!("SELECT COUNT(*) FROM {place}"));
        let rows = session.rows(&format!("CHECKSUM TABLE {place} EXTENDED"));
        let checksum = String::from_utf8(rows[0][1].clone().unwrap()).unwrap();
        format!("{table}: {count} rows, {checksum}")
    };
    tables.iter().map(checksum).collect()
}

/// One entry for each object that differs; empty when the databases are equal.
pub fn differences(left: Place, right: Place) -> Vec<String> {
    let (mut left_session, mut right_session) = (session(left), session(right));
    let left_objects = fingerprint(&mut left_session, left);
    let mut right_objects = fingerprint(&mut right_session, right);
    let mut found = Vec::new();
    for ((kind, name), text) in &left_objects {
        match right_objects.remove(&(*kind, name.clone())) {
            None => found.push(format!("{kind} {name}: missing in the copy")),
            Some(copy) if copy == *text => {}
            Some(copy) => {
                let mut difference = format!("{kind} {name}:\n  {text}\n  {copy}");
                if *kind == "checksum" {
                    difference += &differing_rows(&mut left_session, &mut right_session, name);
                }
                found.push(difference);
            }
        }
    }
    found.extend(
        right_objects
            .keys()
            .map(|(kind, name)| format!("{kind} {name}: only in the copy")),
    );
    found
}

#[track_caller]
fn session((server, database): Place) -> Conn {
    let opts = server.opts().db_name(Some(database));
    let mut session = Conn::new(opts).unwrap_or_else(|error| panic!("{database}: {error}"));
    session.execute("SET NAMES utf8mb4, time_zone = '+00:00'");
    session
}

fn fingerprint(session: &mut Conn, (server, database): Place) -> Fingerprint {
    let mut objects = Fingerprint::new();
    let quoted = identifier(database);
    // The database's own name may differ between the two sides.
    let anonymous = |text: String| text.replace(&quoted, "`…`");
    let mut add = |kind, name: &str, text: String| {
        objects.insert((kind, name.to_owned()), anonymous(text));
    };
    add(
        "database",
        "",
        show(session, &format!("SHOW CREATE DATABASE {quoted}"), &[1]),
    );
    for row in session.rows("SHOW FULL TABLES") {
        let (name, table_type) = (text(row[0].as_ref()), text(row[1].as_ref()));
        let table = identifier(&name);
        match table_type.as_str() {
            "VIEW" => add(
                "view",
                &name,
                show(session, &format!("SHOW CREATE VIEW {table}"), &[1, 2, 3]),
            ),
            "SEQUENCE" => {
                add(
                    "sequence",
                    &name,
                    show(session, &format!("SHOW CREATE SEQUENCE {table}"), &[1]),
                );
                let next = format!("SELECT next_not_cached_value FROM {table}");
                add("sequence value", &name, show(session, &next, &[0]));
            }
            _ => {
                let create = show(session, &format!("SHOW CREATE TABLE {table}"), &[1]);
                let is_versioned = create.contains("WITH SYSTEM VERSIONING");
                add("table", &name, create);
                add(
                    "rows",
                    &name,
                    show(session, &format!("SELECT COUNT(*) FROM {table}"), &[0]),
                );
                let checksum = format!("CHECKSUM TABLE {table} EXTENDED");
                let checksum = if is_versioned {
                    // It would cover when each row was inserted.
                    all_rows(session, &name)
                } else {
                    show(session, &checksum, &[1])
                };
                add("checksum", &name, checksum);
            }
        }
    }
    for row in session.rows("SHOW TRIGGERS") {
        // All but the table's creation time.
        let parts = [1, 2, 3, 4, 6, 7, 8, 9, 10].map(|column| text(row[column].as_ref()));
        add("trigger", &text(row[0].as_ref()), parts.join("\n  "));
    }
    let mut routines = vec!["PROCEDURE", "FUNCTION"];
    if server.kind().is_mariadb() {
        routines.extend(["PACKAGE", "PACKAGE BODY"]);
    }
    for kind in routines {
        for row in session.rows(&format!("SHOW {kind} STATUS WHERE Db = DATABASE()")) {
            let name = text(row[1].as_ref());
            let create = format!("SHOW CREATE {kind} {}", identifier(&name));
            add(kind, &name, show(session, &create, &[1, 2, 3, 4, 5]));
        }
    }
    for row in session.rows("SHOW EVENTS WHERE Db = DATABASE()") {
        let name = text(row[1].as_ref());
        let create = format!("SHOW CREATE EVENT {}", identifier(&name));
        add("event", &name, show(session, &create, &[1, 2, 3, 4, 5, 6]));
    }
    objects
}

/// Some columns of a one-row answer. An object that cannot be read must fail in the same way on both sides.
fn show(session: &mut Conn, sql: &str, columns: &[usize]) -> String {
    match session.try_rows(sql) {
        Ok(rows) => {
            let cells = columns.iter().map(|column| text(rows[0][*column].as_ref()));
            cells.collect::<Vec<_>>().join("\n  ")
        }
        Err(mysql::Error::MySqlError(error)) => format!("unreadable: error {}", error.code),
        Err(error) => panic!("{error}, in: {sql}"),
    }
}

fn text(cell: Option<&Vec<u8>>) -> String {
    cell.map_or_else(
        || "NULL".to_owned(),
        |bytes| String::from_utf8_lossy(bytes).into_owned(),
    )
}

/// The names of a table's columns, and the query that reads all of each value.
fn exact_select(session: &mut Conn, table: &str) -> (Vec<String>, String) {
    let columns = session.rows(&format!("SHOW COLUMNS FROM {}", identifier(table)));
    let names: Vec<String> = columns.iter().map(|row| text(row[0].as_ref())).collect();
    let cells: Vec<String> = columns
        .iter()
        .map(|row| exact_hex(&text(row[0].as_ref()), &text(row[1].as_ref())))
        .collect();
    let select = format!("SELECT {} FROM {}", cells.join(", "), identifier(table));
    (names, select)
}

/// Every row of a small table, in an order of its own.
fn all_rows(session: &mut Conn, table: &str) -> String {
    let (_, select) = exact_select(session, table);
    format!("{:?}", count(session.rows(&select)))
}

/// The first rows that only one side has, cell by cell in hex.
fn differing_rows(left: &mut Conn, right: &mut Conn, table: &str) -> String {
    const SHOWN: usize = 3;
    let (names, select) = exact_select(left, table);
    let (left_rows, right_rows) = (count(left.rows(&select)), count(right.rows(&select)));
    let mut report = String::new();
    for (side, rows, others) in [
        ("original", &left_rows, &right_rows),
        ("copy", &right_rows, &left_rows),
    ] {
        let only_here = rows
            .iter()
            .filter(|(row, times)| others.get(*row) != Some(times));
        for (row, times) in only_here.take(SHOWN) {
            write!(report, "\n  {times} × in the {side} only:").unwrap();
            for (name, cell) in names.iter().zip(row) {
                write!(report, " {name}={}", text(cell.as_ref())).unwrap();
            }
        }
    }
    report
}

fn count(rows: Vec<Row>) -> BTreeMap<Row, u32> {
    let mut counts = BTreeMap::new();
    for row in rows {
        *counts.entry(row).or_default() += 1;
    }
    counts
}

/// HEX of a text or binary value is that of its own bytes; a number or date is taken as text, a FLOAT with all digits.
fn exact_hex(column: &str, column_type: &str) -> String {
    let column = identifier(column);
    let family: String = column_type
        .chars()
        .take_while(char::is_ascii_alphabetic)
        .collect();
    match family.as_str() {
        "float" => format!("HEX(CONCAT({column}*1e0))"),
        "bit" | "char" | "varchar" | "binary" | "varbinary" => format!("HEX({column})"),
        other if other.ends_with("text") || other.ends_with("blob") => format!("HEX({column})"),
        "point" | "linestring" | "polygon" | "geometry" | "vector" | "json" => {
            format!("HEX({column})")
        }
        other if other.starts_with("multi") || other.starts_with("geom") => {
            format!("HEX({column})")
        }
        _ => format!("HEX(CONCAT({column}))"),
    }
}
