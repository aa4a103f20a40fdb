//! `Line`: a way to the target that outlives its connections.
//!
//! Owns the rule for a lost connection: end it on the server, wait until it is gone, begin again on a fresh one after a pause.
//! What was done by then, and so what has to be done again, whoever works over the line finds out in the checkpoint.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use crate::cancel::CancelToken;
use crate::progress::Progress;
use crate::retry::{RetryPolicy, chance};
use crate::server::connector::Connector;
use crate::server::error::{ServerError, chain};
use crate::server::reaper::Abandoned;
use crate::server::session::{Purpose, Session};

/// How long a lost session may take to end on the server: a large transaction is rolled back, an index is given up.
const LONGEST_END: Duration = Duration::from_secs(3600);

/// What all lines of a load share.
pub struct Lines<'a> {
    /// Opens sessions.
    pub connector: Connector,
    /// How often something is tried.
    pub retry: RetryPolicy,
    /// Stops everything.
    pub cancel: &'a CancelToken,
    /// Counts.
    pub progress: &'a Progress,
    /// Settings of every session, each a statement.
    pub settings: Vec<String>,
    reached: AtomicBool,
}

impl<'a> Lines<'a> {
    /// Nothing is opened yet.
    pub fn new(
        connector: Connector,
        retry: RetryPolicy,
        cancel: &'a CancelToken,
        progress: &'a Progress,
        settings: Vec<String>,
    ) -> Self {
        Self {
            connector,
            retry,
            cancel,
            progress,
            settings,
            reached: AtomicBool::new(false),
        }
    }

    /// A line without a session.
    pub fn line(&self) -> Line<'_> {
        Line {
            lines: self,
            session: None,
            dead: None,
        }
    }
}

/// One line.
pub struct Line<'a> {
    lines: &'a Lines<'a>,
    session: Option<Session>,
    /// The session whose place the next one takes.
    dead: Option<Abandoned>,
}

impl Line<'_> {
    /// Tries something until it succeeds, the attempts are used up or trying is pointless. Each try gets a session of which the
    /// last try's is known to have ended, and its number from 1. Returns the error of the last try with the number of tries.
    pub fn keep_trying<T, E: From<ServerError> + Transience>(
        &mut self,
        mut attempt: impl FnMut(&mut Session, u32) -> Result<T, E>,
    ) -> Result<T, (E, u32)> {
        let mut failed = 0;
        loop {
            let done = self.session().map_err(E::from);
            let was_open = done.is_ok();
            let error = match done.and_then(|session| attempt(session, failed + 1)) {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            let lines = self.lines;
            if was_open {
                // Also after an error that leaves it in step: a transaction may be open.
                self.give_up();
            }
            failed += 1;
            let hopeless = !lines.reached.load(Ordering::Relaxed) && error.is_unreachable();
            let pause = lines.retry.pause_after(failed, chance());
            let again = pause.filter(|_| error.is_transient() && !hopeless);
            let Some(pause) = again.filter(|_| !lines.cancel.is_cancelled()) else {
                return Err((error, failed));
            };
            log::warn!(
                "{}; trying again in {} ms",
                error.shown(),
                pause.as_millis()
            );
            lines.progress.add_retry();
            if lines.cancel.sleep(pause) {
                return Err((error, failed));
            }
        }
    }

    /// Leaves the session; the next one takes its place.
    fn give_up(&mut self) {
        if let Some(session) = self.session.take() {
            self.dead = Some(session.abandon());
        }
    }

    fn session(&mut self) -> Result<&mut Session, ServerError> {
        // A connection that idled may have been half-closed by whoever restarts servers; nothing of ours runs on it.
        if let Some(session) = &mut self.session
            && session.ping().is_err()
        {
            log::debug!("an idle connection is gone and is replaced");
            self.give_up();
        }
        if self.session.is_none() {
            let lines = self.lines;
            let replaced = lines
                .connector
                .replace(Purpose::Metadata, self.dead, LONGEST_END);
            let mut session = replaced?;
            lines.reached.store(true, Ordering::Relaxed);
            for setting in &lines.settings {
                session.execute(setting, "setting up a session")?;
            }
            self.dead = None;
            self.session = Some(session);
        }
        // Just filled.
        self.session.as_mut().ok_or_else(|| ServerError::Protocol {
            doing: "opening a connection".to_owned(),
            what: "there is no session".to_owned(),
        })
    }
}

/// What a line must know of an error.
pub trait Transience {
    /// Whether a fresh connection may do better.
    fn is_transient(&self) -> bool;
    /// Whether nobody answered at the address at all.
    fn is_unreachable(&self) -> bool;
    /// The error on one line.
    fn shown(&self) -> String;
}

impl Transience for ServerError {
    fn is_transient(&self) -> bool {
        self.is_transient()
    }

    fn is_unreachable(&self) -> bool {
        self.is_unreachable()
    }

    fn shown(&self) -> String {
        chain(self)
    }
}
