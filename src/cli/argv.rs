//! The command line before clap sees it: what clap has no words for.
//!
//! Owns `-p`: alone it asks, with something behind it in the same word it gives the password, and the next word is never the
//! password. To find it, the words are walked as clap will walk them, with clap's own list of flags.

use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::{OsStrExt, OsStringExt};

use clap::{Arg, ArgAction, Command};

/// The words for clap, and what was seen on the way.
#[derive(Debug, PartialEq, Eq)]
pub struct Rewritten {
    /// The command line with `-p` in a form that clap understands.
    pub words: Vec<OsString>,
    /// Whether `-?` is among them.
    pub asks_for_short_help: bool,
    /// Whether a word that belongs to no flag follows `-p`: it may be a password, and must not be shown.
    pub word_after_password: bool,
}

/// Rewrites the words, the program's name included.
pub fn rewrite(command: &Command, words: impl IntoIterator<Item = OsString>) -> Rewritten {
    let mut rewritten = Rewritten {
        words: Vec::new(),
        asks_for_short_help: false,
        word_after_password: false,
    };
    let mut words = words.into_iter();
    rewritten.words.extend(words.next());
    let mut after_password = false;
    while let Some(word) = words.next() {
        let asked = std::mem::take(&mut after_password);
        let bytes = word.as_bytes();
        let needs_value = if bytes == b"--" {
            rewritten.words.push(word);
            rewritten.words.extend(words.by_ref());
            false
        } else if let Some(name) = bytes.strip_prefix(b"--") {
            after_password = name == b"password";
            let needs_value = !after_password && long_needs_value(command, name);
            let ask = OsStr::new("--ask-password").to_owned();
            rewritten
                .words
                .push(if after_password { ask } else { word });
            needs_value
        } else if bytes.len() > 1 && bytes[0] == b'-' {
            let letters = Letters::read(command, &bytes[1..]);
            after_password = letters.asks_for_password;
            rewritten.asks_for_short_help |= letters.asks_for_help;
            rewritten.words.extend(letters.words);
            letters.needs_value
        } else {
            rewritten.word_after_password |= asked;
            rewritten.words.push(word);
            false
        };
        if needs_value {
            rewritten.words.extend(words.next());
        }
    }
    rewritten
}

/// What a word of one-letter flags comes to.
#[derive(Default)]
struct Letters {
    words: Vec<OsString>,
    needs_value: bool,
    asks_for_password: bool,
    asks_for_help: bool,
}

impl Letters {
    fn read(command: &Command, letters: &[u8]) -> Self {
        let mut found = Self::default();
        for (at, letter) in letters.iter().enumerate() {
            let (before, rest) = (&letters[..at], &letters[at + 1..]);
            match letter {
                b'?' => found.asks_for_help = true,
                b'p' => {
                    if at > 0 {
                        found.words.push(join(b"-", before));
                    }
                    found.asks_for_password = rest.is_empty();
                    found.words.push(if rest.is_empty() {
                        OsString::from("--ask-password")
                    } else {
                        join(b"--password=", rest)
                    });
                    return found;
                }
                _ => {}
            }
            let takes_value =
                |arg: &&Arg| arg.get_short() == Some(char::from(*letter)) && needs_value(arg);
            if command.get_arguments().any(|arg| takes_value(&arg)) {
                found.needs_value = rest.is_empty();
                break;
            }
            if rest.first() == Some(&b'=') {
                break;
            }
        }
        found.words.push(join(b"-", letters));
        found
    }
}

fn long_needs_value(command: &Command, name: &[u8]) -> bool {
    let Ok(name) = std::str::from_utf8(name) else {
        return false;
    };
    command.get_arguments().any(|arg| {
        let aliases = arg.get_all_aliases().unwrap_or_default();
        (arg.get_long() == Some(name) || aliases.contains(&name)) && needs_value(arg)
    })
}

/// Whether the value is the next word when it is not in this one.
fn needs_value(arg: &Arg) -> bool {
    matches!(arg.get_action(), ArgAction::Set | ArgAction::Append) && !arg.is_require_equals_set()
}

fn join(prefix: &[u8], rest: &[u8]) -> OsString {
    OsString::from_vec([prefix, rest].concat())
}

#[cfg(test)]
mod tests {
    use super::super::flags::DumpArgs;
    use super::super::{command, help};
    use super::*;

    fn words(line: &str) -> Rewritten {
        let words = std::iter::once("rdump").chain(line.split(' '));
        rewrite(&command::<DumpArgs>(&help::DUMP), words.map(OsString::from))
    }

    fn joined(line: &str) -> String {
        let words = words(line).words.join(OsStr::new(" "));
        words.to_string_lossy()["rdump ".len()..].to_owned()
    }

    #[test]
    fn a_password_stands_in_the_same_word_or_is_asked_for() {
        for (line, expected) in [
            ("-p -B shop", "--ask-password -B shop"),
            ("-psecret", "--password=secret"),
            ("-p=x", "--password==x"),
            ("--password -B shop", "--ask-password -B shop"),
            ("--password=-p", "--password=-p"),
            ("-dmp", "-dm --ask-password"),
            ("-dpx", "-d --password=x"),
            ("-uroot -px", "-uroot --password=x"),
            ("-W=false -p", "-W=false --ask-password"),
        ] {
            assert_eq!(joined(line), expected, "{line}");
        }
    }

    #[test]
    fn what_is_the_value_of_a_flag_is_left_alone() {
        for line in [
            "-u -p",
            "--user -p",
            "--ssl-ca -p",
            "--where -p",
            "--where=-p",
            "-upeter",
            "-o-p",
            "-- -p",
            "-tp4",
        ] {
            assert_eq!(joined(line), line);
        }
    }

    #[test]
    fn a_word_behind_a_lone_p_is_told_apart() {
        assert!(words("-p shop").word_after_password);
        assert!(words("--password shop").word_after_password);
        assert!(!words("-p -B shop").word_after_password);
        assert!(!words("-px shop").word_after_password);
    }

    #[test]
    fn short_help_is_seen_but_not_in_values() {
        assert!(words("-?").asks_for_short_help);
        assert!(words("-d?").asks_for_short_help);
        assert!(!words("-u ?").asks_for_short_help);
        assert!(!words("-u?").asks_for_short_help);
    }
}
