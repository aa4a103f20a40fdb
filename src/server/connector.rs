//! `Connector`: opens sessions to one server.
//!
//! Owns the way to the server: addresses, time limits of the connect, TLS, what the driver is told. What a session is told
//! once it is open it leaves to `session.rs`.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::Arc;
use std::sync::mpsc::{self, RecvTimeoutError};
use std::time::{Duration, Instant};

use mysql::{ClientIdentity, Conn, DriverError, Opts, OptsBuilder, SslOpts};

use super::error::{ServerError, io_cause};
use super::reaper::{Reaper, ReaperHandle};
use super::session::{Known, Purpose, RowText, Session};
use super::socket::SessionSocket;
use super::{ConnectOptions, TlsMode};
use crate::cancel::{CancelToken, Interrupt};
use crate::secret::SecretSource;

/// The largest packet the protocol allows, and so the widest row (MySQL manual, max_allowed_packet).
const LARGEST_PACKET_BYTES: usize = 1 << 30;
/// First keepalive probe after so much silence; then [`KEEPALIVE_PROBES`] of [`KEEPALIVE_INTERVAL_SECONDS`].
const KEEPALIVE_IDLE_MS: u32 = 30_000;
const KEEPALIVE_INTERVAL_SECONDS: u32 = 10;
const KEEPALIVE_PROBES: u32 = 3;
/// How often a connect in progress looks whether the run is cancelled.
const CANCEL_LOOK: Duration = Duration::from_millis(50);
/// The reaper has little time, so it gives up soon.
const REAPER_TIMEOUT: Duration = Duration::from_secs(2);
/// How long sent bytes may stay unacknowledged (`TCP_USER_TIMEOUT`).
const USER_TIMEOUT_MS: u32 = 60_000;

/// Opens sessions to one server.
#[derive(Clone)]
pub struct Connector {
    options: Arc<ConnectOptions>,
    cancel: CancelToken,
    known: Arc<Known>,
    reaper: Option<ReaperHandle>,
    row_text: RowText,
    reads_in_place: bool,
}

/// What the connecting thread tells.
enum News {
    /// An address is tried; the connect timeout begins anew.
    Trying,
    Ended(Box<Result<Connected, ServerError>>),
}

/// A connection that is let in.
struct Connected {
    connection: Conn,
    /// Whether its bytes are the protocol's own, without TLS.
    is_plain: bool,
}

impl Connector {
    /// A connector; nothing is opened yet. Every session registers its socket with `cancel`.
    pub fn new(options: ConnectOptions, cancel: CancelToken) -> Self {
        Self {
            options: Arc::new(options),
            cancel,
            known: Arc::default(),
            reaper: None,
            row_text: RowText::Own,
            // The tests try both sources of rows on the same lines.
            reads_in_place: std::env::var_os("RDUMP_ROWS").is_none_or(|rows| rows != "driver"),
        }
    }

    /// A reaper for the sessions of this connector; from now on they hand themselves over.
    pub fn start_reaper(&mut self) -> Reaper {
        let mut options = ConnectOptions::clone(&self.options);
        options.connect_timeout = options.connect_timeout.min(REAPER_TIMEOUT);
        options.read_timeout = REAPER_TIMEOUT;
        options.first_row_timeout = REAPER_TIMEOUT;
        let reaper = Reaper::start(Self {
            options: Arc::new(options),
            cancel: CancelToken::new(),
            ..self.clone()
        });
        self.reaper = Some(reaper.handle());
        reaper
    }

    /// The same connector, whose sessions hand themselves to that reaper.
    #[must_use]
    pub(super) fn with_reaper(self, reaper: ReaperHandle) -> Self {
        Self {
            reaper: Some(reaper),
            ..self
        }
    }

    /// The same connector, whose sessions read the text of rows in that charset.
    #[must_use]
    pub fn reading(self, row_text: RowText) -> Self {
        Self { row_text, ..self }
    }

    /// The same connector, whose sessions end with another token.
    #[must_use]
    pub fn heeding(self, cancel: CancelToken) -> Self {
        Self { cancel, ..self }
    }

    /// Host and port, or the socket: for messages.
    pub fn server(&self) -> String {
        match &self.options.socket {
            Some(path) => path.display().to_string(),
            None => format!("{}:{}", self.options.host, self.options.port),
        }
    }

    /// The token whose cancellation interrupts all sessions.
    pub fn cancel_token(&self) -> &CancelToken {
        &self.cancel
    }

    /// Opens a session and gives it its settings.
    pub fn open(&self, purpose: Purpose) -> Result<Session, ServerError> {
        let Connected {
            connection,
            is_plain,
        } = self.connect_interruptibly()?;
        let lost = |source| ServerError::Connect {
            server: self.server(),
            source,
        };
        let socket = Arc::new(SessionSocket::of(&connection).map_err(lost)?);
        let registration = self
            .cancel
            .register(Arc::clone(&socket) as Arc<dyn Interrupt>);
        let reaper = self.reaper.clone();
        let mut session = Session::new(connection, socket, registration, reaper, &self.options);
        let variables = &self.options.session_variables;
        if is_plain && self.reads_in_place {
            session.read_in_place();
        }
        session.configure(&self.known, variables, purpose, self.row_text)?;
        session.raise_waits(&self.options).map_err(lost)?;
        log::debug!("connection {} to {} is open", session.id(), self.server());
        Ok(session)
    }

    /// Connects on a thread of its own, since a connect, a handshake and a look-up of a name hear no cancellation, and a
    /// handshake may come in drops, each within the time limit. What comes too late is dropped there.
    fn connect_interruptibly(&self) -> Result<Connected, ServerError> {
        let (sender, receiver) = mpsc::channel();
        let connector = self.clone();
        std::thread::spawn(move || {
            // Nobody listens any more if it took too long or the run was cancelled.
            let ended = connector.connect(|| drop(sender.send(News::Trying)));
            sender.send(News::Ended(Box::new(ended))).ok();
        });
        let mut begun = Instant::now();
        loop {
            match receiver.recv_timeout(CANCEL_LOOK) {
                Ok(News::Ended(ended)) => return *ended,
                Ok(News::Trying) => begun = Instant::now(),
                Err(RecvTimeoutError::Timeout) if !self.cancel.is_cancelled() => {
                    if begun.elapsed() > self.options.connect_timeout + CANCEL_LOOK {
                        let source = io::ErrorKind::TimedOut.into();
                        return Err(ServerError::connect(self.server(), &source));
                    }
                }
                Err(_) => {
                    let source = io::Error::new(io::ErrorKind::Interrupted, "interrupted");
                    return Err(ServerError::connect(self.server(), &source));
                }
            }
        }
    }

    /// Tries every address of the host in turn; the `mysql` crate would try the first one only (io/tcp.rs).
    fn connect(&self, trying: impl Fn()) -> Result<Connected, ServerError> {
        let options = &self.options;
        // A password may take as long as a connect.
        let base = self.driver_options()?;
        trying();
        // The crate checks the certificate against the host it connects to, so here it must get the name.
        if options.socket.is_some() || options.tls.mode == TlsMode::VerifyIdentity {
            return self.connect_once(base.ip_or_hostname(Some(options.host.clone())));
        }
        let mut failure = None;
        for address in self.addresses()? {
            let opts = base
                .clone()
                .ip_or_hostname(Some(address.ip().to_string()))
                .tcp_port(address.port());
            trying();
            match self.connect_once(opts) {
                Err(error @ ServerError::Connect { .. }) => failure = Some(error),
                done => return done,
            }
        }
        Err(failure.unwrap_or_else(|| ServerError::Connect {
            server: self.server(),
            source: io::Error::new(io::ErrorKind::NotFound, "the name has no address"),
        }))
    }

    fn addresses(&self) -> Result<Vec<SocketAddr>, ServerError> {
        let name = (self.options.host.as_str(), self.options.port);
        match name.to_socket_addrs() {
            Ok(addresses) => Ok(addresses.collect()),
            Err(source) => Err(ServerError::Connect {
                server: self.server(),
                source: io::Error::new(io::ErrorKind::NotFound, source.to_string()),
            }),
        }
    }

    fn connect_once(&self, opts: OptsBuilder) -> Result<Connected, ServerError> {
        let tls = self.tls_options();
        // The crate refuses a server without TLS when it was told to use it.
        let mut is_plain = tls.is_none();
        match Conn::new(Opts::from(opts.clone().ssl_opts(tls.clone()))) {
            Err(error) if self.options.tls.mode == TlsMode::Preferred && is_no_tls(&error) => {
                log::debug!("{} offers no TLS that can be used", self.server());
                is_plain = true;
                Conn::new(Opts::from(opts))
            }
            done => done,
        }
        .map(|connection| Connected {
            connection,
            is_plain,
        })
        .map_err(|error| self.connect_error(error))
    }

    fn connect_error(&self, error: mysql::Error) -> ServerError {
        let server = self.server();
        match error {
            mysql::Error::MySqlError(e) => ServerError::Refused {
                server,
                code: e.code,
                message: e.message,
            },
            mysql::Error::TlsError(e) => ServerError::Tls {
                server,
                reason: e.to_string(),
            },
            mysql::Error::DriverError(DriverError::TlsNotSupported) => ServerError::Tls {
                server,
                reason: "the server does not offer it".to_owned(),
            },
            mysql::Error::DriverError(DriverError::CleartextPluginDisabled) => {
                self.refused_plugin("mysql_clear_password")
            }
            mysql::Error::DriverError(DriverError::UnknownAuthPlugin(name)) => {
                self.refused_plugin(&name)
            }
            mysql::Error::DriverError(DriverError::OldMysqlPasswordDisabled) => {
                self.refused_plugin("mysql_old_password")
            }
            mysql::Error::DriverError(DriverError::CouldNotConnect(Some((_, text, kind)))) => {
                ServerError::Connect {
                    server,
                    source: io::Error::new(kind, text),
                }
            }
            mysql::Error::IoError(source) => self.broken_off(&source),
            mysql::Error::CodecError(e) => {
                let source = io::Error::new(io::ErrorKind::ConnectionAborted, e.to_string());
                self.broken_off(io_cause(&e).unwrap_or(&source))
            }
            other => ServerError::Connect {
                server,
                source: io::Error::other(other.to_string()),
            },
        }
    }

    /// For an account that is not there MySQL names the plug-in of any other one, to hide that.
    fn refused_plugin(&self, plugin: &str) -> ServerError {
        ServerError::Plugin {
            server: self.server(),
            user: self.options.user.clone(),
            plugin: plugin.to_owned(),
        }
    }

    /// A handshake that did not come to its end. What the TLS library refuses comes as invalid data, and will be refused again.
    fn broken_off(&self, source: &io::Error) -> ServerError {
        let server = self.server();
        if source.kind() == io::ErrorKind::InvalidData && self.tls_options().is_some() {
            let reason = source.to_string();
            return ServerError::Tls { server, reason };
        }
        ServerError::connect(server, source)
    }

    fn driver_options(&self) -> Result<OptsBuilder, ServerError> {
        let options = &self.options;
        let fetch = |source: &SecretSource| source.fetch(options.connect_timeout);
        let secret = options.password.as_ref().map(fetch).transpose();
        let secret = secret.map_err(|source| ServerError::Password {
            server: self.server(),
            source,
        })?;
        let socket = options.socket.as_ref().map(|path| path.to_string_lossy());
        Ok(OptsBuilder::new()
            .tcp_port(options.port)
            .socket(socket.map(String::from))
            // On by default, it moves a connection to 127.0.0.1 to the server's own socket, past tunnels and proxies.
            .prefer_socket(false)
            .user(Some(options.user.clone()))
            .pass(secret.map(|secret| secret.expose().to_owned()))
            .enable_cleartext_plugin(options.cleartext_passwords)
            .stmt_cache_size(0)
            .max_allowed_packet(Some(LARGEST_PACKET_BYTES))
            .tcp_connect_timeout(Some(options.connect_timeout))
            // The handshake waits for these; they are raised on the duplicate descriptor once the session is set up.
            .read_timeout(Some(options.connect_timeout))
            .write_timeout(Some(options.connect_timeout))
            .tcp_keepalive_time_ms(Some(KEEPALIVE_IDLE_MS))
            .tcp_keepalive_probe_interval_secs(Some(KEEPALIVE_INTERVAL_SECONDS))
            .tcp_keepalive_probe_count(Some(KEEPALIVE_PROBES))
            .tcp_user_timeout_ms(Some(USER_TIMEOUT_MS)))
    }

    fn tls_options(&self) -> Option<SslOpts> {
        let tls = &self.options.tls;
        if tls.mode == TlsMode::Disabled || self.options.socket.is_some() {
            return None;
        }
        let identity = match (&tls.cert, &tls.key) {
            (Some(cert), Some(key)) => Some(ClientIdentity::new(cert.clone(), key.clone())),
            _ => None,
        };
        let checked = matches!(tls.mode, TlsMode::VerifyCa | TlsMode::VerifyIdentity);
        Some(
            SslOpts::default()
                .with_root_cert_path(tls.ca.clone())
                .with_client_identity(identity)
                .with_danger_accept_invalid_certs(!checked)
                .with_danger_skip_domain_validation(tls.mode != TlsMode::VerifyIdentity),
        )
    }
}

/// Whether TLS is what failed: the server does not offer it, or the two know no common version or cipher.
fn is_no_tls(error: &mysql::Error) -> bool {
    match error {
        mysql::Error::TlsError(_) | mysql::Error::DriverError(DriverError::TlsNotSupported) => true,
        mysql::Error::IoError(source) => source.kind() == io::ErrorKind::InvalidData,
        mysql::Error::CodecError(error) => {
            io_cause(error).is_some_and(|source| source.kind() == io::ErrorKind::InvalidData)
        }
        _ => false,
    }
}
