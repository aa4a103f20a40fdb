//! `UsageError`: a command line that cannot be meant, in one sentence and a hint.
//!
//! Owns the translation of clap's errors into the same form, in which flags of other dumpers have hints (`elsewhere.rs`). What makes no sense
//! the modules that know the flags decide.

use std::error::Error;
use std::fmt;

use super::elsewhere;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Why nothing was even tried. Its exit code is 2.
#[derive(Debug)]
pub struct UsageError {
    sentence: String,
    source: Option<Box<dyn Error + Send + Sync>>,
    hint: Option<String>,
}

impl UsageError {
    /// An error that says what is wrong, with the flag or file in it.
    pub fn new(sentence: impl Into<String>) -> Self {
        Self {
            sentence: sentence.into(),
            source: None,
            hint: None,
        }
    }

    /// The same with what the system or a parser said.
    #[must_use]
    pub fn caused_by(mut self, source: impl Into<Box<dyn Error + Send + Sync>>) -> Self {
        self.source = Some(source.into());
        self
    }

    /// The same with what to do instead.
    #[must_use]
    pub fn with_hint(mut self, hint: impl Into<String>) -> Self {
        self.hint = Some(hint.into());
        self
    }

    /// What to do instead.
    pub fn hint(&self) -> Option<&str> {
        self.hint.as_deref()
    }

    /// An error of another room whose own sentence says it all, with its cause.
    pub fn from_error(error: &dyn Error) -> Self {
        let refused = Self::new(error.to_string());
        match error.source() {
            Some(cause) => refused.caused_by(cause.to_string()),
            None => refused,
        }
    }

    /// The same of an error of clap's that is no answer to `--help` or `--version`.
    pub fn from_clap(error: &clap::Error) -> Self {
        let text = |kind| match error.get(kind) {
            Some(ContextValue::String(text)) => Some(text.as_str()),
            Some(ContextValue::Strings(texts)) => texts.first().map(String::as_str),
            _ => None,
        };
        // As `--threads <N>`, or `--csv-binary[=<HOW>]`.
        let flag = text(ContextKind::InvalidArg).unwrap_or_default();
        let flag = flag.split([' ', '[', '=']).next().unwrap_or_default();
        match (error.kind(), text(ContextKind::InvalidValue)) {
            (ErrorKind::UnknownArgument, _) => unknown(flag, text(ContextKind::SuggestedArg)),
            (ErrorKind::InvalidValue, None | Some("")) => {
                Self::new(format!("{flag} needs a value")).with_hint("rdump --help lists all flags")
            }
            (ErrorKind::InvalidValue, Some(value)) => {
                let sentence = Self::new(format!("invalid value `{value}` for {flag}"));
                match error.get(ContextKind::ValidValue) {
                    Some(ContextValue::Strings(valid)) => {
                        sentence.with_hint(format!("use one of {}", valid.join(", ")))
                    }
                    _ => sentence,
                }
            }
            (ErrorKind::ValueValidation, Some(value)) => {
                let reason = error.source().map(ToString::to_string).unwrap_or_default();
                Self::new(format!("invalid value `{value}` for {flag}: {reason}"))
            }
            (ErrorKind::NoEquals, _) => Self::new(format!("{flag} needs its value after a `=`")),
            (ErrorKind::InvalidUtf8, _) => {
                Self::new("an argument is not valid UTF-8").with_hint("only paths may be")
            }
            // No other kind can arise from the flags we have; if one does, clap's own first line is the best there is.
            _ => {
                let text = error.to_string();
                let line = text.lines().next().unwrap_or_default();
                Self::new(line.trim_start_matches("error: "))
            }
        }
    }
}

impl fmt::Display for UsageError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.sentence)
    }
}

impl Error for UsageError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        self.source.as_deref().map(|error| error as _)
    }
}

fn unknown(flag: &str, similar: Option<&str>) -> UsageError {
    let hint = match (elsewhere::hint(flag), similar) {
        (Some(hint), _) => hint.to_owned(),
        (None, Some(similar)) => format!("did you mean {similar}?"),
        (None, None) => "rdump --help lists all flags".to_owned(),
    };
    UsageError::new(format!("unknown flag {flag}")).with_hint(hint)
}
