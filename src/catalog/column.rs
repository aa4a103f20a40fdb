//! What rdump needs to know of a column.
//!
//! Owns the reading of `information_schema.COLUMNS` rows into [`Column`] and the decision how a column is selected and
//! what kind of text its cells are ([`CellKind`]). How each kind is written it leaves to `format/`.

use super::ident::quote;
use crate::server::rows::ColumnMeta;

/// How the cells of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CellKind {
    /// Digits as the server sent them: integers and DECIMAL.
    Number,
    /// FLOAT and DOUBLE: digits too, but a −0 must not become an integer 0.
    Float,
    /// Text that never needs escaping: dates, times, YEAR.
    Plain,
    /// Text of the column's own charset, to be quoted and escaped.
    Text,
    /// Text whose bytes are written as digits, since the session that inserts it must not speak binary.
    HexText,
    /// Text that must not come from a binary literal: MySQL refuses JSON from one (error 3144), MariaDB takes it for the raw
    /// bytes of INET4, INET6 or UUID and stores NULL, with no more than a warning.
    Json,
    /// Bytes: BINARY, BLOB, BIT, geometry, VECTOR, and every type this program does not know.
    Binary,
}

/// `MYSQL_TYPE_*` of the protocol (MySQL source, include/field_types.h).
mod wire {
    pub const DECIMAL: u8 = 0;
    pub const TINY: u8 = 1;
    pub const SHORT: u8 = 2;
    pub const LONG: u8 = 3;
    pub const FLOAT: u8 = 4;
    pub const DOUBLE: u8 = 5;
    pub const NULL: u8 = 6;
    pub const TIMESTAMP: u8 = 7;
    pub const LONGLONG: u8 = 8;
    pub const INT24: u8 = 9;
    pub const DATE: u8 = 10;
    pub const TIME: u8 = 11;
    pub const DATETIME: u8 = 12;
    pub const YEAR: u8 = 13;
    pub const NEWDATE: u8 = 14;
    pub const VARCHAR: u8 = 15;
    pub const TIMESTAMP2: u8 = 17;
    pub const DATETIME2: u8 = 18;
    pub const TIME2: u8 = 19;
    pub const JSON: u8 = 245;
    pub const NEWDECIMAL: u8 = 246;
    pub const ENUM: u8 = 247;
    pub const SET: u8 = 248;
    pub const TINY_BLOB: u8 = 249;
    pub const BLOB: u8 = 252;
    pub const VAR_STRING: u8 = 253;
    pub const STRING: u8 = 254;
}

/// The flag of unsigned columns. On a string it marks MariaDB's INET4, INET6 and UUID (seen on 10.11 and 11.8).
const UNSIGNED_FLAG: u16 = 32;

/// The collation id of `binary`.
const BINARY_COLLATION: u16 = 63;

impl CellKind {
    /// The kind of a result's column by its metadata, read in a session whose `character_set_results` is NULL, so that the
    /// collation is the column's own.
    pub fn of(column: &ColumnMeta) -> Self {
        match column.wire_type {
            wire::TINY | wire::SHORT | wire::LONG | wire::INT24 | wire::LONGLONG => Self::Number,
            wire::DECIMAL | wire::NEWDECIMAL | wire::NULL => Self::Number,
            wire::FLOAT | wire::DOUBLE => Self::Float,
            wire::TIMESTAMP | wire::DATE | wire::TIME | wire::DATETIME | wire::YEAR => Self::Plain,
            wire::NEWDATE | wire::TIMESTAMP2 | wire::DATETIME2 | wire::TIME2 => Self::Plain,
            wire::JSON => Self::Json,
            wire::STRING if column.flags & UNSIGNED_FLAG != 0 => Self::Json,
            wire::VARCHAR | wire::ENUM | wire::SET | wire::VAR_STRING | wire::STRING
                if column.collation != BINARY_COLLATION =>
            {
                Self::Text
            }
            wire::TINY_BLOB..=wire::BLOB if column.collation != BINARY_COLLATION => Self::Text,
            _ => Self::Binary,
        }
    }
}

/// A column of a base table.
#[derive(Debug, Clone, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // facts that do not depend on each other
pub struct Column {
    /// The name.
    pub name: String,
    /// `DATA_TYPE`: the type's word in lower case, as `bigint`.
    pub data_type: String,
    /// `COLUMN_TYPE`: the type in full, as `enum('a','b')`.
    pub column_type: String,
    /// The charset of a text column; `None` for others.
    pub charset: Option<String>,
    /// Whether an index holds the values in another order than that of comparisons, so that ranges lose rows: CHAR under a
    /// NOPAD collation of MariaDB, which compares `a` before `a\0` and keeps it, padded, after (seen on 10.11 and 11.8).
    pub misordered: bool,
    /// Whether the column may hold NULL.
    pub nullable: bool,
    /// Whether the server computes the value, so that it must not be inserted.
    pub generated: bool,
    /// Whether `SELECT *` leaves the column out.
    pub invisible: bool,
}

impl Column {
    /// Reads name, DATA_TYPE, COLUMN_TYPE, CHARACTER_SET_NAME, IS_NULLABLE, EXTRA and COLLATION_NAME, in that
    /// order.
    pub(super) fn read(mut cell: impl FnMut(usize) -> Option<String>) -> Self {
        let extra = cell(5).unwrap_or_default().to_uppercase();
        // Word by word: DEFAULT_GENERATED marks a mere default (mydumper#273). A column whose EXTRA says so is generated on
        // every server, also the row start and end of MariaDB's system versioning; GENERATION_EXPRESSION is unknown to 5.6.
        let has = |word| extra.split([' ', ',']).any(|w| w == word);
        let data_type = cell(1).unwrap_or_default().to_lowercase();
        let collation = cell(6).unwrap_or_default();
        Self {
            name: cell(0).unwrap_or_default(),
            misordered: data_type == "char" && collation.contains("nopad"),
            data_type,
            column_type: cell(2).unwrap_or_default(),
            charset: cell(3),
            nullable: cell(4).as_deref() == Some("YES"),
            generated: has("VIRTUAL") || has("STORED") || has("PERSISTENT"),
            invisible: has("INVISIBLE"),
        }
    }

    /// Whether the type is an integer, so that ranges can be computed.
    pub fn is_integer(&self) -> bool {
        matches!(
            self.data_type.as_str(),
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint"
        )
    }

    /// Whether two of the values read alike: the empty label of an ENUM or SET reads like no label at all, and servers show a
    /// `?` in labels for each character beyond the basic plane (seen on all four).
    pub fn has_ambiguous_labels(&self) -> bool {
        matches!(self.data_type.as_str(), "enum" | "set")
            && (self.column_type.contains('?') || has_empty_label(&self.column_type))
    }

    /// The expression that reads an ENUM as the number of its label and a SET as the sum of its bits, which is how they are
    /// stored and can be inserted.
    pub fn number_expression(&self) -> String {
        let name = quote(&self.name);
        format!("CAST({name} AS UNSIGNED) AS {name}")
    }

    /// The expression that reads the column without loss. The server prints FLOAT with six digits; multiplied by a double
    /// it prints all of them, and keeps −0 (CAST AS DOUBLE fails on MySQL 5.6, `+0e0` loses −0).
    pub fn select_expression(&self) -> String {
        let name = quote(&self.name);
        if self.data_type == "float" {
            format!("{name}*1e0 AS {name}")
        } else {
            name
        }
    }
}

/// Whether one of the labels in `enum('a','it''s','')` is empty.
fn has_empty_label(column_type: &str) -> bool {
    let mut rest = column_type;
    while let Some(open) = rest.find('\'') {
        let label = &rest[open + 1..];
        let mut end = label.find('\'').unwrap_or(label.len());
        if end == 0 && !label.starts_with("''") {
            return true;
        }
        // A doubled quote is part of the label.
        while label[end..].starts_with("''") {
            let after = end + 2;
            end = label[after..]
                .find('\'')
                .map_or(label.len(), |at| after + at);
        }
        rest = label.get(end + 1..).unwrap_or_default();
    }
    false
}

#[cfg(test)]
mod tests {
    use super::*;

    fn with_extra(extra: &str) -> Column {
        let cells = ["c", "int", "int(11)", "", "YES", extra, ""].map(str::to_owned);
        Column::read(|index| Some(cells[index].clone()))
    }

    #[test]
    fn only_a_computed_column_is_generated() {
        for extra in [
            "VIRTUAL GENERATED",
            "STORED GENERATED",
            "PERSISTENT",
            "STORED GENERATED, INVISIBLE",
        ] {
            assert!(with_extra(extra).generated, "{extra}");
        }
        for extra in [
            "",
            "auto_increment",
            "DEFAULT_GENERATED on update CURRENT_TIMESTAMP(3)",
            "INVISIBLE",
        ] {
            assert!(!with_extra(extra).generated, "{extra}");
        }
    }

    #[test]
    fn an_empty_label_is_found_between_all_others() {
        for (column_type, found) in [
            ("enum('')", true),
            ("enum('a','')", true),
            ("set('','a')", true),
            ("enum('a','','b')", true),
            ("enum('a','it''s')", false),
            ("enum('''','a'',','''''')", false),
            ("enum(''',''','b')", false),
            ("enum(',''','')", true),
        ] {
            assert_eq!(has_empty_label(column_type), found, "{column_type}");
        }
    }

    #[test]
    fn an_invisible_column_is_told_from_a_visible_one() {
        assert!(with_extra("STORED GENERATED, INVISIBLE").invisible);
        assert!(with_extra("auto_increment INVISIBLE").invisible);
        assert!(!with_extra("auto_increment").invisible);
    }

    #[test]
    fn a_network_address_must_not_come_from_a_binary_literal() {
        let kind = |flags| {
            CellKind::of(&ColumnMeta {
                name: b"c".to_vec(),
                wire_type: wire::STRING,
                collation: 8,
                flags,
            })
        };
        // As MariaDB sends an INET6, and a CHAR of a binary collation.
        assert_eq!(kind(UNSIGNED_FLAG | 128), CellKind::Json);
        assert_eq!(kind(128), CellKind::Text);
    }
}
