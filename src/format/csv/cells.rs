//! The cells of a CSV row, taken apart again.
//!
//! Owns the reverse of what the encoder does: quotes taken off, escapes undone, NULL told from text that looks like it by the
//! quotes that text has.

use crate::format::CsvOptions;

/// A cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CsvCell {
    /// SQL NULL.
    Null,
    /// A value that stood without quotes.
    Bare(Vec<u8>),
    /// A value in quotes.
    Quoted(Vec<u8>),
}

/// The cells of a row.
pub fn cells(row: &[u8], options: &CsvOptions) -> Vec<CsvCell> {
    let mut found = Vec::new();
    let mut at = 0;
    loop {
        let (cell, next) = cell(row, at, options);
        found.push(cell);
        match next {
            Some(next) => at = next,
            None => return found,
        }
    }
}

/// The cell that begins at `at`, and where the next one begins.
fn cell(row: &[u8], start: usize, options: &CsvOptions) -> (CsvCell, Option<usize>) {
    let CsvOptions {
        separator,
        delimiter,
        null_value,
        escape_backslash,
        ..
    } = options;
    let mut value = Vec::new();
    let mut at = start;
    let quoted = !delimiter.is_empty() && row[at..].starts_with(delimiter);
    if quoted {
        at += delimiter.len();
    }
    let mut inside = quoted;
    while at < row.len() {
        let rest = &row[at..];
        if *escape_backslash && rest[0] == b'\\' && (inside || !rest.starts_with(null_value)) {
            value.extend(rest.get(1).map(|byte| unescaped(*byte)));
            at += 2;
        } else if inside && rest.starts_with(delimiter) {
            at += delimiter.len();
            if row[at..].starts_with(delimiter) {
                value.extend_from_slice(delimiter);
                at += delimiter.len();
            } else {
                inside = false;
            }
        } else if !inside && rest.starts_with(separator) {
            let raw = &row[start..at];
            return (
                finish(value, raw, quoted, null_value),
                Some(at + separator.len()),
            );
        } else {
            value.push(rest[0]);
            at += 1;
        }
    }
    let raw = &row[start..];
    (finish(value, raw, quoted, null_value), None)
}

fn finish(value: Vec<u8>, raw: &[u8], quoted: bool, null_value: &[u8]) -> CsvCell {
    if quoted {
        CsvCell::Quoted(value)
    } else if raw == null_value {
        CsvCell::Null
    } else {
        CsvCell::Bare(value)
    }
}

/// What a byte behind a backslash means (MySQL manual, LOAD DATA).
fn unescaped(byte: u8) -> u8 {
    match byte {
        b'0' => 0,
        b'b' => 8,
        b'n' => b'\n',
        b'r' => b'\r',
        b't' => b'\t',
        b'Z' => 26,
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bare(text: &str) -> CsvCell {
        CsvCell::Bare(text.as_bytes().to_vec())
    }

    fn quoted(text: &str) -> CsvCell {
        CsvCell::Quoted(text.as_bytes().to_vec())
    }

    #[test]
    fn quotes_and_escapes_are_undone_and_null_is_bare() {
        let options = CsvOptions::default();
        let row = br#"1,\N,"\\N","a\"b""c,",,"\n""#;
        let expected = [
            bare("1"),
            CsvCell::Null,
            quoted("\\N"),
            quoted("a\"b\"c,"),
            bare(""),
            quoted("\n"),
        ];
        assert_eq!(cells(row, &options), expected);
    }

    #[test]
    fn marks_of_several_bytes_are_marks() {
        let options = CsvOptions {
            separator: b"||".to_vec(),
            delimiter: Vec::new(),
            null_value: b"NULL".to_vec(),
            ..CsvOptions::default()
        };
        let expected = [bare("a|b"), CsvCell::Null, bare("c||")];
        assert_eq!(cells(br"a|b||NULL||c\|\|", &options), expected);
    }

    #[test]
    fn without_backslashes_only_quotes_are_doubled() {
        let options = CsvOptions {
            escape_backslash: false,
            ..CsvOptions::default()
        };
        assert_eq!(
            cells(br#""a\""b",\N"#, &options),
            [quoted("a\\\"b"), CsvCell::Null]
        );
    }
}
