//! Rows read from the socket in place: for plain TCP and unix sockets, where most of a dump's bytes come from.
//!
//! Owns one running query on a duplicate of the descriptor that the `mysql` crate opened, authenticated and configured. Both
//! speak on it in turn, and only when the session is idle, so neither has bytes of the other's in a buffer. No row and no cell is
//! copied or allocated. What the server sends is checked (`parse.rs`, `packet.rs`, `result.rs`); what does not add up breaks the
//! session.

mod packet;
mod parse;
mod result;

use std::io::{self, Read, Write};
use std::sync::Arc;

use super::driver::Waits;
use super::error::ServerError;
use super::rows::{ColumnMeta, Row, RowSource};
use super::socket::SessionSocket;
use crate::cancel::Interrupt;
pub(super) use result::Wire;
use result::{ResultSet, Trouble};

/// The command of a text query.
const COM_QUERY: u8 = 3;
/// A longer query would need several packets.
pub(super) const LONGEST_QUERY: usize = 0xff_ff_ff - 2;

/// A result set that is read from the socket.
pub(super) struct WireRows<'a> {
    result: ResultSet<'a>,
    broken: &'a mut bool,
    socket: Arc<SessionSocket>,
    waits: Waits,
    waits_for_first: bool,
    doing: String,
    /// Whether the session is in step with the server.
    in_step: bool,
}

impl<'a> WireRows<'a> {
    /// Sends `sql` and reads the columns of its result. `broken` is set if the session cannot be used after it.
    pub(super) fn start(
        wire: &'a mut Wire,
        broken: &'a mut bool,
        socket: Arc<SessionSocket>,
        waits: Waits,
        sql: &str,
        doing: &str,
    ) -> Result<Self, ServerError> {
        let mut rows = Self {
            result: ResultSet::new(wire),
            broken,
            socket,
            waits,
            waits_for_first: waits.first_row != waits.later,
            doing: doing.to_owned(),
            in_step: false,
        };
        match rows.ask(sql) {
            Ok(()) => {
                rows.in_step = rows.result.has_ended();
                Ok(rows)
            }
            Err(trouble) => Err(rows.fail(trouble)),
        }
    }

    fn ask(&mut self, sql: &str) -> Result<(), Trouble> {
        if self.waits_for_first {
            self.socket.set_read_timeout(self.waits.first_row)?;
        }
        send(&mut &*self.socket, sql)?;
        self.result.begin(&mut &*self.socket)
    }

    /// Judges what the trouble means for the session.
    #[cold]
    fn fail(&mut self, trouble: Trouble) -> ServerError {
        let doing = self.doing.clone();
        let error = match trouble {
            Trouble::Network(error) if error.kind() == io::ErrorKind::InvalidData => {
                let what = error.to_string();
                ServerError::Protocol { doing, what }
            }
            Trouble::Network(error) => ServerError::lost(doing, &error),
            Trouble::Protocol(what) => ServerError::Protocol {
                doing,
                what: what.to_owned(),
            },
            Trouble::Server(code, message) => ServerError::Statement {
                doing,
                code,
                message,
            },
        };
        // After an ERR packet the result is over and the session in step; after anything else it is not.
        self.in_step = !error.breaks_session();
        error
    }
}

/// Writes the packet of a query.
fn send(sink: &mut impl Write, sql: &str) -> io::Result<()> {
    let len = sql.len() + 1;
    let header = u32::try_from(len).map_err(|_| io::ErrorKind::InvalidInput)?;
    let mut packet = Vec::with_capacity(len + 4);
    packet.extend_from_slice(&header.to_le_bytes()[..3]);
    packet.extend_from_slice(&[0, COM_QUERY]);
    packet.extend_from_slice(sql.as_bytes());
    sink.write_all(&packet)
}

impl RowSource for WireRows<'_> {
    fn columns(&self) -> &[ColumnMeta] {
        self.result.columns()
    }

    #[inline]
    fn next_row(&mut self) -> Result<Option<Row<'_>>, ServerError> {
        if self.in_step {
            return Ok(None);
        }
        let next = self.result.next(&mut &*self.socket);
        if self.waits_for_first {
            self.waits_for_first = false;
            if let Err(error) = self.socket.set_read_timeout(self.waits.later) {
                return Err(self.fail(error.into()));
            }
        }
        match next {
            Ok(Some(place)) => Ok(Some(self.result.row(place))),
            Ok(None) => {
                self.in_step = true;
                Ok(None)
            }
            Err(trouble) => Err(self.fail(trouble)),
        }
    }
}

impl Drop for WireRows<'_> {
    fn drop(&mut self) {
        if !self.in_step {
            *self.broken = true;
            self.socket.interrupt();
        } else if self.waits_for_first
            && let Err(error) = self.socket.set_read_timeout(self.waits.later)
        {
            log::debug!("a socket's time limit could not be set back: {error}");
            *self.broken = true;
        }
    }
}

impl Read for &SessionSocket {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.receive(into)
    }
}

impl Write for &SessionSocket {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.transmit(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
