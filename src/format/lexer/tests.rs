//! Statements in every disguise, read in pieces of every size.

use std::io::Read;

use super::*;

/// Gives at most so many bytes at a time.
struct Drops<'a>(&'a [u8], usize);

impl Read for Drops<'_> {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let most = self.1.min(into.len());
        (&mut self.0).take(most as u64).read(into)
    }
}

fn statements(text: &[u8]) -> Vec<String> {
    let read = |piece| {
        let mut statements = Statements::new(Drops(text, piece), 1 << 20);
        let mut found = Vec::new();
        while let Some(statement) = statements.next_statement().unwrap() {
            found.push(String::from_utf8_lossy(statement).into_owned());
        }
        found
    };
    let whole = read(usize::MAX);
    for piece in [1, 2, 3, 7] {
        assert_eq!(read(piece), whole, "in pieces of {piece}");
    }
    whole
}

#[test]
fn strings_and_comments_hold_semicolons() {
    let text = br#"-- a;'
SELECT ';', ";", `;`; # b;'
/* c;' */ SELECT 'it''s;', 'a\';', "\";" /* ; */ , 1 -- ;'
, 2;
/*!40101 SET NAMES binary*/;
SELECT 5--1, 6/2;
-- the end"#;
    let expected = [
        "SELECT ';', \";\", `;`",
        "SELECT 'it''s;', 'a\\';', \"\\\";\" /* ; */ , 1 -- ;'\n, 2",
        "/*!40101 SET NAMES binary*/",
        "SELECT 5--1, 6/2",
    ];
    assert_eq!(statements(text), expected);
}

#[test]
fn a_backslash_is_plain_where_the_file_says_so_and_in_names() {
    let text = br"SELECT `\`;SET sql_mode='NO_BACKSLASH_ESCAPES';SELECT '\';/*!40101 SET SQL_MODE=''*/;SELECT '\';'";
    let found = statements(text);
    assert_eq!(found[0], r"SELECT `\`");
    assert_eq!(found[2], r"SELECT '\'");
    assert_eq!(found[4], r"SELECT '\';'");
    assert_eq!(found.len(), 5);
}

#[test]
fn a_delimiter_of_its_own_ends_a_statement_whatever_is_in_it() {
    let text = b"DELIMITER ;;\nCREATE PROCEDURE p() BEGIN SELECT 'it'; END -- don't\n;;\nDELIMITER ;\nSELECT 1;";
    let expected = [
        "CREATE PROCEDURE p() BEGIN SELECT 'it'; END -- don't",
        "SELECT 1",
    ];
    assert_eq!(statements(text), expected);
    assert_eq!(statements(b"delimiters;"), ["delimiters"]);
}

#[test]
fn a_second_byte_that_looks_like_a_backslash_is_none() {
    let text = b"\\C sjis\nCREATE VIEW v AS SELECT '\x83\x5c';\n\\C utf8mb4\nSELECT '\\'';";
    assert_eq!(statements(text).len(), 2);
}

#[test]
fn a_statement_that_is_cut_off_in_a_string_is_an_error() {
    for text in ["SELECT 'a", "SELECT 'a\\", "SELECT \"", "SELECT 1 /* x"] {
        let mut statements = Statements::new(text.as_bytes(), 100);
        let error = statements.next_statement().unwrap_err();
        assert!(
            matches!(error, LexError::Unfinished { number: 1 }),
            "{text}"
        );
    }
    assert_eq!(statements(b"SELECT 1\n"), ["SELECT 1"]);
    assert_eq!(statements(b";;\n ; "), [] as [&str; 0]);
}

#[test]
fn a_statement_beyond_the_limit_is_refused_and_not_held() {
    let endless = std::io::repeat(b'1').take(1 << 30);
    let mut statements = Statements::new(endless, 1 << 20);
    let error = statements.next_statement().unwrap_err();
    assert!(matches!(error, LexError::TooLong { number: 1, .. }));
    assert!(statements.buffer.len() <= 2 << 20);
}
