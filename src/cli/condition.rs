//! The condition of `--where`: whether it can stand in brackets and mean the same.
//!
//! Owns the lexical check: quotes, comments and brackets as MySQL reads them. Comments are taken out, so that none can swallow
//! what is put behind the condition (B127). Whether the condition is right for the tables only the server can tell.

/// Why a condition is refused. Each is a phrase that follows the flag's name.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ConditionError {
    /// Nothing but blanks and comments.
    #[error("is empty")]
    Empty,
    /// It begins with the word that rdump writes itself.
    #[error("begins with the word WHERE")]
    Where,
    /// A quote without its end.
    #[error("has a {0} that is never closed")]
    Quote(char),
    /// A comment without its end.
    #[error("has a comment that is never closed")]
    Comment,
    /// A comment that the server would run.
    #[error("has a comment of the form /*!…*/, whose text would be part of the condition")]
    Executable,
    /// A bracket too many.
    #[error("closes a bracket that it did not open")]
    Closed,
    /// A bracket too few.
    #[error("has a bracket that is never closed")]
    Open,
    /// The end of a statement.
    #[error("has a `;`")]
    Semicolon,
}

/// The condition without its comments.
pub fn check_condition(text: &str) -> Result<String, ConditionError> {
    let mut out = String::with_capacity(text.len());
    let mut depth = 0_usize;
    let mut rest = text;
    while let Some(c) = rest.chars().next() {
        let taken = match c {
            '\'' | '"' | '`' => quoted(rest, c)?,
            '#' => comment_to_line_end(rest),
            '-' if starts_line_comment(rest) => comment_to_line_end(rest),
            '/' if rest.starts_with("/*!") || rest.starts_with("/*M!") => {
                return Err(ConditionError::Executable);
            }
            '/' if rest.starts_with("/*") => {
                let end = rest[2..].find("*/").ok_or(ConditionError::Comment)?;
                out.push(' ');
                rest = &rest[end + 4..];
                continue;
            }
            _ => c.len_utf8(),
        };
        match c {
            '(' => depth += 1,
            ')' => depth = depth.checked_sub(1).ok_or(ConditionError::Closed)?,
            ';' => return Err(ConditionError::Semicolon),
            _ => {}
        }
        if c == '#' || (c == '-' && taken > 1) {
            out.push(' ');
        } else {
            out.push_str(&rest[..taken]);
        }
        rest = &rest[taken..];
    }
    if depth > 0 {
        return Err(ConditionError::Open);
    }
    let condition = out.trim();
    let first = condition.split_whitespace().next();
    match first {
        None => Err(ConditionError::Empty),
        Some(word) if word.eq_ignore_ascii_case("where") => Err(ConditionError::Where),
        Some(_) => Ok(condition.to_owned()),
    }
}

/// The length of a quoted text, quotes included. A quote inside is doubled, or behind a backslash but for names.
fn quoted(text: &str, quote: char) -> Result<usize, ConditionError> {
    let mut chars = text.char_indices().skip(1).peekable();
    while let Some((at, c)) = chars.next() {
        if c == '\\' && quote != '`' {
            chars.next();
        } else if c == quote && chars.next_if(|(_, next)| *next == quote).is_none() {
            return Ok(at + quote.len_utf8());
        }
    }
    Err(ConditionError::Quote(quote))
}

/// Two dashes are a comment only before a blank, a control character or the end: `a--1` is arithmetic.
fn starts_line_comment(text: &str) -> bool {
    text.strip_prefix("--").is_some_and(|rest| {
        let next = rest.chars().next();
        next.is_none_or(|c| c == ' ' || c.is_ascii_control())
    })
}

fn comment_to_line_end(text: &str) -> usize {
    text.find('\n').unwrap_or(text.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_condition_in_order_stays_as_it_is() {
        for text in [
            "id >= 10 AND (name = 'a;b)' OR note LIKE \"%(\")",
            r"a = 'it\'s' AND b = 'it''s' AND c = '\\'",
            "`we(ird` = 1",
            "a--1 > 0 AND b - -c > 0",
            "名前 = '日本(' AND x IN (1,2)",
        ] {
            assert_eq!(check_condition(text), Ok(text.to_owned()));
        }
    }

    #[test]
    fn comments_are_taken_out_so_that_none_swallows_what_follows() {
        for (text, expected) in [
            ("a=1 -- x)", "a=1"),
            ("a=1 --", "a=1"),
            ("a=1 # ) ;", "a=1"),
            ("a=1 -- x\nAND b=2", "a=1  \nAND b=2"),
            ("a=1/* ( ' */AND b=2", "a=1 AND b=2"),
            ("a = '-- no' ", "a = '-- no'"),
        ] {
            assert_eq!(check_condition(text), Ok(expected.to_owned()), "{text}");
        }
    }

    #[test]
    fn what_cannot_stand_in_brackets_is_refused() {
        for (text, error) in [
            ("", ConditionError::Empty),
            (" -- x", ConditionError::Empty),
            ("WHERE a=1", ConditionError::Where),
            ("a=1;", ConditionError::Semicolon),
            ("a=1; DROP TABLE t", ConditionError::Semicolon),
            ("(a=1", ConditionError::Open),
            ("a=1) OR (1=1", ConditionError::Closed),
            ("a='x", ConditionError::Quote('\'')),
            ("a='x''", ConditionError::Quote('\'')),
            (r"a='x\'", ConditionError::Quote('\'')),
            ("`a=1", ConditionError::Quote('`')),
            ("a=1 /* x", ConditionError::Comment),
            ("a=1 /*/", ConditionError::Comment),
            ("a=1 /*!40101 ) */", ConditionError::Executable),
            ("a=1 /*M!100 x */", ConditionError::Executable),
        ] {
            assert_eq!(check_condition(text), Err(error), "{text}");
        }
    }
}
