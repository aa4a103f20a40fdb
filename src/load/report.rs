//! `LoadReport`: what a load did, for whoever tells the user.
//!
//! Owns the facts at the end of a run. How they are printed it leaves to `cli/report/`.

use std::time::Duration;

use crate::progress::Counts;

/// The outcome of a whole load.
#[derive(Debug, Clone)]
pub struct LoadReport {
    /// Tables, rows, bytes, files and retries.
    pub counts: Counts,
    /// Where the dump is, in words and without a secret.
    pub source: String,
    /// The target, as host and port.
    pub target: String,
    /// Whether a load that was interrupted was continued.
    pub resumed: bool,
    /// How long the run took.
    pub duration: Duration,
    /// What the user ought to know although everything is loaded, one sentence each.
    pub warnings: Vec<String>,
}
