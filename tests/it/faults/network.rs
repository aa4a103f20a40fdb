//! The network itself: packets that are dropped for good, a handshake that never comes or comes in drops.

use std::fmt::Write as _;
use std::io::Write as _;
use std::net::TcpListener;
use std::process::Command;
use std::thread;
use std::time::{Duration, Instant};

use super::scene::{LIMIT, MID_CHUNK, SOON, Scene, Transport};
use crate::harness::{Kind, Rdump, announce};

/// A packet filter table of this test alone; deleted at the end.
struct Filter(String);

impl Filter {
    /// Drops all packets between two ports of this machine; `None` where this process may not.
    fn between(first: u16, second: u16) -> Option<Self> {
        let table = format!("rdump_test_{}", std::process::id());
        let mut script = format!(
            "add table inet {table}\n\
             add chain inet {table} drops {{ type filter hook input priority 0; }}\n"
        );
        for (from, to) in [(first, second), (second, first)] {
            let ports = format!("tcp sport {from} tcp dport {to}");
            writeln!(script, "add rule inet {table} drops {ports} drop").unwrap();
        }
        let done = Command::new("nft").arg(&script).output();
        done.is_ok_and(|output| output.status.success())
            .then_some(Self(table))
    }
}

impl Drop for Filter {
    fn drop(&mut self) {
        let delete = format!("delete table inet {}", self.0);
        Command::new("nft").arg(delete).status().ok();
    }
}

/// With the defaults: the read timeout of 15 minutes has no part in it.
#[test]
fn vanished_peer_is_found_by_the_kernel_in_about_a_minute() {
    const FOUND: Duration = Duration::from_secs(75);
    let scene = Scene::of(Kind::MariaDb).unwrap();
    let line = scene.line_at(Transport::Tcp, 4 << 20);
    let running = scene.over(&line).spawn();
    line.await_bytes(2 * MID_CHUNK);
    let client = line.proxy.busiest_client_port();
    let Some(_filter) = Filter::between(line.proxy.port(), client) else {
        announce(
            "NOT COVERED: dropped packets: nft is missing, or this process may not use it (be root)",
        );
        return;
    };
    let dropped = Instant::now();
    running.await_stderr("trying again", FOUND);
    let took = dropped.elapsed();
    announce(&format!("dropped packets: found after {took:.0?}"));
    assert!(
        took > Duration::from_secs(10),
        "the packets were not dropped"
    );
    scene.assert_identical(&running.wait());
    scene.assert_no_session_within(Duration::from_secs(3));
}

/// The kernel closes the socket under us.
#[test]
fn destroyed_socket_costs_a_second_attempt_and_no_row() {
    let scene = Scene::of(Kind::MariaDb).unwrap();
    let line = scene.line_at(Transport::Tcp, 4 << 20);
    let running = scene.over(&line).spawn();
    line.await_bytes(2 * MID_CHUNK);
    let client = line.proxy.busiest_client_port().to_string();
    let destroyed = Command::new("ss")
        .args(["-K", "sport", "=", &client])
        .output();
    if !destroyed.is_ok_and(|output| String::from_utf8_lossy(&output.stdout).contains(&client)) {
        announce(
            "NOT COVERED: destroyed sockets: ss is missing, or the kernel or the account cannot (be root)",
        );
        return;
    }
    running.await_stderr("goes on reading", SOON);
    scene.assert_identical(&running.wait());
}

/// `say` gets each connection; rdump must give up by itself.
#[track_caller]
fn fails_soon_on(say: fn(std::net::TcpStream)) {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    thread::spawn(move || {
        for stream in listener.incoming().flatten() {
            thread::spawn(move || say(stream));
        }
    });
    let started = Instant::now();
    let scratch = tempfile::tempdir().unwrap();
    let run = Rdump::bare()
        .args(["-h", "127.0.0.1", "-P", &port, "--connect-timeout", "2s"])
        .args([
            "--ssl-mode".as_ref(),
            "DISABLED".as_ref(),
            "-o".as_ref(),
            scratch.path().join("out").as_os_str(),
        ])
        .time_limit(LIMIT)
        .run();
    run.assert_fails(1);
    assert!(
        run.stderr.contains(&format!("127.0.0.1:{port}")),
        "{}",
        run.report()
    );
    assert!(run.stderr.contains("connect timeout"), "{}", run.report());
    let took = started.elapsed();
    assert!(took < Duration::from_secs(5), "{took:?}\n{}", run.report());
}

#[test]
fn handshake_that_never_comes_ends_the_run_after_the_connect_timeout() {
    // Holds the connection for as long as the other side does.
    fails_soon_on(|mut stream| {
        std::io::copy(&mut stream, &mut std::io::sink()).ok();
    });
}

/// Each byte comes within the time limit; all together do not.
#[test]
fn handshake_in_drops_ends_the_run_after_the_connect_timeout() {
    fails_soon_on(|mut stream| {
        let greeting = [74, 0, 0, 0, 10, b'9', b'.', b'9'];
        let forever = std::iter::repeat(&b'9');
        for byte in greeting.iter().chain(forever).take(60) {
            if stream.write_all(&[*byte]).is_err() {
                return;
            }
            thread::sleep(Duration::from_millis(200));
        }
    });
}
