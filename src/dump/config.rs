//! `DumpConfig`: what a dump is asked to do, complete and checked.
//!
//! Owns the plain options of the journey; no clap, no defaults hidden in code paths. The translation from what was typed,
//! and every check that needs no server, it leaves to `cli/`.

pub use super::sentinel::{Comparison, Condition, WatchOptions};
pub use crate::catalog::ddl::Definer;
use crate::catalog::filter::TableFilter;
use crate::catalog::ident::ObjectName;
use crate::compress::Compression;
use crate::format::Format;
use crate::retry::RetryPolicy;
use crate::server::ConnectOptions;
pub use crate::server::snapshot::{ConsistencyMode, ConsistencyOptions};
use crate::storage::Location;

/// Everything [`crate::dump::run`] needs to know.
#[derive(Debug, Clone)]
pub struct DumpConfig {
    /// How to reach the server.
    pub connection: ConnectOptions,
    /// What to dump.
    pub selection: Selection,
    /// Which kinds of object, and whether rows.
    pub objects: Objects,
    /// Whose views, triggers, routines and events shall be.
    pub definer: Definer,
    /// A condition on every table's rows, without `WHERE`.
    pub where_clause: Option<String>,
    /// One query to dump instead of tables.
    pub query: Option<String>,
    /// Workers, and so connections that read rows.
    pub threads: usize,
    /// Rows wanted in a chunk; by default [`crate::chunk::DEFAULT_CHUNK_BYTES`] of data.
    pub chunk_rows: Option<u64>,
    /// Raw bytes after which a data file ends.
    pub file_size_bytes: Option<u64>,
    /// SQL or CSV, with its options.
    pub format: Format,
    /// How files are compressed.
    pub compression: Compression,
    /// Whether the rows of a chunk are read in the order of its key.
    pub order_by_primary_key: bool,
    /// How all tables are read at one point in time.
    pub consistency: ConsistencyOptions,
    /// The place for the files.
    pub output: Location,
    /// The name of a data file without its ending, with `{db}`, `{table}`, `{chunk}`; by default Dumpling's.
    pub file_name_template: Option<String>,
    /// How often and when a chunk is tried again.
    pub retry: RetryPolicy,
    /// Raw bytes that all workers together read in a second.
    pub max_rate: Option<u64>,
    /// What is looked at while the dump runs.
    pub watch: WatchOptions,
    /// Plan and print, but read no rows.
    pub dry_run: bool,
}

/// Which databases and tables.
#[derive(Debug, Clone)]
pub struct Selection {
    /// `--database`; empty for all that the filter lets through.
    pub databases: Vec<String>,
    /// `--tables-list`; empty for all.
    pub tables: Vec<ObjectName>,
    /// `--filter`; by default everything but the system schemas.
    pub filter: TableFilter,
}

impl Selection {
    /// Whether all databases are dumped.
    pub fn is_everything(&self) -> bool {
        self.databases.is_empty() && self.tables.is_empty() && !self.filter.is_custom()
    }
}

/// Which kinds of object are dumped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // one switch per kind, as on the command line
pub struct Objects {
    /// CREATE statements of databases and tables.
    pub schemas: bool,
    /// Rows.
    pub data: bool,
    /// Views.
    pub views: bool,
    /// Triggers.
    pub triggers: bool,
    /// Procedures, functions, packages.
    pub routines: bool,
    /// Events.
    pub events: bool,
    /// Sequences.
    pub sequences: bool,
    /// Accounts, roles and grants.
    pub users: bool,
    /// Past versions of the rows of versioned tables.
    pub history: bool,
}
