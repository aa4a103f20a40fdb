//! Rows through the `mysql` crate's own iterator: for TLS, protocol compression and everything small.
//!
//! Owns one running result set. Leaving it before its end shuts the socket down first, because the crate's `Drop` would
//! read the rest of the result (DESIGN.md section 4); the session is broken after that.

use std::sync::Arc;

use mysql::prelude::Queryable;
use mysql::{Conn, QueryResult, Text, Value};

use super::error::ServerError;
use super::rows::{ColumnMeta, Row, RowSource, Span};
use super::socket::SessionSocket;
use crate::cancel::Interrupt;

/// A result set that the `mysql` crate reads.
pub struct DriverRows<'a> {
    result: QueryResult<'a, 'a, 'a, Text>,
    broken: &'a mut bool,
    socket: Arc<SessionSocket>,
    doing: String,
    columns: Vec<ColumnMeta>,
    bytes: Vec<u8>,
    spans: Vec<Span>,
    ended: bool,
}

impl<'a> DriverRows<'a> {
    /// Sends `sql` and reads the columns of its result. `broken` is set if the session cannot be used after it.
    pub(super) fn start(
        connection: &'a mut Conn,
        broken: &'a mut bool,
        socket: Arc<SessionSocket>,
        sql: &str,
        doing: &str,
    ) -> Result<Self, ServerError> {
        let result = match connection.query_iter(sql) {
            Ok(result) => result,
            Err(error) => {
                let error = ServerError::from_driver(doing, error);
                *broken |= error.breaks_session();
                return Err(error);
            }
        };
        let columns = result
            .columns()
            .as_ref()
            .iter()
            .map(|column| ColumnMeta {
                name: column.name_ref().to_vec(),
                wire_type: column.column_type() as u8,
                collation: column.character_set(),
                flags: column.flags().bits(),
            })
            .collect::<Vec<_>>();
        Ok(Self {
            // A statement without a result set has no rows to leave unread.
            ended: columns.is_empty(),
            result,
            broken,
            socket,
            doing: doing.to_owned(),
            columns,
            bytes: Vec::new(),
            spans: Vec::new(),
        })
    }

    fn hold(&mut self, row: &mysql::Row) {
        self.bytes.clear();
        self.spans.clear();
        for index in 0..row.len() {
            match row.as_ref(index) {
                Some(Value::Bytes(cell)) => {
                    let start = self.bytes.len();
                    self.bytes.extend_from_slice(cell);
                    self.spans.push(Span::new(start, self.bytes.len()));
                }
                // The text protocol knows only bytes and NULL.
                _ => self.spans.push(Span::NULL),
            }
        }
    }
}

impl RowSource for DriverRows<'_> {
    fn columns(&self) -> &[ColumnMeta] {
        &self.columns
    }

    fn next_row(&mut self) -> Result<Option<Row<'_>>, ServerError> {
        if self.ended {
            return Ok(None);
        }
        match self.result.next() {
            None => {
                self.ended = true;
                Ok(None)
            }
            Some(Ok(row)) => {
                self.hold(&row);
                Ok(Some(Row::new(&self.bytes, &self.spans)))
            }
            Some(Err(error)) => {
                let error = ServerError::from_driver(&self.doing, error);
                // After an ERR packet the result is over and the session in step; after anything else it is not.
                self.ended = !error.breaks_session();
                Err(error)
            }
        }
    }
}

impl Drop for DriverRows<'_> {
    fn drop(&mut self) {
        if !self.ended {
            *self.broken = true;
            self.socket.interrupt();
        }
    }
}
