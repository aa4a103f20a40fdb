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
/// The most that fits into one packet; a full one says that another follows (MySQL internals, "Sending more than 16 MB").
const FULL_PIECE: usize = 0xff_ff_ff;

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
        sql: &[u8],
        doing: &str,
    ) -> Result<Self, ServerError> {
        let mut rows = Self {
            result: ResultSet::new(wire, (sql.len() + 1) / FULL_PIECE),
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

    fn ask(&mut self, sql: &[u8]) -> Result<(), Trouble> {
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

/// Writes the packets of a query.
fn send(sink: &mut impl Write, sql: &[u8]) -> io::Result<()> {
    let mut packet = Vec::with_capacity(sql.len().min(FULL_PIECE) + 5);
    // The command takes a byte of the first piece.
    let (mut piece, mut rest) = sql.split_at(sql.len().min(FULL_PIECE - 1));
    let mut command = &[COM_QUERY][..];
    let mut sequence = 0_u8;
    loop {
        let len = command.len() + piece.len();
        let header = u32::try_from(len).map_err(|_| io::ErrorKind::InvalidInput)?;
        packet.clear();
        packet.extend_from_slice(&header.to_le_bytes()[..3]);
        packet.push(sequence);
        packet.extend_from_slice(command);
        packet.extend_from_slice(piece);
        sink.write_all(&packet)?;
        if len < FULL_PIECE {
            return Ok(());
        }
        command = &[];
        sequence = sequence.wrapping_add(1);
        (piece, rest) = rest.split_at(rest.len().min(FULL_PIECE));
    }
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
