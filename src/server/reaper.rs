//! `Reaper`: ends on the server the sessions that were given up here.
//!
//! Owns one thread that issues `KILL` over a connection of its own, opened only when there is something to end. KILL QUERY
//! would not do: a session blocked in a network write stays for as long as `net_write_timeout` (seen on four servers). The
//! connection does not hear the run's cancellation, because cancelling is when it is needed most.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::connector::Connector;
use super::session::{Purpose, Session};

/// How long the reaper goes on trying after the run is over.
const LAST_TRIES: Duration = Duration::from_millis(800);
/// Between two tries.
const PAUSE: Duration = Duration::from_millis(100);

/// Ends abandoned sessions in the background.
pub struct Reaper {
    queue: Option<Sender<u64>>,
    /// Closed when everything is ended.
    ended: Mutex<Receiver<()>>,
}

impl Reaper {
    /// Starts the thread. `connector` must not be cancelled with the run, and should give up connecting soon.
    pub fn start(connector: Connector) -> Self {
        let (queue, ids) = mpsc::channel();
        let (at_end, ended) = mpsc::channel();
        std::thread::spawn(move || {
            reap(&connector, &ids);
            drop(at_end);
        });
        Self {
            queue: Some(queue),
            ended: Mutex::new(ended),
        }
    }

    /// Has the session of that connection id ended on the server.
    pub fn end(&self, id: u64) {
        if let Some(queue) = &self.queue
            && queue.send(id).is_err()
        {
            log::warn!("connection {id} stays on the server until it notices that we are gone");
        }
    }
}

impl Drop for Reaper {
    /// Waits until everything is ended, but not longer than `LAST_TRIES`: a server that is out of reach must not keep the
    /// process.
    fn drop(&mut self) {
        self.queue = None;
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        if ended.recv_timeout(LAST_TRIES) == Err(RecvTimeoutError::Timeout) {
            log::warn!("some sessions stay on the server until it notices that we are gone");
        }
    }
}

fn reap(connector: &Connector, ids: &Receiver<u64>) {
    let mut session = None;
    while let Ok(id) = ids.recv() {
        let until = Instant::now() + LAST_TRIES;
        loop {
            match end_one(connector, &mut session, id) {
                Ok(()) => break,
                Err(error) if Instant::now() >= until => {
                    log::warn!("connection {id} could not be ended on the server: {error}");
                    break;
                }
                Err(_) => std::thread::sleep(PAUSE),
            }
        }
    }
}

fn end_one(
    connector: &Connector,
    session: &mut Option<Session>,
    id: u64,
) -> Result<(), super::error::ServerError> {
    let open = match session {
        Some(open) => open,
        None => session.insert(connector.open(Purpose::Metadata)?),
    };
    let ended = open.kill(id);
    if open.is_broken() || ended.is_err() {
        *session = None;
    }
    ended
}
