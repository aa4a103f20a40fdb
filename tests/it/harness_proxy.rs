//! The harness's proxy, in front of a server that sends without end and counts what it gets.

use std::io::{ErrorKind, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::os::unix::net::UnixStream;
use std::sync::mpsc::{self, Receiver};
use std::thread;
use std::time::{Duration, Instant};

use crate::harness::{Fault, Listen, Proxy, Query as _, Server, Target, Trigger};

const SOON: Duration = Duration::from_secs(10);
const MIB: u64 = 1 << 20;

/// Sends zeros to each connection until it breaks; tells when one has ended, and how many bytes came from it.
fn fountain() -> (u16, Receiver<usize>) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port();
    let (sender, ended) = mpsc::channel();
    thread::spawn(move || {
        for stream in listener.incoming() {
            let (mut stream, sender) = (stream.unwrap(), sender.clone());
            let mut reader = stream.try_clone().unwrap();
            thread::spawn(move || while stream.write_all(&[0; 16 * 1024]).is_ok() {});
            thread::spawn(move || {
                let mut received = Vec::new();
                // A reset ends the count as well as an orderly end.
                reader.read_to_end(&mut received).ok();
                sender.send(received.len())
            });
        }
    });
    (port, ended)
}

fn connect(proxy: &Proxy) -> TcpStream {
    let stream = TcpStream::connect(("127.0.0.1", proxy.port())).unwrap();
    stream.set_read_timeout(Some(SOON)).unwrap();
    stream
}

/// Bytes until the end, and the error that ended them, if one did.
fn drain(stream: &mut impl Read) -> (u64, Option<ErrorKind>) {
    let mut buffer = vec![0; 64 * 1024];
    let mut count = 0;
    loop {
        match stream.read(&mut buffer) {
            Ok(0) => return (count, None),
            Ok(length) => count += length as u64,
            Err(error) => return (count, Some(error.kind())),
        }
    }
}

#[test]
fn reset_strikes_after_exactly_so_many_bytes() {
    let (port, ended) = fountain();
    let proxy = Proxy::to_port(port);
    proxy.inject(Fault::Reset, Trigger::all().after_bytes(MIB + 1));
    let (_, error) = drain(&mut connect(&proxy));
    assert_eq!(error, Some(ErrorKind::ConnectionReset));
    ended.recv_timeout(SOON).unwrap();
    proxy.await_counters(SOON, |counters| counters.open == 0);
    assert_eq!(proxy.counters().bytes_to_client, MIB + 1);
    assert_eq!(proxy.counters().faults, 1);
}

#[test]
fn finish_gives_the_client_all_bytes_and_an_orderly_end() {
    let (port, ended) = fountain();
    let proxy = Proxy::to_port(port);
    proxy.inject(Fault::Finish, Trigger::all().after_bytes(3 * MIB));
    let mut client = connect(&proxy);
    client.write_all(b"unread").unwrap();
    assert_eq!(drain(&mut client), (3 * MIB, None));
    ended.recv_timeout(SOON).unwrap();
}

#[test]
fn half_close_leaves_the_server_waiting() {
    let (port, ended) = fountain();
    let proxy = Proxy::to_port(port);
    proxy.inject(Fault::HalfClose, Trigger::all().after_bytes(MIB));
    assert_eq!(drain(&mut connect(&proxy)), (MIB, None));
    ended.recv_timeout(Duration::from_millis(200)).unwrap_err();
    drop(proxy);
    ended.recv_timeout(SOON).unwrap();
}

#[test]
fn black_hole_keeps_both_sides_open_and_silent() {
    let (port, ended) = fountain();
    let proxy = Proxy::to_port(port);
    proxy.inject(Fault::BlackHole, Trigger::all().after_bytes(MIB));
    let mut client = connect(&proxy);
    client
        .set_read_timeout(Some(Duration::from_millis(200)))
        .unwrap();
    assert_eq!(drain(&mut client), (MIB, Some(ErrorKind::WouldBlock)));
    client.write_all(b"into the hole").unwrap();
    ended.recv_timeout(Duration::from_millis(200)).unwrap_err();
    drop(proxy);
    assert_eq!(ended.recv_timeout(SOON).unwrap(), 0);
}

#[test]
fn stall_pauses_and_goes_on() {
    let (port, _ended) = fountain();
    let proxy = Proxy::to_port(port);
    proxy.inject(
        Fault::Stall(Duration::from_millis(300)),
        Trigger::all().after_bytes(10),
    );
    let started = Instant::now();
    connect(&proxy).read_exact(&mut [0; 11]).unwrap();
    assert!(started.elapsed() >= Duration::from_millis(300));
}

#[test]
fn throttle_holds_its_rate_until_a_strike() {
    let (port, _ended) = fountain();
    let proxy = Proxy::to_port(port);
    proxy.inject(Fault::Throttle(MIB), Trigger::all());
    let mut client = connect(&proxy);
    let started = Instant::now();
    client.read_exact(&mut vec![0; 300 << 10]).unwrap();
    assert!(
        started.elapsed() >= Duration::from_millis(200),
        "{:?}",
        started.elapsed()
    );
    proxy.strike(Fault::Finish);
    assert_eq!(drain(&mut client).1, None);
}

#[test]
fn only_the_chosen_connections_are_refused() {
    let (port, _ended) = fountain();
    let proxy = Proxy::to_port(port);
    proxy.inject(Fault::Refuse, Trigger::every(2));
    let survives = |_| connect(&proxy).read_exact(&mut [0; 1]).is_ok();
    assert_eq!([1, 2, 3, 4].map(survives), [true, false, true, false]);
    proxy.clear();
    proxy.inject(Fault::Refuse, Trigger::only(2));
    assert_eq!([1, 2, 3, 4].map(survives), [true, false, true, true]);
    assert_eq!(proxy.counters().connections, 8);
}

#[test]
fn only_the_first_connection_past_a_byte_is_struck() {
    let (port, _ended) = fountain();
    let proxy = Proxy::to_port(port);
    proxy.inject(Fault::Finish, Trigger::first_past(MIB));
    assert_eq!(drain(&mut connect(&proxy)), (MIB, None));
    connect(&proxy).read_exact(&mut vec![0; 2 << 20]).unwrap();
    assert_eq!(proxy.counters().faults, 1);
}

#[test]
fn strike_resets_a_connection_whose_client_reads_nothing() {
    let (port, ended) = fountain();
    let proxy = Proxy::to_port(port);
    let client = connect(&proxy);
    proxy.await_counters(SOON, |counters| counters.bytes_to_client > MIB / 2);
    proxy.strike(Fault::Reset);
    ended.recv_timeout(SOON).unwrap();
    proxy.await_counters(SOON, |counters| counters.open == 0);
    drop(client);
}

#[test]
fn sockets_serve_on_both_sides() {
    let server = Server::mariadb();
    let Some(socket) = server.socket() else {
        return;
    };
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("proxy.sock");
    let proxy = Proxy::start(
        &Listen::Socket(path.clone()),
        Target::Socket(socket.to_owned()),
    );
    let mut greeting = [0; 5];
    UnixStream::connect(&path)
        .unwrap()
        .read_exact(&mut greeting)
        .unwrap();
    assert_eq!(greeting[4], 10, "protocol version");
    drop(proxy);
    UnixStream::connect(&path).unwrap_err();
}

#[test]
fn server_is_reached_through_the_proxy() {
    let server = Server::mariadb();
    let proxy = Proxy::to_port(server.port());
    let mut session = mysql::Conn::new(server.opts().tcp_port(proxy.port())).unwrap();
    assert_eq!(
        session.value("SELECT LENGTH(REPEAT('x', 5000000))"),
        "5000000"
    );
    session.execute("SELECT REPEAT('x', 5000000)");
    assert!(proxy.counters().bytes_to_client > 5_000_000);
}
