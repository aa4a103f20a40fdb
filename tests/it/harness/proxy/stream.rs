//! TCP and unix sockets under one name.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, Shutdown, TcpListener, TcpStream};
use std::os::fd::{AsFd, BorrowedFd};
use std::os::unix::net::{UnixListener, UnixStream};
use std::time::Duration;

use rustix::net::sockopt::set_socket_linger;

use super::Target;

pub enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    pub fn accept(&self) -> io::Result<Stream> {
        match self {
            Self::Tcp(listener) => listener.accept().map(|(stream, _)| Stream::Tcp(stream)),
            Self::Unix(listener) => listener.accept().map(|(stream, _)| Stream::Unix(stream)),
        }
    }
}

pub enum Stream {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Stream {
    pub fn connect(target: &Target) -> io::Result<Self> {
        match target {
            Target::Port(port) => TcpStream::connect((Ipv4Addr::LOCALHOST, *port)).map(Self::Tcp),
            Target::Socket(path) => UnixStream::connect(path).map(Self::Unix),
        }
    }

    /// A blocked read or write returns this often to look for strikes; data is passed on without delay.
    pub fn prepare(&self) -> io::Result<()> {
        const TICK: Option<Duration> = Some(Duration::from_millis(20));
        match self {
            Self::Tcp(stream) => {
                stream.set_nodelay(true)?;
                stream.set_read_timeout(TICK)?;
                stream.set_write_timeout(TICK)
            }
            Self::Unix(stream) => {
                stream.set_read_timeout(TICK)?;
                stream.set_write_timeout(TICK)
            }
        }
    }

    pub fn read(&self, buffer: &mut [u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => (&mut &*stream).read(buffer),
            Self::Unix(stream) => (&mut &*stream).read(buffer),
        }
    }

    pub fn write(&self, bytes: &[u8]) -> io::Result<usize> {
        match self {
            Self::Tcp(stream) => (&mut &*stream).write(bytes),
            Self::Unix(stream) => (&mut &*stream).write(bytes),
        }
    }

    pub fn shutdown(&self, how: Shutdown) {
        // The peer may have closed first.
        match self {
            Self::Tcp(stream) => stream.shutdown(how).ok(),
            Self::Unix(stream) => stream.shutdown(how).ok(),
        };
    }

    /// The other side's port; None for a unix socket.
    pub fn peer_port(&self) -> Option<u16> {
        match self {
            Self::Tcp(stream) => stream.peer_addr().ok().map(|address| address.port()),
            Self::Unix(_) => None,
        }
    }

    fn as_fd(&self) -> BorrowedFd<'_> {
        match self {
            Self::Tcp(stream) => stream.as_fd(),
            Self::Unix(stream) => stream.as_fd(),
        }
    }

    /// RST when the last reference is dropped.
    pub fn reset_on_close(&self) {
        set_socket_linger(self.as_fd(), Some(Duration::ZERO)).ok();
    }
}

/// A read or write that found nothing to do in time.
pub fn is_tick(error: &io::Error) -> bool {
    matches!(
        error.kind(),
        io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut
    )
}
