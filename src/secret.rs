//! `Secret`: a text that never shows itself.
//!
//! Owns passwords and keys on their way from where the user put them to the server. `Debug` and `Display` print a fixed
//! word, so that a secret inside a larger struct cannot reach a log, an error or the manifest by accident. A program that
//! prints a secret is run by `command.rs`.

mod command;

use std::fmt;
use std::time::Duration;

pub use command::{CommandError, SecretCommand};

/// A password or key. The only way to the text is [`Secret::expose`].
#[derive(Clone, Default, PartialEq, Eq)]
pub struct Secret(String);

impl Secret {
    /// Wraps a text that must not be shown.
    pub fn new(text: impl Into<String>) -> Self {
        Self(text.into())
    }

    /// The text itself, for the call that needs it and nothing else.
    pub fn expose(&self) -> &str {
        &self.0
    }
}

/// Where a secret comes from whenever it is needed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SecretSource {
    /// It is known, and stays the same.
    Known(Secret),
    /// A program prints it, perhaps another one each time.
    Command(SecretCommand),
}

impl SecretSource {
    /// The secret; a program that prints it has `limit` to do so.
    pub fn fetch(&self, limit: Duration) -> Result<Secret, CommandError> {
        match self {
            Self::Known(secret) => Ok(secret.clone()),
            Self::Command(command) => command.run(limit),
        }
    }
}

impl fmt::Debug for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

impl fmt::Display for Secret {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("[secret]")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neither_debug_nor_display_shows_the_text() {
        let shown = format!("{0:?} {0}", Secret::new("hunter2"));
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
