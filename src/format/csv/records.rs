//! `Records`: the rows of a CSV file, read as a stream.
//!
//! Owns where a row ends: at a terminator that is neither in quotes nor escaped. Memory is bounded by the longest row, and that
//! by a limit. What is in a row it leaves to whoever reads it.

use std::io::{self, Read};

use crate::format::CsvOptions;
use crate::format::lexer::LexError;

const BLOCK_BYTES: usize = 256 << 10;

/// Reads rows.
#[derive(Debug)]
pub struct Records<R> {
    source: R,
    buffer: Vec<u8>,
    start: usize,
    at: usize,
    end: usize,
    ended: bool,
    in_quotes: bool,
    number: u64,
    limit: usize,
    delimiter: Vec<u8>,
    terminator: Vec<u8>,
    escapes: bool,
}

impl<R: Read> Records<R> {
    /// Rows of at most `limit` bytes, a header line among them.
    pub fn new(source: R, options: &CsvOptions, limit: usize) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            start: 0,
            at: 0,
            end: 0,
            ended: false,
            in_quotes: false,
            number: 0,
            limit,
            delimiter: options.delimiter.clone(),
            terminator: options.line_terminator.clone(),
            escapes: options.escape_backslash,
        }
    }

    /// The next row without its terminator; `None` at the end of the file.
    pub fn next_record(&mut self) -> Result<Option<&[u8]>, LexError> {
        loop {
            if let Some(end) = self.scan() {
                let from = self.start;
                self.start = end + self.terminator.len();
                self.at = self.start;
                self.number += 1;
                return Ok(Some(&self.buffer[from..end]));
            }
            if !self.ended {
                self.fill()?;
                continue;
            }
            if self.start == self.end {
                return Ok(None);
            }
            let number = self.number + 1;
            if self.in_quotes {
                return Err(LexError::Unfinished { number });
            }
            // The last row may lack its terminator.
            self.number = number;
            let from = std::mem::replace(&mut self.start, self.end);
            return Ok(Some(&self.buffer[from..self.end]));
        }
    }

    /// The source, at the end of the file.
    pub fn into_source(self) -> R {
        self.source
    }

    /// Goes on to the end of the row; `None` when more bytes are needed.
    fn scan(&mut self) -> Option<usize> {
        // So that a mark is seen whole.
        let ahead = self.delimiter.len().max(self.terminator.len()).max(2);
        while self.at < self.end && (self.ended || self.at + ahead <= self.end) {
            let rest = &self.buffer[self.at..self.end];
            if self.escapes && rest[0] == b'\\' {
                self.at = (self.at + 2).min(self.end);
            } else if !self.delimiter.is_empty() && rest.starts_with(&self.delimiter) {
                // A doubled delimiter ends the quotes and begins them anew.
                self.in_quotes = !self.in_quotes;
                self.at += self.delimiter.len();
            } else if !self.in_quotes && rest.starts_with(&self.terminator) {
                return Some(self.at);
            } else {
                self.at += 1;
            }
        }
        None
    }

    fn fill(&mut self) -> Result<(), LexError> {
        self.buffer.copy_within(self.start..self.end, 0);
        self.end -= self.start;
        self.at -= self.start;
        self.start = 0;
        if self.end >= self.limit {
            let number = self.number + 1;
            let limit = self.limit;
            return Err(LexError::TooLong { number, limit });
        }
        if self.buffer.len() - self.end < BLOCK_BYTES {
            let wanted = (self.buffer.len() * 2).max(self.end + BLOCK_BYTES);
            self.buffer.resize(wanted, 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(LexError::Read(error)),
            }
            return Ok(());
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::format::CsvBinary;

    #[test]
    fn a_row_ends_outside_of_quotes_and_escapes() {
        let options = CsvOptions {
            separator: b",".to_vec(),
            delimiter: b"\"".to_vec(),
            null_value: b"\\N".to_vec(),
            line_terminator: b"\r\n".to_vec(),
            header: true,
            escape_backslash: true,
            binary: CsvBinary::Hex,
        };
        let text = b"1,\"a\r\nb\"\r\n2,\"\\\"\r\n\"\r\n\\N,\"x\"\"y\"";
        let mut records = Records::new(&text[..], &options, 1000);
        let mut rows = Vec::new();
        while let Some(row) = records.next_record().unwrap() {
            rows.push(String::from_utf8(row.to_vec()).unwrap());
        }
        assert_eq!(rows, ["1,\"a\r\nb\"", "2,\"\\\"\r\n\"", "\\N,\"x\"\"y\""]);
        let mut torn = Records::new(&b"1,\"a"[..], &options, 1000);
        assert!(torn.next_record().is_err());
    }
}
