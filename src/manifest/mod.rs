//! The dump's description of itself: `manifest.json`, written last.
//!
//! Owns the shape of the manifest and its version. An output without it is not a dump. Which files there are, and what they
//! hold, the journey that wrote them reports; `names.rs` names them, `layout.rs` and `source.rs` read them back, `metadata.rs` writes Dumpling's own summary.

mod dialect;
pub mod layout;
pub mod metadata;
pub mod names;
pub mod source;

pub use dialect::{CsvDialect, Dialect};
use serde::{Deserialize, Serialize};

/// The version of this shape; raised when an older reader would misread it.
pub const FORMAT_VERSION: u32 = 1;
/// The manifest's name; never compressed.
pub const MANIFEST_NAME: &str = "manifest.json";
/// Dumpling's summary; never compressed.
pub const METADATA_NAME: &str = "metadata";

/// A whole dump.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Manifest {
    /// [`FORMAT_VERSION`].
    pub format_version: u32,
    /// The program and its version.
    pub tool: String,
    /// The server's kind and version.
    pub server: String,
    /// UTC, RFC 3339.
    pub started: String,
    /// UTC, RFC 3339.
    pub finished: String,
    /// How one point in time was had.
    pub consistency: Consistency,
    /// `sql` or `csv`.
    pub format: String,
    /// `none`, `gzip:6`, …
    pub compression: String,
    /// How the files are written, where it is not as by default.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub dialect: Option<Dialect>,
    /// The condition on every table's rows, if there was one.
    #[serde(skip_serializing_if = "Option::is_none", rename = "where")]
    pub where_clause: Option<String>,
    /// Files that belong to no table: databases, routines, events.
    pub files: Vec<FileEntry>,
    /// Tables, views and sequences, by name.
    pub tables: Vec<TableEntry>,
    /// What was said to the user.
    pub warnings: Vec<String>,
}

/// The moment of a dump.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Consistency {
    /// The mode that was reached: `flush`, `snapshot`, `lock` or `none`.
    pub mode: String,
    /// The binlog position, or why it is not known.
    pub position: PositionEntry,
    /// Tables that were read without a snapshot and without a lock.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub inconsistent_tables: Vec<String>,
}

/// A binlog position.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", tag = "state")]
pub enum PositionEntry {
    /// The binlog is on.
    Known {
        /// Binlog file.
        file: String,
        /// Offset in it.
        offset: u64,
        /// GTID set.
        #[serde(skip_serializing_if = "Option::is_none")]
        gtid: Option<String>,
    },
    /// The server writes no binlog.
    BinlogOff,
    /// The account may not ask.
    Denied {
        /// What the server said.
        reason: String,
    },
}

/// A table, view or sequence of a dump.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct TableEntry {
    /// Database.
    pub database: String,
    /// Name.
    pub name: String,
    /// `table`, `view` or `sequence`.
    pub kind: String,
    /// Columns that CSV files hold as something else than text, with how: `hex`, `base64`, `raw`.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub binary_columns: Vec<BinaryColumn>,
    /// Rows in all files.
    pub rows: u64,
    /// The sum of the rows' hashes, whatever their order: 32 hex digits.
    pub digest: String,
    /// What tells whether the table is still the same.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub identity: Option<String>,
    /// Schema files, then data files by chunk and part.
    pub files: Vec<FileEntry>,
}

/// How a column's bytes are written.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct BinaryColumn {
    /// The column.
    pub name: String,
    /// `hex`, `base64` or `raw`.
    pub encoding: String,
}

/// A file of a dump.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileEntry {
    /// Its name in the dump.
    pub name: String,
    /// Bytes before compression.
    pub raw_bytes: u64,
    /// Bytes as stored.
    pub stored_bytes: u64,
    /// xxh3-128 of the raw bytes: 32 hex digits.
    pub hash: String,
    /// For data files: where its rows come from.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub data: Option<DataEntry>,
}

/// The rows of a data file.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataEntry {
    /// The chunk's number within its table.
    pub chunk: u64,
    /// The file's number within its chunk.
    pub part: u64,
    /// The chunk's lower bound as SQL; none for the first chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub lower: Option<String>,
    /// The chunk's upper bound as SQL; none for the last chunk.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub upper: Option<String>,
    /// Which rows of the table the chunk has, as SQL; none for all, or all of the partition. The user's own condition is not
    /// in it.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub condition: Option<String>,
    /// The partition, where a table is cut by partitions.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub partition: Option<String>,
    /// Rows in this file.
    pub rows: u64,
    /// The sum of the rows' hashes: 32 hex digits.
    pub digest: String,
}
