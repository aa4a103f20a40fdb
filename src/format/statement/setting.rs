//! `SET` statements: which variables they set, to what.
//!
//! Owns the reading of the assignments of one statement, as dumpers write them. A statement that sets anything but the
//! session's own variables is not recognised.

use super::{Word, Words};

/// An assignment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Setting {
    /// The variable in lower case; `names` for SET NAMES; a variable of the user's own begins with `@`.
    pub variable: String,
    /// The value, where it is one word, text or number; `None` for anything else, as another variable.
    pub value: Option<String>,
}

/// The assignments behind the word SET; `None` if one is not recognised.
pub fn read(words: &mut Words<'_>) -> Option<Vec<Setting>> {
    let mut settings = Vec::new();
    loop {
        settings.push(one(words)?);
        match words.next() {
            None => return Some(settings),
            Some(Word::Symbol(b',')) => {}
            Some(_) => return None,
        }
    }
}

fn one(words: &mut Words<'_>) -> Option<Setting> {
    let mut variable = match words.next()? {
        Word::Bare(word) => word.to_ascii_lowercase(),
        Word::Symbol(b'@') => match words.next()? {
            Word::Bare(word) => format!("@{word}"),
            Word::Symbol(b'@') => words.keyword()?.to_ascii_lowercase(),
            _ => return None,
        },
        _ => return None,
    };
    if variable == "names" {
        let value = value(words)?.0;
        if words.peek_is("COLLATE") {
            words.next();
            words.next()?;
        }
        return Some(Setting { variable, value });
    }
    if matches!(variable.as_str(), "session" | "local") {
        if words.peek() == Some(Word::Symbol(b'.')) {
            words.next();
        }
        variable = words.keyword()?.to_ascii_lowercase();
    }
    if words.peek() == Some(Word::Symbol(b':')) {
        words.next();
    }
    if words.next()? != Word::Symbol(b'=') {
        return None;
    }
    let value = value(words)?.0;
    Some(Setting { variable, value })
}

/// A value, if there is one that can be read.
struct Value(Option<String>);

fn value(words: &mut Words<'_>) -> Option<Value> {
    Some(Value(match words.next()? {
        Word::Bare(word) => Some(word),
        Word::Text(text) => Some(String::from_utf8_lossy(&text).into_owned()),
        Word::Number => Some(String::new()),
        // A variable: `@x`, `@@x`.
        Word::Symbol(b'@') => {
            while words.peek() == Some(Word::Symbol(b'@')) {
                words.next();
            }
            words.keyword()?;
            None
        }
        _ => return None,
    }))
}
