//! `Job`: one chunk to be read, with all a worker needs to read it, and `Report`: what became of it.
//!
//! Owns the SELECT of a chunk, which names its columns. Which rows are in a chunk it leaves to `chunk/`.

use std::sync::Arc;

use crate::catalog::column::Column;
use crate::catalog::ident::quote;
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

impl TableJob {
    /// Prepares the SELECT of a table.
    pub fn new(
        index: usize,
        table: Table,
        progress: TableProgress,
        user_condition: Option<&str>,
    ) -> Self {
        let columns: Vec<_> = table
            .stored_columns()
            .map(Column::select_expression)
            .collect();
        // A table whose columns are all generated still has rows: each is written as `()`.
        let columns = if columns.is_empty() {
            "1".to_owned()
        } else {
            columns.join(", ")
        };
        let select = format!(
            "SELECT /*!40001 SQL_NO_CACHE */ {columns} FROM {}",
            table.name
        );
        Self {
            index,
            table,
            progress,
            select,
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
