//! Rows through the `mysql` crate's own iterator: for TLS, protocol compression and everything small.
//!
//! Owns one running result set. Leaving it before its end shuts the socket down first, because the crate's `Drop` would
//! read the rest of the result (DESIGN.md section 4); the session is broken after that.

use std::sync::Arc;
use std::time::Duration;

use mysql::prelude::Queryable;
use mysql::{Conn, QueryResult, Text, Value};

use super::error::ServerError;
use super::rows::{ColumnMeta, Row, RowSource, Span};
use super::socket::SessionSocket;
use crate::cancel::Interrupt;

/// How long a result may keep us waiting for bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Waits {
    /// Until the first row: a server may sort for long before it sends anything.
    pub first_row: Duration,
    /// Between any two later pieces.
    pub later: Duration,
}

impl Waits {
    /// One bound for both.
    pub fn all(limit: Duration) -> Self {
        Self {
            first_row: limit,
            later: limit,
        }
    }
}

/// A result set that the `mysql` crate reads.
pub struct DriverRows<'a> {
    result: QueryResult<'a, 'a, 'a, Text>,
    broken: &'a mut bool,
    socket: Arc<SessionSocket>,
    waits: Waits,
    waits_for_first: bool,
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
        waits: Waits,
        sql: &str,
        doing: &str,
    ) -> Result<Self, ServerError> {
        let waits_for_first = waits.first_row != waits.later;
        if waits_for_first {
            limit(&socket, waits.first_row, doing)?;
        }
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
            waits,
            waits_for_first,
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

fn limit(socket: &SessionSocket, wait: Duration, doing: &str) -> Result<(), ServerError> {
    socket
        .set_read_timeout(wait)
        .map_err(|source| ServerError::lost(doing.to_owned(), &source))
}

impl RowSource for DriverRows<'_> {
    fn columns(&self) -> &[ColumnMeta] {
        &self.columns
    }

    fn next_row(&mut self) -> Result<Option<Row<'_>>, ServerError> {
        if self.ended {
            return Ok(None);
        }
        let next = self.result.next();
        if self.waits_for_first {
            self.waits_for_first = false;
            limit(&self.socket, self.waits.later, &self.doing)?;
        }
        match next {
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
