//! How a table is cut into chunks.
//!
//! A plan is a strictly increasing row of bounds in the order of one key, and a chunk is what lies after one bound up to
//! and including the next. The first chunk has no lower bound and the last no upper one, and neighbours share theirs, so
//! every row is in exactly one chunk whatever the table holds when a chunk is read: bounds are probed outside the
//! snapshot and need not even be keys of rows. The server alone compares keys, in the columns' own collations.
//!
//! Bounds come from two cutters: `integer.rs` asks the optimizer how many rows lie in ranges, and reads none; `keyset.rs`
//! walks the index and is exact. Tables without a key are cut by `partition.rs`, those of TiDB by `tidb.rs`. The plan depends
//! on the data, the statistics and the options alone. When and where a chunk is read it leaves to `dump/`.

mod bound;
mod column;
mod integer;
mod keyset;
mod partition;
mod planner;
mod probe;
mod tidb;

pub use column::{KeyColumn, KeyKind};
pub use planner::TablePlanner;
pub use probe::{KeyProbe, KeyRange, SessionProbe, TableKey};

/// The data of a chunk when no number of rows is asked for.
pub const DEFAULT_CHUNK_BYTES: u64 = 64 << 20;

/// What a plan depends on besides the table.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct ChunkOptions {
    /// Rows wanted in a chunk; by default [`DEFAULT_CHUNK_BYTES`] of data.
    pub rows: Option<u64>,
    /// Whether the rows of a chunk are read in the order of its key.
    pub order_by_primary_key: bool,
    /// Whether the last tenth is cut finer, so that no worker is left alone with a big chunk at the end of the dump. For the
    /// largest table only; without effect when `rows` is given.
    pub finer_tail: bool,
    /// Whether the server is TiDB, whose bounds are those of its regions.
    pub regions: bool,
}

/// A part of a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Chunk {
    /// Position in the table, from 0, in key order.
    pub index: u64,
    /// Which rows, as SQL; `None` for all. The user's own condition is not in it.
    pub condition: Option<String>,
    /// The partition that is read; `None` for the whole table.
    pub partition: Option<String>,
    /// The index that finds the rows. It has to be forced: for a large share of the rows, or with stale statistics, the
    /// optimizer prefers to scan the table, which over all chunks takes time by the square of its size.
    pub force_index: Option<String>,
    /// The terms of ORDER BY, as SQL; empty for none.
    pub order_by: Vec<String>,
    /// The key after which the chunk begins, exclusive, as SQL literals; `None` at the start of the table. A bound may name
    /// fewer columns than the key has; it then stands for all keys that begin with it.
    pub lower: Option<String>,
    /// The key with which the chunk ends, inclusive, as SQL literals; `None` at the end of the table.
    pub upper: Option<String>,
    /// How many rows it is expected to hold.
    pub rows_estimate: u64,
}

/// How large a chunk shall be.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Target {
    rows: u64,
    /// The average by the statistics.
    row_bytes: u64,
}

#[cfg(test)]
mod tests;
