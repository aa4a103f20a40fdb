//! `Error`: what ended a run, on which object, with what the shell is told.
//!
//! Owns the sentence a person reads first; the causes below it are the rooms' own errors, reached by `source()`. A message
//! never repeats its cause.

use crate::manifest::source::SourceError;
use crate::server::error::ServerError;
use crate::server::snapshot::SnapshotError;
use crate::storage::StorageError;

/// A run that did not end in a whole dump.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The server could not be reached, or failed on something that is no table.
    #[error("{what} failed")]
    Server {
        /// What was being done, as "Reading the list of tables".
        what: String,
        /// Why.
        #[source]
        source: ServerError,
    },
    /// A chunk of a table failed for good.
    #[error("table {table} could not be dumped (chunk {chunk}, tried {})", times(*.attempts))]
    Chunk {
        /// The table, quoted.
        table: String,
        /// The chunk's number.
        chunk: u64,
        /// How often it was tried.
        attempts: u32,
        /// The last failure.
        #[source]
        source: ServerError,
    },
    /// A session could not return to the snapshot.
    #[error("table {table} could not be dumped any further (chunk {chunk})")]
    Rejoin {
        /// The table, quoted.
        table: String,
        /// The chunk's number.
        chunk: u64,
        /// Why not.
        #[source]
        source: SnapshotError,
    },
    /// No snapshot.
    #[error("the dump could not start")]
    Snapshot(#[from] SnapshotError),
    /// The snapshot, or the lock under it, was lost while tables were read.
    #[error("the dump could not go on")]
    SnapshotLost(#[source] SnapshotError),
    /// A file could not be written.
    #[error("the dump could not be written")]
    Storage(#[from] StorageError),
    /// A dump that is to be read cannot be.
    #[error("the dump cannot be used")]
    Source(#[from] SourceError),
    /// A file of a dump could not be loaded.
    #[error("file {file} could not be loaded{}", place(*.statement, *.attempts))]
    Load {
        /// The file.
        file: String,
        /// The number of the statement or row in it, from 1; `None` for the file as a whole.
        statement: Option<u64>,
        /// How often it was tried.
        attempts: u32,
        /// The last failure.
        #[source]
        source: ServerError,
    },
    /// Some tables failed; all others were dumped.
    #[error("{} could not be dumped: {}", count(.failures.len()), .failures.join("; "))]
    Tables {
        /// Each table with its reason.
        failures: Vec<String>,
    },
    /// The request cannot be met by this server.
    #[error("{message}")]
    Request {
        /// The sentence.
        message: String,
        /// What the user can do.
        hint: Option<String>,
    },
    /// Another run is at work.
    #[error("{what} is held by another run{}", .holder.map(|pid| format!(" (process {pid})")).unwrap_or_default())]
    Locked {
        /// The lock file or the directory, in words.
        what: String,
        /// The process that holds it, if it said so.
        holder: Option<u32>,
    },
    /// The lock file cannot be used.
    #[error("the lock file {path} cannot be used")]
    Lock {
        /// The file.
        path: String,
        /// Why.
        source: std::io::Error,
    },
    /// The run was cancelled from outside.
    #[error("the run was interrupted")]
    Interrupted,
}

impl Error {
    /// A failure of the server while doing something that concerns no single table.
    pub fn server(what: &str, source: ServerError) -> Self {
        Self::Server {
            what: what.to_owned(),
            source,
        }
    }

    /// What the shell is told (DESIGN.md section 9): there is no whole dump, or another run is at work on one.
    pub fn exit_code(&self) -> u8 {
        match self {
            Self::Locked { .. } | Self::Storage(StorageError::Locked { .. }) => 75,
            _ => 1,
        }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Server { source, .. }
            | Self::Chunk { source, .. }
            | Self::Load { source, .. } => source.hint(),
            Self::Source(source) => source.hint(),
            Self::Rejoin { source, .. } | Self::Snapshot(source) | Self::SnapshotLost(source) => {
                source.hint()
            }
            Self::Storage(source) => source.hint(),
            Self::Request { hint, .. } => hint.clone(),
            Self::Locked { .. } => {
                Some("wait for its end; a lock never outlives its process".to_owned())
            }
            Self::Lock { .. } => Some("name another one by --lock-file".to_owned()),
            Self::Tables { .. } | Self::Interrupted => None,
        }
    }
}

fn place(statement: Option<u64>, attempts: u32) -> String {
    match (statement, attempts) {
        (Some(number), 1) => format!(" (statement {number})"),
        (Some(number), n) => format!(" (statement {number}, tried {})", times(n)),
        (None, n) => format!(" (tried {})", times(n)),
    }
}

fn times(attempts: u32) -> String {
    match attempts {
        1 => "once".to_owned(),
        n => format!("{n} times"),
    }
}

fn count(tables: usize) -> String {
    match tables {
        1 => "one table".to_owned(),
        n => format!("{n} tables"),
    }
}
