//! `VerifyConfig`: everything a verification needs to know before it starts.
//!
//! Owns the vocabulary of the request. Where the values come from `cli/verify.rs` knows.

use crate::retry::RetryPolicy;
use crate::server::ConnectOptions;
use crate::storage::Location;

/// One verification.
#[derive(Debug, Clone)]
pub struct VerifyConfig {
    /// The directory of the dump.
    pub source: Location,
    /// The server whose rows are compared; `None` to look at the files alone.
    pub against: Option<ConnectOptions>,
    /// The database that the rows are in, instead of the dump's own.
    pub database: Option<String>,
    /// Files, or chunks, that are read at the same time.
    pub threads: usize,
    /// How often and when a chunk is read again.
    pub retry: RetryPolicy,
}
