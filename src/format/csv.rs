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

use super::escape::{BLOCK, Escaper, append_prefix, base64, copy, hex};
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

/// A text that stands beside cells; a short one is appended by one store of fixed size.
#[derive(Debug)]
struct Mark {
    text: Vec<u8>,
    block: [u8; BLOCK],
}

impl Mark {
    fn new(text: Vec<u8>) -> Self {
        let mut block = [0; BLOCK];
        for (place, byte) in block.iter_mut().zip(&text) {
            *place = *byte;
        }
        Self { text, block }
    }

    #[inline]
    fn append_to(&self, out: &mut Vec<u8>) {
        if self.text.len() <= BLOCK {
            append_prefix(&self.block, self.text.len(), out);
        } else {
            out.extend_from_slice(&self.text);
        }
    }
}

/// What stands behind a cell, up to the next one or the end of the line.
#[derive(Debug)]
struct Ends {
    /// Behind a bare value.
    bare: Mark,
    /// Behind a quoted one.
    quoted: Mark,
    /// In place of NULL.
    null: Mark,
}

impl Ends {
    fn new(options: &CsvOptions, end: &[u8]) -> Self {
        Self {
            bare: Mark::new(end.to_vec()),
            quoted: Mark::new([&options.delimiter, end].concat()),
            null: Mark::new([&options.null_value, end].concat()),
        }
    }
}

/// Writes one table's rows.
#[derive(Debug)]
pub struct CsvEncoder {
    header: Vec<u8>,
    plans: Vec<Plan>,
    escaper: Escaper,
    delimiter: Mark,
    /// Behind every cell but the last.
    between: Ends,
    /// Behind the last cell.
    last: Ends,
    terminator_len: usize,
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
            delimiter: Mark::new(options.delimiter.clone()),
            between: Ends::new(options, &options.separator),
            last: Ends::new(options, &options.line_terminator),
            terminator_len: options.line_terminator.len(),
        };
        if options.header && !columns.is_empty() {
            encoder.header = encoder.header_line(columns);
        }
        encoder
    }

    fn header_line(&self, columns: &[EncodedColumn]) -> Vec<u8> {
        let mut line = Vec::new();
        for (index, column) in columns.iter().enumerate() {
            let ends = self.ends(index);
            self.write_quoted(Plan::Text, column.name.as_bytes().into(), ends, &mut line);
        }
        line
    }

    #[inline]
    fn ends(&self, index: usize) -> &Ends {
        if index + 1 < self.plans.len() {
            &self.between
        } else {
            &self.last
        }
    }

    #[inline]
    fn write_quoted(&self, plan: Plan, cell: Cell<'_>, ends: &Ends, out: &mut Vec<u8>) {
        self.delimiter.append_to(out);
        match plan {
            Plan::Bare | Plan::Quoted => copy(cell, out),
            Plan::Text => self.escaper.escape(cell, out),
            Plan::Hex => hex(cell.bytes(), out),
            Plan::Base64 => base64(cell.bytes(), out),
        }
        ends.quoted.append_to(out);
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
            let ends = self.ends(index);
            match cell {
                Some(cell) if *plan == Plan::Bare => {
                    copy(cell, out);
                    ends.bare.append_to(out);
                }
                Some(cell) => self.write_quoted(*plan, cell, ends, out),
                None => ends.null.append_to(out),
            }
        }
        if self.plans.is_empty() {
            self.last.bare.append_to(out);
        }
        let text = start..out.len() - self.terminator_len;
        Encoded {
            text,
            oversized: false,
        }
    }

    fn end_file(&mut self, _out: &mut Vec<u8>) {}
}
