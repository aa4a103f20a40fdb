//! The floor under a dump: queries sent over some connections, their packets read and thrown away, and as many bytes written as
//! a dump would. `scripts/bench` runs it.
//!
//! Owns a client that knows a handshake without a password, the text query, and where a packet ends. It looks at no row.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::unix::net::UnixStream;
use std::sync::Mutex;

/// CLIENT_LONG_PASSWORD, LONG_FLAG, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, PLUGIN_AUTH.
const CAPABILITIES: u32 = 0x1 | 0x4 | 0x200 | 0x2000 | 0x8000 | 0x8_0000;
const BLOCK: usize = 1 << 20;

fn main() -> io::Result<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    // `cargo bench` itself passes a flag of its own.
    let [socket, threads, folder, bytes, queries] = arguments.as_slice() else {
        return writeln!(
            io::stdout(),
            "floor SOCKET THREADS FOLDER BYTES QUERIES-FILE; see scripts/bench"
        );
    };
    let threads: usize = threads.parse().map_err(io::Error::other)?;
    let bytes: usize = bytes.parse().map_err(io::Error::other)?;
    let text = std::fs::read_to_string(queries)?;
    let queries = Mutex::new(text.lines());
    let next = || queries.lock().ok().and_then(|mut lines| lines.next());
    std::thread::scope(|scope| {
        let workers: Vec<_> = (0..threads)
            .map(|number| {
                let path = format!("{folder}/{number}");
                scope.spawn(move || work(socket, &path, bytes / threads, next))
            })
            .collect();
        workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .map_err(|_| io::Error::other("a thread failed"))?
        })
    })
}

fn work<'a>(
    socket: &str,
    path: &str,
    mut bytes: usize,
    next: impl Fn() -> Option<&'a str>,
) -> io::Result<()> {
    let mut stream = log_in(socket)?;
    let mut buffer = vec![b'x'; BLOCK];
    while let Some(query) = next() {
        send(&mut stream, 0, &[b"\x03", query.as_bytes()].concat())?;
        drain(&mut stream, &mut buffer)?;
    }
    let mut file = File::create(path)?;
    while bytes > 0 {
        let block = bytes.min(BLOCK);
        file.write_all(&buffer[..block])?;
        bytes -= block;
    }
    Ok(())
}

fn log_in(socket: &str) -> io::Result<UnixStream> {
    let mut stream = UnixStream::connect(socket)?;
    receive(&mut stream)?;
    let mut answer = CAPABILITIES.to_le_bytes().to_vec();
    answer.extend_from_slice(&(1_u32 << 30).to_le_bytes());
    answer.push(45);
    answer.extend_from_slice(&[0; 23]);
    answer.extend_from_slice(b"root\0\0mysql_native_password\0");
    send(&mut stream, 1, &answer)?;
    match receive(&mut stream)?.first() {
        Some(0) => Ok(stream),
        _ => Err(io::Error::other("root is not let in without a password")),
    }
}

fn send(stream: &mut UnixStream, sequence: u8, payload: &[u8]) -> io::Result<()> {
    let length = u32::try_from(payload.len()).map_err(io::Error::other)?;
    let mut packet = length.to_le_bytes()[..3].to_vec();
    packet.push(sequence);
    packet.extend_from_slice(payload);
    stream.write_all(&packet)
}

fn receive(stream: &mut UnixStream) -> io::Result<Vec<u8>> {
    let mut header = [0; 4];
    stream.read_exact(&mut header)?;
    let mut payload = vec![0; length(header)];
    stream.read_exact(&mut payload)?;
    Ok(payload)
}

/// Reads a result to its second end mark, looking at nothing but headers and the byte behind each.
fn drain(stream: &mut UnixStream, buffer: &mut [u8]) -> io::Result<()> {
    let (mut start, mut end, mut marks) = (0, 0, 0);
    while marks < 2 {
        if end - start < 5 {
            buffer.copy_within(start..end, 0);
            (start, end) = (0, end - start);
            end += read(stream, &mut buffer[end..])?;
            continue;
        }
        let length = length([buffer[start], buffer[start + 1], buffer[start + 2], 0]);
        match buffer[start + 4] {
            0xff => return Err(io::Error::other("the server answers with an error")),
            0xfe if length < 9 => marks += 1,
            _ => {}
        }
        let mut left = length + 4;
        while left > end - start {
            left -= end - start;
            (start, end) = (0, read(stream, buffer)?);
        }
        start += left;
    }
    Ok(())
}

fn read(stream: &mut UnixStream, into: &mut [u8]) -> io::Result<usize> {
    match stream.read(into)? {
        0 => Err(io::ErrorKind::UnexpectedEof.into()),
        length => Ok(length),
    }
}

fn length(header: [u8; 4]) -> usize {
    usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16
}
