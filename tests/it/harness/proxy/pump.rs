//! One connection of the proxy: a thread for each direction.

use std::net::Shutdown;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::{Duration, Instant};

use super::stream::{Stream, is_tick};
use super::{Fault, Planned, Shared};

const FOR_EVER: Duration = Duration::from_secs(24 * 60 * 60);

/// Starts the pumps. `faults` are sorted by the byte at which they strike.
pub fn open(client: Stream, server: Stream, faults: Vec<Planned>, shared: &Arc<Shared>) {
    if client.prepare().and_then(|()| server.prepare()).is_err() {
        return;
    }
    let passed = Arc::default();
    let strikes_seen = {
        let mut state = shared.state.lock().unwrap();
        state.counters.open += 1;
        state.passed.push(Arc::downgrade(&passed));
        shared.changed.notify_all();
        state.strikes
    };
    let connection = Arc::new(Connection {
        client_port: client.peer_port(),
        client,
        server,
        shared: Arc::clone(shared),
        flow: Mutex::new(Flow::Open),
        passed,
    });
    let to_client = ToClient {
        connection: Arc::clone(&connection),
        faults,
        strikes_seen,
        rate: None,
    };
    thread::spawn(move || to_client.run());
    thread::spawn(move || connection.pump_to_server());
}

/// Both sockets, shared by the two threads; closed when both are done.
struct Connection {
    client: Stream,
    client_port: Option<u16>,
    server: Stream,
    shared: Arc<Shared>,
    /// Locked after `shared.state` where both are.
    flow: Mutex<Flow>,
    /// Bytes to the client.
    passed: Arc<AtomicU64>,
}

/// What the pump towards the server does.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Flow {
    Open,
    /// Reads nothing, writes nothing.
    Halted,
    /// Reads what still comes and throws it away, since closing a socket with unread bytes sends RST in place of FIN.
    Discarding,
    Closed,
}

impl Drop for Connection {
    fn drop(&mut self) {
        let mut state = self.shared.state.lock().unwrap();
        state.counters.open -= 1;
        if let Some(port) = self.client_port {
            state.clients.remove(&port);
        }
        drop(state);
        self.shared.changed.notify_all();
    }
}

impl Connection {
    fn flow(&self) -> Flow {
        *self.flow.lock().unwrap()
    }

    fn set_flow(&self, flow: Flow) {
        // Under this lock no thread is between looking at the flow and falling asleep.
        let _state = self.shared.state.lock().unwrap();
        *self.flow.lock().unwrap() = flow;
        self.shared.changed.notify_all();
    }

    fn is_closing(&self) -> bool {
        self.shared.state.lock().unwrap().closing || self.flow() == Flow::Closed
    }

    /// Waits without forwarding until the time is over or a strike newer than `strikes_seen` comes; true when the
    /// connection still lives then.
    fn pause(&self, limit: Duration, strikes_seen: u64) -> bool {
        let state = self.shared.state.lock().unwrap();
        let waiting = self
            .shared
            .changed
            .wait_timeout_while(state, limit, |state| {
                !state.closing && state.strikes == strikes_seen && self.flow() != Flow::Closed
            });
        drop(waiting);
        !self.is_closing()
    }

    fn pump_to_server(&self) {
        let mut buffer = vec![0; 64 * 1024];
        while !self.is_closing() {
            if self.flow() == Flow::Halted {
                self.await_release();
                continue;
            }
            match self.client.read(&mut buffer) {
                // A halt that came while the read was waiting keeps the client's end from the server as well.
                Ok(0) if self.flow() == Flow::Halted => {}
                Ok(0) => break,
                Ok(_) if self.flow() == Flow::Discarding => {}
                Ok(length) => {
                    if !self.write_to_server(&buffer[..length]) {
                        break;
                    }
                    self.shared.state.lock().unwrap().counters.bytes_to_server += length as u64;
                    self.shared.changed.notify_all();
                }
                Err(error) if is_tick(&error) => {}
                Err(_) => break,
            }
        }
        if self.flow() == Flow::Discarding {
            self.set_flow(Flow::Closed);
        }
        self.server.shutdown(Shutdown::Write);
    }

    fn await_release(&self) {
        let state = self.shared.state.lock().unwrap();
        let halted = self
            .shared
            .changed
            .wait_while(state, |state| !state.closing && self.flow() == Flow::Halted);
        drop(halted);
    }

    fn write_to_server(&self, mut bytes: &[u8]) -> bool {
        while !bytes.is_empty() {
            // A halt may have come while the read was waiting.
            self.await_release();
            match self.server.write(bytes) {
                Ok(length) => bytes = &bytes[length..],
                Err(error) if is_tick(&error) && !self.is_closing() => {}
                Err(_) => return false,
            }
        }
        true
    }
}

/// The pump from server to client, where faults strike.
struct ToClient {
    connection: Arc<Connection>,
    faults: Vec<Planned>,
    strikes_seen: u64,
    /// Bytes per second.
    rate: Option<u64>,
}

impl ToClient {
    fn run(mut self) {
        let mut buffer = vec![0; 64 * 1024];
        while !self.connection.is_closing() && self.obey_faults() {
            let room = self.room(buffer.len());
            match self.connection.server.read(&mut buffer[..room]) {
                Ok(length @ 1..) => {
                    if !self.pass_on(&buffer[..length]) {
                        return;
                    }
                }
                Err(error) if is_tick(&error) => {}
                Ok(_) => {
                    self.connection.client.shutdown(Shutdown::Write);
                    return;
                }
                Err(_) => {
                    self.connection.client.reset_on_close();
                    self.connection.set_flow(Flow::Closed);
                    return;
                }
            }
        }
    }

    fn passed(&self) -> u64 {
        self.connection.passed.load(Ordering::SeqCst)
    }

    /// So much that no byte passes which a fault is to keep back, and under a rate a twentieth of a second's.
    fn room(&self, most: usize) -> usize {
        let until_fault = self
            .faults
            .first()
            .map_or(u64::MAX, |planned| planned.after_bytes - self.passed());
        let by_rate = self.rate.map_or(u64::MAX, |rate| (rate / 20).max(1));
        usize::try_from(until_fault.min(by_rate)).map_or(most, |room| room.min(most))
    }

    fn pass_on(&mut self, mut bytes: &[u8]) -> bool {
        let started = Instant::now();
        let length = bytes.len() as u64;
        while !bytes.is_empty() {
            match self.connection.client.write(bytes) {
                Ok(written) => bytes = &bytes[written..],
                // A client that reads nothing must not keep a strike away.
                Err(error)
                    if is_tick(&error) && !self.connection.is_closing() && self.obey_faults() => {}
                Err(_) => return false,
            }
        }
        self.connection.passed.fetch_add(length, Ordering::SeqCst);
        let mut state = self.connection.shared.state.lock().unwrap();
        state.counters.bytes_to_client += length;
        if let Some(port) = self.connection.client_port {
            *state.clients.entry(port).or_default() += length;
        }
        drop(state);
        self.connection.shared.changed.notify_all();
        let Some(rate) = self.rate else {
            return true;
        };
        let due = Duration::from_micros(length * 1_000_000 / rate);
        self.connection
            .pause(due.saturating_sub(started.elapsed()), self.strikes_seen)
    }

    /// Carries out what is due; false when the connection forwards no more.
    fn obey_faults(&mut self) -> bool {
        while let Some(fault) = self.next_fault() {
            if !self.carry_out(fault) {
                return false;
            }
        }
        true
    }

    fn next_fault(&mut self) -> Option<Fault> {
        let mut state = self.connection.shared.state.lock().unwrap();
        let fault = if state.strikes > self.strikes_seen {
            self.strikes_seen = state.strikes;
            state.struck?
        } else {
            loop {
                if self.faults.first()?.after_bytes > self.passed() {
                    return None;
                }
                let planned = self.faults.remove(0);
                if planned.take() {
                    break planned.fault;
                }
            }
        };
        // A slow line is no fault yet.
        state.counters.faults += u64::from(!matches!(fault, Fault::Throttle(_)));
        self.connection.shared.changed.notify_all();
        Some(fault)
    }

    fn carry_out(&mut self, fault: Fault) -> bool {
        let connection = &self.connection;
        match fault {
            Fault::Reset | Fault::Refuse => {
                connection.client.reset_on_close();
                connection.server.reset_on_close();
                connection.set_flow(Flow::Closed);
                false
            }
            Fault::Finish => {
                connection.client.shutdown(Shutdown::Write);
                connection.server.shutdown(Shutdown::Both);
                connection.set_flow(Flow::Discarding);
                false
            }
            Fault::HalfClose => {
                // First, or the client's own end, its answer to this one, could still be passed on.
                connection.set_flow(Flow::Halted);
                connection.client.shutdown(Shutdown::Write);
                self.halt(FOR_EVER)
            }
            Fault::BlackHole => self.halt(FOR_EVER),
            Fault::Stall(duration) => self.halt(duration),
            Fault::Throttle(rate) => {
                self.rate = Some(rate);
                true
            }
        }
    }

    /// Until the time is over, or for good; a strike or the proxy's end comes in between.
    fn halt(&self, limit: Duration) -> bool {
        self.connection.set_flow(Flow::Halted);
        let lives = self.connection.pause(limit, self.strikes_seen);
        if lives {
            self.connection.set_flow(Flow::Open);
        }
        lives
    }
}
