//! `DumpReport`: what a dump did, for whoever tells the user.
//!
//! Owns the facts at the end of a run. Its numbers are the counters of `progress/`, not a second book. How they are printed
//! it leaves to `cli/report.rs`.

use std::time::Duration;

use super::config::ConsistencyMode;
use crate::progress::Counts;

/// The outcome of a whole dump.
#[derive(Debug, Clone)]
pub struct DumpReport {
    /// Tables, rows, bytes, files, chunks and retries.
    pub counts: Counts,
    /// Views dumped.
    pub views: u64,
    /// Where the dump is, in words and without a secret.
    pub output: String,
    /// The mode that was used; never [`ConsistencyMode::Auto`].
    pub consistency: ConsistencyMode,
    /// The point in time of all tables, as binlog file and position, GTID set or TSO; `None` if there is none.
    pub position: Option<String>,
    /// How long the run took.
    pub duration: Duration,
    /// What the user ought to know although the dump is whole, one sentence each.
    pub warnings: Vec<String>,
    /// What would be read: of a dry run only.
    pub plan: Option<DryRun>,
}

/// What `--dry-run` found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DryRun {
    /// The tables in the order in which they would be read.
    pub tables: Vec<PlannedTable>,
    /// What the account needs for this dump, as `SELECT` or `RELOAD`.
    pub privileges: Vec<String>,
}

/// A table of a [`DryRun`].
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedTable {
    /// Its name for people.
    pub name: String,
    /// The columns of the key that cuts it; empty for none.
    pub key: Vec<String>,
    /// Rows that the server believes it has.
    pub rows_estimated: u64,
    /// The condition of each chunk; an empty one reads the whole table.
    pub chunks: Vec<String>,
}

/// What `rdump check` found out.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CheckReport {
    /// What is so: a word, and a sentence about it.
    pub findings: Vec<(&'static str, String)>,
    /// What the account may not do.
    pub missing: Vec<MissingRight>,
    /// What a dump would warn of.
    pub warnings: Vec<String>,
    /// Why a dump would fail, one sentence each; empty if it would run.
    pub problems: Vec<String>,
}

/// A right that the account has not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingRight {
    /// The right and what it is on.
    pub right: String,
    /// What happens without it.
    pub otherwise: String,
    /// The statement that mends it.
    pub grant: String,
    /// Whether a dump fails without it.
    pub ends_dump: bool,
}
