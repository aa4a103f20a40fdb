//! `Rows`: the rows of an INSERT.
//!
//! Owns where each row's brackets are, strings passed over. That is what a row's hash covers.

use std::ops::Range;

/// The places of the rows of one statement.
#[derive(Debug, Clone)]
pub struct Rows<'a> {
    sql: &'a [u8],
    at: usize,
    backslash_escapes: bool,
}

impl<'a> Rows<'a> {
    /// The rows of `sql`, of which the first begins at `rows_at`.
    pub fn new(sql: &'a [u8], rows_at: usize, backslash_escapes: bool) -> Self {
        Self {
            sql,
            at: rows_at,
            backslash_escapes,
        }
    }

    /// Passes over a string whose first quote was at `at - 1`.
    fn skip_text(&mut self, quote: u8) {
        let escapes = self.backslash_escapes && quote != b'`';
        loop {
            let ahead = self.sql.get(self.at..).unwrap_or_default();
            let found = if escapes {
                memchr::memchr2(quote, b'\\', ahead)
            } else {
                memchr::memchr(quote, ahead)
            };
            let Some(skip) = found else {
                self.at = self.sql.len();
                return;
            };
            let is_end = ahead[skip] == quote;
            self.at += skip + if is_end { 1 } else { 2 };
            if is_end {
                return;
            }
        }
    }
}

impl Iterator for Rows<'_> {
    type Item = Range<usize>;

    fn next(&mut self) -> Option<Range<usize>> {
        let mut depth = 0_usize;
        let mut start = self.at;
        loop {
            let ahead = self.sql.get(self.at..)?;
            let skip = ahead.iter().position(|byte| STOPS[*byte as usize])?;
            let at = self.at + skip;
            self.at = at + 1;
            match self.sql[at] {
                b'(' => {
                    if depth == 0 {
                        start = at;
                    }
                    depth += 1;
                }
                b')' if depth <= 1 => return Some(start..self.at),
                b')' => depth -= 1,
                quote => self.skip_text(quote),
            }
        }
    }
}

const STOPS: [bool; 256] = {
    let mut stops = [false; 256];
    stops[b'(' as usize] = true;
    stops[b')' as usize] = true;
    stops[b'\'' as usize] = true;
    stops[b'"' as usize] = true;
    stops[b'`' as usize] = true;
    stops
};
