//! `Connector` and `Session`: connections to the server, and everything that is said over one.
//!
//! Owns how a connection is opened, and the settings every session gets, first or rebuilt, in one place (`settings`). A
//! session that failed in mid-result is broken and says so; it is never used again. Which session stands in which
//! snapshot it leaves to `snapshot.rs`, who ends sessions on the server to the coordinator.

use std::io;
use std::net::{SocketAddr, ToSocketAddrs};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{ClientIdentity, Conn, DriverError, Opts, OptsBuilder, SslOpts};

use super::driver::DriverRows;
use super::error::ServerError;
use super::flavor::{Flavor, Kind};
use super::rows::RowSource;
use super::socket::SessionSocket;
use super::{ConnectOptions, TlsMode};
use crate::cancel::{CancelToken, Interrupt, Registration};

/// The largest packet the protocol allows, and so the widest row (MySQL manual, max_allowed_packet).
const LARGEST_PACKET_BYTES: usize = 1 << 30;
/// How long the server may wait for us to take bytes before it hangs up: our disk may be slow, but not without end.
const NET_WRITE_TIMEOUT_SECONDS: u32 = 3600;
/// How long an idle session is kept: longer than the default 8 h, so that a spare outlives a long dump.
const WAIT_TIMEOUT_SECONDS: u32 = 86_400;
/// First keepalive probe after so much silence; then [`KEEPALIVE_PROBES`] of [`KEEPALIVE_INTERVAL_SECONDS`].
const KEEPALIVE_IDLE_MS: u32 = 30_000;
const KEEPALIVE_INTERVAL_SECONDS: u32 = 10;
const KEEPALIVE_PROBES: u32 = 3;
/// How long sent bytes may stay unacknowledged (`TCP_USER_TIMEOUT`).
const USER_TIMEOUT_MS: u32 = 60_000;

/// What a session is for; it decides the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Catalog, DDL, positions: text arrives as utf8mb4.
    Metadata,
    /// Rows: text arrives in each column's own charset.
    Rows,
}

/// Opens sessions to one server.
#[derive(Clone)]
pub struct Connector {
    options: Arc<ConnectOptions>,
    cancel: CancelToken,
    flavor: Arc<OnceLock<Flavor>>,
}

/// An open, configured connection.
pub struct Session {
    connection: Conn,
    socket: Arc<SessionSocket>,
    _registration: Registration,
    read_timeout: Duration,
    first_row_timeout: Duration,
    id: u64,
    flavor: Flavor,
    broken: bool,
}

/// A row of a small result, owned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextRow(Vec<Option<Vec<u8>>>);

impl TextRow {
    /// The bytes of column `index`; `None` for NULL or no such column.
    pub fn bytes(&self, index: usize) -> Option<&[u8]> {
        self.0.get(index)?.as_deref()
    }

    /// Column `index` as text; bytes that are no UTF-8 are replaced, so use it for names and words only.
    pub fn text(&self, index: usize) -> Option<String> {
        self.bytes(index)
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// Column `index` as a number; `None` for NULL and for what is no number.
    pub fn number(&self, index: usize) -> Option<u64> {
        std::str::from_utf8(self.bytes(index)?).ok()?.parse().ok()
    }
}

impl Connector {
    /// A connector; nothing is opened yet. Every session registers its socket with `cancel`.
    pub fn new(options: ConnectOptions, cancel: CancelToken) -> Self {
        Self {
            options: Arc::new(options),
            cancel,
            flavor: Arc::default(),
        }
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
        let connection = self.connect()?;
        let lost = |source| ServerError::Connect {
            server: self.server(),
            source,
        };
        let socket = Arc::new(SessionSocket::of(&connection).map_err(lost)?);
        let registration = self
            .cancel
            .register(Arc::clone(&socket) as Arc<dyn Interrupt>);
        let mut session = Session {
            connection,
            socket,
            _registration: registration,
            read_timeout: self.options.connect_timeout,
            first_row_timeout: self.options.connect_timeout,
            id: 0,
            flavor: Flavor::parse("", ""),
            broken: false,
        };
        session.configure(self, purpose)?;
        session.read_timeout = self.options.read_timeout;
        session.first_row_timeout = self.options.first_row_timeout;
        session
            .socket
            .set_read_timeout(self.options.read_timeout)
            .and_then(|()| session.socket.set_write_timeout(self.options.read_timeout))
            .map_err(lost)?;
        Ok(session)
    }

    /// Tries every address of the host in turn; the `mysql` crate would try the first one only (io/tcp.rs).
    fn connect(&self) -> Result<Conn, ServerError> {
        let options = &self.options;
        let base = self.driver_options();
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

    fn connect_once(&self, opts: OptsBuilder) -> Result<Conn, ServerError> {
        let tls = self.tls_options();
        match Conn::new(Opts::from(opts.clone().ssl_opts(tls.clone()))) {
            Err(
                mysql::Error::TlsError(_) | mysql::Error::DriverError(DriverError::TlsNotSupported),
            ) if self.options.tls.mode == TlsMode::Preferred => {
                log::debug!("{} offers no TLS that can be used", self.server());
                Conn::new(Opts::from(opts))
            }
            done => done,
        }
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
            mysql::Error::DriverError(DriverError::UnknownAuthPlugin(name)) => {
                ServerError::Refused {
                    server,
                    code: 2059,
                    message: format!(
                        "the account uses the authentication plug-in {name}, which rdump does not have"
                    ),
                }
            }
            mysql::Error::DriverError(DriverError::CouldNotConnect(Some((_, text, kind)))) => {
                ServerError::Connect {
                    server,
                    source: io::Error::new(kind, text),
                }
            }
            mysql::Error::IoError(source) => ServerError::Connect { server, source },
            other => ServerError::Connect {
                server,
                source: io::Error::other(other.to_string()),
            },
        }
    }

    fn driver_options(&self) -> OptsBuilder {
        let options = &self.options;
        let socket = options.socket.as_ref().map(|path| path.to_string_lossy());
        OptsBuilder::new()
            .tcp_port(options.port)
            .socket(socket.map(String::from))
            // On by default, it moves a connection to 127.0.0.1 to the server's own socket, past tunnels and proxies.
            .prefer_socket(false)
            .user(Some(options.user.clone()))
            .pass(
                options
                    .password
                    .as_ref()
                    .map(|secret| secret.expose().to_owned()),
            )
            .stmt_cache_size(0)
            .max_allowed_packet(Some(LARGEST_PACKET_BYTES))
            .tcp_connect_timeout(Some(options.connect_timeout))
            // The handshake waits for these; they are raised on the duplicate descriptor once the session is set up.
            .read_timeout(Some(options.connect_timeout))
            .write_timeout(Some(options.connect_timeout))
            .tcp_keepalive_time_ms(Some(KEEPALIVE_IDLE_MS))
            .tcp_keepalive_probe_interval_secs(Some(KEEPALIVE_INTERVAL_SECONDS))
            .tcp_keepalive_probe_count(Some(KEEPALIVE_PROBES))
            .tcp_user_timeout_ms(Some(USER_TIMEOUT_MS))
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

impl Session {
    /// The one place where a session gets its settings (DESIGN.md section 5).
    fn configure(&mut self, connector: &Connector, purpose: Purpose) -> Result<(), ServerError> {
        let doing = "setting up a session";
        // A proxy's handshake may name another connection than the server's own.
        let row = self.rows(
            "SELECT CONNECTION_ID(), @@version, @@version_comment",
            doing,
        )?;
        let row = row.first().cloned().unwrap_or(TextRow(Vec::new()));
        self.id = row.number(0).unwrap_or_default();
        let parse = || {
            Flavor::parse(
                &row.text(1).unwrap_or_default(),
                &row.text(2).unwrap_or_default(),
            )
        };
        self.flavor = connector.flavor.get_or_init(parse).clone();
        self.execute("SET NAMES utf8mb4", doing)?;
        self.execute(&format!("SET SESSION {}", required_settings()), doing)?;
        self.execute(
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
            doing,
        )?;
        for setting in self.flavor.optional_settings() {
            self.set_if_known(setting)?;
        }
        if self.flavor.kind != Kind::TiDb {
            self.set_if_known("sql_quote_show_create=1")?;
        }
        for (name, value) in &connector.options.session_variables {
            self.execute(
                &format!("SET SESSION {name}={value}"),
                &format!("setting the session variable {name}"),
            )?;
        }
        if purpose == Purpose::Rows {
            // Each column's own bytes, with its true charset in the metadata.
            self.execute("SET character_set_results=NULL", doing)?;
        }
        Ok(())
    }

    /// Sets a variable that some servers or accounts do not have; a refusal by the server is no error.
    pub fn set_if_known(&mut self, assignment: &str) -> Result<bool, ServerError> {
        match self.execute(&format!("SET SESSION {assignment}"), "setting up a session") {
            Ok(()) => Ok(true),
            Err(error @ ServerError::Statement { .. }) if !error.is_transient() => {
                log::debug!("{error}");
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// The connection's id on the server itself, as KILL wants it.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Which server this is.
    pub fn flavor(&self) -> &Flavor {
        &self.flavor
    }

    /// Whether the session must not be used again.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Runs a statement whose result does not matter. `doing` completes "The server failed while …".
    pub fn execute(&mut self, sql: &str, doing: &str) -> Result<(), ServerError> {
        self.rows(sql, doing).map(drop)
    }

    /// Runs a statement and collects its rows; for small results only.
    pub fn rows(&mut self, sql: &str, doing: &str) -> Result<Vec<TextRow>, ServerError> {
        let mut source = DriverRows::start(
            &mut self.connection,
            &mut self.broken,
            Arc::clone(&self.socket),
            sql,
            doing,
        )?;
        let mut rows = Vec::new();
        while let Some(row) = source.next_row()? {
            rows.push(TextRow(
                row.cells().map(|c| c.map(<[u8]>::to_vec)).collect(),
            ));
        }
        Ok(rows)
    }

    /// Runs a statement and calls `each` with its rows as they come; for results of any size.
    pub fn stream(
        &mut self,
        sql: &str,
        doing: &str,
    ) -> Result<Box<dyn RowSource + '_>, ServerError> {
        Ok(Box::new(DriverRows::start(
            &mut self.connection,
            &mut self.broken,
            Arc::clone(&self.socket),
            sql,
            doing,
        )?))
    }

    /// The first row of a result, if it has one.
    pub fn first(&mut self, sql: &str, doing: &str) -> Result<Option<TextRow>, ServerError> {
        Ok(self.rows(sql, doing)?.into_iter().next())
    }

    /// Asks for a sign of life.
    pub fn ping(&mut self) -> Result<(), ServerError> {
        self.connection.ping().map_err(|error| {
            self.broken = true;
            ServerError::from_driver("checking that the server is alive", error)
        })
    }

    /// Ends another session on the server, whatever it is doing. One that is gone already is no error.
    pub fn kill(&mut self, id: u64) -> Result<(), ServerError> {
        const NO_SUCH_THREAD: u16 = 1094;
        match self.execute(&format!("KILL {id}"), "ending an abandoned session") {
            Err(error) if error.code() == Some(NO_SUCH_THREAD) => Ok(()),
            done => done,
        }
    }

    /// Leaves the session for good without a word to the server; returns its id for [`Session::kill`].
    pub fn abandon(self) -> u64 {
        self.socket.interrupt();
        self.id
    }
}

/// Settings that every supported server knows.
fn required_settings() -> String {
    format!(
        "time_zone='+00:00', sql_mode='NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES', autocommit=1, \
         net_write_timeout={NET_WRITE_TIMEOUT_SECONDS}, wait_timeout={WAIT_TIMEOUT_SECONDS}, \
         sql_safe_updates=0, sql_select_limit=18446744073709551615, sql_big_selects=1"
    )
}
