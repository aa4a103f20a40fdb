//! The server: the only door to the `mysql` crate.
//!
//! Owns connections and everything said over them: settings, snapshots, positions, rows. What a table is it leaves to
//! `catalog/`, which table is read when to `dump/`.

pub mod answer;
pub mod connector;
mod driver;
pub mod error;
pub mod extra;
pub mod flavor;
mod lock;
mod origin;
pub mod position;
pub mod reaper;
pub mod replace;
pub mod rows;
pub mod send;
pub mod session;
pub mod snapshot;
mod socket;
mod starter;
mod wire;

use std::path::PathBuf;
use std::time::Duration;

use crate::secret::SecretSource;

/// How to reach a server.
#[derive(Debug, Clone)]
pub struct ConnectOptions {
    /// Host name or address.
    pub host: String,
    /// TCP port.
    pub port: u16,
    /// Unix socket; used instead of host and port.
    pub socket: Option<PathBuf>,
    /// Account name.
    pub user: String,
    /// Its password, if it has one.
    pub password: Option<SecretSource>,
    /// Whether it may be sent as it is to a server that asks for that.
    pub cleartext_passwords: bool,
    /// TLS.
    pub tls: TlsOptions,
    /// Bound on a connect, handshake included.
    pub connect_timeout: Duration,
    /// Bound on every wait for bytes.
    pub read_timeout: Duration,
    /// Bound on the wait for a query's first bytes.
    pub first_row_timeout: Duration,
    /// Session variables the user wants (`--params`), name and value as SQL.
    pub session_variables: Vec<(String, String)>,
}

/// When TLS is used and what is checked (`--ssl-mode`, as in the MySQL client).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsMode {
    /// Never.
    Disabled,
    /// If the server offers it; nothing is checked.
    Preferred,
    /// Always; nothing is checked.
    Required,
    /// Always, and the certificate must come from the CA.
    VerifyCa,
    /// As `VerifyCa`, and the certificate must name the host.
    VerifyIdentity,
}

impl TlsMode {
    /// Whether no connection is made without TLS.
    pub fn is_certain(self) -> bool {
        matches!(self, Self::Required | Self::VerifyCa | Self::VerifyIdentity)
    }
}

/// TLS options.
#[derive(Debug, Clone)]
pub struct TlsOptions {
    /// When and how.
    pub mode: TlsMode,
    /// PEM file of the CA.
    pub ca: Option<PathBuf>,
    /// PEM file of the client's certificate.
    pub cert: Option<PathBuf>,
    /// PEM file of the client's key.
    pub key: Option<PathBuf>,
}
