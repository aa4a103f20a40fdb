//! SQL in a test: every cell as the bytes that the server sent, and a panic that names the statement.

use mysql::prelude::Queryable;
use mysql::{Conn, Value};

/// A row of the text protocol; `None` is NULL.
pub type Row = Vec<Option<Vec<u8>>>;

/// What tests ask of a connection.
pub trait Query {
    /// Runs statements and throws their results away.
    fn execute(&mut self, sql: &str);
    /// All rows of one statement.
    fn rows(&mut self, sql: &str) -> Vec<Row>;
    /// All rows, or the server's error.
    fn try_rows(&mut self, sql: &str) -> mysql::Result<Vec<Row>>;
    /// The first cell of the first row as text.
    fn value(&mut self, sql: &str) -> String;
}

impl Query for Conn {
    #[track_caller]
    fn execute(&mut self, sql: &str) {
        if let Err(error) = self.query_drop(sql) {
            panic!("{error}, in: {sql}");
        }
    }

    #[track_caller]
    fn rows(&mut self, sql: &str) -> Vec<Row> {
        self.try_rows(sql)
            .unwrap_or_else(|error| panic!("{error}, in: {sql}"))
    }

    fn try_rows(&mut self, sql: &str) -> mysql::Result<Vec<Row>> {
        let rows: Vec<mysql::Row> = self.query(sql)?;
        Ok(rows
            .into_iter()
            .map(|row| row.unwrap().into_iter().map(bytes).collect())
            .collect())
    }

    #[track_caller]
    fn value(&mut self, sql: &str) -> String {
        let rows = self.rows(sql);
        let cell = rows.first().and_then(|row| row.first());
        match cell {
            Some(Some(bytes)) => String::from_utf8_lossy(bytes).into_owned(),
            Some(None) => panic!("NULL, from: {sql}"),
            None => panic!("no row, from: {sql}"),
        }
    }
}

fn bytes(value: Value) -> Option<Vec<u8>> {
    match value {
        Value::NULL => None,
        Value::Bytes(bytes) => Some(bytes),
        other => unreachable!("{other:?} in the text protocol"),
    }
}

/// A name in backticks.
pub fn identifier(name: &str) -> String {
    format!("`{}`", name.replace('`', "``"))
}
