//! A session in the place of one that died, opened only when nothing of the dead one can happen any more.
//!
//! Owns the wait: a statement or a COMMIT goes on in the server after its client is gone (seen: an ALTER for 8.5 s), so what
//! was done can be judged only when that session has left the server's list. What is judged then the journeys know.

use std::time::{Duration, Instant};

use super::connector::Connector;
use super::error::ServerError;
use super::flavor::Kind;
use super::reaper::Abandoned;
use super::session::{Purpose, Session};

/// Between the first two looks at the list; each further pause is twice as long,
const FIRST_PAUSE: Duration = Duration::from_millis(5);
/// up to this.
const LONGEST_PAUSE: Duration = Duration::from_millis(500);
/// After so much time the user is told what is waited for.
const PATIENCE: Duration = Duration::from_secs(10);

const DOING: &str = "waiting for the end of a lost session";

impl Connector {
    /// Opens a session. If it is to take the place of another, that one is ended and gone when this returns: a rollback may
    /// take a while, for which there is `limit`.
    pub fn replace(
        &self,
        purpose: Purpose,
        dead: Option<Abandoned>,
        limit: Duration,
    ) -> Result<Session, ServerError> {
        let mut session = self.open(purpose)?;
        let Some(dead) = dead.filter(|dead| dead.id != 0) else {
            return Ok(session);
        };
        if dead.is_of_an_earlier_server(&mut session)? {
            return Ok(session);
        }
        session.kill(dead.id)?;
        let (began, mut pause, mut told) = (Instant::now(), FIRST_PAUSE, false);
        while session.lists(dead.id)? {
            if began.elapsed() > limit {
                return Err(ServerError::Lingering { id: dead.id });
            }
            if !told && began.elapsed() > PATIENCE {
                log::info!(
                    "connection {} was lost and has not yet ended on the server",
                    dead.id
                );
                told = true;
            }
            if self.cancel_token().sleep(pause) {
                let source = std::io::Error::from(std::io::ErrorKind::Interrupted);
                return Err(ServerError::lost(DOING.to_owned(), &source));
            }
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
        session.await_ddl_jobs(began + limit)?;
        Ok(session)
    }
}

impl Session {
    /// Whether the server has a session of that id.
    fn lists(&mut self, id: u64) -> Result<bool, ServerError> {
        const UNKNOWN_TABLE: [u16; 2] = [1109, 1146];
        let count = |table: &str| format!("SELECT COUNT(*) FROM {table} WHERE ID = {id}");
        let row = if self.flavor().kind == Kind::TiDb {
            self.first(&count("information_schema.CLUSTER_PROCESSLIST"), DOING)?
        } else {
            match self.first(&count("information_schema.PROCESSLIST"), DOING) {
                // MySQL has said since 8.0.35 that it will go away.
                Err(error)
                    if error
                        .code()
                        .is_some_and(|code| UNKNOWN_TABLE.contains(&code)) =>
                {
                    self.first(&count("performance_schema.processlist"), DOING)?
                }
                listed => listed?,
            }
        };
        Ok(row.and_then(|row| row.number(0)) != Some(0))
    }

    /// TiDB runs DDL as a job of its own, which does not end with the session that asked for it.
    fn await_ddl_jobs(&mut self, until: Instant) -> Result<(), ServerError> {
        if self.flavor().kind != Kind::TiDb {
            return Ok(());
        }
        let mut pause = FIRST_PAUSE;
        loop {
            let jobs = self.named_rows("ADMIN SHOW DDL JOBS 20", DOING)?;
            let goes_on = |state: Option<String>| {
                state.is_some_and(|state| {
                    !matches!(state.as_str(), "synced" | "cancelled" | "rollback done")
                })
            };
            if !jobs.iter().any(|job| goes_on(job.get("STATE"))) || Instant::now() > until {
                return Ok(());
            }
            std::thread::sleep(pause);
            pause = (pause * 2).min(LONGEST_PAUSE);
        }
    }
}
