//! Text in every charset that a server has, with such bytes as it lets in, whether they are characters or not.

use std::fmt::Write as _;

use crate::harness::{Query as _, Rdump, Server, TestDb, assert_round_trip};

/// From one byte to another.
type Range = (u8, u8);

/// Charsets of several bytes: what the first and the second byte of a character may be.
const PAIRS: [(&str, u8, u8, &[Range]); 9] = [
    ("big5", 0xa1, 0xf9, &[(0x40, 0x7e), (0xa1, 0xfe)]),
    ("cp932", 0x81, 0x9f, &[(0x40, 0x7e), (0x80, 0xfc)]),
    ("eucjpms", 0xa1, 0xfe, &[(0xa1, 0xfe)]),
    (
        "euckr",
        0x81,
        0xfe,
        &[(0x41, 0x5a), (0x61, 0x7a), (0x81, 0xfe)],
    ),
    ("gb2312", 0xa1, 0xf7, &[(0xa1, 0xfe)]),
    ("gb18030", 0x81, 0xfe, &[(0x40, 0x7e), (0x80, 0xfe)]),
    ("gbk", 0x81, 0xfe, &[(0x40, 0x7e), (0x80, 0xfe)]),
    ("sjis", 0x81, 0x9f, &[(0x40, 0x7e), (0x80, 0xfc)]),
    ("ujis", 0xa1, 0xfe, &[(0xa1, 0xfe)]),
];

/// What looks wrong in Unicode: lone surrogates, overlong and cut forms, code points beyond the last. Servers take some.
const BROKEN: [&str; 12] = [
    "d800", "dc00d800", "feff", "0000", "ff", "c080", "eda080", "f4908080", "61c3", "e8a1",
    "00110000", "0000d800",
];

fn names(database: &TestDb, condition: &str) -> Vec<String> {
    let sql = format!(
        "SELECT CHARACTER_SET_NAME FROM information_schema.CHARACTER_SETS WHERE {condition} ORDER BY 1"
    );
    let rows = database.rows(&sql);
    let name = |row: &Vec<Option<Vec<u8>>>| String::from_utf8(row[0].clone().unwrap()).unwrap();
    rows.iter().map(name).collect()
}

fn hex(bytes: impl IntoIterator<Item = u8>) -> String {
    let mut digits = String::new();
    for byte in bytes {
        write!(digits, "{byte:02x}").unwrap();
    }
    digits
}

/// A table for each charset. Not strict, so that a value is cut where the server finds it wrong.
fn fill(database: &TestDb) {
    let mut session = database.connect();
    session.execute("SET NAMES utf8mb4, sql_mode = ''");
    let mut add = |charset: &str, values: &[String]| {
        session.execute(&format!(
            "CREATE TABLE `{charset}` (id INT AUTO_INCREMENT PRIMARY KEY, c CHAR(10), v VARCHAR(300), t TEXT) CHARSET={charset}"
        ));
        for value in values {
            session.execute(&format!(
                "INSERT INTO `{charset}` (c, v, t) VALUES (LEFT(x'{value}', 8), x'{value}', x'{value}')"
            ));
        }
    };
    let bytes = [
        hex(0..=255),
        hex((0..=255).rev()),
        hex([0x5c]),
        hex([0x20, 0x27, 0x20]),
    ];
    for charset in names(database, "MAXLEN = 1") {
        add(&charset, &bytes);
    }
    let known = names(database, "MAXLEN > 1");
    for (charset, first, last, seconds) in PAIRS {
        if !known.iter().any(|name| name == charset) {
            continue;
        }
        let pairs = |lead: u8| {
            let second = seconds.iter().flat_map(|(from, to)| *from..=*to);
            hex(second.flat_map(|second| [lead, second]))
        };
        add(charset, &(first..=last).map(pairs).collect::<Vec<_>>());
    }
    let is_unicode = |name: &&String| name.starts_with("utf") || *name == "ucs2";
    for charset in known.iter().filter(is_unicode) {
        let broken = BROKEN.map(str::to_owned);
        add(charset, &broken);
        let text = "'\\\\ \\' \" \\0 \\n \\r \\Z a é 表 \\t😀'";
        session_insert(database, charset, text);
    }
}

fn session_insert(database: &TestDb, charset: &str, text: &str) {
    let mut session = database.connect();
    session.execute("SET NAMES utf8mb4, sql_mode = ''");
    session.execute(&format!(
        "INSERT INTO `{charset}` (v, t) VALUES ({text}, {text})"
    ));
}

#[test]
fn every_byte_of_every_charset_comes_back() {
    for server in Server::all() {
        let database = TestDb::new(&server, "charsets");
        fill(&database);
        for shape in [&["-r", "50"][..], &["--escape-backslash=false"]] {
            let run = Rdump::dump(&server)
                .database(database.name())
                .args(shape)
                .run();
            run.assert_ok();
            assert_round_trip(&run, &database);
        }
    }
}
