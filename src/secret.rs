//! `Secret`: a text that never shows itself.
//!
//! Owns passwords and keys on their way from where the user put them to the server. `Debug` and `Display` print a fixed
//! word, so that a secret inside a larger struct cannot reach a log, an error or the manifest by accident.

use std::fmt;

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
