//! Rows as comma-separated values, as Dumpling writes them: text in quotes, numbers and NULL bare.
//!
//! Owns the bytes of CSV files. Two ways of escaping: with the backslash, for `LOAD DATA … ESCAPED BY '\\'`; or by doubled
//! quotes alone, for RFC 4180 readers. A value never holds, raw and outside quotes, a byte that a separator or a terminator
//! begins with, so none can be seen in a value or across its end. Which options keep that true is checked by
//! [`CsvOptions::validate`] (`csv/options.rs`); an encoder may be made only of options that passed. What a column is it leaves
//! to `catalog/column.rs`.

mod cells;
mod options;
mod records;
#[cfg(test)]
mod tests;

pub use cells::{CsvCell, cells};
pub use options::{CsvOptionError, CsvPart};
pub use records::Records;

use super::escape::{BLOCK, Escaper, base64, copy, hex};
use super::{CsvBinary, CsvOptions, Encoded, EncodedColumn, Encoder};
use crate::catalog::column::CellKind;
use crate::server::rows::{Cell, Row};

/// How the cells of a column are written.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Plan {
    /// As they are.
    Bare,
    /// Between delimiters, as they are.
    Quoted,
    /// Between delimiters, escaped.
    Text,
    /// Between delimiters, as hex digits.
    Hex,
    /// Between delimiters, in base64.
    Base64,
}

/// A short text that stands between cells, with so much slack that it is copied as fast as a short cell.
#[derive(Debug)]
struct Mark {
    padded: Vec<u8>,
    len: usize,
}

impl Mark {
    fn new(text: &[u8]) -> Self {
        let mut padded = text.to_vec();
        padded.extend_from_slice(&[0; BLOCK]);
        Self {
            padded,
            len: text.len(),
        }
    }

    #[inline]
    fn append_to(&self, out: &mut Vec<u8>) {
        copy(Cell::new(&self.padded, self.len), out);
    }
}

/// Writes one table's rows.
#[derive(Debug)]
pub struct CsvEncoder {
    header: Vec<u8>,
    plans: Vec<Plan>,
    escaper: Escaper,
    separator: Mark,
    delimiter: Mark,
    null_value: Mark,
    line_terminator: Mark,
}

impl CsvEncoder {
    /// An encoder for rows of `columns`. The options must have passed [`CsvOptions::validate`].
    pub fn new(options: &CsvOptions, columns: &[EncodedColumn]) -> Self {
        let escaper = options.escaper();
        // Dates need no escape, unless a separator is made of what they are made of.
        let plain = if b"0123456789-:. ".iter().any(|&byte| escaper.escapes(byte)) {
            Plan::Text
        } else {
            Plan::Quoted
        };
        let plan_of = |column: &EncodedColumn| match column.kind {
            // A negative zero stays as it is: LOAD DATA reads a cell as text and keeps the sign.
            CellKind::Number | CellKind::Float => Plan::Bare,
            CellKind::Plain => plain,
            CellKind::Text | CellKind::HexText | CellKind::Json => Plan::Text,
            CellKind::Binary => match options.binary {
                CsvBinary::Hex => Plan::Hex,
                CsvBinary::Base64 => Plan::Base64,
                CsvBinary::Raw => Plan::Text,
            },
        };
        let mut encoder = Self {
            header: Vec::new(),
            plans: columns.iter().map(plan_of).collect(),
            escaper,
            separator: Mark::new(&options.separator),
            delimiter: Mark::new(&options.delimiter),
            null_value: Mark::new(&options.null_value),
            line_terminator: Mark::new(&options.line_terminator),
        };
        if options.header && !columns.is_empty() {
            encoder.header = encoder.header_line(columns);
        }
        encoder
    }

    fn header_line(&self, columns: &[EncodedColumn]) -> Vec<u8> {
        let mut line = Vec::new();
        for (index, column) in columns.iter().enumerate() {
            if index > 0 {
                self.separator.append_to(&mut line);
            }
            self.write_quoted(Plan::Text, column.name.as_bytes().into(), &mut line);
        }
        self.line_terminator.append_to(&mut line);
        line
    }

    fn write_quoted(&self, plan: Plan, cell: Cell<'_>, out: &mut Vec<u8>) {
        self.delimiter.append_to(out);
        match plan {
            Plan::Bare | Plan::Quoted => copy(cell, out),
            Plan::Text => self.escaper.escape(cell, out),
            Plan::Hex => hex(cell.bytes(), out),
            Plan::Base64 => base64(cell.bytes(), out),
        }
        self.delimiter.append_to(out);
    }
}

impl Encoder for CsvEncoder {
    fn begin_file(&mut self, out: &mut Vec<u8>) {
        out.extend_from_slice(&self.header);
    }

    fn row(&mut self, row: &Row<'_>, out: &mut Vec<u8>) -> Encoded {
        debug_assert!(row.len() >= self.plans.len(), "a row lacks cells");
        let start = out.len();
        for (index, (plan, cell)) in self.plans.iter().zip(row.cells_ahead()).enumerate() {
            if index > 0 {
                self.separator.append_to(out);
            }
            match cell {
                Some(cell) if *plan == Plan::Bare => copy(cell, out),
                Some(cell) => self.write_quoted(*plan, cell, out),
                None => self.null_value.append_to(out),
            }
        }
        let text = start..out.len();
        self.line_terminator.append_to(out);
        Encoded {
            text,
            oversized: false,
        }
    }

    fn end_file(&mut self, _out: &mut Vec<u8>) {}
}
