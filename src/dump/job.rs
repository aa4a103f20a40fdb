//! `Job`: one chunk to be read, with all a worker needs to read it, and `Report`: what became of it.
//!
//! Owns the SELECT of a chunk, which names its columns. Which rows are in a chunk it leaves to `chunk/`.

use std::sync::Arc;

use crate::catalog::column::Column;
use crate::catalog::ident::quote;
use crate::catalog::select;
use crate::catalog::table::Table;
use crate::chunk::Chunk;
use crate::error::Error;
use crate::manifest::FileEntry;
use crate::progress::TableProgress;
use crate::server::error::{Reach, ServerError};

/// A table as the workers see it.
#[derive(Debug)]
pub struct TableJob {
    /// Its place in the coordinator's list.
    pub index: usize,
    /// What the catalog knows of it.
    pub table: Table,
    /// Where its rows are counted.
    pub progress: TableProgress,
    /// `SELECT … FROM …`, up to the partition.
    select: String,
    /// JSON columns whose documents are compared with their text; the answers follow the cells of a row.
    pub checked_columns: Vec<String>,
    /// The condition the user wants on every row.
    user_condition: Option<String>,
}

/// One chunk of a table.
#[derive(Debug)]
pub struct Job {
    /// The table.
    pub table: Arc<TableJob>,
    /// Which rows.
    pub chunk: Chunk,
}

/// What a worker says of a job.
#[derive(Debug)]
pub enum Report {
    /// All its rows are in these files, which have their names.
    Done {
        /// The table's place in the coordinator's list.
        table: usize,
        /// The files, by part; none if the chunk held no row.
        files: Vec<FileEntry>,
        /// Columns whose cells are bytes.
        binary_columns: Vec<String>,
    },
    /// It was given up.
    Failed {
        /// The table's place in the coordinator's list.
        table: usize,
        /// Why, and how far that reaches.
        failure: Failure,
    },
    /// Something the user ought to know.
    Warning(String),
}

/// Why a chunk was given up.
#[derive(Debug)]
pub enum Failure {
    /// The table cannot be dumped; the others can. The reason, with its causes.
    Table(String),
    /// The run cannot go on.
    Run(Error),
}

/// How values are read that their text alone does not tell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reading {
    /// Whether labels that read alike come as their numbers.
    pub labels_by_number: bool,
    /// Whether documents are looked at for values that have no form in JSON's text.
    pub checks_json: bool,
}

/// 1 for a document that its text gives back, type by type and digit by digit. MySQL's documents also hold dates, decimals
/// and bytes, which the text shows as strings and doubles.
fn is_its_text(column: &Column) -> String {
    let name = quote(&column.name);
    let text = format!("CAST({name} AS CHAR)");
    let again = format!("CAST({text} AS JSON)");
    format!("{name} <=> {again} AND {text} <=> CAST({again} AS CHAR)")
}

impl TableJob {
    /// Prepares the SELECT of a table.
    pub fn new(
        index: usize,
        table: Table,
        progress: TableProgress,
        user_condition: Option<&str>,
        reading: Reading,
    ) -> Self {
        let mut columns = select::expressions(&table, reading.labels_by_number);
        let is_checked = |column: &&Column| reading.checks_json && column.data_type == "json";
        let checked: Vec<_> = table.stored_columns().filter(is_checked).collect();
        columns.extend(checked.iter().map(|column| is_its_text(column)));
        let columns = columns.join(", ");
        let checked_columns = checked.iter().map(|column| column.name.clone()).collect();
        let select = format!(
            "SELECT /*!40001 SQL_NO_CACHE */ {columns} FROM {}",
            table.name
        );
        Self {
            index,
            table,
            progress,
            select,
            checked_columns,
            user_condition: user_condition.map(str::to_owned),
        }
    }
}

impl TableJob {
    /// How far an error reaches that was met while reading this table. A column that is not there (1054) was renamed or
    /// dropped, unless it is one that the user's condition names.
    pub fn reach_of(&self, error: &ServerError) -> Reach {
        const UNKNOWN_COLUMN: u16 = 1054;
        if error.code() == Some(UNKNOWN_COLUMN) && self.user_condition.is_none() {
            return Reach::Table;
        }
        error.reach()
    }
}

impl Job {
    /// The statement that reads the chunk. The user's condition stands in brackets, so that an OR in it cannot reach the
    /// chunk's bounds (dumpling#371), and ends its line, so that a comment in it cannot reach the bracket.
    pub fn sql(&self) -> String {
        let chunk = &self.chunk;
        let partition = chunk.partition.iter();
        let partition = partition.map(|name| format!(" PARTITION ({})", quote(name)));
        let history = self.table.table.history.iter();
        let history = history.map(|_| " FOR SYSTEM_TIME ALL".to_owned());
        let index = chunk.force_index.iter();
        let index = index.map(|name| format!(" FORCE INDEX ({})", quote(name)));
        let user = self.table.user_condition.iter();
        let own = chunk.condition.iter();
        let conditions: Vec<_> = user
            .map(|condition| format!("({condition}\n)"))
            .chain(own.map(|condition| format!("({condition})")))
            .collect();
        let clause = |word: &str, terms: &[String], between: &str| {
            (!terms.is_empty()).then(|| format!(" {word} {}", terms.join(between)))
        };
        std::iter::once(self.table.select.clone())
            .chain(partition)
            .chain(history)
            .chain(index)
            .chain(clause("WHERE", &conditions, " AND "))
            .chain(clause("ORDER BY", &chunk.order_by, ", "))
            .collect()
    }

    /// "reading `a`.`b` chunk 7": completes "The server failed while …".
    pub fn doing(&self) -> String {
        format!(
            "reading {} (chunk {})",
            self.table.table.name, self.chunk.index
        )
    }
}
