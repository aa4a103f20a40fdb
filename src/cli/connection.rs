//! From flags, environment and option file to [`ConnectOptions`].
//!
//! Owns which of them wins, and the checks of certificates, all without a server. The order for the password is in
//! `password.rs`, the files' grammar in `option_file.rs`.

use std::fs::File;
use std::path::{Path, PathBuf};

use super::flags::{ConnectionArgs, tls_mode};
use super::option_file::{FilePassword, OptionFile};
use super::password::{TypedPassword, ask_password, find_password};
use super::usage::UsageError;
use crate::server::{ConnectOptions, TlsMode, TlsOptions};

/// The connection but for its password, which is asked for when all else is in order.
pub struct Connection {
    options: ConnectOptions,
    typed: TypedPassword,
    from_file: Option<FilePassword>,
}

impl Connection {
    /// Puts flags and option file together.
    pub fn new(
        args: &ConnectionArgs,
        file: OptionFile,
        session_variables: Vec<(String, String)>,
    ) -> Result<Self, UsageError> {
        let tls = tls_options(args, &file)?;
        let socket = socket(args, file.socket)?;
        let typed = match &args.password {
            Some(secret) => TypedPassword::Given(secret.clone()),
            None if args.ask_password => TypedPassword::Ask,
            None => TypedPassword::Absent,
        };
        let options = ConnectOptions {
            host: first(args.host.as_deref(), file.host, "127.0.0.1"),
            port: args.port.or(file.port).unwrap_or(3306),
            socket,
            user: first(args.user.as_deref(), file.user, "root"),
            password: None,
            tls,
            connect_timeout: args.connect_timeout,
            read_timeout: args.read_timeout,
            first_row_timeout: args.first_row_timeout.unwrap_or(args.read_timeout),
            session_variables,
        };
        Ok(Self {
            options,
            typed,
            from_file: file.password,
        })
    }

    /// The connection with its password, for which the user may be asked.
    pub fn with_password(mut self) -> Result<ConnectOptions, UsageError> {
        let environment = |name: &str| std::env::var(name).ok();
        self.options.password =
            find_password(self.typed, environment, self.from_file, ask_password)?;
        Ok(self.options)
    }
}

fn first(typed: Option<&str>, from_file: Option<String>, default: &str) -> String {
    let typed = typed.filter(|text| !text.is_empty()).map(str::to_owned);
    typed.or(from_file).unwrap_or_else(|| default.to_owned())
}

/// A typed socket wins over everything; one of the file only when neither host nor port was typed.
fn socket(
    args: &ConnectionArgs,
    from_file: Option<PathBuf>,
) -> Result<Option<PathBuf>, UsageError> {
    let Some(socket) = &args.socket else {
        let typed_tcp = args.host.is_some() || args.port.is_some();
        return Ok(from_file.filter(|_| !typed_tcp));
    };
    let text = socket.to_string_lossy();
    let first_word = text.split_whitespace().next().unwrap_or_default();
    if first_word.eq_ignore_ascii_case("select") {
        // Dumpling's letter for --sql.
        return Err(UsageError::new("-S is the unix socket, not a query").with_hint("use --sql"));
    }
    Ok(Some(socket.clone()))
}

fn tls_options(args: &ConnectionArgs, file: &OptionFile) -> Result<TlsOptions, UsageError> {
    let mode = match (args.ssl_mode, &file.ssl_mode) {
        (Some(mode), _) => Some(mode),
        (None, Some(text)) => Some(tls_mode(text).map_err(|problem| {
            UsageError::new(format!(
                "invalid ssl-mode `{text}` in the option file: {problem}"
            ))
        })?),
        (None, None) => None,
    };
    let pick = |typed: &Option<PathBuf>, from_file: &Option<PathBuf>| {
        typed.clone().or_else(|| from_file.clone())
    };
    let ca = pick(&args.ca, &file.ssl_ca);
    let cert = pick(&args.cert, &file.ssl_cert);
    let key = pick(&args.key, &file.ssl_key);
    let typed = args.ca.is_some() || args.cert.is_some() || args.key.is_some();
    if typed && mode == Some(TlsMode::Disabled) {
        return Err(UsageError::new(
            "certificates are of no use with --ssl-mode DISABLED",
        ));
    }
    let mode = match (mode, &ca) {
        (Some(mode), _) => mode,
        // As the mysql client: who names a CA wants it checked.
        (None, Some(_)) => TlsMode::VerifyCa,
        (None, None) => TlsMode::Preferred,
    };
    if key.is_some() && cert.is_none() {
        return Err(UsageError::new("--key needs --cert")
            .with_hint("a client shows its certificate together with the key"));
    }
    // One file may hold both, as for the mysql client.
    let key = key.or_else(|| cert.clone());
    for (flag, path) in [("--ca", &ca), ("--cert", &cert), ("--key", &key)] {
        if let Some(path) = path {
            check_readable(flag, path)?;
        }
    }
    Ok(TlsOptions {
        mode,
        ca,
        cert,
        key,
    })
}

fn check_readable(flag: &str, path: &Path) -> Result<(), UsageError> {
    let opened = File::open(path).and_then(|file| file.metadata());
    match opened {
        Ok(metadata) if metadata.is_dir() => Err(UsageError::new(format!(
            "{flag} {} is a directory, not a file",
            path.display()
        ))),
        Ok(_) => Ok(()),
        Err(error) => {
            let sentence = format!("cannot read {flag} {}", path.display());
            Err(UsageError::new(sentence).caused_by(error))
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::flags::DumpArgs;
    use super::super::typed;
    use super::*;

    fn connection(line: &[&str], file: OptionFile) -> Result<ConnectOptions, UsageError> {
        let args: DumpArgs = typed(line);
        Connection::new(&args.connection, file, Vec::new()).map(|connection| connection.options)
    }

    fn file() -> OptionFile {
        OptionFile {
            host: Some("db1".to_owned()),
            port: Some(3307),
            user: Some("me".to_owned()),
            socket: Some("/file.sock".into()),
            ..OptionFile::default()
        }
    }

    #[test]
    fn flags_win_over_the_file_and_the_file_over_the_defaults() {
        let options = connection(&[], OptionFile::default()).unwrap();
        assert_eq!((options.host.as_str(), options.port), ("127.0.0.1", 3306));
        assert_eq!((options.user.as_str(), options.socket), ("root", None));
        assert_eq!(options.first_row_timeout, options.read_timeout);
        let options = connection(&["-uyou"], file()).unwrap();
        assert_eq!((options.host.as_str(), options.port), ("db1", 3307));
        assert_eq!(options.user, "you");
        assert_eq!(options.socket, Some("/file.sock".into()));
    }

    #[test]
    fn a_typed_host_or_port_wins_over_the_socket_of_the_file() {
        assert_eq!(connection(&["-hdb2"], file()).unwrap().socket, None);
        assert_eq!(connection(&["-P1"], file()).unwrap().socket, None);
        let both = connection(&["-hdb2", "-S/typed.sock"], file()).unwrap();
        assert_eq!(both.socket, Some("/typed.sock".into()));
    }

    #[test]
    fn a_ca_is_checked_unless_the_mode_says_otherwise() {
        let mode = |line: &[&str]| connection(line, OptionFile::default()).unwrap().tls.mode;
        assert_eq!(mode(&[]), TlsMode::Preferred);
        assert_eq!(mode(&["--ca", "/dev/null"]), TlsMode::VerifyCa);
        let required = ["--ssl-ca=/dev/null", "--ssl-mode=required"];
        assert_eq!(mode(&required), TlsMode::Required);
        let from_file = OptionFile {
            ssl_mode: Some("VERIFY_IDENTITY".to_owned()),
            ..OptionFile::default()
        };
        let options = connection(&[], from_file).unwrap();
        assert_eq!(options.tls.mode, TlsMode::VerifyIdentity);
    }

    #[test]
    fn a_certificate_file_may_hold_the_key_too() {
        let options = connection(&["--cert=/dev/null"], OptionFile::default()).unwrap();
        assert_eq!(options.tls.key, Some("/dev/null".into()));
    }
}
