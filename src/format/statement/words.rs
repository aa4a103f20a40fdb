//! `Words`: the words of a statement, one after the other.
//!
//! Owns the smallest pieces: names, words, numbers, strings, symbols. Comments are passed over, and so are the ends of a
//! version comment, whose text counts.

use super::Name;

/// A piece of a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Word {
    /// A word without quotes, as written.
    Bare(String),
    /// A name in backticks, unquoted.
    Quoted(String),
    /// A text in quotes; its bytes, escapes as written.
    Text(Vec<u8>),
    /// Digits, and what is made of them.
    Number,
    /// Any other byte.
    Symbol(u8),
}

/// Reads words.
#[derive(Debug, Clone)]
pub struct Words<'a> {
    sql: &'a [u8],
    at: usize,
    /// Where the last word began.
    began: usize,
}

impl<'a> Words<'a> {
    /// The words of `sql`.
    pub fn new(sql: &'a [u8]) -> Self {
        Self {
            sql,
            at: 0,
            began: 0,
        }
    }

    /// Where the next word may begin.
    pub fn place(&self) -> usize {
        self.at
    }

    /// The next word, looked at only.
    pub fn peek(&self) -> Option<Word> {
        self.clone().next()
    }

    /// Whether the next word is that one, in any case.
    pub fn peek_is(&self, keyword: &str) -> bool {
        matches!(self.peek(), Some(Word::Bare(word)) if word.eq_ignore_ascii_case(keyword))
    }

    /// The next word in upper case, if it is one without quotes.
    pub fn keyword(&mut self) -> Option<String> {
        match self.next()? {
            Word::Bare(word) => Some(word.to_ascii_uppercase()),
            _ => None,
        }
    }

    /// Takes that word; `None` if another one is there.
    pub fn must_be(&mut self, keyword: &str) -> Option<()> {
        (self.keyword()? == keyword).then_some(())
    }

    /// Takes a name, with its database if that is there.
    pub fn name(&mut self) -> Option<Name> {
        let first = self.part()?;
        let from = self.began;
        if self.peek() != Some(Word::Symbol(b'.')) {
            return Some(Name {
                database: None,
                object: first,
                place: (from, self.at),
            });
        }
        self.next();
        let object = self.part()?;
        Some(Name {
            database: Some(first),
            object,
            place: (from, self.at),
        })
    }

    /// Passes over everything between brackets, of which the first is the next word.
    pub fn skip_brackets(&mut self) -> Option<()> {
        let mut depth = 0_usize;
        loop {
            match self.next()? {
                Word::Symbol(b'(') => depth += 1,
                Word::Symbol(b')') if depth <= 1 => return Some(()),
                Word::Symbol(b')') => depth -= 1,
                _ => {}
            }
        }
    }

    fn part(&mut self) -> Option<String> {
        match self.next()? {
            Word::Bare(word) | Word::Quoted(word) => Some(word),
            // Under ANSI_QUOTES; anywhere else no server takes it for a name.
            Word::Text(text) => Some(String::from_utf8_lossy(&text).into_owned()),
            _ => None,
        }
    }

    fn skip_blank(&mut self) {
        loop {
            let ahead = &self.sql[self.at.min(self.sql.len())..];
            let skip = match ahead {
                [byte, ..] if byte.is_ascii_whitespace() => 1,
                [b'/', b'*', b'M', b'!', rest @ ..] => 4 + digits(rest),
                [b'/', b'*', b'!', rest @ ..] => 3 + digits(rest),
                [b'/', b'*', rest @ ..] => {
                    let end = memchr::memmem::find(rest, b"*/");
                    end.map_or(ahead.len(), |end| end + 4)
                }
                [b'*', b'/', ..] => 2,
                [b'#', ..] => line(ahead),
                [b'-', b'-', next, ..] if next.is_ascii_whitespace() => line(ahead),
                _ => return,
            };
            self.at += skip;
        }
    }

    /// The bytes of a text up to its end quote, which is passed over. A backslash may escape or not: here, where only heads of
    /// statements are read, it always does.
    fn quoted(&mut self, quote: u8) -> Option<Vec<u8>> {
        let mut text = Vec::new();
        loop {
            let byte = *self.sql.get(self.at)?;
            self.at += 1;
            if byte == quote {
                if self.sql.get(self.at) != Some(&quote) {
                    return Some(text);
                }
                self.at += 1;
            } else if byte == b'\\' && quote != b'`' {
                text.push(byte);
                text.push(*self.sql.get(self.at)?);
                self.at += 1;
                continue;
            }
            text.push(byte);
        }
    }
}

impl Iterator for Words<'_> {
    type Item = Word;

    fn next(&mut self) -> Option<Word> {
        self.skip_blank();
        self.began = self.at;
        let first = *self.sql.get(self.at)?;
        self.at += 1;
        match first {
            b'`' => {
                let name = self.quoted(b'`')?;
                Some(Word::Quoted(String::from_utf8_lossy(&name).into_owned()))
            }
            b'\'' | b'"' => self.quoted(first).map(Word::Text),
            _ if is_of_word(first) => {
                while self.sql.get(self.at).is_some_and(|byte| is_of_word(*byte)) {
                    self.at += 1;
                }
                let word = &self.sql[self.began..self.at];
                if first.is_ascii_digit() {
                    return Some(Word::Number);
                }
                Some(Word::Bare(String::from_utf8_lossy(word).into_owned()))
            }
            _ => Some(Word::Symbol(first)),
        }
    }
}

fn is_of_word(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'$' || byte >= 0x80
}

fn digits(bytes: &[u8]) -> usize {
    bytes
        .iter()
        .take_while(|byte| byte.is_ascii_digit())
        .count()
}

fn line(bytes: &[u8]) -> usize {
    memchr::memchr(b'\n', bytes).unwrap_or(bytes.len())
}
