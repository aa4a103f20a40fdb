//! What the server holds: tables, views and sequences with what a dump needs of them.
//!
//! Owns the data only; `catalog/mod.rs` reads it in bulk.

use super::column::Column;
use super::history::RowPeriod;
use super::ident::ObjectName;
use super::key::Key;

/// What an entry of `information_schema.TABLES` is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TableKind {
    /// A table with rows of its own.
    Base,
    /// A view.
    View,
    /// A sequence (MariaDB, TiDB).
    Sequence,
}

/// A table, view or sequence.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Table {
    /// Database and name.
    pub name: ObjectName,
    /// Which of the three it is.
    pub kind: TableKind,
    /// The storage engine, as `InnoDB`; `None` for views and broken tables.
    pub engine: Option<String>,
    /// The server's estimate of the rows; never exact.
    pub rows_estimate: Option<u64>,
    /// The server's figure for the bytes of the rows.
    pub data_length_bytes: Option<u64>,
    /// All columns in the table's order; empty for views and sequences.
    pub columns: Vec<Column>,
    /// Every unique index over whole NOT NULL columns, the primary key first.
    pub keys: Vec<Key>,
    /// The names of the top-level partitions, in order; empty when not partitioned.
    pub partitions: Vec<String>,
    /// Whether the partitions' values have characters beyond ASCII, and the server reads them in the charset of whoever
    /// opens the table, so that a session that speaks binary finds none of them (MySQL: seen on 5.6 and 9.7, error 1654).
    pub misread_in_binary: bool,
    /// Whether a value of the partitions is not shown as it is, as bytes that are no text are not on old servers.
    pub has_unshown_values: bool,
    /// Whether the server keeps past versions of its rows (MariaDB).
    pub versioned: bool,
    /// Where those versions are to be read too, the columns that tell their time.
    pub history: Option<RowPeriod>,
}

impl Table {
    /// The columns that are dumped: all but the generated ones.
    pub fn stored_columns(&self) -> impl Iterator<Item = &Column> {
        self.columns.iter().filter(|column| !column.generated)
    }

    /// Whether an INSERT needs a column list: some column is left out of the rows, or is invisible.
    pub fn needs_column_list(&self) -> bool {
        self.history.is_some() || self.columns.iter().any(|c| c.generated || c.invisible)
    }

    /// The names of the columns that are dumped, in their order.
    pub fn dumped_columns(&self) -> impl Iterator<Item = &str> {
        let period = self.history.iter().flat_map(RowPeriod::columns);
        let stored = self.stored_columns().map(|column| column.name.as_str());
        stored.chain(period)
    }

    /// The column of that name.
    pub fn column(&self, name: &str) -> Option<&Column> {
        self.columns.iter().find(|column| column.name == name)
    }
}
