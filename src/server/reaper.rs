//! `Reaper`: ends on the server the sessions that were given up here.
//!
//! Owns one thread that issues `KILL` over a connection of its own, opened only when there is something to end. KILL QUERY
//! would not do: a session blocked in a network write stays for as long as `net_write_timeout` (seen on four servers). The
//! connection does not hear the run's cancellation, because cancelling is when it is needed most. Every session hands itself
//! over when it is dropped in a state that the server need not notice (`session.rs`), so none can be forgotten.

use std::sync::mpsc::{self, Receiver, RecvTimeoutError, Sender};
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use super::connector::Connector;
use super::error::ServerError;
use super::session::{Purpose, Session};

/// How long the reaper goes on trying after the run is over.
const LAST_TRIES: Duration = Duration::from_millis(800);
/// Between two tries after that.
const LAST_PAUSE: Duration = Duration::from_millis(100);
/// Between two tries while the run goes on, as while the server restarts.
const PAUSE: Duration = Duration::from_secs(1);

/// A session that nobody will use again.
#[derive(Debug, Clone, Copy)]
pub struct Abandoned {
    /// Its id on the server.
    pub(super) id: u64,
    /// When it was opened. A server that started later than that has given the id to somebody else.
    pub(super) opened: Instant,
}

impl Abandoned {
    /// Whether the server that `session` is open to started later, so that nothing of this one is left there.
    pub(super) fn is_of_an_earlier_server(
        self,
        session: &mut Session,
    ) -> Result<bool, ServerError> {
        // Whole seconds on both sides, so a second more is no proof of a restart.
        let age = self.opened.elapsed().as_secs();
        let uptime = session.uptime_seconds()?;
        Ok(uptime.is_some_and(|uptime| uptime + 1 < age))
    }
}

/// Takes sessions to be ended; may outlive the reaper, and then does nothing.
#[derive(Debug, Clone)]
pub struct ReaperHandle(Sender<Message>);

#[derive(Debug)]
enum Message {
    End(Abandoned),
    /// The run is over.
    Finish,
}

/// Ends abandoned sessions in the background.
pub struct Reaper {
    queue: Sender<Message>,
    /// Closed when everything is ended.
    ended: Mutex<Receiver<()>>,
}

impl ReaperHandle {
    pub(super) fn end(&self, session: Abandoned) {
        let id = session.id;
        if self.0.send(Message::End(session)).is_err() {
            log::warn!("connection {id} stays on the server until it notices that we are gone");
        }
    }
}

impl Reaper {
    /// Starts the thread. `connector` must not be cancelled with the run, should give up connecting soon, and must have no
    /// reaper.
    pub fn start(connector: Connector) -> Self {
        let (queue, messages) = mpsc::channel();
        let (at_end, ended) = mpsc::channel();
        std::thread::spawn(move || {
            Work {
                connector,
                session: None,
                pending: Vec::new(),
            }
            .run(&messages);
            drop(at_end);
        });
        Self {
            queue,
            ended: Mutex::new(ended),
        }
    }

    /// For those who have sessions to be ended.
    pub fn handle(&self) -> ReaperHandle {
        ReaperHandle(self.queue.clone())
    }
}

impl Drop for Reaper {
    /// Waits until everything is ended, but not longer than `LAST_TRIES`: a server that is out of reach must not keep the
    /// process.
    fn drop(&mut self) {
        let told = self.queue.send(Message::Finish).is_ok();
        let ended = self.ended.get_mut().unwrap_or_else(PoisonError::into_inner);
        if told && ended.recv_timeout(LAST_TRIES) == Err(RecvTimeoutError::Timeout) {
            log::warn!("some sessions stay on the server until it notices that we are gone");
        }
    }
}

/// What the thread knows.
struct Work {
    connector: Connector,
    session: Option<Session>,
    pending: Vec<Abandoned>,
}

impl Work {
    fn run(mut self, messages: &Receiver<Message>) {
        while self.listen(messages) {
            self.end_pending();
        }
        let until = Instant::now() + LAST_TRIES;
        self.end_pending();
        while !self.pending.is_empty() && Instant::now() < until {
            std::thread::sleep(LAST_PAUSE);
            self.end_pending();
        }
    }

    /// Waits for something to do and collects all of it; false when the run is over.
    fn listen(&mut self, messages: &Receiver<Message>) -> bool {
        let mut message = if self.pending.is_empty() {
            messages.recv().ok()
        } else {
            match messages.recv_timeout(PAUSE) {
                Err(RecvTimeoutError::Timeout) => return true,
                message => message.ok(),
            }
        };
        loop {
            match message {
                Some(Message::End(session)) => self.pending.push(session),
                Some(Message::Finish) | None => return false,
            }
            match messages.try_recv() {
                Ok(next) => message = Some(next),
                Err(_) => return true,
            }
        }
    }

    /// Ends what can be ended now; what cannot stays pending.
    fn end_pending(&mut self) {
        while let Some(dead) = self.pending.last() {
            let id = dead.id;
            let ended = end(&self.connector, &mut self.session, dead);
            if let Some(own) = self
                .session
                .take_if(|own| ended.is_err() || own.is_broken())
                && own.is_broken()
            {
                // Nobody else ends what fell silent here.
                self.pending.insert(0, own.as_abandoned());
            }
            if let Err(error) = ended {
                log::debug!("connection {id} is not ended yet: {error}");
                if error.is_transient() {
                    return;
                }
                log::warn!("connection {id} could not be ended on the server: {error}");
            }
            self.pending.pop();
        }
        // Idle, it could fall silent unnoticed, and cost all the time there is at the end of the run.
        self.session = None;
    }
}

fn end(
    connector: &Connector,
    session: &mut Option<Session>,
    dead: &Abandoned,
) -> Result<(), ServerError> {
    let open = match session {
        Some(open) => open,
        None => session.insert(connector.open(Purpose::Metadata)?),
    };
    if dead.is_of_an_earlier_server(open)? {
        return Ok(());
    }
    open.kill(dead.id)
}
