//! The crate's sources as tokens, and the paths they name.
//!
//! Owns as much of Rust's grammar as the rules need: comments and literals are no code, an item under `#[cfg(test)]` is a
//! test, `super` climbs out of a module. It reads text and asks no compiler, so that a rule is checked in milliseconds.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// A word or a sign of the code; a literal is the token `""`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Token {
    pub text: String,
    pub line: usize,
    pub in_test: bool,
}

/// A path of the crate, from its root: `crate::server::rows::Row` is `["server", "rows", "Row"]`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CratePath {
    pub segments: Vec<String>,
    pub line: usize,
}

/// A file below `src/`.
pub struct Source {
    /// Its path from `src/`, as `server/rows.rs`.
    pub path: String,
    pub text: String,
    pub tokens: Vec<Token>,
    /// Modules that are declared under `#[cfg(test)]`, as paths without an ending.
    test_modules: BTreeSet<String>,
}

impl Source {
    pub fn new(path: &str, text: &str) -> Self {
        let mut source = Self {
            path: path.to_owned(),
            text: text.to_owned(),
            tokens: tokens(text),
            test_modules: BTreeSet::new(),
        };
        source.mark_tests();
        source
    }

    /// Every file below `src/`, in the order of their names.
    pub fn all() -> Vec<Self> {
        let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("src");
        let mut sources = Vec::new();
        read(&root, "", &mut sources);
        sources.sort_by(|a, b| a.path.cmp(&b.path));
        let test_modules: BTreeSet<_> = sources
            .iter()
            .flat_map(|source| source.test_modules.clone())
            .collect();
        for source in &mut sources {
            let path = source.path.trim_end_matches(".rs");
            let of_test = |module: &String| {
                path.strip_prefix(module.as_str())
                    .is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
            };
            if test_modules.iter().any(of_test) {
                source.tokens.iter_mut().for_each(|t| t.in_test = true);
            }
        }
        sources
    }

    /// The module's path, as `["server", "rows"]`.
    pub fn module(&self) -> Vec<String> {
        let stem = self.path.trim_end_matches(".rs").trim_end_matches("/mod");
        match stem {
            "lib" | "main" => Vec::new(),
            _ => stem.split('/').map(str::to_owned).collect(),
        }
    }

    /// The room: the first part of the path.
    pub fn room(&self) -> &str {
        let first = self.path.split('/').next().unwrap_or_default();
        first.trim_end_matches(".rs")
    }

    /// Where the words stand one after the other.
    pub fn find(&self, words: &[&str]) -> Vec<&Token> {
        let matches = |at: &[Token]| {
            at.iter()
                .zip(words)
                .all(|(token, word)| token.text == *word)
        };
        let windows = self.tokens.windows(words.len());
        windows.filter(|at| matches(at)).map(|at| &at[0]).collect()
    }

    /// The first words of all paths that begin with a name, as `mysql` in `mysql::Conn` or `use mysql;`.
    pub fn roots(&self) -> Vec<&Token> {
        let mut roots = Vec::new();
        for (at, token) in self.tokens.iter().enumerate() {
            let before = at.checked_sub(1).map_or("", |at| self.word(at));
            let after = self.word(at + 1);
            let is_word = token
                .text
                .starts_with(|c: char| c.is_alphabetic() || c == '_');
            let begins = after == "::" || (before == "use" && matches!(after, ";" | "as"));
            if is_word && begins && before != "::" {
                roots.push(token);
            }
        }
        roots
    }

    /// Every path of the crate that the file names, groups taken apart.
    pub fn crate_paths(&self) -> Vec<CratePath> {
        let mut found = Vec::new();
        let mut module = self.module();
        // For each open brace, whether it opened a module.
        let mut braces = Vec::new();
        for (at, token) in self.tokens.iter().enumerate() {
            let before = at.checked_sub(1).map_or("", |at| self.word(at));
            match token.text.as_str() {
                "{" => {
                    let opens_module = at >= 2 && self.word(at - 2) == "mod";
                    if opens_module {
                        module.push(before.to_owned());
                    }
                    braces.push(opens_module);
                }
                "}" if braces.pop() == Some(true) => {
                    module.pop();
                }
                "crate" | "rdump" | "super" if before != "::" && self.word(at + 1) == "::" => {
                    self.tree(at, &module, &mut found);
                }
                _ => {}
            }
        }
        found
    }

    /// Takes a use tree or a path apart; returns where it ends.
    fn tree(&self, mut at: usize, prefix: &[String], found: &mut Vec<CratePath>) -> usize {
        let line = self.tokens[at].line;
        let mut segments = prefix.to_vec();
        loop {
            match self.word(at) {
                "crate" | "rdump" => segments.clear(),
                "super" => {
                    segments.pop();
                }
                "{" => {
                    at += 1;
                    while !matches!(self.word(at), "}" | "") {
                        at = self.tree(at, &segments, found);
                        while !matches!(self.word(at), "," | "}" | "") {
                            at += 1; // `as name`
                        }
                        at += usize::from(self.word(at) == ",");
                    }
                    return at + 1;
                }
                word if word.starts_with(|c: char| c.is_alphanumeric() || c == '_') => {
                    segments.push(word.to_owned());
                }
                _ => {
                    found.push(CratePath { segments, line });
                    return at + 1;
                }
            }
            if self.word(at + 1) != "::" {
                found.push(CratePath { segments, line });
                return at + 1;
            }
            at += 2;
        }
    }

    fn word(&self, at: usize) -> &str {
        self.tokens.get(at).map_or("", |token| token.text.as_str())
    }

    /// Finds `#[cfg(test)]` and marks the item behind it.
    fn mark_tests(&mut self) {
        for at in 0..self.tokens.len() {
            let is_cfg = ["#", "[", "cfg", "("]
                .iter()
                .enumerate()
                .all(|(ahead, word)| self.word(at + ahead) == *word);
            if !is_cfg {
                continue;
            }
            let mut item = self.closing(at + 1) + 1;
            let condition: Vec<_> = (at..item).map(|at| self.word(at)).collect();
            if !condition.contains(&"test") || condition.contains(&"not") {
                continue;
            }
            while self.word(item) == "#" {
                item = self.closing(item + 1) + 1;
            }
            let mut end = item;
            while !matches!(self.word(end), "{" | ";" | "") {
                end = match self.word(end) {
                    "(" | "[" => self.closing(end) + 1,
                    _ => end + 1,
                };
            }
            if self.word(end) == ";" && end >= 2 && self.word(end - 2) == "mod" {
                let child = [self.module(), vec![self.word(end - 1).to_owned()]].concat();
                self.test_modules.insert(child.join("/"));
            }
            if self.word(end) == "{" {
                end = self.closing(end);
            }
            let end = end.min(self.tokens.len() - 1);
            self.tokens[at..=end]
                .iter_mut()
                .for_each(|t| t.in_test = true);
        }
    }

    /// The partner of the bracket at `open`.
    fn closing(&self, open: usize) -> usize {
        let mut depth = 0_usize;
        for at in open..self.tokens.len() {
            match self.word(at) {
                "(" | "[" | "{" => depth += 1,
                ")" | "]" | "}" => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                return at;
            }
        }
        self.tokens.len()
    }
}

fn read(folder: &Path, prefix: &str, sources: &mut Vec<Source>) {
    for entry in fs::read_dir(folder).unwrap() {
        let entry = entry.unwrap();
        let path = format!("{prefix}{}", entry.file_name().to_str().unwrap());
        if entry.file_type().unwrap().is_dir() {
            read(&entry.path(), &format!("{path}/"), sources);
        } else if entry
            .path()
            .extension()
            .is_some_and(|ending| ending == "rs")
        {
            sources.push(Source::new(
                &path,
                &fs::read_to_string(entry.path()).unwrap(),
            ));
        }
    }
}

fn tokens(text: &str) -> Vec<Token> {
    let mut tokens = Vec::new();
    let (mut rest, mut line) = (text, 1);
    while let Some(first) = rest.chars().next() {
        let (length, word) = match first {
            _ if first.is_whitespace() => (first.len_utf8(), None),
            '/' if rest.starts_with("//") => (rest.find('\n').unwrap_or(rest.len()), None),
            '/' if rest.starts_with("/*") => (comment(rest), None),
            '\'' => (quoted_or_lifetime(rest), None),
            _ => {
                if let Some(length) = string(rest) {
                    (length, Some("\"\""))
                } else {
                    let length = word(rest);
                    (length, Some(rest[..length].trim_start_matches("r#")))
                }
            }
        };
        if let Some(word) = word {
            tokens.push(Token {
                text: word.to_owned(),
                line,
                in_test: false,
            });
        }
        line += rest[..length].matches('\n').count();
        rest = &rest[length..];
    }
    tokens
}

/// The length of a block comment, which may hold others.
fn comment(text: &str) -> usize {
    let (mut depth, mut at) = (0, 0);
    while at < text.len() {
        let step = match text.as_bytes()[at..] {
            [b'/', b'*', ..] => {
                depth += 1;
                2
            }
            [b'*', b'/', ..] => {
                depth -= 1;
                2
            }
            _ => 1,
        };
        at += step;
        if depth == 0 {
            break;
        }
    }
    at
}

/// The length of `'x'`, `'\n'` or of the lifetime `'a`.
fn quoted_or_lifetime(text: &str) -> usize {
    let mut chars = text.char_indices().skip(1);
    let (_, second) = chars.next().unwrap_or_default();
    let third = chars.next();
    match (second, third) {
        ('\\', Some((at, escaped))) => {
            let behind = at + escaped.len_utf8();
            behind + text[behind..].find('\'').map_or(0, |end| end + 1)
        }
        (_, Some((at, '\''))) => at + 1,
        _ => 1 + word(&text[1..]),
    }
}

/// The length of a string literal of any kind, if one begins here.
fn string(text: &str) -> Option<usize> {
    let prefix = text.find(|c| !matches!(c, 'b' | 'c' | 'r'))?;
    let raw = text[..prefix].contains('r');
    let hashes = text[prefix..].len() - text[prefix..].trim_start_matches('#').len();
    let body = prefix + hashes + 1;
    if prefix > 2 || (hashes > 0 && !raw) || !text[prefix + hashes..].starts_with('"') {
        return None;
    }
    if raw {
        let end = format!("\"{}", "#".repeat(hashes));
        return Some(body + text[body..].find(&end)? + end.len());
    }
    let mut escaped = false;
    for (at, byte) in text.bytes().enumerate().skip(body) {
        match byte {
            b'"' if !escaped => return Some(at + 1),
            _ => escaped = byte == b'\\' && !escaped,
        }
    }
    None
}

/// The length of a word, of `::`, or of one sign.
fn word(text: &str) -> usize {
    let is_word = |c: char| c.is_alphanumeric() || c == '_';
    let raw = if text.starts_with("r#") { 2 } else { 0 };
    let length = raw
        + text[raw..]
            .find(|c| !is_word(c))
            .unwrap_or(text.len() - raw);
    match length {
        0 if text.starts_with("::") => 2,
        0 => text.chars().next().map_or(0, char::len_utf8),
        _ => length,
    }
}
