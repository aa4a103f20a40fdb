//! A table with a column of every type that a server has, and rows at the ends of their ranges.

use mysql::Conn;

use crate::harness::{Kind, Query as _, TestDb, identifier};

pub const TABLE: &str = "every_type";

/// A column that is not generated.
pub struct StoredColumn {
    pub name: String,
    /// Its type without length and attributes.
    pub family: String,
    /// Bytes of a BIT.
    pub bit_bytes: usize,
}

pub fn stored_columns(session: &mut Conn, table: &str) -> Vec<StoredColumn> {
    let text = |cell: &Option<Vec<u8>>| String::from_utf8(cell.clone().unwrap()).unwrap();
    let rows = session.rows(&format!("SHOW COLUMNS FROM {}", identifier(table)));
    let stored = rows.iter().filter(|row| {
        let extra = text(&row[5]);
        let generated = ["VIRTUAL GENERATED", "STORED GENERATED"];
        !generated.iter().any(|word| extra.contains(word))
    });
    stored
        .map(|row| {
            let column_type = text(&row[1]);
            let letters = |c: &char| c.is_ascii_alphabetic();
            let bits = column_type
                .strip_prefix("bit(")
                .and_then(|rest| rest.strip_suffix(')')?.parse::<usize>().ok());
            StoredColumn {
                name: text(&row[0]),
                family: column_type.chars().take_while(letters).collect(),
                bit_bytes: bits.unwrap_or_default().div_ceil(8),
            }
        })
        .collect()
}

/// Type, then values from the least to the most awkward, as SQL.
type Column = (&'static str, &'static [&'static str]);

const COLUMNS: [Column; 38] = [
    ("TINYINT", &["-128", "127"]),
    ("SMALLINT UNSIGNED", &["0", "65535"]),
    ("MEDIUMINT", &["-8388608"]),
    ("INT(6) ZEROFILL", &["42"]),
    ("BIGINT", &["-9223372036854775808", "9223372036854775807"]),
    ("BIGINT UNSIGNED", &["18446744073709551615"]),
    (
        "DECIMAL(65,30)",
        &["-12345678901234567890123456789012345.000000000000000000000000000001"],
    ),
    ("DECIMAL(5,0)", &["0", "-99999"]),
    (
        "FLOAT",
        &["0.1", "16777217", "-1.17549435e-38", "3.4028e38"],
    ),
    (
        "DOUBLE",
        &[
            "0.1",
            "-2.2250738585072014e-308",
            "1.7976931348623157e308",
            "123456789012345678",
        ],
    ),
    ("BIT(1)", &["b'1'", "b'0'"]),
    ("BIT(9)", &["b'100100111'", "b'001011100'"]),
    ("BIT(64)", &["~0", "0x275c220a0d002c00"]),
    (
        "DATE",
        &[
            "'1000-01-01'",
            "'9999-12-31'",
            "'0000-00-00'",
            "'2024-02-31'",
        ],
    ),
    ("TIME", &["'-838:59:59'", "'838:59:59'"]),
    ("TIME(6)", &["'-00:00:00.000001'", "'12:34:56.7'"]),
    (
        "DATETIME",
        &["'9999-12-31 23:59:59'", "'0000-00-00 00:00:00'"],
    ),
    ("DATETIME(6)", &["'2024-03-31 02:30:00.000001'"]),
    (
        "TIMESTAMP",
        &[
            "'1970-01-01 00:00:01'",
            "'2038-01-19 03:14:07'",
            "'2024-10-27 01:30:00'",
        ],
    ),
    ("TIMESTAMP(3)", &["'2024-10-27 00:30:00.123'"]),
    ("YEAR", &["1901", "2155", "0"]),
    ("CHAR(5)", &["'ab'", "''", r"'\\N'"]),
    (
        "VARCHAR(60)",
        &[
            r#"'a,b"c\'d\\e'"#,
            r"'line\nfeed\r\nand\ttab'",
            "'NULL'",
            r"'\\'",
            "'größe 😀'",
        ],
    ),
    ("VARCHAR(20) CHARACTER SET latin1", &["'grün'", "x'809f'"]),
    ("VARCHAR(20) CHARACTER SET utf16", &["'表😀'"]),
    ("VARCHAR(20) CHARACTER SET cp932", &["_cp932 x'835c'"]),
    ("TINYTEXT", &["''", r"'\0nul'"]),
    ("TEXT", &[r#"'"'"#, r#"'""",'"#]),
    ("LONGTEXT", &["REPEAT('0123456789', 20000)"]),
    ("BINARY(4)", &["x'00'", "x'275c220a'"]),
    ("VARBINARY(300)", &["''", "x'5c4e'", "x'000d0aff2c22'"]),
    ("TINYBLOB", &["x'00'"]),
    ("LONGBLOB", &["REPEAT(x'ff', 70000)", "''"]),
    ("ENUM('a','b,c','ü\"')", &["'b,c'", "'ü\"'", "''"]),
    ("SET('x','y\"','ß')", &["'x,y\"'", "''", "'ß'"]),
    (
        "JSON",
        &[
            r#"'{"a": [1, null, "ü\\"\\\\n"], "b": 1.5}'"#,
            "'null'",
            "'18446744073709551615'",
        ],
    ),
    ("POINT", &["ST_GeomFromText('POINT(1 -2.5)')"]),
    (
        "GEOMETRY",
        &["ST_GeomFromText('GEOMETRYCOLLECTION(POINT(1 1),LINESTRING(0 0,1 1))')"],
    ),
];

const MARIADB: [Column; 2] = [
    ("INET6", &["'::1'", "'2001:db8::ff00:42:8329'"]),
    ("UUID", &["'123e4567-e89b-12d3-a456-426655440000'"]),
];
const VECTOR: Column = ("VECTOR(2)", &["x'0000803f000000c0'"]);
const SRID: Column = (
    "POINT SRID 4326",
    &["ST_GeomFromText('POINT(52.5 13.4)', 4326)"],
);

/// Row `n` holds each type's value `n`, or NULL where there are no more.
pub fn create(database: &TestDb) {
    let mut columns = COLUMNS.to_vec();
    match database.server().kind() {
        Kind::MariaDb => columns.extend(MARIADB),
        Kind::MariaDb11 => {
            columns.extend(MARIADB);
            columns.push(VECTOR);
        }
        Kind::MySql => columns.extend([VECTOR, SRID]),
        Kind::MySql56 => {}
    }
    let mut session = database.connect();
    session.execute("SET NAMES utf8mb4, time_zone = '+00:00', sql_mode = 'ALLOW_INVALID_DATES'");
    let definitions: Vec<String> = columns
        .iter()
        .enumerate()
        .map(|(number, (kind, _))| format!("c{number} {kind} NULL"))
        .collect();
    session.execute(&format!(
        "CREATE TABLE {TABLE} (id INT PRIMARY KEY, g INT AS (id * 2) VIRTUAL, {}) \
         ROW_FORMAT=DYNAMIC DEFAULT CHARSET=utf8mb4",
        definitions.join(", ")
    ));
    let names: Vec<String> = (0..columns.len())
        .map(|number| format!("c{number}"))
        .collect();
    let rows = columns
        .iter()
        .map(|(_, values)| values.len())
        .max()
        .unwrap()
        + 1;
    for row in 0..rows {
        let cells: Vec<&str> = columns
            .iter()
            .map(|(_, values)| values.get(row).copied().unwrap_or("NULL"))
            .collect();
        session.execute(&format!(
            "INSERT INTO {TABLE} (id, {}) VALUES ({row}, {})",
            names.join(", "),
            cells.join(", ")
        ));
    }
}
