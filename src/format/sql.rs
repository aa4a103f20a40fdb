//! Rows as INSERT statements, in Dumpling's layout.
//!
//! Owns the bytes of SQL data files: the head that makes a file load alone in any session, the statements and where they
//! end, how each kind of value is written. A statement never grows beyond what the source's `max_allowed_packet` let in,
//! unless a single row does. Text is the column's own bytes, so a session reads the file under `SET NAMES binary`. Which
//! kind a column is it leaves to `catalog/column.rs`, when a file ends to `dump/pipe.rs`.

use std::ops::Range;

use super::escape::{Escaper, copy, hex};
use super::{Encoded, EncodedColumn, Encoder, SqlOptions};
use crate::catalog::column::CellKind;
use crate::catalog::ident::quote;
use crate::server::rows::{Cell, Row};

#[cfg(test)]
mod tests;

/// Between two rows of a statement.
const ROW_SEPARATOR: &[u8] = b",\n";

/// After the last row of a statement.
const STATEMENT_END: &[u8] = b";\n";

/// Around a value that must not come from a binary literal. Lightning knows these words, as mydumper writes them, and skips
/// them; the shorter `_utf8mb4'…'` it would take for two values.
const JSON_OPEN: &[u8] = b"CONVERT('";
const JSON_CLOSE: &[u8] = b" USING UTF8MB4)";

/// How the bytes of [`CellKind::Binary`] are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BinaryForm {
    /// `x'…'`: readable by anything, twice as long as the value.
    Hex,
    /// `_binary'…'`: escaped, for a row that would be too long otherwise.
    Escaped,
}

/// Writes one table's rows.
#[derive(Debug)]
pub struct SqlEncoder {
    file_head: Vec<u8>,
    statement_head: Vec<u8>,
    kinds: Vec<CellKind>,
    escaper: Escaper,
    /// A statement this long ends after the row.
    statement_size_bytes: usize,
    /// No statement is to be longer, its `;` not counted.
    longest_statement_bytes: usize,
    /// Length of the running statement, its end not counted; `None` between statements.
    running_bytes: Option<usize>,
}

impl SqlEncoder {
    /// An encoder for rows of `columns`, to be inserted into `table`.
    ///
    /// `name_columns` asks for a column list even without `complete_insert`. `max_allowed_packet` is the source server's, in
    /// bytes. A `statement_size_bytes` of 0 sets no limit, as in Dumpling.
    pub fn new(
        options: &SqlOptions,
        table: &str,
        columns: Vec<EncodedColumn>,
        name_columns: bool,
        max_allowed_packet: u64,
    ) -> Self {
        let name_columns = name_columns || options.complete_insert;
        Self {
            file_head: file_head(options, charset_of(&columns)),
            statement_head: statement_head(table, &columns, name_columns),
            kinds: columns.into_iter().map(|column| column.kind).collect(),
            escaper: if options.escape_backslash {
                Escaper::sql()
            } else {
                Escaper::doubling(b'\'')
            },
            statement_size_bytes: match options.statement_size_bytes {
                0 => usize::MAX,
                size => usize::try_from(size).unwrap_or(usize::MAX),
            },
            // A packet holds a command byte before the statement, and must be shorter than the limit.
            longest_statement_bytes: usize::try_from(max_allowed_packet.saturating_sub(2))
                .unwrap_or(usize::MAX),
            running_bytes: None,
        }
    }

    /// Appends the row, in the running statement or at the head of a new one. Returns the place of its text.
    #[inline]
    fn append_row(&mut self, row: &Row<'_>, binary: BinaryForm, out: &mut Vec<u8>) -> Range<usize> {
        let start = out.len();
        let before = if let Some(bytes) = self.running_bytes {
            out.extend_from_slice(ROW_SEPARATOR);
            bytes
        } else {
            out.extend_from_slice(&self.statement_head);
            0
        };
        let text_start = out.len();
        self.write_row(row, binary, out);
        self.running_bytes = Some(before + (out.len() - start));
        text_start..out.len()
    }

    /// Appends the row's `(…)`.
    #[inline]
    fn write_row(&self, row: &Row<'_>, binary: BinaryForm, out: &mut Vec<u8>) {
        debug_assert!(row.len() >= self.kinds.len(), "a row lacks cells");
        let mut lead = b'(';
        for (kind, cell) in self.kinds.iter().zip(row.cells_ahead()) {
            out.push(lead);
            lead = b',';
            match cell {
                // Said here too, ahead of the call: half of all cells are numbers.
                Some(cell) if *kind == CellKind::Number => copy(cell, out),
                Some(cell) => self.write_cell(*kind, cell, binary, out),
                None => out.extend_from_slice(b"NULL"),
            }
        }
        if self.kinds.is_empty() {
            out.push(lead);
        }
        out.push(b')');
    }

    fn write_cell(&self, kind: CellKind, cell: Cell<'_>, binary: BinaryForm, out: &mut Vec<u8>) {
        match kind {
            CellKind::Float if is_negative_zero(cell.bytes()) => out.extend_from_slice(b"-0e0"),
            CellKind::Number | CellKind::Float => copy(cell, out),
            CellKind::Plain => {
                out.push(b'\'');
                copy(cell, out);
                out.push(b'\'');
            }
            CellKind::Text => self.write_text(b"'", cell, out),
            CellKind::Json => {
                self.write_text(JSON_OPEN, cell, out);
                out.extend_from_slice(JSON_CLOSE);
            }
            CellKind::Binary | CellKind::HexText if binary == BinaryForm::Escaped => {
                self.write_text(b"_binary'", cell, out);
            }
            CellKind::Binary | CellKind::HexText => {
                out.extend_from_slice(b"x'");
                hex(cell.bytes(), out);
                out.push(b'\'');
            }
        }
    }

    #[inline]
    fn write_text(&self, open: &[u8], text: Cell<'_>, out: &mut Vec<u8>) {
        out.extend_from_slice(open);
        self.escaper.escape(text, out);
        out.push(b'\'');
    }

    /// Whether the running statement is longer than the source would take.
    fn too_long(&self) -> bool {
        self.running_bytes > Some(self.longest_statement_bytes)
    }

    fn end_statement(&mut self, out: &mut Vec<u8>) {
        if self.running_bytes.take().is_some() {
            out.extend_from_slice(STATEMENT_END);
        }
    }

    /// Writes again, from `start`, a row that made the running statement too long.
    #[cold]
    fn rewrite_row(
        &mut self,
        row: &Row<'_>,
        start: usize,
        running_before: Option<usize>,
        out: &mut Vec<u8>,
    ) -> Encoded {
        out.truncate(start);
        self.running_bytes = running_before;
        self.end_statement(out);
        let statement_start = out.len();
        let mut text = self.append_row(row, BinaryForm::Hex, out);
        let alone = self.too_long();
        let is_hex = |kind: &CellKind| matches!(kind, CellKind::Binary | CellKind::HexText);
        if alone && self.kinds.iter().any(is_hex) {
            out.truncate(statement_start);
            self.running_bytes = None;
            text = self.append_row(row, BinaryForm::Escaped, out);
        }
        let oversized = self.too_long();
        if alone {
            self.end_statement(out);
        }
        Encoded { text, oversized }
    }
}

impl Encoder for SqlEncoder {
    fn begin_file(&mut self, out: &mut Vec<u8>) {
        self.running_bytes = None;
        out.extend_from_slice(&self.file_head);
    }

    fn row(&mut self, row: &Row<'_>, out: &mut Vec<u8>) -> Encoded {
        let start = out.len();
        let running_before = self.running_bytes;
        let mut encoded = Encoded {
            text: self.append_row(row, BinaryForm::Hex, out),
            oversized: false,
        };
        if self.too_long() {
            encoded = self.rewrite_row(row, start, running_before, out);
        }
        // Counted with the two bytes that follow the row, as Dumpling does, so that both cut at the same rows.
        if self
            .running_bytes
            .is_some_and(|bytes| bytes + STATEMENT_END.len() >= self.statement_size_bytes)
        {
            self.end_statement(out);
        }
        encoded
    }

    fn end_file(&mut self, out: &mut Vec<u8>) {
        self.end_statement(out);
    }
}

/// What the session speaks that inserts these columns.
fn charset_of(columns: &[EncodedColumn]) -> &'static str {
    let mut columns = columns.iter();
    if columns.any(|column| column.kind == CellKind::HexText) {
        "utf8mb4"
    } else {
        "binary"
    }
}

/// The settings a session needs to read the file as it was written. They are comments with a version, which Lightning
/// skips. The `sql_mode` is not strict: ENUM values of index 0 and zero dates would be refused.
fn file_head(options: &SqlOptions, charset: &str) -> Vec<u8> {
    let history = if options.history {
        "/*M!101100 SET system_versioning_insert_history=1*/;\n"
    } else {
        ""
    };
    let no_backslash = if options.escape_backslash {
        ""
    } else {
        ",NO_BACKSLASH_ESCAPES"
    };
    format!(
        "/*!40101 SET NAMES {charset}*/;\n\
         /*!40014 SET FOREIGN_KEY_CHECKS=0*/;\n\
         /*!40103 SET TIME_ZONE='+00:00'*/;\n\
         /*!40101 SET SQL_MODE='NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES{no_backslash}'*/;\n{history}"
    )
    .into_bytes()
}

/// `INSERT INTO … VALUES` and the end of its line.
fn statement_head(table: &str, columns: &[EncodedColumn], name_columns: bool) -> Vec<u8> {
    let table = quote(table);
    if !name_columns || columns.is_empty() {
        return format!("INSERT INTO {table} VALUES\n").into_bytes();
    }
    let names: Vec<String> = columns.iter().map(|column| quote(&column.name)).collect();
    format!("INSERT INTO {table} ({}) VALUES\n", names.join(",")).into_bytes()
}

/// Whether the text is a negative zero: it would be read as DECIMAL 0 and lose its sign.
#[inline]
fn is_negative_zero(number: &[u8]) -> bool {
    number.first() == Some(&b'-')
        && number[1..]
            .iter()
            .take_while(|byte| !matches!(byte, b'e' | b'E'))
            .all(|byte| matches!(byte, b'0' | b'.'))
}
