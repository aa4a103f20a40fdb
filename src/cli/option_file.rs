//! MySQL's option files, as far as they say how to connect.
//!
//! Owns the grammar of `my.cnf` (groups, quotes, escapes, comments, `-` equal to `_`) and the groups `[client]` and `[rdump]`.
//! Only `~/.my.cnf` is read so far; further files are read into the same [`OptionFile`] in turn, so that the last one wins.
//! What wins against flags and the environment it leaves to `connection.rs` and `password.rs`.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use crate::secret::Secret;

/// The groups that are read.
const GROUPS: [&str; 2] = ["client", "rdump"];

/// Why a file could not be used.
#[derive(Debug, thiserror::Error)]
pub enum OptionFileError {
    /// The system does not let us read it.
    #[error("cannot read the option file {}", path.display())]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// Why.
        source: io::Error,
    },
    /// A line breaks the grammar.
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

/// A password that a file may give.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FilePassword {
    /// This one.
    Given(Secret),
    /// `password` without a value: the user is to be asked.
    Ask,
}

/// What the files say; `None` where they are silent.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OptionFile {
    /// `host`.
    pub host: Option<String>,
    /// `port`.
    pub port: Option<u16>,
    /// `user`.
    pub user: Option<String>,
    /// `password`.
    pub password: Option<FilePassword>,
    /// `socket`.
    pub socket: Option<PathBuf>,
    /// `ssl-mode`, as written.
    pub ssl_mode: Option<String>,
    /// `ssl-ca`.
    pub ssl_ca: Option<PathBuf>,
    /// `ssl-cert`.
    pub ssl_cert: Option<PathBuf>,
    /// `ssl-key`.
    pub ssl_key: Option<PathBuf>,
    /// What the user ought to know, one sentence each.
    pub warnings: Vec<String>,
}

impl OptionFile {
    /// What `.my.cnf` in the user's home says; nothing if there is none.
    pub fn of_home(home: Option<&Path>) -> Result<Self, OptionFileError> {
        let mut options = Self::default();
        if let Some(home) = home {
            options.read_file(&home.join(".my.cnf"))?;
        }
        Ok(options)
    }

    /// Reads a file over what is known so far. A missing one says nothing; one that everybody may write is ignored, as the
    /// MySQL client does.
    fn read_file(&mut self, path: &Path) -> Result<(), OptionFileError> {
        let unreadable = |source| OptionFileError::Unreadable {
            path: path.to_owned(),
            source,
        };
        let metadata = match std::fs::metadata(path) {
            Ok(metadata) => metadata,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(()),
            Err(error) => return Err(unreadable(error)),
        };
        if metadata.is_file() && metadata.mode() & 0o002 != 0 {
            let warning = format!("{} is ignored: everybody may write it", path.display());
            self.warnings.push(warning);
            return Ok(());
        }
        let bytes = std::fs::read(path).map_err(unreadable)?;
        self.read(&bytes, path)
    }

    fn read(&mut self, bytes: &[u8], path: &Path) -> Result<(), OptionFileError> {
        let mut group = None;
        for (index, line) in bytes.split(|byte| *byte == b'\n').enumerate() {
            let at_line = |problem| OptionFileError::Line {
                path: path.to_owned(),
                line: index + 1,
                problem,
            };
            let line = line.trim_ascii();
            match line.first() {
                None | Some(b'#' | b';') => continue,
                Some(b'!') => {
                    let warning = format!("{} includes files, which are not read", path.display());
                    self.warnings.push(warning);
                    continue;
                }
                Some(_) => {}
            }
            let line = std::str::from_utf8(line)
                .map_err(|_| at_line("the line is not valid UTF-8".to_owned()))?;
            if let Some(rest) = line.strip_prefix('[') {
                let name = rest.split_once(']').map(|(name, _)| name.trim());
                let name = name.ok_or_else(|| at_line("the group has no `]`".to_owned()))?;
                group = Some(GROUPS.iter().find(|known| **known == name));
                continue;
            }
            match group {
                None => return Err(at_line("an option stands before any group".to_owned())),
                Some(None) => {}
                Some(Some(group)) => self.option(line, group).map_err(at_line)?,
            }
        }
        Ok(())
    }

    fn option(&mut self, line: &str, group: &str) -> Result<(), String> {
        let line = without_comment(line);
        let (key, value) = match line.split_once('=') {
            Some((key, value)) => (key.trim_end(), Some(unescaped(value.trim()))),
            None => (line, None),
        };
        let key = key.replace('_', "-");
        let text = || value.clone().ok_or_else(|| format!("{key} has no value"));
        match key.as_str() {
            "host" => self.host = Some(text()?),
            "port" => {
                let port = text()?.parse();
                self.port = Some(port.map_err(|_| "the port is no number below 65536".to_owned())?);
            }
            "user" => self.user = Some(text()?),
            "password" => {
                let given = value.map(|value| FilePassword::Given(Secret::new(value)));
                self.password = Some(given.unwrap_or(FilePassword::Ask));
            }
            "socket" => self.socket = Some(text()?.into()),
            "ssl-mode" => self.ssl_mode = Some(text()?),
            "ssl-ca" => self.ssl_ca = Some(text()?.into()),
            "ssl-cert" => self.ssl_cert = Some(text()?.into()),
            "ssl-key" => self.ssl_key = Some(text()?.into()),
            // [client] is every client's; [rdump] is ours, and a slip in it would be lost silently.
            _ if group == "rdump" => return Err(format!("[rdump] does not know `{key}`")),
            _ => {}
        }
        Ok(())
    }
}

/// The line up to a `#` outside quotes. A `;` begins a comment only at the start of a line.
fn without_comment(line: &str) -> &str {
    let (mut quote, mut escaped) = (None, false);
    for (at, c) in line.char_indices() {
        match (c, quote) {
            ('\'' | '"', None) => quote = Some(c),
            ('\'' | '"', Some(open)) if !escaped && open == c => quote = None,
            ('#', None) => return line[..at].trim_end(),
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
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::os::unix::fs::PermissionsExt;

    fn read(text: &str) -> Result<OptionFile, OptionFileError> {
        let mut options = OptionFile::default();
        options.read(text.as_bytes(), Path::new("my.cnf"))?;
        Ok(options)
    }

    fn password(line: &str) -> Option<String> {
        let options = read(&format!("[client]\n{line}\n")).unwrap();
        match options.password? {
            FilePassword::Given(secret) => Some(secret.expose().to_owned()),
            FilePassword::Ask => None,
        }
    }

    #[test]
    fn both_groups_count_and_the_last_line_wins() {
        let text = "# all\n; of it\n\n[client]\nhost = a\nuser=me \r\nssl_ca=/ca.pem\nquick\n\
                    [mysqld]\nport=1\nhost=wrong\n[ rdump ]\nport=3307\nsocket=/s\nhost=b\nssl-mode=REQUIRED";
        let expected = OptionFile {
            host: Some("b".to_owned()),
            port: Some(3307),
            user: Some("me".to_owned()),
            socket: Some("/s".into()),
            ssl_mode: Some("REQUIRED".to_owned()),
            ssl_ca: Some("/ca.pem".into()),
            ..OptionFile::default()
        };
        assert_eq!(read(text).unwrap(), expected);
    }

    #[test]
    fn passwords_follow_the_rules_of_the_mysql_client() {
        for (line, expected) in [
            ("password=foo!Bar?bAz", "foo!Bar?bAz"),
            ("password = p@ss:w/o?rd%41", "p@ss:w/o?rd%41"),
            ("password=abc#def", "abc"),
            ("password=\"abc#def\"", "abc#def"),
            ("password='a\"b' # say", "a\"b"),
            ("password=\"a\\\"#b\"", "a\"#b"),
            ("password=a;b", "a;b"),
            ("password=a\\\\b\\s\\q\\'", "a\\b \\q'"),
            ("password=\"  x  \"", "  x  "),
            ("password=\\sx\\s", " x "),
            ("password=a=b", "a=b"),
            ("password=", ""),
            ("password='", "'"),
            ("password=日本", "日本"),
        ] {
            assert_eq!(password(line).as_deref(), Some(expected), "{line}");
        }
        let asks = read("[client]\npassword").unwrap();
        assert_eq!(asks.password, Some(FilePassword::Ask));
    }

    #[test]
    fn errors_name_the_line_and_never_the_value() {
        for (text, problem) in [
            ("host=a", "line 1: an option stands before any group"),
            ("[client", "line 1: the group has no `]`"),
            (
                "[client]\nport=x",
                "line 2: the port is no number below 65536",
            ),
            ("[client]\n\nuser", "line 3: user has no value"),
            (
                "[rdump]\npasswd=geheim",
                "line 2: [rdump] does not know `passwd`",
            ),
        ] {
            let message = read(text).unwrap_err().to_string();
            assert_eq!(message, format!("the option file my.cnf, {problem}"));
        }
        assert!(read("[client]\npasswd=x").is_ok());
    }

    #[test]
    fn latin1_is_accepted_in_comments_only() {
        let mut options = OptionFile::default();
        let path = Path::new("my.cnf");
        assert!(options.read(b"# caf\xe9\n[client]\n", path).is_ok());
        assert!(options.read(b"[client]\nuser=caf\xe9\n", path).is_err());
    }

    #[test]
    fn a_missing_file_says_nothing_and_one_that_all_may_write_is_ignored() {
        let home = tempfile::tempdir().unwrap();
        let read = || OptionFile::of_home(Some(home.path())).unwrap();
        assert_eq!(read(), OptionFile::default());
        let path = home.path().join(".my.cnf");
        std::fs::write(&path, "[client]\nuser=me\n!includedir /etc/my.cnf.d/\n").unwrap();
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o600)).unwrap();
        assert_eq!(read().user.as_deref(), Some("me"));
        assert_eq!(read().warnings.len(), 1);
        std::fs::set_permissions(&path, PermissionsExt::from_mode(0o666)).unwrap();
        assert_eq!(read().user, None);
        assert!(read().warnings[0].contains("everybody may write it"));
    }
}
