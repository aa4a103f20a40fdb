//! `VerifyReport`: what a verification found, for whoever tells the user.
//!
//! Owns the facts at the end of a run. How they are printed it leaves to `cli/report/`.

use std::time::Duration;

use crate::progress::Counts;

/// The outcome of a verification that came to its end.
#[derive(Debug, Clone)]
pub struct VerifyReport {
    /// Tables, rows, bytes and files that were looked at.
    pub counts: Counts,
    /// Where the dump is, in words and without a secret.
    pub source: String,
    /// The server it was compared with, as host and port.
    pub against: Option<String>,
    /// Everything that differs, one sentence each, by name; empty for a dump that is whole.
    pub differences: Vec<String>,
    /// How long the run took.
    pub duration: Duration,
    /// What could not be looked at, one sentence each.
    pub warnings: Vec<String>,
}
