//! Past versions of rows, in MariaDB's system-versioned tables.
//!
//! Owns the names of the two columns that say since when and until when a row was the current one: a table that names none
//! has two that no list of columns shows.

use std::collections::HashMap;

use super::ident::ObjectName;
use super::read::of_database;
use super::table::Table;
use crate::server::error::ServerError;
use crate::server::session::Session;

/// The columns that bound the time in which a row was the current one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowPeriod {
    /// Since when.
    pub start: String,
    /// Until when.
    pub end: String,
    /// Whether they hold transactions instead of times, which mean nothing on another server.
    pub by_transaction: bool,
}

impl RowPeriod {
    /// Both names.
    pub fn columns(&self) -> [&str; 2] {
        [&self.start, &self.end]
    }

    /// Of a table that names none.
    fn implicit() -> Self {
        Self {
            start: "row_start".to_owned(),
            end: "row_end".to_owned(),
            by_transaction: false,
        }
    }
}

/// Marks the versioned tables among `tables`, which are of one database or several, as to be read with their history.
pub fn mark(session: &mut Session, tables: &mut [Table]) -> Result<(), ServerError> {
    let versioned = || tables.iter().filter(|table| table.versioned);
    let mut databases: Vec<&String> = versioned().map(|table| &table.name.database).collect();
    databases.sort_unstable();
    databases.dedup();
    let mut named = HashMap::new();
    for database in databases {
        let sql = format!(
            "SELECT TABLE_NAME, COLUMN_NAME, DATA_TYPE, GENERATION_EXPRESSION FROM information_schema.COLUMNS \
             WHERE {} AND GENERATION_EXPRESSION IN ('ROW START', 'ROW END')",
            of_database("TABLE_SCHEMA", database)
        );
        for row in session.rows(&sql, "reading the periods of versioned tables")? {
            let cell = |index| row.text(index).unwrap_or_default();
            let name = ObjectName::new(database, cell(0));
            let period = named.entry(name).or_insert_with(RowPeriod::implicit);
            period.by_transaction |= cell(2) == "bigint";
            match cell(3).as_str() {
                "ROW START" => period.start = cell(1),
                _ => period.end = cell(1),
            }
        }
    }
    for table in tables.iter_mut().filter(|table| table.versioned) {
        let period = named.remove(&table.name);
        table.history = Some(period.unwrap_or_else(RowPeriod::implicit));
    }
    Ok(())
}
