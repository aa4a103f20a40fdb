//! CSV files read back to the values that were dumped: by the `csv` crate, and by the server's own LOAD DATA.

mod types;

use crate::harness::{Kind, Query as _, Rdump, Row, Run, Server, TestDb, differences, identifier};

fn servers() -> impl Iterator<Item = Server> {
    let kinds = [Kind::MariaDb, Kind::MySql, Kind::MariaDb11];
    kinds.into_iter().filter_map(Server::get)
}

fn dump(database: &TestDb, arguments: &[&str]) -> Run {
    let run = Rdump::dump(database.server())
        .database(database.name())
        .args(["--filetype", "csv"])
        .args(arguments)
        .run();
    run.assert_ok();
    run
}

/// The files of a table.
fn data_files(run: &Run, table: &str) -> Vec<String> {
    let mark = format!(".{table}.0");
    let files = run.files().into_iter();
    let found: Vec<_> = files.filter(|name| name.contains(&mark)).collect();
    assert!(!found.is_empty(), "no data of {table}\n{}", run.report());
    found
}

/// Columns whose cells the manifest says are hexadecimal digits.
fn hex_columns(run: &Run, table: &str) -> Vec<String> {
    let manifest = run.manifest();
    let tables = manifest["tables"].as_array().unwrap();
    let entry = tables.iter().find(|entry| entry["name"] == table).unwrap();
    let columns = entry["binary_columns"].as_array();
    let name = |column: &serde_json::Value| {
        assert_eq!(column["encoding"], "hex");
        column["name"].as_str().unwrap().to_owned()
    };
    columns.into_iter().flatten().map(name).collect()
}

/// What a cell should say: the value's text in UTF-8, a number's digits, bytes as hexadecimal digits, NULL as `\N`.
fn expected_rows(database: &TestDb, table: &str, hex: &[String]) -> Vec<Row> {
    let mut session = database.connect();
    session.execute("SET NAMES utf8mb4, time_zone = '+00:00'");
    let columns = types::stored_columns(&mut session, table);
    let cells: Vec<String> = columns
        .iter()
        .map(|column| {
            let quoted = identifier(&column.name);
            let text = match column.family.as_str() {
                // HEX of a BIT is that of its number.
                "bit" => format!("LPAD(LOWER(HEX({quoted})), {}, '0')", 2 * column.bit_bytes),
                _ if hex.contains(&column.name) => format!("LOWER(HEX({quoted}))"),
                "float" => format!("CAST({quoted}*1e0 AS CHAR)"),
                _ => format!("CONVERT({quoted} USING utf8mb4)"),
            };
            format!("IFNULL({text}, '\\\\N')")
        })
        .collect();
    session.rows(&format!(
        "SELECT {} FROM {table} ORDER BY id",
        cells.join(", ")
    ))
}

#[test]
fn csv_of_every_type_reads_back_equal_through_the_csv_crate() {
    for server in servers() {
        let database = TestDb::new(&server, "csv_crate");
        types::create(&database);
        let run = dump(&database, &["--escape-backslash=false", "-r", "3"]);
        let table = types::TABLE;
        let mut found: Vec<Row> = Vec::new();
        for name in data_files(&run, table) {
            let content = run.read(&name);
            let mut reader = csv::ReaderBuilder::new().from_reader(content.as_slice());
            let header: Vec<String> = reader
                .headers()
                .unwrap()
                .iter()
                .map(str::to_owned)
                .collect();
            let columns = types::stored_columns(&mut database.connect(), table);
            let names: Vec<String> = columns.into_iter().map(|column| column.name).collect();
            assert_eq!(header, names, "{name}");
            for record in reader.byte_records() {
                let record = record.unwrap_or_else(|error| panic!("{name}: {error}"));
                found.push(record.iter().map(|cell| Some(cell.to_vec())).collect());
            }
        }
        let hex = hex_columns(&run, table);
        assert!(hex.len() >= 8, "{hex:?}");
        let expected = expected_rows(&database, table, &hex);
        assert_rows(&found, &expected, &database);
    }
}

#[track_caller]
fn assert_rows(found: &[Row], expected: &[Row], database: &TestDb) {
    let columns = types::stored_columns(&mut database.connect(), types::TABLE);
    assert_eq!(found.len(), expected.len(), "rows");
    for (row, (found, expected)) in found.iter().zip(expected).enumerate() {
        for ((column, found), expected) in columns.iter().zip(found).zip(expected) {
            let text = |cell: &Option<Vec<u8>>| {
                String::from_utf8_lossy(cell.as_deref().unwrap_or_default()).into_owned()
            };
            // A FLOAT's digits say more than the server's text of it, which must only be the same number.
            let number = |cell: &Option<Vec<u8>>| text(cell).parse::<f32>();
            let equal =
                column.family == "float" && number(found).is_ok_and(|n| Ok(n) == number(expected));
            assert!(
                equal || found == expected,
                "{} of row {row} on {:?}:\n{:?}, but the server has\n{:?}",
                column.name,
                database.server().kind(),
                text(found),
                text(expected)
            );
        }
    }
}

/// The statement that README gives people, with UNHEX for the columns that the manifest names.
fn load(session: &mut mysql::Conn, run: &Run, table: &str) {
    let hex = hex_columns(run, table);
    let columns = types::stored_columns(session, table);
    let slots: Vec<String> = columns
        .iter()
        .enumerate()
        .map(|(number, column)| {
            if hex.contains(&column.name) {
                format!("@c{number}")
            } else {
                identifier(&column.name)
            }
        })
        .collect();
    let assignments: Vec<String> = columns
        .iter()
        .enumerate()
        .filter(|(_, column)| hex.contains(&column.name))
        .map(|(number, column)| format!("{} = UNHEX(@c{number})", identifier(&column.name)))
        .collect();
    let set = if assignments.is_empty() {
        String::new()
    } else {
        format!("SET {}", assignments.join(", "))
    };
    for name in data_files(run, table) {
        let content = run.read(&name);
        session.set_local_infile_handler(Some(mysql::LocalInfileHandler::new(move |_, stream| {
            std::io::Write::write_all(stream, &content)
        })));
        session.execute(&format!(
            r#"LOAD DATA LOCAL INFILE 'x' INTO TABLE {} CHARACTER SET utf8mb4
            FIELDS TERMINATED BY ',' OPTIONALLY ENCLOSED BY '"' ESCAPED BY '\\'
            LINES TERMINATED BY '\r\n' IGNORE 1 LINES ({}) {set}"#,
            identifier(table),
            slots.join(", ")
        ));
        // An ENUM's index 0, which no label has, is stored with a warning, and equal.
        let mut warnings = session.rows("SHOW WARNINGS");
        warnings.retain(|warning| warning[1].as_deref() != Some(b"1265"));
        assert!(warnings.is_empty(), "{name}: {warnings:?}");
    }
}

/// A database of the same tables without rows, and the dump's rows loaded into it.
#[track_caller]
fn assert_loads_equal(database: &TestDb, run: &Run, tables: &[&str]) {
    let server = database.server();
    let copy = TestDb::new(server, "csv_copy");
    let mut session = copy.connect();
    session.execute(
        "SET NAMES utf8mb4, time_zone = '+00:00', foreign_key_checks = 0, \
         sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'",
    );
    for table in tables {
        let rows = database.rows(&format!("SHOW CREATE TABLE {}", identifier(table)));
        session.execute(str::from_utf8(rows[0][1].as_ref().unwrap()).unwrap());
        load(&mut session, run, table);
    }
    let found = differences((server, database.name()), (server, copy.name()));
    assert!(
        found.is_empty(),
        "{:?}:\n{}",
        server.kind(),
        found.join("\n")
    );
}

#[test]
fn csv_of_every_type_reads_back_equal_by_load_data() {
    for server in servers() {
        let database = TestDb::new(&server, "csv_load");
        types::create(&database);
        let run = dump(&database, &["-r", "3"]);
        assert_loads_equal(&database, &run, &[types::TABLE]);
    }
}

#[test]
fn csv_of_hard_cases_reads_back_equal_by_load_data() {
    const CASES: [&str; 8] = [
        "bit-columns",
        "csv-quotes-in-values",
        "csv-long-separators",
        "empty-binary-values",
        "geometry",
        "number-extremes",
        "time-beyond-a-day",
        "timestamp-daylight-saving",
    ];
    for server in servers() {
        for case in CASES {
            let database = TestDb::case(&server, case).unwrap();
            let run = dump(&database, &["-r", "5"]);
            let rows = database.rows("SHOW FULL TABLES WHERE Table_type = 'BASE TABLE'");
            let tables: Vec<String> = rows
                .into_iter()
                .map(|row| String::from_utf8(row[0].clone().unwrap()).unwrap())
                .collect();
            let tables: Vec<&str> = tables.iter().map(String::as_str).collect();
            assert_loads_equal(&database, &run, &tables);
        }
    }
}

/// Compression and chunks change nothing in the rows.
#[test]
fn compressed_csv_holds_the_same_rows() {
    let server = Server::mariadb();
    let database = TestDb::new(&server, "csv_small");
    types::create(&database);
    let plain = dump(&database, &["--no-header"]);
    let rows = plain.table_data(database.name(), types::TABLE);
    for arguments in [["-c", "gzip", "-r", "2"], ["-c", "zstd", "-F", "4KiB"]] {
        let run = dump(&database, &[&arguments[..], &["--no-header"]].concat());
        assert!(
            run.table_data(database.name(), types::TABLE) == rows,
            "{arguments:?}"
        );
    }
}
