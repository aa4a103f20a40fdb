//! `StatusServer`: the counters of a run over HTTP, while it runs.
//!
//! Owns a socket and one thread, which answers `GET /metrics` and `GET /status`, one request after the other, each within
//! two seconds. It reads counters and nothing else. What is answered `metrics.rs` knows.

use std::io::{self, BufRead, BufReader, Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpListener, TcpStream};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use super::counters::Progress;
use super::metrics;

/// How long a client may take for its request or for our answer.
const PATIENCE: Duration = Duration::from_secs(2);
/// No request of a monitoring system is longer.
const LONGEST_REQUEST_BYTES: u64 = 8 << 10;

/// Answers until it is dropped.
#[derive(Debug)]
pub struct StatusServer {
    address: SocketAddr,
    over: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

impl StatusServer {
    /// Begins to answer at `address`; the run began at `started`.
    pub fn start(address: SocketAddr, progress: &Progress, started: Instant) -> io::Result<Self> {
        let listener = TcpListener::bind(address)?;
        let address = listener.local_addr()?;
        let over = Arc::new(AtomicBool::new(false));
        let (progress, stop) = (progress.clone(), Arc::clone(&over));
        let serve = move || {
            for client in listener.incoming() {
                if stop.load(Ordering::SeqCst) {
                    return;
                }
                // A client that goes away, or speaks something else, is no concern of the dump.
                if let Err(error) = client.and_then(|client| answer(&client, &progress, started)) {
                    log::debug!("a request for the status failed: {error}");
                }
            }
        };
        let thread = std::thread::Builder::new().name("status".to_owned());
        Ok(Self {
            address,
            over,
            thread: Some(thread.spawn(serve)?),
        })
    }

    /// Where it listens.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

impl Drop for StatusServer {
    fn drop(&mut self) {
        self.over.store(true, Ordering::SeqCst);
        let here = match self.address.ip() {
            IpAddr::V4(ip) if ip.is_unspecified() => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(ip) if ip.is_unspecified() => Ipv6Addr::LOCALHOST.into(),
            ip => ip,
        };
        // A last caller wakes the thread.
        let woken = TcpStream::connect_timeout(&(here, self.address.port()).into(), PATIENCE);
        if let (Some(thread), Ok(_)) = (self.thread.take(), woken) {
            // It holds nothing that a panic could have spoiled.
            thread.join().ok();
        }
    }
}

fn answer(mut client: &TcpStream, progress: &Progress, started: Instant) -> io::Result<()> {
    client.set_read_timeout(Some(PATIENCE))?;
    client.set_write_timeout(Some(PATIENCE))?;
    let mut request = BufReader::new(client.take(LONGEST_REQUEST_BYTES));
    let mut first = String::new();
    request.read_line(&mut first)?;
    let mut header = String::new();
    // The rest of the request is read, or the client would see a reset instead of the answer.
    while request.read_line(&mut header)? > 2 {
        header.clear();
    }
    let mut words = first.split_ascii_whitespace();
    let (method, path) = (words.next(), words.next().unwrap_or_default());
    let (status, kind, body) = match (method, path.split('?').next()) {
        (Some("GET"), Some("/metrics")) => {
            let text = metrics::of_running(progress, started.elapsed());
            ("200 OK", "text/plain; version=0.0.4; charset=utf-8", text)
        }
        (Some("GET"), Some("/status")) => {
            let object = metrics::status(progress, started.elapsed());
            ("200 OK", "application/json", format!("{object}\n"))
        }
        (Some("GET"), _) => {
            let text = "there is /metrics and /status\n".to_owned();
            ("404 Not Found", "text/plain", text)
        }
        _ => {
            let text = "GET is all there is\n".to_owned();
            ("405 Method Not Allowed", "text/plain", text)
        }
    };
    let length = body.len();
    write!(
        client,
        "HTTP/1.1 {status}\r\nContent-Type: {kind}\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{body}"
    )
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn ask(address: SocketAddr, request: &str) -> String {
        let mut client = TcpStream::connect(address).unwrap();
        client.write_all(request.as_bytes()).unwrap();
        let mut text = String::new();
        client.read_to_string(&mut text).unwrap();
        text
    }

    #[test]
    fn the_counters_are_told_and_the_socket_is_given_back() {
        let progress = Progress::new();
        progress.add_file(7, 3);
        let free = (Ipv4Addr::LOCALHOST, 0).into();
        let server = StatusServer::start(free, &progress, Instant::now()).unwrap();
        let address = server.address();
        let metrics = ask(address, "GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n");
        assert!(metrics.starts_with("HTTP/1.1 200 OK\r\n"), "{metrics}");
        assert!(metrics.contains("\nrdump_stored_bytes 3\n"), "{metrics}");
        let status = ask(address, "GET /status?x HTTP/1.0\r\n\r\n");
        let (_, body) = status.split_once("\r\n\r\n").unwrap();
        let object: serde_json::Value = serde_json::from_str(body).unwrap();
        assert_eq!(object["bytes_raw"], 7);
        assert!(ask(address, "GET / HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 404"));
        assert!(ask(address, "POST /status HTTP/1.1\r\n\r\n").starts_with("HTTP/1.1 405"));
        let silent = TcpStream::connect(address).unwrap();
        drop(silent);
        drop(server);
        assert!(TcpListener::bind(address).is_ok());
    }
}
