//! `Sentinel`: looks at the server and the disk while a dump runs.
//!
//! Owns the conditions under which a dump pauses (`--throttle`, `--max-replica-lag`) or ends (`--min-free-space`), and the questions to
//! the server, over a connection of its own. How the workers are held `throttle.rs` knows.

use std::fmt;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use super::throttle::Throttle;
use crate::cancel::CancelToken;
use crate::error::Error;
use crate::progress::figures;
use crate::retry::RetryPolicy;
use crate::server::connector::Connector;
use crate::server::error::ServerError;
use crate::server::extra::ExtraConnection;
use crate::server::session::Session;
use crate::storage::Storage;

/// Between two looks.
const EVERY: Duration = Duration::from_millis(500);
/// How often one question is asked; the next look comes soon.
const TRIES: u32 = 3;

/// What a status variable is compared by.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Comparison {
    /// `>`
    Above,
    /// `>=`
    AtLeast,
    /// `<`
    Below,
    /// `<=`
    AtMost,
}

/// A condition on a global status variable of the server, as `Threads_running>40`.
#[derive(Debug, Clone, PartialEq)]
pub struct Condition {
    /// The variable.
    pub variable: String,
    /// How it is compared.
    pub comparison: Comparison,
    /// With what.
    pub limit: f64,
}

impl Condition {
    fn holds(&self, value: f64) -> bool {
        match self.comparison {
            Comparison::Above => value > self.limit,
            Comparison::AtLeast => value >= self.limit,
            Comparison::Below => value < self.limit,
            Comparison::AtMost => value <= self.limit,
        }
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sign = match self.comparison {
            Comparison::Above => ">",
            Comparison::AtLeast => ">=",
            Comparison::Below => "<",
            Comparison::AtMost => "<=",
        };
        write!(f, "{}{sign}{}", self.variable, self.limit)
    }
}

/// What is watched.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct WatchOptions {
    /// The dump pauses while one of these holds.
    pub pause_while: Vec<Condition>,
    /// The dump pauses while the server is further behind its source.
    pub max_replica_lag: Option<Duration>,
    /// The dump ends when less than this is free where it is written, in bytes.
    pub min_free_space: Option<u64>,
}

/// Watches one run.
pub struct Sentinel<'a> {
    options: &'a WatchOptions,
    extra: Mutex<ExtraConnection>,
    throttle: &'a Throttle,
    storage: &'a dyn Storage,
    cancel: &'a CancelToken,
    /// Ends the watch without ending the run.
    over: CancelToken,
    failure: Mutex<Option<Error>>,
}

impl<'a> Sentinel<'a> {
    /// Nothing is asked yet. No question outlives the work: the watch ends its own connection.
    pub fn new(
        options: &'a WatchOptions,
        connector: Connector,
        throttle: &'a Throttle,
        storage: &'a dyn Storage,
        cancel: &'a CancelToken,
    ) -> Self {
        let over = CancelToken::new();
        let retry = RetryPolicy::with_attempts(TRIES);
        let extra = ExtraConnection::new(connector.heeding(over.clone()), retry);
        Self {
            options,
            extra: Mutex::new(extra),
            throttle,
            storage,
            cancel,
            over,
            failure: Mutex::default(),
        }
    }

    /// Runs `work` under the watch. What the first look finds impossible ends the run before it.
    pub fn watch<T>(&self, work: impl FnOnce() -> Result<T, Error>) -> Result<T, Error> {
        if *self.options == WatchOptions::default() {
            return work();
        }
        self.look()?;
        let result = std::thread::scope(|scope| {
            let watching = || {
                while !self.over.sleep(EVERY) && !self.cancel.is_cancelled() {
                    match self.look() {
                        Err(error) if !self.over.is_cancelled() => self.end(error),
                        _ => {}
                    }
                }
                // Who waits for his turn must hear of a cancelled run.
                self.throttle.resume();
            };
            scope.spawn(watching);
            let result = work();
            self.over.cancel();
            result
        });
        let failure = self
            .failure
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
            .take();
        failure.map_or(result, Err)
    }

    /// A server that cannot be asked just now pauses nothing and ends nothing; a full disk does.
    fn end(&self, error: Error) {
        if let Error::Server { source, .. } = &error {
            log::warn!("the server's load is not known: {source}");
            return;
        }
        *self.failure.lock().unwrap_or_else(PoisonError::into_inner) = Some(error);
        self.cancel.cancel();
    }

    fn look(&self) -> Result<(), Error> {
        if let (Some(least), Some(free)) = (self.options.min_free_space, self.storage.free_bytes())
            && free < least
        {
            return Err(Error::Request {
                message: format!(
                    "only {} are free at {}, less than --min-free-space",
                    figures::bytes(free),
                    self.storage.describe()
                ),
                hint: Some(
                    "make room; --compress zstd makes a dump several times smaller".to_owned(),
                ),
            });
        }
        match self.reason_to_pause()? {
            Some(reason) => self.throttle.pause(&reason),
            None => self.throttle.resume(),
        }
        Ok(())
    }

    fn reason_to_pause(&self) -> Result<Option<String>, Error> {
        let mut extra = self.extra.lock().unwrap_or_else(PoisonError::into_inner);
        for condition in &self.options.pause_while {
            let name = &condition.variable;
            let found = extra
                .ask(|session| status_variable(session, name))
                .map_err(|source| Error::server("reading the server's status", source))?;
            let Some(value) = found else {
                return Err(Error::Request {
                    message: format!("the server has no status variable {name} with a number"),
                    hint: Some("SHOW GLOBAL STATUS lists them, for --throttle".to_owned()),
                });
            };
            if condition.holds(value) {
                return Ok(Some(format!("{condition}, it is {value}")));
            }
        }
        let Some(most) = self.options.max_replica_lag else {
            return Ok(None);
        };
        let lag = extra
            .ask(replica_lag)
            .map_err(|source| Error::server("reading the state of replication", source))?;
        match lag {
            Lag::NoReplica => Err(Error::Request {
                message:
                    "--max-replica-lag needs a server that is a replica, which this one is not"
                        .to_owned(),
                hint: Some("dump from a replica, or leave the flag out".to_owned()),
            }),
            Lag::Unknown => Ok(None),
            Lag::Behind(lag) if lag > most => Ok(Some(format!(
                "the replica is {} behind",
                figures::duration(lag)
            ))),
            Lag::Behind(_) => Ok(None),
        }
    }
}

fn status_variable(session: &mut Session, name: &str) -> Result<Option<f64>, ServerError> {
    // The name is a plain word, which `cli/` has seen to; an underscore stands for any character, so the answer is searched.
    let sql = format!("SHOW GLOBAL STATUS LIKE '{name}'");
    let rows = session.rows(&sql, "reading the server's status")?;
    let row = rows.iter().find(|row| {
        row.text(0)
            .is_some_and(|found| found.eq_ignore_ascii_case(name))
    });
    Ok(row.and_then(|row| row.text(1)?.parse().ok()))
}

enum Lag {
    NoReplica,
    /// Replication stands still: nothing is gained by waiting.
    Unknown,
    Behind(Duration),
}

/// The largest lag of all channels.
fn replica_lag(session: &mut Session) -> Result<Lag, ServerError> {
    let doing = "reading the state of replication";
    let mut answer = None;
    for statement in session.flavor().replica_status_statements() {
        match session.named_rows(statement, doing) {
            // A statement of another version.
            Err(error) if error.code() == Some(1064) => answer = Some(Err(error)),
            other => {
                answer = Some(other);
                break;
            }
        }
    }
    let rows = answer.unwrap_or_else(|| Ok(Vec::new()))?;
    let lag = |row: &crate::server::answer::NamedRow| {
        let lag = row
            .get("Seconds_Behind_Source")
            .or_else(|| row.get("Seconds_Behind_Master"));
        lag?.parse().ok().map(Duration::from_secs)
    };
    Ok(match (rows.is_empty(), rows.iter().filter_map(lag).max()) {
        (true, _) => Lag::NoReplica,
        (false, None) => Lag::Unknown,
        (false, Some(lag)) => Lag::Behind(lag),
    })
}
