//! Whether the rows of an INSERT are literals: that nothing but values is in them, no function, no query, no variable.
//!
//! Owns the list of words that a dump's rows may have outside of strings.

/// What dumps write beside numbers and strings. `X` and `B` stand before strings of digits.
const WORDS: [&[u8]; 10] = [
    b"NULL", b"X", b"B", b"N", b"CONVERT", b"USING", b"UTF8MB4", b"TRUE", b"FALSE", b"DEFAULT",
];

/// The place of the first thing behind `rows_at` that is no literal.
pub fn first_foreign(sql: &[u8], rows_at: usize, backslash_escapes: bool) -> Option<usize> {
    let mut at = rows_at;
    loop {
        let ahead = sql.get(at..)?;
        let skip = ahead.iter().position(|byte| STOPS[*byte as usize])?;
        at += skip;
        match sql[at] {
            // mydumper's strings are in double quotes.
            quote @ (b'\'' | b'"') => at = text_end(sql, at + 1, quote, backslash_escapes),
            byte if byte.is_ascii_alphabetic() || byte == b'_' => {
                let len = sql[at..]
                    .iter()
                    .take_while(|byte| byte.is_ascii_alphanumeric() || **byte == b'_')
                    .count();
                let word = &sql[at..at + len];
                let follows_digit = at
                    .checked_sub(1)
                    .is_some_and(|before| matches!(sql[before], b'0'..=b'9' | b'.'));
                if !is_known(word, sql.get(at + len).copied(), follows_digit) {
                    return Some(at);
                }
                at += len;
            }
            _ => return Some(at),
        }
    }
}

fn is_known(word: &[u8], next: Option<u8>, follows_digit: bool) -> bool {
    if follows_digit {
        // `1e5`, `1e-5`, `0xff`.
        let rest = &word[1..];
        return match word[0] {
            b'e' | b'E' => rest.iter().all(u8::is_ascii_digit),
            b'x' | b'X' => rest.iter().all(u8::is_ascii_hexdigit),
            _ => false,
        };
    }
    // A charset stands right before its string, or before the `x` of one.
    let is_charset = word[0] == b'_' && matches!(next, Some(b'\'' | b' '));
    is_charset || WORDS.iter().any(|known| known.eq_ignore_ascii_case(word))
}

/// Behind the end quote of a string; a doubled quote ends it and begins the next one.
fn text_end(sql: &[u8], mut at: usize, quote: u8, escapes: bool) -> usize {
    loop {
        let ahead = sql.get(at..).unwrap_or_default();
        let found = if escapes {
            memchr::memchr2(quote, b'\\', ahead)
        } else {
            memchr::memchr(quote, ahead)
        };
        match found {
            None => return sql.len(),
            Some(skip) if ahead[skip] == quote => return at + skip + 1,
            Some(skip) => at += skip + 2,
        }
    }
}

/// Bytes that are no part of numbers, brackets and blanks.
const STOPS: [bool; 256] = {
    let mut stops = [true; 256];
    let plain = b"0123456789.,+-() \t\r\n";
    let mut index = 0;
    while index < plain.len() {
        stops[plain[index] as usize] = false;
        index += 1;
    }
    stops
};

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_dumps_write_is_literal() {
        let sql =
            br#"(1,-2.5,1e-5,1.5E+300,NULL,'a\'b(','it''s SELECT',"a\"(",x'00ff',_binary'x',0xAf),
(CONVERT('{}' USING UTF8MB4),b'1',_binary x'00'),()"#;
        assert_eq!(first_foreign(sql, 0, true), None);
        assert_eq!(first_foreign(br"('\',SLEEP(1),')", 0, true), None);
        assert!(first_foreign(br"('\',SLEEP(1),')", 0, false).is_some());
    }

    #[test]
    fn queries_functions_and_variables_are_not() {
        for sql in [
            "((SELECT 1))",
            "(sleep(9))",
            "(`a`)",
            "(@x)",
            "(1) ON DUPLICATE KEY UPDATE a=1",
            "(1 /*! UNION */)",
            "(_f(1))",
            "(1;DROP)",
            "(0xfg)",
        ] {
            assert!(first_foreign(sql.as_bytes(), 0, true).is_some(), "{sql}");
        }
    }
}
