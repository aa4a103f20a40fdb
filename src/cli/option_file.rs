//! MySQL's option files: which are read, and their grammar.
//!
//! Owns the search (`/etc/my.cnf`, `/etc/mysql/my.cnf`, `--defaults-extra-file`, `~/.my.cnf`, or `--defaults-file` alone),
//! `!include` and `!includedir`, groups, quotes, escapes and comments, all as MariaDB's clients read them; a test compares with
//! `my_print_defaults`. What the options mean it leaves to `defaults.rs`.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

/// How deep files may include each other (mysys/my_default.c, `max_recursion_level`).
const DEEPEST_INCLUDE: u32 = 10;

/// Why a file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum OptionFileError {
    /// The system does not let us read a file that was named.
    #[error("cannot read the option file {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line breaks the grammar, or says what makes no sense.
    #[error("the option file {}, line {line}: {problem}", path.display())]
    Line {
        /// The file.
        path: PathBuf,
        /// The line, counted from 1.
        line: usize,
        /// What is wrong. Never holds a value.
        problem: String,
    },
}

/// Which files are read.
#[derive(Debug, Clone, Default)]
pub struct FileChoice {
    /// `--no-defaults`: none.
    pub none: bool,
    /// `--defaults-file`: this one and no other.
    pub only: Option<PathBuf>,
    /// `--defaults-extra-file`: this one too, before the user's own.
    pub extra: Option<PathBuf>,
    /// The user's home, for `.my.cnf`.
    pub home: Option<PathBuf>,
}

/// An option of a group that was asked for.
#[derive(Clone, PartialEq, Eq)]
pub struct FileOption {
    /// The group it stands in.
    pub group: String,
    /// Its name, with `-` for `_`.
    pub key: String,
    /// Its value, unquoted; `None` without a `=`.
    pub value: Option<String>,
    /// Where it stands.
    pub path: PathBuf,
    /// The line there, counted from 1.
    pub line: usize,
}

impl FileOption {
    /// What is wrong with this option.
    pub fn error(&self, problem: impl Into<String>) -> OptionFileError {
        OptionFileError::Line {
            path: self.path.clone(),
            line: self.line,
            problem: problem.into(),
        }
    }
}

/// All options, in the order in which they were met.
#[derive(Default)]
pub struct OptionFiles {
    groups: Vec<String>,
    /// The options of the groups that were asked for.
    pub options: Vec<FileOption>,
    /// What the user ought to know, one sentence each.
    pub warnings: Vec<String>,
}

impl OptionFiles {
    /// Reads the files that `choice` names, for these groups.
    pub fn read(choice: &FileChoice, groups: &[&str]) -> Result<Self, OptionFileError> {
        let mut files = Self {
            groups: groups.iter().map(ToString::to_string).collect(),
            ..Self::default()
        };
        if choice.none {
            return Ok(files);
        }
        if let Some(path) = &choice.only {
            files.named_file(path)?;
            return Ok(files);
        }
        for path in ["/etc/my.cnf", "/etc/mysql/my.cnf"] {
            files.file(Path::new(path), 0)?;
        }
        if let Some(path) = &choice.extra {
            files.named_file(path)?;
        }
        if let Some(home) = &choice.home {
            files.file(&home.join(".my.cnf"), 0)?;
        }
        Ok(files)
    }

    /// A file that the user named must be there.
    fn named_file(&mut self, path: &Path) -> Result<(), OptionFileError> {
        if let Err(source) = std::fs::File::open(path) {
            return Err(OptionFileError::Unreadable {
                path: path.to_owned(),
                source,
            });
        }
        self.file(path, 0)
    }

    /// A missing file says nothing; one that everybody may write is ignored, as MySQL's clients do.
    fn file(&mut self, path: &Path, depth: u32) -> Result<(), OptionFileError> {
        let metadata = match std::fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return self.skip(path, &error),
        };
        if metadata.is_file() && metadata.mode() & 0o002 != 0 {
            let warning = format!("{} is ignored: everybody may write it", path.display());
            self.warnings.push(warning);
            return Ok(());
        }
        let known = self.options.len();
        match std::fs::read(path) {
            Ok(bytes) => self.lines(&bytes, path, depth)?,
            Err(error) => return self.skip(path, &error),
        }
        let mut own = self.options[known..]
            .iter()
            .filter(|option| option.path == path);
        if metadata.mode() & 0o004 != 0 && own.any(FileOption::is_password) {
            let sentence = format!(
                "{} holds a password and everybody may read it; chmod 600 mends that",
                path.display()
            );
            self.warnings.push(sentence);
        }
        Ok(())
    }

    /// MySQL's clients pass over what they may not read without a word; here the word is said.
    #[allow(clippy::unnecessary_wraps)] // the ways of a file end alike
    fn skip(&mut self, path: &Path, error: &io::Error) -> Result<(), OptionFileError> {
        let warning = format!("the option file {} is ignored: {error}", path.display());
        self.warnings.push(warning);
        Ok(())
    }

    fn lines(&mut self, bytes: &[u8], path: &Path, depth: u32) -> Result<(), OptionFileError> {
        let mut group: Option<String> = None;
        for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let at_line = |problem: &str| OptionFileError::Line {
                path: path.to_owned(),
                line: index + 1,
                problem: problem.to_owned(),
            };
            let line = line.trim_ascii();
            match line.first() {
                None | Some(b'#' | b';') => continue,
                Some(_) => {}
            }
            if let Some(directive) = line.strip_prefix(b"!") {
                self.directive(directive, &at_line, depth)?;
                continue;
            }
            if let Some(rest) = line.strip_prefix(b"[") {
                let end = rest.iter().position(|byte| *byte == b']');
                let end = end.ok_or_else(|| at_line("the group has no `]`"))?;
                // Blanks behind the name are dropped, those before it are not (mysys/my_default.c).
                group = Some(String::from_utf8_lossy(rest[..end].trim_ascii_end()).into_owned());
                continue;
            }
            let Some(group) = &group else {
                return Err(at_line("an option stands before any group"));
            };
            if !self.groups.contains(group) {
                continue;
            }
            let line =
                std::str::from_utf8(line).map_err(|_| at_line("the line is not valid UTF-8"))?;
            let (key, value) = option(line);
            self.options.push(FileOption {
                group: group.clone(),
                key,
                value,
                path: path.to_owned(),
                line: index + 1,
            });
        }
        Ok(())
    }

    /// `!include FILE` and `!includedir FOLDER`; anything else behind a `!` is passed over, as MySQL's clients do.
    fn directive(
        &mut self,
        text: &[u8],
        at_line: &dyn Fn(&str) -> OptionFileError,
        depth: u32,
    ) -> Result<(), OptionFileError> {
        let text = std::str::from_utf8(text.trim_ascii())
            .map_err(|_| at_line("the line is not valid UTF-8"))?;
        let Some((word, target)) = text.split_once(|c: char| c.is_ascii_whitespace()) else {
            return Ok(());
        };
        if depth >= DEEPEST_INCLUDE {
            self.warnings
                .push(at_line("files include each other too deeply").to_string());
            return Ok(());
        }
        let target = Path::new(target.trim());
        match word {
            "include" => self.file(target, depth + 1),
            "includedir" => {
                let entries = std::fs::read_dir(target);
                let entries = entries.and_then(Iterator::collect::<io::Result<Vec<_>>>);
                let entries = entries.map_err(|source| OptionFileError::Unreadable {
                    path: target.to_owned(),
                    source,
                })?;
                let mut paths: Vec<_> = entries.into_iter().map(|entry| entry.path()).collect();
                paths.retain(|path| path.to_string_lossy().ends_with(".cnf"));
                paths.sort();
                paths.iter().try_for_each(|path| self.file(path, depth + 1))
            }
            _ => Ok(()),
        }
    }
}

impl FileOption {
    fn is_password(&self) -> bool {
        let named = matches!(self.key.as_str(), "password" | "pass");
        named && self.value.as_ref().is_some_and(|value| !value.is_empty())
    }
}

/// Name and value of a line.
fn option(line: &str) -> (String, Option<String>) {
    let line = without_comment(line);
    match line.split_once('=') {
        Some((key, value)) => (name(key), Some(unescaped(value.trim_ascii()))),
        None => (name(line), None),
    }
}

/// Only the dashes of the name count: MySQL takes `_` for `-`.
fn name(key: &str) -> String {
    key.trim_ascii_end().replace('_', "-")
}

/// The line up to a `#` outside quotes. A `;` begins a comment only at the start of a line.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in line.char_indices() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            ('\'' | '"', Some(open)) if !escaped && open == c => quote = None,
            ('#', None) => return line[..at].trim_ascii_end(),
            _ => {}
        }
        escaped = quote.is_some() && c == '\\' && !escaped;
    }
    line
}

/// The value without the quotes around it, its escapes resolved. A backslash before any other character stays, so that
/// paths of Windows survive.
fn unescaped(value: &str) -> String {
    let quoted = |quote| {
        let inner = value.strip_prefix(quote)?;
        inner.strip_suffix(quote)
    };
    let value = quoted('"').or_else(|| quoted('\'')).unwrap_or(value);
    let mut out = String::with_capacity(value.len());
    let mut chars = value.chars();
    while let Some(c) = chars.next() {
        if c != '\\' {
            out.push(c);
            continue;
        }
        match chars.next() {
            Some('b') => out.push('\u{8}'),
            Some('t') => out.push('\t'),
            Some('n') => out.push('\n'),
            Some('r') => out.push('\r'),
            Some('s') => out.push(' '),
            Some(c @ ('\\' | '"' | '\'')) => out.push(c),
            Some(other) => out.extend(['\\', other]),
            None => out.push('\\'),
        }
    }
    out
}

#[cfg(test)]
mod tests;
