//! `ScriptedServer`: answers statements from a script, for servers that no package source has.
//!
//! Owns just enough of the server's side of the protocol: a handshake that takes any password, text results, OK and ERR. It
//! remembers every statement of every connection, so that a test can say what a dump sent and in which order.

use std::io::{self, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

/// `MYSQL_TYPE_VAR_STRING` and `MYSQL_TYPE_LONGLONG`.
pub const TEXT: u8 = 253;
pub const INTEGER: u8 = 8;

/// What the server says to a statement.
#[derive(Clone)]
pub enum Answer {
    Ok,
    /// Names and types of the columns, then rows.
    Rows(Vec<(&'static str, u8)>, Vec<Vec<Option<String>>>),
    Error(u16, &'static str),
}

impl Answer {
    /// One row of text.
    pub fn row<const N: usize>(cells: [&str; N]) -> Self {
        Self::rows(&[cells])
    }

    /// Rows of text.
    pub fn rows<const N: usize>(rows: &[[&str; N]]) -> Self {
        let rows = rows.iter();
        Self::Rows(
            vec![("c", TEXT); N],
            rows.map(|cells| cells.iter().map(|cell| Some((*cell).to_owned())).collect())
                .collect(),
        )
    }
}

/// Gives the answer to a statement; `None` for the server's usual one.
pub type Script = dyn Fn(&str) -> Option<Answer> + Send + Sync;

/// A server on a port of its own, until the test process ends.
pub struct ScriptedServer {
    port: u16,
    statements: Arc<Mutex<Vec<Vec<String>>>>,
}

impl ScriptedServer {
    /// Listens and answers by `script`. Unscripted SELECT and SHOW have no rows, everything else is OK.
    pub fn start(script: impl Fn(&str) -> Option<Answer> + Send + Sync + 'static) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let port = listener.local_addr().unwrap().port();
        let statements = Arc::new(Mutex::new(Vec::new()));
        let (script, log) = (Arc::new(script), Arc::clone(&statements));
        std::thread::spawn(move || {
            for stream in listener.incoming().map_while(Result::ok) {
                let (script, log) = (Arc::clone(&script), Arc::clone(&log));
                let id = {
                    let mut log = log.lock().unwrap();
                    log.push(Vec::new());
                    log.len()
                };
                // A client that goes away ends its connection, which is no fault of the script.
                std::thread::spawn(move || serve(stream, id, &*script, &log).ok());
            }
        });
        Self { port, statements }
    }

    pub fn port(&self) -> u16 {
        self.port
    }

    /// The statements so far, by connection.
    pub fn statements(&self) -> Vec<Vec<String>> {
        self.statements.lock().unwrap().clone()
    }
}

struct Wire {
    stream: TcpStream,
    sequence: u8,
}

impl Wire {
    fn read(&mut self) -> io::Result<Vec<u8>> {
        let mut head = [0; 4];
        self.stream.read_exact(&mut head)?;
        self.sequence = head[3].wrapping_add(1);
        let length = usize::from(head[0]) | usize::from(head[1]) << 8 | usize::from(head[2]) << 16;
        let mut payload = vec![0; length];
        self.stream.read_exact(&mut payload)?;
        Ok(payload)
    }

    fn write(&mut self, payload: &[u8]) -> io::Result<()> {
        let length = u32::try_from(payload.len()).unwrap().to_le_bytes();
        self.stream
            .write_all(&[length[0], length[1], length[2], self.sequence])?;
        self.sequence = self.sequence.wrapping_add(1);
        self.stream.write_all(payload)
    }
}

fn serve(
    stream: TcpStream,
    id: usize,
    script: &Script,
    log: &Mutex<Vec<Vec<String>>>,
) -> io::Result<()> {
    const COM_QUIT: u8 = 1;
    const COM_QUERY: u8 = 3;
    let mut wire = Wire {
        stream,
        sequence: 0,
    };
    let version = match script("@@version") {
        Some(Answer::Rows(_, rows)) => rows[0][1].clone().unwrap(),
        _ => "8.0.0".to_owned(),
    };
    wire.write(&greeting(&version, id))?;
    wire.read()?;
    wire.write(&OK)?;
    loop {
        let packet = wire.read()?;
        match packet.split_first() {
            Some((&COM_QUERY, sql)) => {
                let sql = String::from_utf8_lossy(sql).into_owned();
                let answer = script(&sql).unwrap_or_else(|| usual(&sql));
                log.lock().unwrap()[id - 1].push(sql);
                reply(&mut wire, &answer)?;
            }
            None | Some((&COM_QUIT, _)) => return Ok(()),
            Some(_) => wire.write(&OK)?,
        }
    }
}

const OK: [u8; 7] = [0, 0, 0, 2, 0, 0, 0];
const EOF: [u8; 5] = [0xfe, 0, 0, 2, 0];

fn usual(sql: &str) -> Answer {
    if sql.starts_with("SELECT") || sql.starts_with("SHOW") || sql.starts_with("EXPLAIN") {
        Answer::Rows(vec![("c", TEXT)], Vec::new())
    } else {
        Answer::Ok
    }
}

fn greeting(version: &str, id: usize) -> Vec<u8> {
    // LONG_PASSWORD, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION; MULTI_RESULTS, PLUGIN_AUTH in the upper half.
    let (lower, upper): (u16, u16) = (0xa201, 0x000a);
    let mut packet = vec![10];
    packet.extend(version.as_bytes());
    packet.push(0);
    packet.extend(u32::try_from(id).unwrap().to_le_bytes());
    packet.extend(b"12345678\0");
    packet.extend(lower.to_le_bytes());
    packet.push(45);
    packet.extend([2, 0]);
    packet.extend(upper.to_le_bytes());
    packet.push(21);
    packet.extend([0; 10]);
    packet.extend(b"123456789012\0mysql_native_password\0");
    packet
}

fn reply(wire: &mut Wire, answer: &Answer) -> io::Result<()> {
    match answer {
        Answer::Ok => wire.write(&OK),
        Answer::Error(code, message) => {
            let mut packet = vec![0xff];
            packet.extend(code.to_le_bytes());
            packet.extend(b"#HY000");
            packet.extend(message.as_bytes());
            wire.write(&packet)
        }
        Answer::Rows(columns, rows) => {
            wire.write(&[u8::try_from(columns.len()).unwrap()])?;
            for (name, wire_type) in columns {
                let mut packet = Vec::new();
                for text in ["def", "", "", "", name, name] {
                    cell(&mut packet, Some(text));
                }
                packet.extend([12, 45, 0, 0, 1, 0, 0, *wire_type, 0, 0, 0, 0, 0]);
                wire.write(&packet)?;
            }
            wire.write(&EOF)?;
            for row in rows {
                let mut packet = Vec::new();
                for text in row {
                    cell(&mut packet, text.as_deref());
                }
                wire.write(&packet)?;
            }
            wire.write(&EOF)
        }
    }
}

/// A length-encoded text; scripts need none beyond 64 KiB.
fn cell(packet: &mut Vec<u8>, text: Option<&str>) {
    let Some(text) = text else {
        return packet.push(0xfb);
    };
    match u8::try_from(text.len()) {
        Ok(length) if length < 251 => packet.push(length),
        _ => {
            packet.push(0xfc);
            packet.extend(u16::try_from(text.len()).unwrap().to_le_bytes());
        }
    }
    packet.extend(text.as_bytes());
}
