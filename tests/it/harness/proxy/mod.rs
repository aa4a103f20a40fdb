//! A proxy that breaks connections on purpose: TCP or unix socket on either side, threads and std only.
//!
//! A rule (`inject`) waits for connections made after it; `strike` breaks those that live now. Bytes are counted in
//! both directions, so that a test waits for traffic (`await_counters`) instead of sleeping.

mod pump;
mod stream;

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, TcpListener, TcpStream};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::PathBuf;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, Weak};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use stream::{Listener, Stream};

/// What happens to a connection.
#[derive(Clone, Copy, Debug)]
pub enum Fault {
    /// RST to both sides.
    Reset,
    /// FIN to both sides, after all that was forwarded.
    Finish,
    /// FIN to the client; nothing is forwarded any more, and the server's side stays open, as after a lost FIN.
    HalfClose,
    /// Nothing is forwarded any more either way, and both sides stay open. The kernel still answers keepalives.
    BlackHole,
    /// Nothing is forwarded for a time, then all goes on.
    Stall(Duration),
    /// Bytes per second towards the client.
    Throttle(u64),
    /// RST right after the connection was accepted; the server is never reached.
    Refuse,
}

/// When a rule strikes: at a connection, after so many bytes from server to client.
#[derive(Clone, Copy, Debug)]
pub struct Trigger {
    connection: Which,
    after_bytes: u64,
}

#[derive(Clone, Copy, Debug)]
enum Which {
    Each(u64),
    Only(u64),
    FirstPast,
}

impl Trigger {
    pub fn all() -> Self {
        Self::every(1)
    }

    /// Each k-th connection from the time of the rule.
    pub fn every(k: u64) -> Self {
        Self {
            connection: Which::Each(k),
            after_bytes: 0,
        }
    }

    /// The k-th connection from the time of the rule, counted from 1.
    pub fn only(k: u64) -> Self {
        Self {
            connection: Which::Only(k),
            after_bytes: 0,
        }
    }

    /// The connection that is the first to have carried so many bytes, and no other.
    pub fn first_past(bytes: u64) -> Self {
        Self {
            connection: Which::FirstPast,
            after_bytes: bytes,
        }
    }

    pub fn after_bytes(mut self, bytes: u64) -> Self {
        self.after_bytes = bytes;
        self
    }

    fn meets(self, number: u64) -> bool {
        match self.connection {
            Which::Each(k) => number.is_multiple_of(k),
            Which::Only(k) => number == k,
            Which::FirstPast => true,
        }
    }
}

/// Where the proxy is reached.
pub enum Listen {
    /// A free port of 127.0.0.1.
    Port,
    Socket(PathBuf),
}

/// Where it leads to.
#[derive(Clone)]
pub enum Target {
    Port(u16),
    Socket(PathBuf),
}

/// What has passed so far.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    pub connections: u64,
    /// Connections that live now.
    pub open: u64,
    /// Faults that struck.
    pub faults: u64,
    pub bytes_to_client: u64,
    pub bytes_to_server: u64,
}

/// Stops and closes everything when dropped.
pub struct Proxy {
    port: Option<u16>,
    listen_path: Option<PathBuf>,
    shared: Arc<Shared>,
    acceptor: Option<JoinHandle<()>>,
}

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    counters: Counters,
    /// The clients' ports with the bytes they have got, of TCP connections that live.
    clients: BTreeMap<u16, u64>,
    /// What each connection that lives has carried to its client.
    passed: Vec<Weak<AtomicU64>>,
    rules: Vec<Rule>,
    /// Raised by each `strike`: a connection that has seen less obeys the newest one.
    strikes: u64,
    struck: Option<Fault>,
    closing: bool,
}

struct Rule {
    fault: Fault,
    trigger: Trigger,
    connections_seen: u64,
    /// Whether the only connection it may strike was struck.
    spent: Arc<AtomicBool>,
}

/// A fault that waits for one connection.
struct Planned {
    after_bytes: u64,
    fault: Fault,
    /// Shared with other connections of which only the first is struck.
    spent: Option<Arc<AtomicBool>>,
}

impl Planned {
    /// Whether the fault may strike now; asked once, when its byte is reached.
    fn take(&self) -> bool {
        let spent = self.spent.as_ref();
        !spent.is_some_and(|spent| spent.swap(true, Ordering::SeqCst))
    }
}

impl Proxy {
    /// To a port of 127.0.0.1, on a free port.
    pub fn to_port(port: u16) -> Self {
        Self::start(&Listen::Port, Target::Port(port))
    }

    pub fn start(listen: &Listen, target: Target) -> Self {
        let shared = Arc::new(Shared::default());
        let (listener, port, listen_path) = match listen {
            Listen::Port => {
                let listener = TcpListener::bind((Ipv4Addr::LOCALHOST, 0)).unwrap();
                let port = listener.local_addr().unwrap().port();
                (Listener::Tcp(listener), Some(port), None)
            }
            Listen::Socket(path) => (
                Listener::Unix(UnixListener::bind(path).unwrap()),
                None,
                Some(path.clone()),
            ),
        };
        let accepting = Arc::clone(&shared);
        let acceptor = Some(thread::spawn(move || {
            accept(&listener, &target, &accepting);
        }));
        Self {
            port,
            listen_path,
            shared,
            acceptor,
        }
    }

    pub fn port(&self) -> u16 {
        self.port.expect("a proxy that listens on a port")
    }

    /// For connections made from now on. Several rules may meet one connection.
    pub fn inject(&self, fault: Fault, trigger: Trigger) {
        let rule = Rule {
            fault,
            trigger,
            connections_seen: 0,
            spent: Arc::default(),
        };
        self.shared.state.lock().unwrap().rules.push(rule);
    }

    /// No more rules; connections that were not struck yet go on untouched.
    pub fn clear(&self) {
        self.shared.state.lock().unwrap().rules.clear();
    }

    /// To all connections that live now, within some hundredths of a second.
    pub fn strike(&self, fault: Fault) {
        let mut state = self.shared.state.lock().unwrap();
        state.strikes += 1;
        state.struck = Some(fault);
        self.shared.changed.notify_all();
    }

    pub fn counters(&self) -> Counters {
        self.shared.state.lock().unwrap().counters
    }

    /// The client's port of the living connection that has carried most.
    pub fn busiest_client_port(&self) -> u16 {
        let state = self.shared.state.lock().unwrap();
        let busiest = state.clients.iter().max_by_key(|(_, bytes)| **bytes);
        *busiest.expect("a TCP connection").0
    }

    /// Connections that live now and have carried fewer bytes than that to their clients.
    pub fn open_below(&self, bytes: u64) -> usize {
        let state = self.shared.state.lock().unwrap();
        let living = state.passed.iter().filter_map(Weak::upgrade);
        living
            .filter(|passed| passed.load(Ordering::SeqCst) < bytes)
            .count()
    }

    /// Waits until the counters satisfy `condition`.
    #[track_caller]
    pub fn await_counters(&self, limit: Duration, condition: impl Fn(&Counters) -> bool) {
        let state = self.shared.state.lock().unwrap();
        let waiting = self
            .shared
            .changed
            .wait_timeout_while(state, limit, |state| !condition(&state.counters));
        let (state, timeout) = waiting.unwrap();
        let counters = state.counters;
        // A panic under the lock would poison it for the pumps.
        drop(state);
        assert!(!timeout.timed_out(), "not within {limit:?}: {counters:?}");
    }

    /// Lets those who wait for the counters look at their condition again: something else that it asks for has changed.
    pub fn wake(&self) {
        let _state = self.shared.state.lock().unwrap();
        self.shared.changed.notify_all();
    }
}

impl Drop for Proxy {
    fn drop(&mut self) {
        self.shared.state.lock().unwrap().closing = true;
        self.shared.changed.notify_all();
        // A connection of its own wakes the acceptor.
        match (&self.listen_path, self.port) {
            (Some(path), _) => drop(UnixStream::connect(path)),
            (None, port) => drop(TcpStream::connect((Ipv4Addr::LOCALHOST, port.unwrap()))),
        }
        self.acceptor.take().unwrap().join().ok();
        if let Some(path) = &self.listen_path {
            std::fs::remove_file(path).ok();
        }
    }
}

fn accept(listener: &Listener, target: &Target, shared: &Arc<Shared>) {
    while let Ok(client) = listener.accept() {
        let faults = {
            let mut state = shared.state.lock().unwrap();
            if state.closing {
                return;
            }
            state.counters.connections += 1;
            let faults = faults_of_next_connection(&mut state);
            if faults
                .iter()
                .any(|planned| matches!(planned.fault, Fault::Refuse))
            {
                state.counters.faults += 1;
                client.reset_on_close();
                shared.changed.notify_all();
                continue;
            }
            shared.changed.notify_all();
            faults
        };
        match Stream::connect(target) {
            Ok(server) => pump::open(client, server, faults, shared),
            Err(_) => client.reset_on_close(),
        }
    }
}

/// By the byte at which they strike.
fn faults_of_next_connection(state: &mut State) -> Vec<Planned> {
    let mut faults = Vec::new();
    for rule in &mut state.rules {
        rule.connections_seen += 1;
        if rule.trigger.meets(rule.connections_seen) {
            let once = matches!(rule.trigger.connection, Which::FirstPast);
            faults.push(Planned {
                after_bytes: rule.trigger.after_bytes,
                fault: rule.fault,
                spent: once.then(|| Arc::clone(&rule.spent)),
            });
        }
    }
    faults.sort_by_key(|planned| planned.after_bytes);
    faults
}
