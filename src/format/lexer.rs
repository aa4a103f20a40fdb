//! `Statements`: the statements of an SQL file, read as a stream.
//!
//! Owns where a statement begins and ends, as the plain client sees it: strings in all three quotes with doubled quotes and
//! backslashes, comments of all three kinds, DELIMITER, and the client's `\C`. Whether a backslash escapes depends on the
//! SQL mode, which the files say themselves, so a statement that sets it is looked at here. Memory is bounded by the longest
//! statement, and that by a limit. What a statement is about it leaves to `statement.rs`, whether it may be run to `load/`.

#[cfg(test)]
mod tests;

use std::io::{self, Read};

use memchr::memmem;

/// Read at once. Small files take no more than they need.
const BLOCK_BYTES: usize = 256 << 10;
/// Charsets in which the second byte of a character may be a backslash or a quote.
const WIDE_CHARSETS: [&str; 6] = ["big5", "cp932", "gb18030", "gb2312", "gbk", "sjis"];
/// No client's end mark is longer (MySQL's client takes 15 bytes).
const LONGEST_DELIMITER: usize = 64;

/// Why there is no next statement.
#[derive(Debug, thiserror::Error)]
pub enum LexError {
    /// The bytes could not be read.
    #[error("cannot be read")]
    Read(#[source] io::Error),
    /// A statement is longer than anything the target takes.
    #[error("statement {number} is longer than {limit} bytes")]
    TooLong {
        /// Its number in the file, from 1.
        number: u64,
        /// The limit.
        limit: usize,
    },
    /// The file ends within a string, a comment or a statement.
    #[error("ends within statement {number}")]
    Unfinished {
        /// Its number in the file, from 1.
        number: u64,
    },
}

/// Where in a statement the scan stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Scan {
    Plain,
    Quoted(u8),
    LineComment,
    BlockComment,
}

/// How a step of the scan ended.
enum Step {
    /// The statement ends before this place, the next one begins at that place.
    Found(usize, usize),
    /// More bytes are needed.
    Starved,
}

/// Reads statements.
#[derive(Debug)]
pub struct Statements<R> {
    source: R,
    buffer: Vec<u8>,
    /// The statement begins here,
    start: usize,
    /// has been scanned up to here,
    at: usize,
    /// and bytes are there up to here.
    end: usize,
    scan: Scan,
    ended: bool,
    number: u64,
    limit: usize,
    delimiter: Vec<u8>,
    backslash_escapes: bool,
    wide: bool,
}

impl<R: Read> Statements<R> {
    /// Statements of at most `limit` bytes.
    pub fn new(source: R, limit: usize) -> Self {
        Self {
            source,
            buffer: Vec::new(),
            start: 0,
            at: 0,
            end: 0,
            scan: Scan::Plain,
            ended: false,
            number: 0,
            limit,
            delimiter: b";".to_vec(),
            backslash_escapes: true,
            wide: false,
        }
    }

    /// The source, at the end of the file.
    pub fn into_source(self) -> R {
        self.source
    }

    /// The number of the last statement, from 1.
    pub fn number(&self) -> u64 {
        self.number
    }

    /// Whether a backslash escapes in the strings of the last statement.
    pub fn backslash_escapes(&self) -> bool {
        self.backslash_escapes
    }

    /// The next statement without its end mark and the comments before it; `None` at the end of the file.
    pub fn next_statement(&mut self) -> Result<Option<&[u8]>, LexError> {
        loop {
            if !self.skip_blank()? {
                return Ok(None);
            }
            if self.client_command()? {
                continue;
            }
            let (from, to) = self.find_end()?;
            if from == to {
                continue;
            }
            self.number += 1;
            self.note_mode(from, to);
            return Ok(Some(&self.buffer[from..to]));
        }
    }

    /// Scans to the end mark; returns the statement's place.
    fn find_end(&mut self) -> Result<(usize, usize), LexError> {
        loop {
            match self.step() {
                Step::Found(end, next) => {
                    let from = self.start;
                    (self.start, self.at) = (next, next);
                    return Ok((from, end));
                }
                Step::Starved if self.ended => {
                    let number = self.number + 1;
                    if self.scan != Scan::Plain && self.scan != Scan::LineComment {
                        return Err(LexError::Unfinished { number });
                    }
                    // The last statement of a file may lack its end mark, as for the client.
                    let (from, mut to) = (self.start, self.end);
                    while to > from && self.buffer[to - 1].is_ascii_whitespace() {
                        to -= 1;
                    }
                    (self.start, self.at) = (self.end, self.end);
                    return Ok((from, to));
                }
                Step::Starved => self.fill()?,
            }
        }
    }

    fn step(&mut self) -> Step {
        if self.delimiter != b";" {
            return self.step_to_mark();
        }
        while self.at < self.end {
            let bytes = &self.buffer[..self.end];
            let at = self.at;
            match self.scan {
                Scan::Plain => {
                    let Some(skip) = bytes[at..].iter().position(|byte| STOPS[*byte as usize])
                    else {
                        self.at = self.end;
                        return Step::Starved;
                    };
                    let at = at + skip;
                    self.at = at;
                    let ahead = (bytes.get(at + 1), bytes.get(at + 2));
                    match (bytes[at], ahead) {
                        (b';', _) => return Step::Found(at, at + 1),
                        (quote @ (b'\'' | b'"' | b'`'), _) => self.scan = Scan::Quoted(quote),
                        (b'#', _) => self.scan = Scan::LineComment,
                        (b'-' | b'/', (None, _))
                        | (b'-', (Some(b'-'), None))
                        | (b'/', (Some(b'*'), None))
                            if !self.ended =>
                        {
                            return Step::Starved;
                        }
                        (b'-', (Some(b'-'), next)) if next.is_none_or(u8::is_ascii_whitespace) => {
                            self.scan = Scan::LineComment;
                        }
                        // `/*!` and `/*M!` are code, `/*+` is a hint.
                        (b'/', (Some(b'*'), next)) if !matches!(next, Some(b'!' | b'M' | b'+')) => {
                            self.scan = Scan::BlockComment;
                            self.at += 1;
                        }
                        _ => {}
                    }
                    self.at += 1;
                }
                Scan::Quoted(quote) => {
                    if !self.step_in_quotes(quote) {
                        return Step::Starved;
                    }
                }
                Scan::LineComment => match memchr::memchr(b'\n', &bytes[at..]) {
                    Some(skip) => {
                        self.at = at + skip + 1;
                        self.scan = Scan::Plain;
                    }
                    None => self.at = self.end,
                },
                Scan::BlockComment => {
                    let Some(skip) = memmem::find(&bytes[at..], b"*/") else {
                        // The star may be the last byte that is there.
                        self.at = self.end.saturating_sub(1).max(at);
                        return Step::Starved;
                    };
                    self.at = at + skip + 2;
                    self.scan = Scan::Plain;
                }
            }
        }
        Step::Starved
    }

    /// Goes on within a string; false when more bytes are needed. A doubled quote ends the string and begins it anew, which
    /// comes to the same.
    fn step_in_quotes(&mut self, quote: u8) -> bool {
        let bytes = &self.buffer[..self.end];
        let escapes = self.backslash_escapes && quote != b'`';
        if self.wide {
            let byte = bytes[self.at];
            let pair = byte >= 0x81 && byte != 0xff;
            if pair || (escapes && byte == b'\\') {
                if self.at + 1 >= self.end {
                    return self.ended && {
                        self.at = self.end;
                        true
                    };
                }
                self.at += 2;
                return true;
            }
            self.at += 1;
            if byte == quote {
                self.scan = Scan::Plain;
            }
            return true;
        }
        let found = if escapes {
            memchr::memchr2(quote, b'\\', &bytes[self.at..])
        } else {
            memchr::memchr(quote, &bytes[self.at..])
        };
        let Some(skip) = found else {
            self.at = self.end;
            return false;
        };
        let at = self.at + skip;
        if bytes[at] == quote {
            self.scan = Scan::Plain;
            self.at = at + 1;
            return true;
        }
        if at + 1 >= self.end {
            self.at = at;
            if self.ended {
                self.at = self.end;
            }
            return false;
        }
        self.at = at + 2;
        true
    }

    /// With an end mark of its own a statement ends where that stands, whatever is in it: whoever wrote it chose one that
    /// does not occur.
    fn step_to_mark(&mut self) -> Step {
        let bytes = &self.buffer[..self.end];
        let Some(skip) = memmem::find(&bytes[self.at..], &self.delimiter) else {
            self.at = self.end.saturating_sub(self.delimiter.len()).max(self.at);
            return Step::Starved;
        };
        let mark = self.at + skip;
        let mut end = mark;
        while end > self.start && self.buffer[end - 1].is_ascii_whitespace() {
            end -= 1;
        }
        Step::Found(end, mark + self.delimiter.len())
    }

    /// Goes to the first byte that is neither blank nor comment; false when there is none. A mark that follows nothing is
    /// passed over, too.
    fn skip_blank(&mut self) -> Result<bool, LexError> {
        loop {
            while self.start < self.end && self.buffer[self.start].is_ascii_whitespace() {
                self.start += 1;
            }
            self.at = self.start;
            self.scan = Scan::Plain;
            if self.end - self.start < 4 && !self.ended {
                self.fill()?;
                continue;
            }
            let ahead = &self.buffer[self.start..self.end];
            let third = ahead.get(2);
            let skipped = match ahead {
                [] => return Ok(false),
                [b'#', ..] => self.skip_to(b"\n")?,
                [b'-', b'-', ..] if third.is_none_or(u8::is_ascii_whitespace) => {
                    self.skip_to(b"\n")?
                }
                [b'/', b'*', ..] if !matches!(third, Some(b'!' | b'M' | b'+')) => {
                    self.start += 2;
                    self.skip_to(b"*/")?
                }
                _ => return Ok(true),
            };
            if !skipped {
                return Ok(false);
            }
        }
    }

    /// Drops everything up to and with `mark`; false when the file ends before.
    fn skip_to(&mut self, mark: &[u8]) -> Result<bool, LexError> {
        loop {
            if let Some(skip) = memmem::find(&self.buffer[self.start..self.end], mark) {
                self.start += skip + mark.len();
                return Ok(true);
            }
            self.start = self.end.saturating_sub(mark.len() - 1).max(self.start);
            self.at = self.start;
            if self.ended {
                self.start = self.end;
                return Ok(false);
            }
            self.fill()?;
        }
    }

    /// Takes a command of the client, which is a line: `DELIMITER …` and `\C …`.
    fn client_command(&mut self) -> Result<bool, LexError> {
        const DELIMITER: &[u8] = b"DELIMITER";
        let ahead = &self.buffer[self.start..self.end];
        let may_be = ahead.starts_with(b"\\C")
            || ahead
                .get(..DELIMITER.len().min(ahead.len()))
                .is_some_and(|word| word.eq_ignore_ascii_case(&DELIMITER[..word.len()]));
        if !may_be {
            return Ok(false);
        }
        while memchr::memchr(b'\n', &self.buffer[self.start..self.end]).is_none() && !self.ended {
            self.fill()?;
        }
        let ahead = &self.buffer[self.start..self.end];
        let len = memchr::memchr(b'\n', ahead).unwrap_or(ahead.len());
        let line = ahead[..len].trim_ascii();
        let is_delimiter = line
            .get(..DELIMITER.len())
            .is_some_and(|word| word.eq_ignore_ascii_case(DELIMITER))
            && line
                .get(DELIMITER.len())
                .is_some_and(u8::is_ascii_whitespace);
        if is_delimiter {
            let mark = line[DELIMITER.len()..].trim_ascii();
            let mark = &mark[..mark.len().min(LONGEST_DELIMITER)];
            self.delimiter = mark.to_vec();
        } else if let Some(charset) = line.strip_prefix(b"\\C") {
            let charset = String::from_utf8_lossy(charset.trim_ascii()).to_lowercase();
            self.wide = WIDE_CHARSETS.contains(&charset.as_str());
        } else {
            return Ok(false);
        }
        self.start = (self.start + len + 1).min(self.end);
        self.at = self.start;
        Ok(true)
    }

    /// Sees whether the statement changes what a backslash is. Only settings are looked at, and those are short.
    fn note_mode(&mut self, from: usize, to: usize) {
        const LONGEST_SETTING: usize = 4096;
        let statement = &self.buffer[from..to];
        if statement.len() > LONGEST_SETTING {
            return;
        }
        let text = String::from_utf8_lossy(statement).to_ascii_uppercase();
        let setting = text.trim_start_matches(|c: char| !c.is_ascii_alphabetic());
        let is_setting = setting.starts_with("SET ") || setting.starts_with("SET\t");
        if is_setting && let Some(at) = text.find("SQL_MODE") {
            self.backslash_escapes = !text[at..].contains("NO_BACKSLASH_ESCAPES");
        }
    }

    /// Reads on, behind what is there.
    fn fill(&mut self) -> Result<(), LexError> {
        if self.start > 0 {
            self.buffer.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.at -= self.start;
            self.start = 0;
        }
        if self.end >= self.limit {
            return Err(LexError::TooLong {
                number: self.number + 1,
                limit: self.limit,
            });
        }
        if self.buffer.len() - self.end < BLOCK_BYTES {
            // Doubled, so that a long statement is not copied for each block of it.
            let wanted = (self.buffer.len() * 2).min(self.limit);
            self.buffer.resize(wanted.max(self.end + BLOCK_BYTES), 0);
        }
        loop {
            match self.source.read(&mut self.buffer[self.end..]) {
                Ok(0) => self.ended = true,
                Ok(read) => self.end += read,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
                Err(error) => return Err(LexError::Read(error)),
            }
            return Ok(());
        }
    }
}

/// Bytes at which plain text may turn into something else.
const STOPS: [bool; 256] = {
    let mut stops = [false; 256];
    let all = b"'\"`;#-/";
    let mut index = 0;
    while index < all.len() {
        stops[all[index] as usize] = true;
        index += 1;
    }
    stops
};
