//! `HeldLock`: a lock on the server, held by a connection that does nothing else.
//!
//! Owns how locks are asked for without stalling the server: a bounded wait, a few tries with pauses, and whatever a refused
//! request left behind is given back at once. The lock ends with its connection at the latest. Which lock a mode needs, and
//! what happens under it, it leaves to `snapshot.rs`.

use std::time::Duration;

use super::connector::Connector;
use super::error::ServerError;
use super::position::is_denied;
use super::session::{Purpose, Session};
use super::snapshot::ConsistencyOptions;
use crate::catalog::ident::ObjectName;

/// How often a lock is asked for.
const TRIES: u32 = 5;
/// How much longer than its own limit the server may take to refuse a lock.
const LOCK_ANSWER: Duration = Duration::from_secs(5);
/// MySQL: how old a query may be at the most when the global lock is only one way of several.
const CAUTIOUS_GUARD: Duration = Duration::from_secs(1);
/// How long a global lock outlives a client that vanished. It is given back within seconds, or pinged every second.
const LAST_OF_GLOBAL_LOCK: Duration = Duration::from_secs(60);
/// How long table locks do. The coordinator pings them between its questions, of which one may take long.
const LAST_OF_TABLE_LOCK: Duration = Duration::from_secs(1800);
/// Between two tries.
const PAUSE: Duration = Duration::from_secs(1);
/// The server gave up waiting for a lock.
const LOCK_WAIT_TIMEOUT: u16 = 1205;

/// Which lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum LockKind {
    /// MariaDB: BACKUP STAGE … BLOCK_COMMIT, which waits for no SELECT.
    BackupStage,
    /// FLUSH TABLES WITH READ LOCK.
    Global,
    /// LOCK TABLES … READ.
    Tables(Vec<ObjectName>),
}

/// Why a lock could not be had.
#[derive(Debug)]
pub(super) enum LockFailure {
    /// The account may not.
    Denied(ServerError),
    /// Others were in the way all the time.
    Busy(String),
    /// Anything else.
    Server(ServerError),
}

impl From<ServerError> for LockFailure {
    fn from(error: ServerError) -> Self {
        if is_denied(&error) {
            Self::Denied(error)
        } else {
            Self::Server(error)
        }
    }
}

/// A lock and the connection that holds it.
pub(super) struct HeldLock {
    session: Session,
    kind: Option<LockKind>,
    instance: bool,
}

impl LockKind {
    fn statements(&self) -> Vec<String> {
        match self {
            Self::BackupStage => ["START", "FLUSH", "BLOCK_DDL", "BLOCK_COMMIT"]
                .iter()
                .map(|stage| format!("BACKUP STAGE {stage}"))
                .collect(),
            Self::Global => vec!["FLUSH TABLES WITH READ LOCK".to_owned()],
            Self::Tables(tables) => {
                let tables: Vec<_> = tables.iter().map(|t| format!("{t} READ")).collect();
                vec![format!("LOCK TABLES {}", tables.join(", "))]
            }
        }
    }

    fn release_statement(&self) -> &'static str {
        match self {
            Self::BackupStage => "BACKUP STAGE END",
            Self::Global | Self::Tables(_) => "UNLOCK TABLES",
        }
    }

    fn describe(&self) -> &'static str {
        match self {
            Self::BackupStage => "asking for the backup lock",
            Self::Global => "asking for the global read lock",
            Self::Tables(_) => "asking for read locks on the tables",
        }
    }
}

impl HeldLock {
    /// Asks for a lock, at most [`TRIES`] times. With `patient` unset, a long query in the way ends the tries at once.
    pub(super) fn take(
        connector: &Connector,
        kind: LockKind,
        options: &ConsistencyOptions,
        patient: bool,
    ) -> Result<Self, LockFailure> {
        let mut session = connector.open(Purpose::Metadata)?;
        let wait = options.lock_wait_timeout.as_secs().max(1);
        // A lock must not outlive us for long where the server is not told that we are gone.
        let idle = match kind {
            LockKind::Tables(_) => LAST_OF_TABLE_LOCK,
            LockKind::BackupStage | LockKind::Global => LAST_OF_GLOBAL_LOCK,
        };
        let seconds = idle.as_secs();
        session.execute(
            &format!("SET SESSION lock_wait_timeout={wait}, wait_timeout={seconds}"),
            "bounding the wait for locks",
        )?;
        // Else we would hang up first, and the server would go on waiting for the lock.
        session.wait_longer(Duration::from_secs(wait) + LOCK_ANSWER);
        let mut lock = Self {
            session,
            kind: None,
            instance: false,
        };
        lock.take_instance_lock()?;
        let mut why = String::new();
        for attempt in 0..TRIES {
            if attempt > 0 && connector.cancel_token().sleep(PAUSE) {
                break;
            }
            // Who has another way need not risk that a query goes on for longer than it has so far.
            let age = if patient {
                options.long_query_guard
            } else {
                options.long_query_guard.min(CAUTIOUS_GUARD)
            };
            let guarded = kind == LockKind::Global;
            if guarded && let Some(queries) = lock.long_queries(age)? {
                why = format!(
                    "these queries run for long and would block others behind the lock: {queries}"
                );
                if patient {
                    continue;
                }
                break;
            }
            match lock.ask(&kind) {
                Ok(()) => {
                    lock.kind = Some(kind);
                    return Ok(lock);
                }
                Err(error) if error.code() == Some(LOCK_WAIT_TIMEOUT) => {
                    why = error.to_string();
                    // A refused global lock leaves MySQL's tables to be reopened, for which readers wait until the query in
                    // the way has ended (seen): once is enough.
                    if guarded && lock.session.flavor().global_lock_waits_for_queries() {
                        break;
                    }
                }
                Err(error) => return Err(error.into()),
            }
        }
        Err(LockFailure::Busy(why))
    }

    /// Sends the statements of one request. A refused one is given back at once: after 1205 MySQL still holds the global
    /// lock (seen).
    fn ask(&mut self, kind: &LockKind) -> Result<(), ServerError> {
        for (step, statement) in kind.statements().iter().enumerate() {
            if let Err(error) = self.session.execute(statement, kind.describe()) {
                // Without its first stage there is no backup that could be ended (4146: seen).
                let holds_something = step > 0 || *kind != LockKind::BackupStage;
                // An account that may not take the lock may not give it back either, and has none.
                if holds_something
                    && !self.session.is_broken()
                    && let Err(failed) = self
                        .session
                        .execute(kind.release_statement(), "giving a lock back")
                    && !(is_denied(&error) && is_denied(&failed))
                {
                    return Err(failed);
                }
                return Err(error);
            }
        }
        Ok(())
    }

    /// MySQL 8: keeps DDL out while snapshots start. An account that may not simply goes without; the tables' identities
    /// tell in the end.
    fn take_instance_lock(&mut self) -> Result<(), ServerError> {
        if !self.session.flavor().has_instance_backup_lock() {
            return Ok(());
        }
        match self.session.execute(
            "LOCK INSTANCE FOR BACKUP",
            "asking for the instance's backup lock",
        ) {
            Ok(()) => self.instance = true,
            Err(error) if is_denied(&error) || error.code() == Some(LOCK_WAIT_TIMEOUT) => {
                log::info!("DDL is not kept out while the snapshots start: {error}");
            }
            Err(error) => return Err(error),
        }
        Ok(())
    }

    /// The queries that have run for longer than `guard`, as a list for people; `None` if there are none.
    fn long_queries(&mut self, guard: Duration) -> Result<Option<String>, ServerError> {
        if !self.session.flavor().global_lock_waits_for_queries() {
            return Ok(None);
        }
        let own = self.session.id().to_string();
        let list = self
            .session
            .named_rows("SHOW FULL PROCESSLIST", "looking for long queries")?;
        let long: Vec<_> = list
            .iter()
            .filter(|row| matches!(row.get("Command").as_deref(), Some("Query" | "Execute")))
            .filter(|row| row.get("Id").as_deref() != Some(own.as_str()))
            .filter(|row| row.number("Time") >= guard.as_secs().max(1))
            // Statements may hold values: only who and how long is said.
            .map(|row| {
                format!(
                    "connection {} of {} for {} s",
                    row.number("Id"),
                    row.get("User").unwrap_or_default(),
                    row.number("Time")
                )
            })
            .collect();
        Ok((!long.is_empty()).then(|| long.join(", ")))
    }

    /// Whether the connection, and so the lock, is still there.
    pub(super) fn ping(&mut self) -> Result<(), ServerError> {
        self.session.ping()
    }

    /// Gives the lock back. With `keep_instance` the connection stays and goes on keeping DDL out; otherwise it ends.
    pub(super) fn release(mut self, keep_instance: bool) -> Result<Option<Self>, ServerError> {
        if let Some(kind) = self.kind.take() {
            self.session
                .execute(kind.release_statement(), "giving a lock back")?;
        }
        if keep_instance && self.instance {
            return Ok(Some(self));
        }
        // The instance lock ends with the session.
        Ok(None)
    }

    /// Takes only the instance's backup lock; `None` where the server or the account has none.
    pub(super) fn instance_only(connector: &Connector) -> Result<Option<Self>, ServerError> {
        let mut lock = Self {
            session: connector.open(Purpose::Metadata)?,
            kind: None,
            instance: false,
        };
        lock.take_instance_lock()?;
        Ok(lock.instance.then_some(lock))
    }
}
