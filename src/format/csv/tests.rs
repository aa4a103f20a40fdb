//! What the CSV encoder writes, byte by byte, and that readers take it back.

#![allow(clippy::unwrap_used)]

use proptest::prelude::*;

use super::*;
use crate::catalog::ident;
use crate::format::samples::{Cells, KINDS, append, cells, columns, file, rows};

/// Dumpling's defaults: backslashes, and every part plain.
fn options() -> CsvOptions {
    CsvOptions {
        separator: b",".to_vec(),
        delimiter: b"\"".to_vec(),
        null_value: b"\\N".to_vec(),
        line_terminator: b"\n".to_vec(),
        header: true,
        escape_backslash: true,
        binary: CsvBinary::Hex,
    }
}

fn with_parts(separator: &str, delimiter: &str, null_value: &str, terminator: &str) -> CsvOptions {
    CsvOptions {
        separator: separator.into(),
        delimiter: delimiter.into(),
        null_value: null_value.into(),
        line_terminator: terminator.into(),
        ..options()
    }
}

fn doubling(options: CsvOptions) -> CsvOptions {
    CsvOptions {
        escape_backslash: false,
        ..options
    }
}

/// What is written for one cell.
fn written(kind: CellKind, cell: &[u8], options: &CsvOptions) -> String {
    let mut out = Vec::new();
    let mut encoder = CsvEncoder::new(options, &columns(&[kind]));
    let text = append(&mut encoder, &vec![Some(cell.to_vec())], &mut out).text;
    String::from_utf8(out[text].to_vec()).unwrap()
}

#[test]
fn a_file_is_laid_out_as_dumpling_does() {
    let mut encoder = CsvEncoder::new(&options(), &columns(&[CellKind::Number, CellKind::Text]));
    let rows = [cells(&["1", "a \"b\""]), vec![Some(b"2".to_vec()), None]];
    let (out, told) = file(&mut encoder, &rows);
    assert_eq!(out, b"\"a\",\"b\"\n1,\"a \\\"b\\\"\"\n2,\\N\n");
    assert_eq!(&out[told[1].text.clone()], b"2,\\N");
}

#[test]
fn the_header_is_quoted_as_text_is() {
    let header = |options: &CsvOptions| {
        let column = EncodedColumn {
            name: "a\"b,c".to_owned(),
            kind: CellKind::Number,
        };
        let mut out = Vec::new();
        CsvEncoder::new(options, &[column]).begin_file(&mut out);
        String::from_utf8(out).unwrap()
    };
    assert_eq!(header(&options()), "\"a\\\"b,c\"\n");
    assert_eq!(header(&doubling(options())), "\"a\"\"b,c\"\n");
    assert_eq!(header(&with_parts(",", "", "\\N", "\r\n")), "a\"b\\,c\r\n");
    let none = CsvOptions {
        header: false,
        ..options()
    };
    assert_eq!(header(&none), "");
}

#[test]
fn each_kind_is_written_in_its_own_way() {
    let text = |kind, cell: &str| written(kind, cell.as_bytes(), &options());
    assert_eq!(text(CellKind::Number, "-12.50"), "-12.50");
    assert_eq!(text(CellKind::Float, "-0"), "-0");
    assert_eq!(text(CellKind::Plain, "2026-01-02"), "\"2026-01-02\"");
    assert_eq!(text(CellKind::Json, "{\"a\": 1}"), "\"{\\\"a\\\": 1}\"");
    assert_eq!(
        text(CellKind::Text, "\0\r\n\\\"'\x1a\t"),
        "\"\\0\\r\\n\\\\\\\"'\x1a\t\""
    );
    assert_eq!(text(CellKind::Binary, "hé\0"), "\"68c3a900\"");
    assert_eq!(text(CellKind::Binary, ""), "\"\"");
    let text = |binary, cell: &[u8]| {
        let options = CsvOptions {
            binary,
            ..options()
        };
        written(CellKind::Binary, cell, &options)
    };
    assert_eq!(text(CsvBinary::Base64, b"\xff\0"), "\"/wA=\"");
    assert_eq!(text(CsvBinary::Raw, b"a\0\""), "\"a\\0\\\"\"");
}

#[test]
fn doubling_changes_the_delimiter_alone() {
    let text = "a\\\"\r\n'\0,";
    assert_eq!(
        written(CellKind::Text, text.as_bytes(), &doubling(options())),
        "\"a\\\"\"\r\n'\0,\""
    );
    let single = doubling(with_parts(",", "'", "\\N", "\n"));
    assert_eq!(
        written(CellKind::Text, text.as_bytes(), &single),
        "'a\\\"\r\n''\0,'"
    );
}

#[test]
fn without_a_delimiter_the_first_byte_of_a_separator_is_escaped() {
    let options = with_parts("|*|", "", "\\N", "$\n");
    assert_eq!(
        written(CellKind::Text, b"a|*|b*|\"$\n", &options),
        "a\\|*\\|b*\\|\"\\$\\n"
    );
    assert_eq!(written(CellKind::Text, b"\\N", &options), "\\\\N");
    let colon = with_parts(":", "", "\\N", "\n");
    assert_eq!(
        written(CellKind::Plain, b"2026-01-02 03:04:05", &colon),
        "2026-01-02 03\\:04\\:05"
    );
}

#[test]
fn a_text_like_the_null_value_is_not_null() {
    let options = with_parts(",", "\"", "NULL", "\n");
    let mut encoder = CsvEncoder::new(&options, &columns(&[CellKind::Text, CellKind::Binary]));
    let (out, _) = file(&mut encoder, &[cells(&["NULL", ""]), vec![None, None]]);
    assert_eq!(out, b"\"a\",\"b\"\n\"NULL\",\"\"\nNULL,NULL\n");
}

#[test]
fn a_table_of_generated_columns_alone_has_empty_lines() {
    let mut encoder = CsvEncoder::new(&options(), &[]);
    let (out, _) = file(&mut encoder, &[cells(&[""]), cells(&[""])]);
    assert_eq!(out, b"\n\n");
}

/// Reads a file as LOAD DATA does: bytes are looked at one after the other, a terminator is seen where it begins.
struct LoadData<'a> {
    rest: &'a [u8],
    options: &'a CsvOptions,
}

impl LoadData<'_> {
    fn skip(&mut self, text: &[u8]) -> bool {
        let found = self.rest.strip_prefix(text);
        self.rest = found.unwrap_or(self.rest);
        found.is_some()
    }

    /// One cell; `true` beside it at the end of a line.
    fn cell(&mut self) -> Option<(Option<Vec<u8>>, bool)> {
        let delimiter = self.options.delimiter.first().copied();
        let enclosed = delimiter.is_some_and(|byte| self.skip(&[byte]));
        let start = self.rest;
        let mut text = Vec::new();
        loop {
            let raw_len = start.len() - self.rest.len();
            if enclosed && self.ends_quoted() {
                let last = self.ends_cell()?;
                return Some((Some(text), last));
            }
            if !enclosed && let Some(last) = self.ends_cell() {
                let null = start[..raw_len] == self.options.null_value[..];
                return Some(((!null).then_some(text), last));
            }
            text.push(self.byte()?);
        }
    }

    fn ends_cell(&mut self) -> Option<bool> {
        let line = self.skip(&self.options.line_terminator);
        (line || self.skip(&self.options.separator)).then_some(line)
    }

    /// Takes a delimiter that is not doubled.
    fn ends_quoted(&mut self) -> bool {
        let Some(&delimiter) = self.options.delimiter.first() else {
            return false;
        };
        !self.rest.starts_with(&[delimiter; 2]) && self.skip(&[delimiter])
    }

    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.rest.split_first()?;
        self.rest = rest;
        if byte == b'\\' && self.options.escape_backslash {
            let (&escaped, rest) = rest.split_first()?;
            self.rest = rest;
            return Some(match escaped {
                b'0' => 0,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'b' => 8,
                b'Z' => 0x1a,
                other => other,
            });
        }
        // What is left of a doubled delimiter.
        if self.options.delimiter.contains(&byte) {
            self.skip(&[byte]);
        }
        Some(byte)
    }
}

fn load(file: &[u8], options: &CsvOptions) -> Option<Vec<Cells>> {
    let mut reader = LoadData {
        rest: file,
        options,
    };
    let mut rows = Vec::new();
    while !reader.rest.is_empty() {
        let mut row = Vec::new();
        loop {
            let (cell, last) = reader.cell()?;
            row.push(cell);
            if last {
                break;
            }
        }
        rows.push(row);
    }
    Some(rows)
}

/// The values of the cases B101, B103 and B105, and more of their kind.
const HARD_TEXTS: [&str; 34] = [
    "plain",
    "0,00",
    "0,,0",
    "a\"b",
    "\"\"",
    "it's",
    "''",
    "line1\nline2",
    "crlf\r\nend",
    "back\\slash",
    "\\",
    "tab\there",
    "ends with \\",
    "",
    "NULL",
    "\\N",
    "|",
    "|*",
    "*|",
    "|*|",
    "a|*|b",
    "|+|",
    " lead",
    "trail ",
    ",",
    "\",",
    ",\"",
    "#c",
    "=1+1",
    "表 é",
    "a|+",
    "|+|\n",
    "\0\x1a\u{8}",
    "\\\"",
];

#[test]
fn hard_texts_read_back_under_the_options_people_use() {
    let row: Cells = cells(&HARD_TEXTS).into_iter().chain([None]).collect();
    let kinds = vec![CellKind::Text; row.len()];
    // All of these were read back by LOAD DATA on MariaDB 10.11 and 11.8, MySQL 5.6 and 9.7 too.
    for separator in [",", "|*|", "|+|", "\t", ";", " "] {
        for delimiter in ["\"", "'", ""] {
            for terminator in ["\n", "\r\n", "|\n", "$", &format!("{separator}\n")] {
                let options = CsvOptions {
                    header: false,
                    ..with_parts(separator, delimiter, "\\N", terminator)
                };
                assert_eq!(options.validate(), Ok(()));
                let mut encoder = CsvEncoder::new(&options, &columns(&kinds));
                let (out, _) = file(&mut encoder, &[row.clone(), row.clone()]);
                assert_eq!(load(&out, &options), Some(vec![row.clone(), row.clone()]));
            }
        }
    }
}

/// The rows as they read back: binary cells are digits.
fn as_read(rows: &[Cells]) -> Vec<Cells> {
    let mut rows = rows.to_vec();
    for row in &mut rows {
        if let Some(bytes) = &row[5] {
            row[5] = Some(ident::hex(bytes).into_bytes());
        }
    }
    rows
}

fn good_options() -> impl Strategy<Value = CsvOptions> {
    let separator = prop::sample::select(vec![
        ",", "|*|", "|+|", "\t", ";", " ", "||", ":", "¦", "*|",
    ]);
    let delimiter = prop::sample::select(vec!["\"", "'", "", "|", "*"]);
    let null_value = prop::sample::select(vec!["\\N", "NULL", "", "|", "|*", "\\n", "-"]);
    let terminator = prop::sample::select(vec!["\n", "\r\n", "|\n", "|+|\n", ",\r\n", "$", "*"]);
    (separator, delimiter, null_value, terminator, any::<bool>())
        .prop_map(
            |(separator, delimiter, null_value, terminator, escape_backslash)| CsvOptions {
                escape_backslash,
                header: false,
                ..with_parts(separator, delimiter, null_value, terminator)
            },
        )
        .prop_filter("refused", |options| options.validate().is_ok())
}

proptest! {
    #[test]
    fn what_is_written_with_accepted_options_reads_back(rows in rows(), options in good_options()) {
        let (out, _) = file(&mut CsvEncoder::new(&options, &columns(&KINDS)), &rows);
        prop_assert_eq!(load(&out, &options), Some(as_read(&rows)), "{}", String::from_utf8_lossy(&out));
    }

    #[test]
    fn an_rfc_4180_reader_gets_the_same_values(rows in rows(), separator in prop::sample::select(b",;|\t".to_vec())) {
        let options = CsvOptions {
            separator: vec![separator],
            line_terminator: b"\r\n".to_vec(),
            ..doubling(options())
        };
        let (out, _) = file(&mut CsvEncoder::new(&options, &columns(&KINDS)), &rows);
        let mut reader = ::csv::ReaderBuilder::new()
            .delimiter(separator)
            .terminator(::csv::Terminator::CRLF)
            .from_reader(&out[..]);
        prop_assert_eq!(reader.byte_headers().unwrap().iter().collect::<Vec<_>>(), [b"a", b"b", b"c", b"d", b"e", b"f"]);
        let read: Vec<Vec<Vec<u8>>> = reader
            .byte_records()
            .map(|record| record.unwrap().iter().map(<[u8]>::to_vec).collect())
            .collect();
        let written: Vec<Vec<Vec<u8>>> = as_read(&rows)
            .into_iter()
            .map(|row| row.into_iter().map(|cell| cell.unwrap_or(b"\\N".to_vec())).collect())
            .collect();
        prop_assert_eq!(read, written);
    }
}
