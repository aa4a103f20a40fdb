//! Strings that are no UTF-8 as hex digits, for connections that carry nothing else.
//!
//! Owns the unescaping of such strings. Only for statements whose client charset is binary, where `'…'` and `x'…'` mean the
//! same.

use crate::catalog::ident::hex;

/// The statement with every string in single quotes that is no UTF-8 written as `x'…'`.
pub fn with_hex_texts(sql: &[u8], backslash_escapes: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(sql.len() + sql.len() / 4);
    let mut rest = sql;
    while let Some(skip) = rest.iter().position(|byte| b"'`\"".contains(byte)) {
        let quote = rest[skip];
        let escapes = backslash_escapes && quote != b'`';
        let len = text_len(&rest[skip..], quote, escapes);
        let text = &rest[skip..skip + len];
        out.extend_from_slice(&rest[..skip]);
        if quote == b'\'' && std::str::from_utf8(text).is_err() && len >= 2 {
            // Apart from the word before it, as in `_binary'…'`.
            out.extend_from_slice(b" x'");
            let inner = unescaped(&text[1..len - 1], escapes);
            out.extend_from_slice(hex(&inner).as_bytes());
            out.push(b'\'');
        } else {
            out.extend_from_slice(text);
        }
        rest = &rest[skip + len..];
    }
    out.extend_from_slice(rest);
    out
}

/// The length of a string with its quotes, of which a doubled one is none.
fn text_len(text: &[u8], quote: u8, escapes: bool) -> usize {
    let mut at = 1;
    while at < text.len() {
        if escapes && text[at] == b'\\' {
            at += 2;
        } else if text[at] != quote {
            at += 1;
        } else if text.get(at + 1) == Some(&quote) {
            at += 2;
        } else {
            return at + 1;
        }
    }
    text.len()
}

/// What a string means (MySQL manual, String Literals).
fn unescaped(text: &[u8], escapes: bool) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len());
    let mut at = 0;
    while at < text.len() {
        let byte = text[at];
        at += 1;
        match byte {
            // The second of two.
            b'\'' => at += 1,
            b'\\' if escapes => {
                let Some(&letter) = text.get(at) else {
                    break;
                };
                at += 1;
                match letter {
                    b'0' => out.push(0),
                    b'b' => out.push(8),
                    b'n' => out.push(b'\n'),
                    b'r' => out.push(b'\r'),
                    b't' => out.push(b'\t'),
                    b'Z' => out.push(26),
                    b'%' | b'_' => out.extend_from_slice(&[b'\\', letter]),
                    other => out.push(other),
                }
                continue;
            }
            _ => {}
        }
        out.push(byte);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_strings_that_need_it_become_digits() {
        let sql = b"INSERT INTO `\xe9'` VALUES ('a\\'',_binary'\xe9''\\n\\'x',\"\xe9\")";
        let expected = b"INSERT INTO `\xe9'` VALUES ('a\\'',_binary x'e9270a2778',\"\xe9\")";
        assert_eq!(with_hex_texts(sql, true), expected);
        let sql = b"('\\',1,'\xe9\\''')";
        assert_eq!(with_hex_texts(sql, false), b"('\\',1, x'e95c27')");
    }
}
