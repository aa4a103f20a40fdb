//! Names and literals as SQL text.
//!
//! Owns the quoting of identifiers and strings in the statements rdump sends. Names are doubled backticks, never
//! backslashes (tidb#8472). How a value is written into a file it leaves to `format/`.

use std::fmt;

/// An identifier in backticks, each backtick in it doubled.
pub fn quote(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}

/// A string literal that means the same under every `sql_mode`: hex digits with the charset of the name.
pub fn text_literal(text: &str) -> String {
    if text.is_empty() {
        return "''".to_owned();
    }
    format!("_utf8mb4 x'{}'", hex(text.as_bytes()))
}

/// Lower-case hex digits of `bytes`.
pub fn hex(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    let mut out = String::with_capacity(bytes.len() * 2);
    for byte in bytes {
        out.push(char::from(DIGITS[usize::from(byte >> 4)]));
        out.push(char::from(DIGITS[usize::from(byte & 15)]));
    }
    out
}

/// The name of a table, view or sequence with its database.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ObjectName {
    /// The database.
    pub database: String,
    /// The object in it.
    pub name: String,
}

impl ObjectName {
    /// A name from its two parts.
    pub fn new(database: impl Into<String>, name: impl Into<String>) -> Self {
        Self {
            database: database.into(),
            name: name.into(),
        }
    }
}

/// As SQL: both parts in backticks.
impl fmt::Display for ObjectName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}.{}", quote(&self.database), quote(&self.name))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn backticks_are_doubled_and_backslashes_left_alone() {
        assert_eq!(quote(r"a`b\"), r"`a``b\`");
        assert_eq!(ObjectName::new("d`", "t").to_string(), "`d```.`t`");
    }

    #[test]
    fn a_literal_holds_no_quote_that_could_end_it() {
        assert_eq!(text_literal("it's"), "_utf8mb4 x'69742773'");
        assert_eq!(text_literal(""), "''");
    }
}
