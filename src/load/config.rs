//! `LoadConfig`: everything a load needs to know before it starts.
//!
//! Owns the vocabulary of the request. Where the values come from `cli/load.rs` knows.

use crate::catalog::filter::TableFilter;
use crate::catalog::ident::ObjectName;
use crate::retry::RetryPolicy;
use crate::server::ConnectOptions;
use crate::storage::Location;

/// One load.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools)] // they are the switches of the command line
pub struct LoadConfig {
    /// How to reach the target.
    pub connection: ConnectOptions,
    /// The directory of the dump.
    pub source: Location,
    /// Workers, and so connections that write rows.
    pub threads: usize,
    /// The database to load into, instead of the dump's own.
    pub database: Option<String>,
    /// Only these tables, by their names in the dump; empty for all.
    pub tables: Vec<ObjectName>,
    /// Which tables, by their names in the dump.
    pub filter: TableFilter,
    /// What becomes of objects that the target has already.
    pub existing: Existing,
    /// Whether the target's binlog is left out.
    pub skip_binlog: bool,
    /// Whether objects are created.
    pub schemas: bool,
    /// Whether rows are loaded.
    pub data: bool,
    /// Whether accounts and grants are loaded.
    pub users: bool,
    /// Whether secondary indexes and foreign keys are made after the rows.
    pub defer_indexes: bool,
    /// Raw bytes after which a transaction ends.
    pub max_transaction_bytes: u64,
    /// Where the checkpoint table is; by default in the first target database.
    pub checkpoint_database: Option<String>,
    /// Whether an interrupted load is forgotten.
    pub restart: bool,
    /// Whether tables with triggers are loaded.
    pub with_triggers: bool,
    /// Whether files may hold any statement.
    pub trust: bool,
    /// Whether the target gets the GTID state of the dump.
    pub set_gtid: bool,
    /// How often and when a piece is tried again.
    pub retry: RetryPolicy,
}

/// What becomes of objects that the target has already (`--existing`).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Existing {
    /// The load stops before it has written anything.
    Fail,
    /// They stay as they are.
    Skip,
    /// They are dropped and made again.
    Drop,
    /// Tables keep their definition and lose their rows; other objects are made again.
    Truncate,
}
