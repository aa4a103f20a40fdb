//! A row as text: the formats rdump writes.
//!
//! Owns what all formats share: the options, the [`Encoder`] trait, the choice of an encoder. `sql.rs` and `csv.rs` hold one
//! format each, `escape.rs` the byte work they share. Encoders append to a buffer and do no I/O; where the bytes go, and
//! when a file is full, they leave to `dump/pipe.rs`.

pub mod csv;
pub mod escape;
pub mod lexer;
#[cfg(test)]
mod samples;
pub mod sql;
pub mod statement;

use std::ops::Range;

use crate::catalog::column::CellKind;
use crate::server::rows::Row;

/// Which format, with its options.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Format {
    /// INSERT statements.
    Sql(SqlOptions),
    /// Comma-separated values.
    Csv(CsvOptions),
}

/// Options of the SQL format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SqlOptions {
    /// Bytes after which a statement ends, tested after each row (Dumpling's `--statement-size`).
    pub statement_size_bytes: u64,
    /// Whether a backslash escapes in strings; else quotes are doubled and the file sets NO_BACKSLASH_ESCAPES.
    pub escape_backslash: bool,
    /// Whether every INSERT names its columns.
    pub complete_insert: bool,
    /// Whether there are past versions of rows, which a session takes only when told to.
    pub history: bool,
}

/// How CSV writes bytes that are no text.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CsvBinary {
    /// Lower-case hex digits.
    Hex,
    /// Base64 with padding (RFC 4648 section 4).
    Base64,
    /// The bytes themselves, quoted and escaped as text: Dumpling's way.
    Raw,
}

/// Options of the CSV format.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CsvOptions {
    /// Between two cells.
    pub separator: Vec<u8>,
    /// Around text; empty for none.
    pub delimiter: Vec<u8>,
    /// Written bare for NULL.
    pub null_value: Vec<u8>,
    /// After each row.
    pub line_terminator: Vec<u8>,
    /// Whether the first line names the columns.
    pub header: bool,
    /// Whether a backslash escapes; else the delimiter is doubled.
    pub escape_backslash: bool,
    /// How bytes are written.
    pub binary: CsvBinary,
}

/// Dumpling's CSV, but for binary values.
impl Default for CsvOptions {
    fn default() -> Self {
        Self {
            separator: b",".to_vec(),
            delimiter: b"\"".to_vec(),
            null_value: br"\N".to_vec(),
            line_terminator: b"\r\n".to_vec(),
            header: true,
            escape_backslash: true,
            binary: CsvBinary::Hex,
        }
    }
}

/// A column as an encoder sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct EncodedColumn {
    /// The column's name.
    pub name: String,
    /// How its cells are written.
    pub kind: CellKind,
}

impl EncodedColumn {
    /// The column written in a way that a session of any charset reads alike.
    #[must_use]
    pub fn as_hex_text(self) -> Self {
        let kind = match self.kind {
            CellKind::Text => CellKind::HexText,
            kind => kind,
        };
        Self { kind, ..self }
    }
}

/// What [`Encoder::row`] did.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Encoded {
    /// The row's own text in the buffer, without the separators around it: what the digest of the rows covers.
    pub text: Range<usize>,
    /// Whether the row's statement is longer than the server it came from would take.
    pub oversized: bool,
}

/// Turns rows into the text of a file. One encoder writes the files of one chunk, one after the other.
pub trait Encoder: Send {
    /// Appends what stands at the head of every file.
    fn begin_file(&mut self, out: &mut Vec<u8>);

    /// Appends one row; its cells are those of the columns the encoder was made for.
    fn row(&mut self, row: &Row<'_>, out: &mut Vec<u8>) -> Encoded;

    /// Appends what closes the file; after it only [`Encoder::begin_file`] may follow.
    fn end_file(&mut self, out: &mut Vec<u8>);
}

impl Format {
    /// An encoder for one table or result.
    ///
    /// `name_columns` says that an INSERT needs its column list; `max_allowed_packet` is the source server's, in bytes.
    pub fn encoder(
        &self,
        table: &str,
        columns: Vec<EncodedColumn>,
        name_columns: bool,
        max_allowed_packet: u64,
    ) -> Box<dyn Encoder> {
        match self {
            Self::Sql(options) => Box::new(sql::SqlEncoder::new(
                options,
                table,
                columns,
                name_columns,
                max_allowed_packet,
            )),
            Self::Csv(options) => Box::new(csv::CsvEncoder::new(options, &columns)),
        }
    }

    /// The ending of a data file's name, without a dot.
    pub fn extension(&self) -> &'static str {
        match self {
            Self::Sql(_) => "sql",
            Self::Csv(_) => "csv",
        }
    }
}
