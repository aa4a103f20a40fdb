//! A proxy that knows where an HTTP request begins and ends: it looks at each one and does to it what a test says. Signatures
//! survive, since nothing that is signed is changed. One request per connection.

use std::io::{self, Read, Write};
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Condvar, Mutex};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use rustix::net::sockopt::set_socket_linger;

/// A request as its head tells it.
#[derive(Clone, Debug)]
pub struct HttpRequest {
    /// Counted from 1.
    pub number: u64,
    pub method: String,
    /// Path and query.
    pub target: String,
    pub head: String,
    pub arrived: Instant,
}

impl HttpRequest {
    /// Whether it sends a part of an upload.
    pub fn is_part(&self) -> bool {
        self.method == "PUT" && self.target.contains("partNumber=")
    }

    /// Whether it completes an upload.
    pub fn is_complete(&self) -> bool {
        self.method == "POST" && self.target.contains("uploadId=")
    }
}

/// What becomes of a request.
#[derive(Clone, Debug)]
pub enum Verdict {
    Pass,
    /// Answered in the server's place.
    Answer {
        status: u16,
        headers: &'static str,
        body: String,
    },
    /// RST when half of the body was read.
    ResetInBody,
    /// The server does its work, then RST in place of its answer.
    LoseAnswer,
    /// The answer breaks off by RST after half of its body.
    CutAnswer,
    /// The server's answer with a text in its head replaced.
    Rewrite(&'static str, &'static str),
    /// RST before anything was read.
    Refuse,
    /// Neither forwarded nor answered.
    Hang,
}

impl Verdict {
    /// An error as S3 words it.
    pub fn error(status: u16, code: &str) -> Self {
        let body = format!(
            "<?xml version=\"1.0\" encoding=\"UTF-8\"?><Error><Code>{code}</Code><Message>by the test</Message></Error>"
        );
        Self::Answer {
            status,
            headers: "",
            body,
        }
    }
}

type Judge = dyn Fn(&HttpRequest) -> Verdict + Send + Sync;

struct Shared {
    target: u16,
    judge: Box<Judge>,
    seen: Mutex<Vec<HttpRequest>>,
    changed: Condvar,
    closing: AtomicBool,
}

/// Stops when dropped; requests that hang are let go.
pub struct HttpProxy {
    port: u16,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

impl HttpProxy {
    /// To a port of 127.0.0.1, on a free port.
    pub fn to_port(
        target: u16,
        judge: impl Fn(&HttpRequest) -> Verdict + Send + Sync + 'static,
    ) -> Self {
        let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
        let port = listener.local_addr().unwrap().port();
        let shared = Arc::new(Shared {
            target,
            judge: Box::new(judge),
            seen: Mutex::default(),
            changed: Condvar::new(),
            closing: AtomicBool::new(false),
        });
        let accepting = Arc::clone(&shared);
        let acceptor = thread::spawn(move || {
            for client in listener.incoming() {
                if accepting.closing.load(Ordering::SeqCst) {
                    return;
                }
                let shared = Arc::clone(&accepting);
                // A connection that breaks is what many tests ask for.
                thread::spawn(move || client.and_then(|client| serve(&client, &shared)).ok());
            }
        });
        Self {
            port,
            shared,
            acceptor: Some(acceptor),
        }
    }

    pub fn endpoint(&self) -> String {
        format!("http://127.0.0.1:{}", self.port)
    }

    /// All requests so far, in the order of their heads.
    pub fn seen(&self) -> Vec<HttpRequest> {
        self.shared.seen.lock().unwrap().clone()
    }

    /// Waits until the requests so far satisfy `condition`.
    #[track_caller]
    pub fn await_seen(&self, limit: Duration, condition: impl Fn(&[HttpRequest]) -> bool) {
        let seen = self.shared.seen.lock().unwrap();
        let waiting = self
            .shared
            .changed
            .wait_timeout_while(seen, limit, |seen| !condition(seen));
        let (seen, timeout) = waiting.unwrap();
        let count = seen.len();
        drop(seen);
        assert!(
            !timeout.timed_out(),
            "not within {limit:?}, {count} requests"
        );
    }
}

impl Drop for HttpProxy {
    fn drop(&mut self) {
        self.shared.closing.store(true, Ordering::SeqCst);
        drop(self.shared.seen.lock());
        self.shared.changed.notify_all();
        // A connection of its own wakes the acceptor.
        TcpStream::connect((Ipv4Addr::LOCALHOST, self.port)).ok();
        self.acceptor.take().unwrap().join().ok();
    }
}

fn serve(client: &TcpStream, shared: &Shared) -> io::Result<()> {
    let (head, mut body) = read_head(client)?;
    let mut words = head.split(' ');
    let mut word = || words.next().unwrap_or_default().to_owned();
    let request = {
        let mut seen = shared.seen.lock().unwrap();
        let request = HttpRequest {
            number: seen.len() as u64 + 1,
            method: word(),
            target: word(),
            head,
            arrived: Instant::now(),
        };
        seen.push(request.clone());
        shared.changed.notify_all();
        request
    };
    let length = content_length(&request.head).unwrap_or(0);
    match (shared.judge)(&request) {
        Verdict::Refuse => reset(client),
        Verdict::Hang => {
            let seen = shared.seen.lock().unwrap();
            let open = |_: &mut Vec<HttpRequest>| !shared.closing.load(Ordering::SeqCst);
            drop(shared.changed.wait_while(seen, open));
            Ok(())
        }
        Verdict::ResetInBody => {
            read_body(client, &mut body, length / 2)?;
            reset(client)
        }
        Verdict::Answer {
            status,
            headers,
            body: text,
        } => {
            read_body(client, &mut body, length)?;
            let length = text.len();
            let answer = format!(
                "HTTP/1.1 {status} By The Test\r\nContent-Type: application/xml\r\nConnection: close\r\n{headers}Content-Length: {length}\r\n\r\n{text}"
            );
            (&mut &*client).write_all(answer.as_bytes())
        }
        verdict => {
            read_body(client, &mut body, length)?;
            let answer = forward(&request.head, &body, shared.target)?;
            pass(client, &answer, &verdict)
        }
    }
}

fn pass(client: &TcpStream, answer: &[u8], verdict: &Verdict) -> io::Result<()> {
    let mut client_end = client;
    match verdict {
        Verdict::LoseAnswer => reset(client),
        Verdict::CutAnswer => {
            let body = head_end(answer).unwrap_or(0);
            client_end.write_all(&answer[..usize::midpoint(body, answer.len())])?;
            reset(client)
        }
        Verdict::Rewrite(from, to) => {
            let body = head_end(answer).unwrap_or(0);
            let head = String::from_utf8_lossy(&answer[..body]).replace(from, to);
            client_end.write_all(head.as_bytes())?;
            client_end.write_all(&answer[body..])
        }
        _ => client_end.write_all(answer),
    }
}

/// The server's whole answer, over a connection that ends with it.
fn forward(head: &str, body: &[u8], port: u16) -> io::Result<Vec<u8>> {
    let mut server = TcpStream::connect((Ipv4Addr::LOCALHOST, port))?;
    let first = head.find("\r\n").unwrap_or(0) + 2;
    let head = format!("{}Connection: close\r\n{}", &head[..first], &head[first..]);
    server.write_all(head.as_bytes())?;
    server.write_all(body)?;
    let mut answer = Vec::new();
    server.read_to_end(&mut answer)?;
    Ok(answer)
}

/// The head with its empty line, and what came with it of the body.
fn read_head(mut client: &TcpStream) -> io::Result<(String, Vec<u8>)> {
    let mut bytes = Vec::new();
    let mut buffer = [0; 16 * 1024];
    loop {
        if let Some(end) = head_end(&bytes) {
            let body = bytes.split_off(end);
            return Ok((String::from_utf8_lossy(&bytes).into_owned(), body));
        }
        match client.read(&mut buffer)? {
            0 => return Err(io::ErrorKind::UnexpectedEof.into()),
            length => bytes.extend_from_slice(&buffer[..length]),
        }
    }
}

fn read_body(mut client: &TcpStream, body: &mut Vec<u8>, length: usize) -> io::Result<()> {
    let read = body.len().min(length);
    body.resize(length, 0);
    client.read_exact(&mut body[read..])
}

fn head_end(bytes: &[u8]) -> Option<usize> {
    let end = bytes.windows(4).position(|four| four == b"\r\n\r\n")?;
    Some(end + 4)
}

fn content_length(head: &str) -> Option<usize> {
    head.lines().find_map(|line| {
        let (name, value) = line.split_once(':')?;
        let is_length = name.eq_ignore_ascii_case("content-length");
        is_length.then(|| value.trim().parse().ok())?
    })
}

fn reset(client: &TcpStream) -> io::Result<()> {
    set_socket_linger(client, Some(Duration::ZERO))?;
    Ok(())
}
