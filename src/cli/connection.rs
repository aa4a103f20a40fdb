//! From flags, environment and option file to [`ConnectOptions`].
//!
//! Owns the flags, which every command that reaches a server has, which source of a setting wins, and the checks of certificates, all without a server. The order for the password is in
//! `password.rs`, the files' grammar in `option_file.rs`.

#![allow(clippy::doc_markdown)] // the comments on flags are their help lines

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::flags::{choose, wait};
use super::option_file::{FilePassword, OptionFile};
use super::password::{TypedPassword, ask_password, find_password};
use super::usage::UsageError;
use crate::secret::Secret;
use crate::server::{ConnectOptions, TlsMode, TlsOptions};

/// How to reach the server.
#[derive(Debug, Args)]
#[command(next_help_heading = "Connection")]
pub struct ConnectionArgs {
    /// Server's name or address [default: 127.0.0.1]
    #[arg(short = 'h', long, value_name = "HOST")]
    pub host: Option<String>,
    /// TCP port [default: 3306]
    #[arg(short = 'P', long, value_name = "PORT", value_parser = port)]
    pub port: Option<u16>,
    /// Account [default: root]
    #[arg(short, long, value_name = "USER")]
    pub user: Option<String>,
    /// Its password, as -pVALUE; -p alone asks for it
    #[arg(short, long, value_name = "VALUE", require_equals = true, value_parser = secret)]
    pub password: Option<Secret>,
    /// What `argv.rs` makes of `-p` alone
    #[arg(long, hide = true)]
    pub ask_password: bool,
    /// Unix socket, instead of host and port
    #[arg(short = 'S', long, value_name = "PATH")]
    pub socket: Option<PathBuf>,
    /// Certificate of the CA, PEM
    #[arg(long, alias = "ssl-ca", value_name = "FILE")]
    pub ca: Option<PathBuf>,
    /// Certificate of this client, PEM
    #[arg(long, alias = "ssl-cert", value_name = "FILE")]
    pub cert: Option<PathBuf>,
    /// Key of this client, PEM
    #[arg(long, alias = "ssl-key", value_name = "FILE")]
    pub key: Option<PathBuf>,
    /// As in mysql [default: PREFERRED, with --ca VERIFY_CA]
    #[arg(long, value_name = "MODE", value_parser = tls_mode)]
    pub ssl_mode: Option<TlsMode>,
    /// Longest wait for the server's next bytes
    #[arg(long, value_name = "TIME", default_value = "15m", value_parser = wait)]
    pub read_timeout: Duration,
    /// Longest wait for a connection
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = wait)]
    pub connect_timeout: Duration,
    /// Longest wait for a query's first row [default: read timeout]
    #[arg(long, value_name = "TIME", value_parser = wait)]
    pub first_row_timeout: Option<Duration>,
}

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

fn port(text: &str) -> Result<u16, String> {
    let port = text.parse().ok().filter(|port| *port > 0);
    port.ok_or_else(|| "a port is a number from 1 to 65535".to_owned())
}

/// Cannot fail, but must wrap the text before anything could print it.
#[allow(clippy::unnecessary_wraps)] // clap wants a Result
fn secret(text: &str) -> Result<Secret, String> {
    Ok(Secret::new(text))
}

/// The mode of that name, in any case and with `-` for `_`.
pub fn tls_mode(text: &str) -> Result<TlsMode, String> {
    let modes = [
        ("DISABLED", TlsMode::Disabled),
        ("PREFERRED", TlsMode::Preferred),
        ("REQUIRED", TlsMode::Required),
        ("VERIFY_CA", TlsMode::VerifyCa),
        ("VERIFY_IDENTITY", TlsMode::VerifyIdentity),
    ];
    choose(&text.replace('-', "_"), &modes)
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
