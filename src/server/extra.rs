//! `ExtraConnection`: the coordinator's own connection, rebuilt whenever it dies.
//!
//! Owns one metadata session that holds neither lock nor snapshot, so that a fresh one is as good. Everything asked over it
//! reads or is harmless to repeat; the question is asked again on a fresh session until the retry policy ends.

use super::connector::Connector;
use super::error::{ServerError, chain};
use super::session::{Purpose, Session};
use crate::retry::RetryPolicy;

/// A connection for metadata that survives the death of its socket.
pub struct ExtraConnection {
    connector: Connector,
    policy: RetryPolicy,
    session: Option<Session>,
    reached: bool,
}

impl ExtraConnection {
    /// Nothing is opened before the first question.
    pub fn new(connector: Connector, policy: RetryPolicy) -> Self {
        Self {
            connector,
            policy,
            session: None,
            reached: false,
        }
    }

    /// Asks something; on a transient error, again on a fresh session after a pause. A refused password is final at once.
    pub fn ask<T>(
        &mut self,
        mut question: impl FnMut(&mut Session) -> Result<T, ServerError>,
    ) -> Result<T, ServerError> {
        let mut failed = 0;
        loop {
            let error = match self.session().and_then(&mut question) {
                Ok(answer) => return Ok(answer),
                Err(error) => error,
            };
            if error.breaks_session() || self.session.as_ref().is_some_and(Session::is_broken) {
                self.session = None;
            }
            if self.connector.cancel_token().is_cancelled() {
                return Err(error);
            }
            failed += 1;
            let pause = self.policy.pause_after(failed, crate::retry::chance());
            // Nobody there from the beginning: a wrong address, not a passing fault.
            let hopeless = !self.reached && error.is_unreachable();
            let Some(pause) = pause.filter(|_| error.is_transient() && !hopeless) else {
                return Err(error);
            };
            log::warn!(
                "{}; trying again in {} ms",
                chain(&error),
                pause.as_millis()
            );
            if self.connector.cancel_token().sleep(pause) {
                return Err(error);
            }
        }
    }

    /// Keeps the connection from idling into the server's or a firewall's time limit. A dead one is simply dropped.
    pub fn keep_alive(&mut self) {
        if let Some(session) = &mut self.session
            && let Err(error) = session.ping()
        {
            log::debug!("the extra connection is gone and will be rebuilt: {error}");
            self.session = None;
        }
    }

    fn session(&mut self) -> Result<&mut Session, ServerError> {
        if self.session.is_none() {
            self.session = Some(self.connector.open(Purpose::Metadata)?);
            self.reached = true;
        }
        // Just filled.
        self.session.as_mut().ok_or_else(|| ServerError::Protocol {
            doing: "opening the extra connection".to_owned(),
            what: "there is no session".to_owned(),
        })
    }
}
