//! Statements as bytes, and files that the server asks for: how a session writes.
//!
//! Owns two doors. A statement of a dump's file may hold any bytes, which the `mysql` crate does not take; on a plain
//! connection they are written to the socket itself. And the server is sent a file only for the statement of ours that asked
//! for it: at any other time its request is answered with nothing.

use std::io::{self, Write as _};
use std::sync::{Arc, Mutex, PoisonError};

use mysql::LocalInfileHandler;
use mysql::prelude::Queryable;

use super::error::ServerError;
use super::rows::RowSource;
use super::session::Session;
use super::wire::WireRows;

/// What the server says of a file it has read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalFileAnswer {
    /// Rows that were inserted.
    pub rows: u64,
    /// Warnings of any kind: a skipped duplicate and a number that was none give one each.
    pub warnings: u64,
}

/// Gives the next bytes of a file; an empty block is its end.
pub type NextBlock<'a> = dyn FnMut(&mut Vec<u8>) -> io::Result<()> + Send + 'a;

impl Session {
    /// Whether statements may hold bytes that are no UTF-8.
    pub fn takes_any_bytes(&self) -> bool {
        self.wire.is_some()
    }

    /// Runs a statement whose result does not matter.
    pub fn run(&mut self, sql: &[u8], doing: &str) -> Result<(), ServerError> {
        if let Some(wire) = &mut self.wire {
            let socket = Arc::clone(&self.socket);
            let mut rows = WireRows::start(wire, &mut self.broken, socket, self.waits, sql, doing)?;
            while rows.next_row()?.is_some() {}
            return Ok(());
        }
        match std::str::from_utf8(sql) {
            Ok(sql) => self.execute(sql, doing),
            Err(_) => Err(ServerError::Bytes {
                doing: doing.to_owned(),
            }),
        }
    }

    /// Runs a LOAD DATA LOCAL INFILE statement, for which `blocks` are the file. An error of `blocks` breaks the session: the
    /// server waits for the rest.
    pub fn load_local(
        &mut self,
        sql: &str,
        blocks: Box<NextBlock<'static>>,
        doing: &str,
    ) -> Result<LocalFileAnswer, ServerError> {
        let blocks = Mutex::new(blocks);
        let handler = LocalInfileHandler::new(move |_, stream| {
            let mut blocks = blocks.lock().unwrap_or_else(PoisonError::into_inner);
            let mut block = Vec::new();
            loop {
                block.clear();
                blocks(&mut block)?;
                if block.is_empty() {
                    return Ok(());
                }
                stream.write_all(&block)?;
            }
        });
        self.connection.set_local_infile_handler(Some(handler));
        let sent = self.connection.query_drop(sql);
        self.connection.set_local_infile_handler(None);
        match sent {
            Ok(()) => Ok(LocalFileAnswer {
                rows: self.connection.affected_rows(),
                warnings: u64::from(self.connection.warnings()),
            }),
            Err(error) => {
                let error = ServerError::from_driver(doing, error);
                self.broken |= error.breaks_session();
                Err(error)
            }
        }
    }
}
