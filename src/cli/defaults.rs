//! What the option files say: how to connect, and flags of rdump's own groups.
//!
//! Owns the groups that are read, `[client]`, `[client-server]` and `[client-mariadb]` of every client and `[rdump]` and
//! `[rdump-PROFILE]` of ours, and the names of options in them. In our own groups every long flag of a dump may stand, of which
//! other commands take how to connect; what was typed wins. What wins among the settings of the connection it leaves to
//! `connection.rs` and `password.rs`.

use std::collections::HashSet;
use std::ffi::OsString;
use std::path::PathBuf;

use super::connection::ConnectionArgs;
use super::flags::DumpArgs;
use super::help::DUMP;
use super::option_file::{FileChoice, FileOption, OptionFileError, OptionFiles};
use super::usage::UsageError;
use super::values::{boolean, tls_mode};
use crate::secret::Secret;
use crate::server::TlsMode;

/// Groups of other clients, which hold much that means nothing here.
const SHARED_GROUPS: [&str; 3] = ["client", "client-server", "client-mariadb"];
/// Flags that would come too late in a file, or make no sense there.
const TYPED_ONLY: [&str; 8] = [
    "ask-password",
    "defaults-extra-file",
    "defaults-file",
    "help",
    "no-defaults",
    "profile",
    "version",
    "words",
];

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
pub struct Defaults {
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
    /// `protocol`: whether a socket is used (`true`) or TCP.
    pub by_socket: Option<bool>,
    /// `ssl-mode`, or what MariaDB's options come to.
    pub ssl_mode: Option<TlsMode>,
    /// `ssl-ca`.
    pub ssl_ca: Option<PathBuf>,
    /// `ssl-cert`.
    pub ssl_cert: Option<PathBuf>,
    /// `ssl-key`.
    pub ssl_key: Option<PathBuf>,
    /// Flags of our own groups, to be put before the typed ones.
    pub words: Vec<OsString>,
    /// What the user ought to know, one sentence each.
    pub warnings: Vec<String>,
}

impl Defaults {
    /// Reads the files that the flags choose. `typed` are the ids of the flags that were typed and need nothing from a file.
    pub fn read(
        args: &ConnectionArgs,
        command: &clap::Command,
        typed: &HashSet<String>,
    ) -> Result<Self, UsageError> {
        let choice = FileChoice {
            none: args.no_defaults,
            only: args.defaults_file.clone(),
            extra: args.defaults_extra_file.clone(),
            home: std::env::home_dir(),
        };
        let profile = args
            .profile
            .as_ref()
            .map(|profile| format!("rdump-{profile}"));
        let own: Vec<&str> = ["rdump"].into_iter().chain(profile.as_deref()).collect();
        let groups = [SHARED_GROUPS.as_slice(), own.as_slice()].concat();
        let files = OptionFiles::read(&choice, &groups);
        let files = files.map_err(|error| UsageError::from_error(&error))?;
        if let Some(profile) = &profile
            && !files.options.iter().any(|option| option.group == *profile)
        {
            let sentence = format!("no option file has a group [{profile}] with an option in it");
            return Err(UsageError::new(sentence)
                .with_hint("--profile NAME reads the group [rdump-NAME] too"));
        }
        let mut defaults = Self {
            warnings: files.warnings,
            ..Self::default()
        };
        for option in &files.options {
            let done = defaults.option(option, command, typed);
            done.map_err(|error| UsageError::from_error(&error))?;
        }
        Ok(defaults)
    }

    fn option(
        &mut self,
        option: &FileOption,
        command: &clap::Command,
        typed: &HashSet<String>,
    ) -> Result<(), OptionFileError> {
        let text = || {
            let value = option.value.clone();
            value.ok_or_else(|| option.error(format!("{} has no value", option.key)))
        };
        match option.key.as_str() {
            "host" => self.host = Some(text()?),
            "port" => {
                let port = text()?.parse();
                self.port =
                    Some(port.map_err(|_| option.error("the port is no number below 65536"))?);
            }
            "user" => self.user = Some(text()?),
            "password" | "pass" => {
                let given = option.value.as_ref();
                let given = given.map(|value| FilePassword::Given(Secret::new(value)));
                self.password = Some(given.unwrap_or(FilePassword::Ask));
            }
            "socket" => self.socket = Some(text()?.into()),
            "protocol" => {
                self.by_socket = match text()?.to_ascii_lowercase().as_str() {
                    "tcp" => Some(false),
                    "socket" => Some(true),
                    _ => return Err(option.error("the protocol is neither tcp nor socket")),
                };
            }
            "ssl-ca" => self.ssl_ca = Some(text()?.into()),
            "ssl-cert" => self.ssl_cert = Some(text()?.into()),
            "ssl-key" => self.ssl_key = Some(text()?.into()),
            "ssl-mode" => {
                let mode = tls_mode(&text()?);
                self.ssl_mode =
                    Some(mode.map_err(|problem| option.error(format!("ssl-mode: {problem}")))?);
            }
            "ssl" => self.ssl_mode = Some(self.mariadb_mode(is_on(option)?)),
            "skip-ssl" | "disable-ssl" => self.ssl_mode = Some(TlsMode::Disabled),
            "ssl-verify-server-cert" if is_on(option)? => {
                self.ssl_mode = Some(TlsMode::VerifyIdentity);
            }
            "ssl-verify-server-cert" => {}
            _ if option.group.starts_with("rdump") => {
                self.words.extend(word(option, command, typed)?);
            }
            _ => {}
        }
        Ok(())
    }

    /// MariaDB's clients have a switch for TLS and one for the check.
    fn mariadb_mode(&self, on: bool) -> TlsMode {
        match (on, self.ssl_mode) {
            (false, _) => TlsMode::Disabled,
            (true, Some(TlsMode::VerifyIdentity)) => TlsMode::VerifyIdentity,
            (true, _) => TlsMode::Required,
        }
    }
}

fn is_on(option: &FileOption) -> Result<bool, OptionFileError> {
    match &option.value {
        None => Ok(true),
        Some(value) => {
            boolean(value).map_err(|problem| option.error(format!("{}: {problem}", option.key)))
        }
    }
}

/// The flag as it would be typed; none if it was.
fn word(
    option: &FileOption,
    command: &clap::Command,
    typed: &HashSet<String>,
) -> Result<Option<OsString>, OptionFileError> {
    let key = option.key.as_str();
    let is_named = |arg: &&clap::Arg| {
        let aliases = arg.get_all_aliases().unwrap_or_default();
        arg.get_long() == Some(key) || aliases.contains(&key)
    };
    let of_dump = super::command::<DumpArgs>(&DUMP);
    let arg = of_dump.get_arguments().find(is_named);
    let is_connection = arg.is_some_and(|arg| arg.get_help_heading() == Some("Connection"));
    if arg.is_some() && !is_connection && command.get_name() != of_dump.get_name() {
        // A database to be dumped is none to be loaded into: of a dump's flags, the other commands take how to connect.
        return Ok(None);
    }
    let Some(arg) = arg.filter(|_| !TYPED_ONLY.contains(&key)) else {
        // Ours alone: a slip would be lost silently.
        let problem = format!("[{}] does not know `{key}`", option.group);
        return Err(option.error(problem));
    };
    if typed.contains(arg.get_id().as_str()) {
        return Ok(None);
    }
    Ok(Some(match &option.value {
        Some(value) => format!("--{key}={value}").into(),
        None => format!("--{key}").into(),
    }))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::load::{LoadArgs, PAGE};
    use super::super::{command, typed};
    use super::*;

    fn read(text: &str, flags: &[&str]) -> Result<Defaults, UsageError> {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.cnf");
        std::fs::write(&path, text).unwrap();
        let file = format!("--defaults-file={}", path.display());
        let args = typed(&[&[file.as_str()], flags].concat());
        let known = HashSet::from(["threads".to_owned()]);
        let command = command::<DumpArgs>(&DUMP);
        Defaults::read(&args.connection, &command, &known)
    }

    #[test]
    fn all_groups_count_and_the_last_line_wins() {
        let text = "[client]\nhost = a\nuser=me\nssl_ca=/ca.pem\nquick\n[mysqld]\nport=1\n\
                    [rdump]\nport=3307\nsocket=/s\nhost=b\nssl-mode=REQUIRED\n[client-mariadb]\nuser=you";
        let expected = Defaults {
            host: Some("b".to_owned()),
            port: Some(3307),
            user: Some("you".to_owned()),
            socket: Some("/s".into()),
            ssl_mode: Some(TlsMode::Required),
            ssl_ca: Some("/ca.pem".into()),
            ..Defaults::default()
        };
        assert_eq!(read(text, &[]).unwrap(), expected);
    }

    #[test]
    fn flags_stand_in_our_own_groups_and_typed_ones_win() {
        let text = "[client]\nthreads=no\n[rdump]\nthreads=8\nno_views\ncompress=zstd:9\n\
                    [rdump-night]\nkeep=7\n[rdump-other]\nbogus";
        let plain = read(text, &[]).unwrap();
        assert_eq!(plain.words, ["--no-views", "--compress=zstd:9"]);
        let night = read(text, &["--profile=night"]).unwrap();
        assert_eq!(night.words.last().unwrap(), "--keep=7");
        let missing = read(text, &["--profile=day"]).unwrap_err();
        assert!(missing.to_string().contains("[rdump-day]"), "{missing}");
    }

    #[test]
    fn what_is_to_be_dumped_is_nothing_to_a_load() {
        let text = "[rdump]\ndatabase=shop\nthreads=8\nconnect-timeout=3s\npassword-command=x";
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("my.cnf");
        std::fs::write(&path, text).unwrap();
        let args = typed(&[&format!("--defaults-file={}", path.display())]);
        let load = command::<LoadArgs>(&PAGE);
        let defaults = Defaults::read(&args.connection, &load, &HashSet::new()).unwrap();
        assert_eq!(
            defaults.words,
            ["--connect-timeout=3s", "--password-command=x"]
        );
    }

    #[test]
    fn the_words_of_mariadb_for_tls_are_understood() {
        let mode = |text: &str| read(&format!("[client]\n{text}"), &[]).unwrap().ssl_mode;
        assert_eq!(mode("ssl"), Some(TlsMode::Required));
        assert_eq!(mode("ssl=0"), Some(TlsMode::Disabled));
        assert_eq!(mode("skip-ssl"), Some(TlsMode::Disabled));
        let checked = "ssl-verify-server-cert\nssl";
        assert_eq!(mode(checked), Some(TlsMode::VerifyIdentity));
        assert_eq!(mode("ssl-verify-server-cert=0"), None);
    }

    #[test]
    fn errors_name_the_line_and_never_the_value() {
        for (text, problem) in [
            (
                "[client]\nport=x",
                "line 2: the port is no number below 65536",
            ),
            ("[client]\n\nuser", "line 3: user has no value"),
            (
                "[rdump]\npasswd=geheim",
                "line 2: [rdump] does not know `passwd`",
            ),
            (
                "[rdump]\nprofile=x",
                "line 2: [rdump] does not know `profile`",
            ),
            (
                "[client]\nprotocol=pipe",
                "line 2: the protocol is neither tcp nor socket",
            ),
        ] {
            let message = read(text, &[]).unwrap_err().to_string();
            assert!(message.ends_with(problem), "{message}");
        }
        assert!(read("[client]\npasswd=x", &[]).is_ok());
    }

    #[test]
    fn a_password_without_a_value_is_asked_for() {
        let password = |line: &str| read(&format!("[client]\n{line}"), &[]).unwrap().password;
        assert_eq!(password("password"), Some(FilePassword::Ask));
        let given = Some(FilePassword::Given(Secret::new("x y")));
        assert_eq!(password("pass='x y'"), given);
    }
}
