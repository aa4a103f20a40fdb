//! The password: where it comes from.
//!
//! Owns the order: what was typed (`-pVALUE`, or `-p` to be asked), `--password-command`, `RDUMP_PASSWORD`, `MYSQL_PWD`, the
//! option file. The first that is there wins, even if it is empty: an empty password is one too. Asking happens once, in
//! `prompt.rs`; a command is run for each connection.

use std::io;

use super::defaults::FilePassword;
use super::usage::UsageError;
use crate::secret::{Secret, SecretCommand, SecretSource};

/// What the command line says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TypedPassword {
    /// Nothing.
    Absent,
    /// `-pVALUE`, `--password=VALUE`.
    Given(Secret),
    /// `-p`, `--password`.
    Ask,
    /// `--password-command`.
    Command(SecretCommand),
}

/// Finds the password. `environment` looks a variable up, `ask` prompts.
pub fn find_password(
    typed: TypedPassword,
    environment: impl Fn(&str) -> Option<String>,
    file: Option<FilePassword>,
    ask: impl FnOnce() -> io::Result<String>,
) -> Result<Option<SecretSource>, UsageError> {
    let from_environment = || {
        ["RDUMP_PASSWORD", "MYSQL_PWD"]
            .into_iter()
            .find_map(environment)
    };
    let must_ask = match typed {
        TypedPassword::Given(secret) => return Ok(given(secret)),
        TypedPassword::Command(command) => return Ok(Some(SecretSource::Command(command))),
        TypedPassword::Ask => true,
        TypedPassword::Absent => match (from_environment(), file) {
            (Some(value), _) => return Ok(given(Secret::new(value))),
            (None, Some(FilePassword::Given(secret))) => return Ok(given(secret)),
            (None, Some(FilePassword::Ask)) => true,
            (None, None) => false,
        },
    };
    if !must_ask {
        return Ok(None);
    }
    let answer = ask().map_err(|error| {
        UsageError::new("the password could not be asked for")
            .caused_by(error)
            .with_hint("set RDUMP_PASSWORD, or write -pVALUE without a blank")
    })?;
    Ok(given(Secret::new(answer)))
}

/// An account without a password has none, rather than an empty one.
fn given(secret: Secret) -> Option<SecretSource> {
    let is_empty = secret.expose().is_empty();
    (!is_empty).then_some(SecretSource::Known(secret))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use std::time::Duration;

    fn find(
        typed: TypedPassword,
        environment: &[(&str, &str)],
        file: Option<FilePassword>,
    ) -> Option<String> {
        let look_up = |name: &str| {
            let found = environment.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        };
        let found = find_password(typed, look_up, file, || Ok("asked".to_owned())).unwrap();
        found.map(|source| {
            let secret = source.fetch(Duration::from_secs(10)).unwrap();
            secret.expose().to_owned()
        })
    }

    #[test]
    fn the_order_is_flag_then_environment_then_file() {
        let typed = || TypedPassword::Given(Secret::new("typed"));
        let both = [("MYSQL_PWD", "mysql"), ("RDUMP_PASSWORD", "rdump")];
        let file = || Some(FilePassword::Given(Secret::new("file")));
        let absent = TypedPassword::Absent;
        let command = TypedPassword::Command(SecretCommand::new("echo printed"));
        assert_eq!(find(command, &both, file()).as_deref(), Some("printed"));
        assert_eq!(find(typed(), &both, file()).as_deref(), Some("typed"));
        assert_eq!(
            find(TypedPassword::Ask, &both, file()).as_deref(),
            Some("asked")
        );
        assert_eq!(
            find(absent.clone(), &both, file()).as_deref(),
            Some("rdump")
        );
        assert_eq!(
            find(absent.clone(), &both[..1], file()).as_deref(),
            Some("mysql")
        );
        assert_eq!(find(absent.clone(), &[], file()).as_deref(), Some("file"));
        let asks = find(absent.clone(), &[], Some(FilePassword::Ask));
        assert_eq!(asks.as_deref(), Some("asked"));
        assert_eq!(find(absent, &[], None), None);
    }

    #[test]
    fn an_empty_password_ends_the_search() {
        let file = || Some(FilePassword::Given(Secret::new("file")));
        let empty = TypedPassword::Given(Secret::new(""));
        assert_eq!(find(empty, &[], file()), None);
        let environment = [("RDUMP_PASSWORD", "")];
        assert_eq!(find(TypedPassword::Absent, &environment, file()), None);
    }

    #[test]
    fn no_terminal_to_ask_on_is_a_usage_error_with_a_way_out() {
        let no_terminal = || Err(io::Error::from(io::ErrorKind::NotFound));
        let error = find_password(TypedPassword::Ask, |_| None, None, no_terminal).unwrap_err();
        assert!(error.hint().unwrap().contains("RDUMP_PASSWORD"));
    }
}
