//! `SessionSocket`: a second handle on a session's socket.
//!
//! Owns a duplicate of the descriptor that the `mysql` crate reads and writes: time limits are set and a blocked call is
//! ended through it, from any thread. The only `unsafe` of the crate is here: borrowing that descriptor.

use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use rustix::net::sockopt::{Timeout, set_socket_linger, set_socket_timeout};
use rustix::net::{RecvFlags, SendFlags, Shutdown, recv, send, shutdown};

use crate::cancel::Interrupt;

/// A duplicate descriptor of a session's socket.
#[derive(Debug)]
pub struct SessionSocket(OwnedFd);

impl SessionSocket {
    /// Duplicates the descriptor of an open connection.
    pub fn of(connection: &impl AsRawFd) -> io::Result<Self> {
        // SAFETY: `connection` is borrowed for the whole call, so it cannot close its descriptor before it is duplicated.
        #[allow(unsafe_code)]
        let borrowed = unsafe { BorrowedFd::borrow_raw(connection.as_raw_fd()) };
        Ok(Self(borrowed.try_clone_to_owned()?))
    }

    /// Bounds every later wait for bytes to arrive.
    pub fn set_read_timeout(&self, limit: Duration) -> io::Result<()> {
        Ok(set_socket_timeout(&self.0, Timeout::Recv, Some(limit))?)
    }

    /// Bounds every later wait for bytes to leave.
    pub fn set_write_timeout(&self, limit: Duration) -> io::Result<()> {
        Ok(set_socket_timeout(&self.0, Timeout::Send, Some(limit))?)
    }

    /// Waits for bytes, within the read timeout; 0 is the end.
    pub(super) fn receive(&self, into: &mut [u8]) -> io::Result<usize> {
        Ok(recv(&self.0, into, RecvFlags::empty())?.0)
    }

    /// Sends at least one byte, within the write timeout. A peer that is gone is an error, and never SIGPIPE.
    pub(super) fn transmit(&self, bytes: &[u8]) -> io::Result<usize> {
        Ok(send(&self.0, bytes, SendFlags::NOSIGNAL)?)
    }
}

impl Interrupt for SessionSocket {
    /// Shuts both directions down: a read that is blocked in the kernel returns within a millisecond, also on a socket
    /// whose peer vanished (seen).
    fn interrupt(&self) {
        // So that the close resets the connection: a server that still sends would else wait for our window (seen).
        let reset = set_socket_linger(&self.0, Some(Duration::ZERO));
        if let Err(error) = reset.and_then(|()| shutdown(&self.0, Shutdown::Both)) {
            log::debug!("a socket could not be shut down, it is closed already: {error}");
        }
    }
}
