//! From flags, option files and environment to [`ConnectOptions`].
//!
//! Owns the flags, which every command that reaches a server has, which source of a setting wins, when a unix socket is used, and
//! the checks of certificates, all without a server. The order for the password is in `password.rs`, what the files say in
//! `defaults.rs`.

#![allow(clippy::doc_markdown)] // the comments on flags are their help lines

use std::fs::File;
use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::defaults::{Defaults, FilePassword};
use super::password::{TypedPassword, find_password};
use super::prompt::ask_password;
use super::usage::UsageError;
use super::values::{port, secret, tls_mode, wait};
use crate::secret::{Secret, SecretCommand};
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
    /// Program that prints the password, run for each connection
    #[arg(long, value_name = "COMMAND", allow_hyphen_values = true)]
    pub password_command: Option<String>,
    /// Send the password as it is if asked, by TLS or socket
    #[arg(long, alias = "enable-cleartext-plugin")]
    pub allow_cleartext_passwords: bool,
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
    /// Read [rdump-NAME] of the option files too
    #[arg(long, value_name = "NAME")]
    pub profile: Option<String>,
    /// Read this option file and no other
    #[arg(long, value_name = "FILE")]
    pub defaults_file: Option<PathBuf>,
    /// Read this option file too, before ~/.my.cnf
    #[arg(long, value_name = "FILE")]
    pub defaults_extra_file: Option<PathBuf>,
    /// Read no option files
    #[arg(long)]
    pub no_defaults: bool,
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

/// A command that may reach a server.
pub trait Connects {
    /// How to reach it; `None` if it does not this time.
    fn connection(&self) -> Option<&ConnectionArgs>;
}

impl ConnectionArgs {
    /// What is odd about the flags and the files, one sentence each.
    pub fn warnings(&self, defaults: &Defaults) -> Vec<String> {
        let mut warnings = defaults.warnings.clone();
        if self.password.is_some() {
            let sentence = "a password on the command line can be seen by everybody on this machine (ps); \
                            use -p, RDUMP_PASSWORD, --password-command or an option file";
            warnings.push(sentence.to_owned());
        }
        warnings
    }
}

/// The connection but for its password, which is asked for when all else is in order.
pub struct Connection {
    options: ConnectOptions,
    typed: TypedPassword,
    from_file: Option<FilePassword>,
}

impl Connection {
    /// Puts flags, option files and environment together.
    pub fn new(
        args: &ConnectionArgs,
        file: Defaults,
        session_variables: Vec<(String, String)>,
    ) -> Result<Self, UsageError> {
        let tls = tls_options(args, &file)?;
        let typed_host = args.host.clone().filter(|host| !host.is_empty());
        let host = typed_host
            .or_else(|| file.host.clone())
            .or_else(|| variable("MYSQL_HOST"));
        let socket = socket(args, &file, host.as_deref())?;
        if args.allow_cleartext_passwords && socket.is_none() && !tls.mode.is_certain() {
            let sentence =
                "--allow-cleartext-passwords needs a connection that nobody can listen to";
            return Err(UsageError::new(sentence)
                .with_hint("add --ssl-mode REQUIRED or one of the VERIFY modes, or use a socket"));
        }
        let port = match args.port.or(file.port) {
            Some(port) => port,
            None => port_of_environment()?.unwrap_or(3306),
        };
        let typed_user = args.user.clone().filter(|user| !user.is_empty());
        let typed = match (&args.password, &args.password_command) {
            (Some(secret), _) => TypedPassword::Given(secret.clone()),
            (None, _) if args.ask_password => TypedPassword::Ask,
            (None, Some(line)) => TypedPassword::Command(SecretCommand::new(line)),
            (None, None) => TypedPassword::Absent,
        };
        let options = ConnectOptions {
            host: host.unwrap_or_else(|| "127.0.0.1".to_owned()),
            port,
            socket,
            user: typed_user
                .or(file.user)
                .unwrap_or_else(|| "root".to_owned()),
            password: None,
            cleartext_passwords: args.allow_cleartext_passwords,
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

/// A variable that is set, and not to nothing.
fn variable(name: &str) -> Option<String> {
    std::env::var(name).ok().filter(|value| !value.is_empty())
}

fn port_of_environment() -> Result<Option<u16>, UsageError> {
    let Some(text) = variable("MYSQL_TCP_PORT") else {
        return Ok(None);
    };
    let parsed = port(&text);
    let parsed = parsed.map_err(|problem| {
        UsageError::new(format!(
            "invalid value `{text}` of MYSQL_TCP_PORT: {problem}"
        ))
    })?;
    Ok(Some(parsed))
}

/// Where servers listen unless told otherwise: Debian's MariaDB and MySQL, Red Hat's, and MySQL's own default.
const USUAL_SOCKETS: [&str; 3] = [
    "/run/mysqld/mysqld.sock",
    "/var/lib/mysql/mysql.sock",
    "/tmp/mysql.sock",
];

/// A typed socket wins over everything. Without a typed port, `localhost` is the socket of the file or a usual one, as for
/// every client of MySQL; so is no host at all if a file has a socket. Any other host is reached by TCP.
fn socket(
    args: &ConnectionArgs,
    file: &Defaults,
    host: Option<&str>,
) -> Result<Option<PathBuf>, UsageError> {
    if let Some(socket) = &args.socket {
        let text = socket.to_string_lossy();
        let first_word = text.split_whitespace().next().unwrap_or_default();
        if first_word.eq_ignore_ascii_case("select") {
            // Dumpling's letter for --sql.
            let sentence = "-S is the unix socket, not a query";
            return Err(UsageError::new(sentence).with_hint("use --sql"));
        }
        return Ok(Some(socket.clone()));
    }
    if args.port.is_some() || file.by_socket == Some(false) {
        return Ok(None);
    }
    let named = || {
        let of_file = file.socket.clone();
        of_file.or_else(|| variable("MYSQL_UNIX_PORT").map(PathBuf::from))
    };
    let usual = || {
        USUAL_SOCKETS
            .iter()
            .map(PathBuf::from)
            .find(|path| path.exists())
    };
    Ok(match host {
        None if file.by_socket == Some(true) => named().or_else(usual),
        None => named(),
        Some("localhost") => named().or_else(usual),
        Some(_) => None,
    })
}

fn tls_options(args: &ConnectionArgs, file: &Defaults) -> Result<TlsOptions, UsageError> {
    let mode = args.ssl_mode.or(file.ssl_mode);
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

    fn connection(line: &[&str], file: Defaults) -> Result<ConnectOptions, UsageError> {
        let args: DumpArgs = typed(line);
        Connection::new(&args.connection, file, Vec::new()).map(|connection| connection.options)
    }

    fn file() -> Defaults {
        Defaults {
            port: Some(3307),
            user: Some("me".to_owned()),
            socket: Some("/file.sock".into()),
            ..Defaults::default()
        }
    }

    #[test]
    fn flags_win_over_the_file_and_the_file_over_the_defaults() {
        let options = connection(&[], Defaults::default()).unwrap();
        assert_eq!((options.host.as_str(), options.port), ("127.0.0.1", 3306));
        assert_eq!((options.user.as_str(), options.socket), ("root", None));
        assert_eq!(options.first_row_timeout, options.read_timeout);
        let options = connection(&["-uyou"], file()).unwrap();
        assert_eq!((options.host.as_str(), options.port), ("127.0.0.1", 3307));
        assert_eq!(options.user, "you");
        assert_eq!(options.socket, Some("/file.sock".into()));
    }

    #[test]
    fn the_socket_of_the_file_is_for_this_machine_and_no_typed_port() {
        let socket = |line: &[&str], file| connection(line, file).unwrap().socket;
        assert_eq!(socket(&["-hdb2"], file()), None);
        assert_eq!(socket(&["-h127.0.0.1"], file()), None);
        assert_eq!(socket(&["-P1"], file()), None);
        assert_eq!(socket(&["-hlocalhost", "-P1"], file()), None);
        let of_file = Some(PathBuf::from("/file.sock"));
        assert_eq!(socket(&["-hlocalhost"], file()), of_file);
        let elsewhere = Defaults {
            host: Some("db1".to_owned()),
            ..file()
        };
        assert_eq!(socket(&[], elsewhere), None);
        let by_tcp = Defaults {
            by_socket: Some(false),
            ..file()
        };
        assert_eq!(socket(&["-hlocalhost"], by_tcp), None);
        let typed = Some(PathBuf::from("/typed.sock"));
        assert_eq!(socket(&["-hdb2", "-S/typed.sock"], file()), typed);
    }

    #[test]
    fn a_clear_password_wants_a_private_connection() {
        let allowed = |line: &[&str]| {
            let line = [&["--allow-cleartext-passwords"], line].concat();
            connection(&line, Defaults::default()).is_ok()
        };
        assert!(!allowed(&[]) && !allowed(&["--ssl-mode=PREFERRED"]));
        assert!(allowed(&["--ssl-mode=REQUIRED"]) && allowed(&["-S/s"]));
    }

    #[test]
    fn a_ca_is_checked_unless_the_mode_says_otherwise() {
        let mode = |line: &[&str]| connection(line, Defaults::default()).unwrap().tls.mode;
        assert_eq!(mode(&[]), TlsMode::Preferred);
        assert_eq!(mode(&["--ca", "/dev/null"]), TlsMode::VerifyCa);
        let required = ["--ssl-ca=/dev/null", "--ssl-mode=required"];
        assert_eq!(mode(&required), TlsMode::Required);
        let from_file = Defaults {
            ssl_mode: Some(TlsMode::VerifyIdentity),
            ..Defaults::default()
        };
        let options = connection(&[], from_file).unwrap();
        assert_eq!(options.tls.mode, TlsMode::VerifyIdentity);
    }

    #[test]
    fn a_certificate_file_may_hold_the_key_too() {
        let options = connection(&["--cert=/dev/null"], Defaults::default()).unwrap();
        assert_eq!(options.tls.key, Some("/dev/null".into()));
    }
}
