//! The charset a stored object was written in.
//!
//! Owns what the plain client must be told so that it finds the end of a statement in another charset than its own.

/// Charsets in which the second byte of a character may be a backslash, so that a client that takes the text for utf8mb4
/// sees an escape and misses the quote after it (seen with the mariadb and the mysql client).
const BACKSLASH_IN_CHARACTERS: [&str; 5] = ["big5", "cp932", "gb18030", "gbk", "sjis"];

/// What stands before and after a statement; usually nothing.
pub(super) struct LexerCommand {
    pub before: String,
    pub after: &'static str,
}

/// The client's command `\C`, which it knows in every mode, unlike `charset`. It is a SET NAMES too.
pub(super) fn lexer_command(charset: &str, statement: &[u8]) -> LexerCommand {
    if BACKSLASH_IN_CHARACTERS.contains(&charset) && !statement.is_ascii() {
        LexerCommand {
            before: format!("\\C {charset}\n"),
            after: "\\C utf8mb4\n",
        }
    } else {
        LexerCommand {
            before: String::new(),
            after: "",
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_bytes_the_client_would_misread_need_a_command() {
        assert_eq!(
            lexer_command("sjis", b"SELECT '\x83\x5c'").before,
            "\\C sjis\n"
        );
        assert_eq!(lexer_command("sjis", b"SELECT 'a'").before, "");
        assert_eq!(lexer_command("latin1", b"SELECT '\xe9'").before, "");
    }
}
