//! `Snapshot`: one point in time for all sessions, and the only judge of who may join it later.
//!
//! Owns the modes of DESIGN.md section 5: how the snapshots start together, what is recorded of their moment, how long a
//! lock is held, and by what proof a fresh session may take a dead one's place. Snapshots are never mixed: a session is
//! either proven to see the recorded moment, or `rejoin` refuses. What is read it leaves to the workers.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError, TryLockError};
use std::time::{Duration, Instant};

use super::connector::Connector;
use super::error::ServerError;
use super::flavor::{Flavor, Kind};
use super::lock::{HeldLock, LockFailure, LockKind};
use super::position::{BinlogState, Moment};
use super::session::{Purpose, Session};
use super::starter::{LOCKED_WAIT, OwnPosition, Starter, enter_tidb_snapshot, global_lock};
use crate::catalog::ident::ObjectName;

/// A proof takes a short lock, so it is not sought more often.
const PROOF_INTERVAL: Duration = Duration::from_secs(5);

/// How often the connection that holds a table lock is looked at: without it nothing that is read is worth anything.
const LOCK_LOOK: Duration = Duration::from_secs(1);

/// How to get one point in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ConsistencyMode {
    /// The best that the server and the privileges allow.
    Auto,
    /// A short global lock while all snapshots start.
    Flush,
    /// Snapshots proven equal, or started under short table locks; TiDB's own snapshots.
    Snapshot,
    /// Tables locked to the end.
    Lock,
    /// No promise.
    None,
}

impl ConsistencyMode {
    /// The word of the command line.
    pub fn name(self) -> &'static str {
        match self {
            Self::Auto => "auto",
            Self::Flush => "flush",
            Self::Snapshot => "snapshot",
            Self::Lock => "lock",
            Self::None => "none",
        }
    }
}

/// The options around [`ConsistencyMode`].
#[derive(Debug, Clone)]
pub struct ConsistencyOptions {
    /// The mode asked for.
    pub mode: ConsistencyMode,
    /// TiDB: the TSO or time to read at.
    pub snapshot: Option<String>,
    /// How long one lock request may wait.
    pub lock_wait_timeout: Duration,
    /// MySQL: no global lock is asked for while a query older than this runs.
    pub long_query_guard: Duration,
    /// Snapshot sessions held in reserve.
    pub spare_connections: usize,
    /// How much data of tables without snapshots may be read while the lock is held.
    pub locked_data_limit_bytes: u64,
    /// Whether tables without snapshots may be dumped inconsistently.
    pub inconsistent_tables: bool,
    /// MySQL: whether LOCK INSTANCE FOR BACKUP is held to the end.
    pub backup_lock: bool,
}

/// Why there is no snapshot, or no way back into it.
#[derive(Debug, thiserror::Error)]
pub enum SnapshotError {
    /// A statement or connection failed.
    #[error("the snapshot could not be taken")]
    Server(#[from] ServerError),
    /// No mode that was allowed works here.
    #[error("one point in time cannot be had from this server: {}", .reasons.join("; "))]
    Unavailable {
        /// What each mode met, as "flush: …".
        reasons: Vec<String>,
    },
    /// A session died, and nothing proves that a new one would see the same rows.
    #[error(
        "a connection of the snapshot was lost and no other can take its place: the dump stands at {recorded}, the server is now at {now} ({why})"
    )]
    Lost {
        /// The recorded moment.
        recorded: String,
        /// The server's present moment.
        now: String,
        /// What is missing for a proof.
        why: &'static str,
    },
    /// The connection that held the table locks died.
    #[error("the connection that held the table locks was lost, so the tables may have changed")]
    LockLost(#[source] ServerError),
}

impl SnapshotError {
    /// Whether trying again may help: only connection trouble passes.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Server(error) if error.is_transient())
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        let text = match self {
            Self::Server(error) => return error.hint(),
            Self::Unavailable { .. } => {
                "wait for queries that stand in the way, or choose another mode: --consistency flush needs RELOAD; snapshot and lock need LOCK TABLES on the databases; none promises nothing. rdump --dry-run lists the privileges"
            }
            Self::Lost { .. } => {
                "raise --spare-connections, or use --consistency lock if writers can wait"
            }
            Self::LockLost(_) => "run the dump again",
        };
        Some(text.to_owned())
    }
}

impl From<LockFailure> for SnapshotError {
    fn from(failure: LockFailure) -> Self {
        match failure {
            LockFailure::Denied(error) | LockFailure::Server(error) => Self::Server(error),
            LockFailure::Busy(why) => Self::Unavailable { reasons: vec![why] },
        }
    }
}

/// What [`Snapshot::take`] needs to know.
#[derive(Debug, Clone)]
pub struct SnapshotRequest<'a> {
    /// Mode and bounds.
    pub options: &'a ConsistencyOptions,
    /// How many sessions are wanted beside the spares.
    pub sessions: usize,
    /// The base tables that will be read.
    pub tables: &'a [ObjectName],
    /// Whether some of them have no snapshots, so that they must be read under the lock.
    pub needs_lock: bool,
    /// Whether DDL is to be kept out to the end, where the server can.
    pub keep_ddl_out: bool,
}

/// The snapshot of a dump.
pub struct Snapshot {
    connector: Connector,
    options: ConsistencyOptions,
    mode: ConsistencyMode,
    flavor: Flavor,
    keeps_tables: bool,
    tables: Vec<ObjectName>,
    moment: Moment,
    /// MariaDB: the snapshots' own position, by which a new one can be recognised.
    own_position: Option<OwnPosition>,
    tso: Option<String>,
    passed_over: Vec<String>,
    state: Mutex<State>,
}

struct State {
    lock: Option<HeldLock>,
    /// Holds only the instance's backup lock.
    instance_lock: Option<HeldLock>,
    /// Whether that lock died and is still to be taken again.
    instance_lost: bool,
    spares: VecDeque<Session>,
    last_proof: Option<Instant>,
    last_look: Instant,
}

impl State {
    fn look(&mut self) -> Result<(), SnapshotError> {
        self.last_look = Instant::now();
        match &mut self.lock {
            Some(lock) => lock.ping().map_err(SnapshotError::LockLost),
            None => Ok(()),
        }
    }
}

impl Snapshot {
    /// Opens all sessions, then starts their snapshots at one moment. Returns the snapshot and the sessions in it.
    pub fn take(
        connector: &Connector,
        request: &SnapshotRequest<'_>,
    ) -> Result<(Self, Vec<Session>), SnapshotError> {
        // Everything that takes time is done before any lock is asked for.
        let mut reader = connector.open(Purpose::Metadata)?;
        let wanted = match request.options.mode {
            ConsistencyMode::None => request.sessions,
            _ => request.sessions + request.options.spare_connections,
        };
        let mut sessions = (0..wanted)
            .map(|_| connector.open(Purpose::Rows))
            .collect::<Result<Vec<_>, _>>()?;
        let started = Starter {
            connector,
            request,
            reader: &mut reader,
            sessions: &mut sessions,
        }
        .start()?;
        let mut lock = started.lock;
        let mut instance_lock = None;
        if !request.needs_lock
            && started.mode != ConsistencyMode::Lock
            && let Some(lock) = lock.take()
        {
            instance_lock = lock.release(request.keep_ddl_out)?;
        }
        let flavor = reader.flavor().clone();
        let in_transactions = started.mode != ConsistencyMode::None && flavor.kind != Kind::TiDb;
        let keeps_tables = in_transactions
            && (started.mode == ConsistencyMode::Lock
                || !sessions.iter().all(Session::can_release_tables));
        for session in &mut sessions {
            session.take_time()?;
            if keeps_tables {
                session.keep_tables(request.tables)?;
            } else if in_transactions {
                session.mark_start()?;
            }
        }
        let spares = sessions.split_off(request.sessions.min(sessions.len()));
        let snapshot = Self {
            connector: connector.clone(),
            options: request.options.clone(),
            mode: started.mode,
            flavor,
            keeps_tables,
            tables: request.tables.to_vec(),
            moment: started.moment,
            own_position: started.own_position,
            tso: started.tso,
            passed_over: started.passed_over,
            state: Mutex::new(State {
                lock,
                instance_lock,
                instance_lost: false,
                spares: spares.into(),
                last_proof: None,
                last_look: Instant::now(),
            }),
        };
        Ok((snapshot, sessions))
    }

    /// Better modes that could not be had, each with why.
    pub fn passed_over(&self) -> &[String] {
        &self.passed_over
    }

    /// The mode that was reached; never `Auto`.
    pub fn mode(&self) -> ConsistencyMode {
        self.mode
    }

    /// Whether the sessions hold all tables to the end, so that DDL waits for them, and everyone behind it.
    pub fn keeps_tables(&self) -> bool {
        self.keeps_tables
    }

    /// The recorded moment.
    pub fn moment(&self) -> &Moment {
        &self.moment
    }

    /// Gives the lock back, once the tables that need it are read. In `lock` mode it stays.
    pub fn release_lock(&self, keep_ddl_out: bool) -> Result<(), SnapshotError> {
        if self.mode == ConsistencyMode::Lock {
            return Ok(());
        }
        let mut state = self.state();
        if let Some(lock) = state.lock.take() {
            state.instance_lock = lock.release(keep_ddl_out)?;
        }
        Ok(())
    }

    /// Keeps locks and spares from idling away. A dead spare is dropped; a lost table lock ends the dump; a lost backup
    /// lock is taken again when the server can be reached, and the tables' identities decide in the end.
    pub fn keep_alive(&self) -> Result<(), SnapshotError> {
        let mut state = self.state();
        state.look()?;
        state.spares.retain_mut(|spare| spare.ping().is_ok());
        if let Some(lock) = &mut state.instance_lock
            && let Err(error) = lock.ping()
        {
            log::warn!("the backup lock was lost and is taken again: {error}");
            state.instance_lock = None;
            state.instance_lost = true;
        }
        if state.instance_lost {
            match HeldLock::instance_only(&self.connector) {
                Ok(lock) => {
                    state.instance_lock = lock;
                    state.instance_lost = false;
                }
                Err(error) => log::warn!("the backup lock could not be taken again: {error}"),
            }
        }
        Ok(())
    }

    /// Looks whether the connection that holds a table lock is still there, unless somebody has just done so. Workers ask after
    /// each chunk, so it does not wait for one that is finding its way back into the snapshot, which may take long.
    pub fn check_lock(&self) -> Result<(), SnapshotError> {
        let mut state = match self.state.try_lock() {
            Ok(state) => state,
            Err(TryLockError::WouldBlock) => return Ok(()),
            Err(TryLockError::Poisoned(poisoned)) => poisoned.into_inner(),
        };
        if state.last_look.elapsed() < LOCK_LOOK {
            return Ok(());
        }
        state.look()
    }

    /// A session that sees the recorded moment, in place of one that died.
    pub fn rejoin(&self) -> Result<Session, SnapshotError> {
        let mut state = self.state();
        while let Some(mut spare) = state.spares.pop_front() {
            // A spare may have died unnoticed; nothing was read over it, so the next one is as good.
            if spare.ping().is_ok() {
                return Ok(spare);
            }
        }
        match self.mode {
            ConsistencyMode::None => Ok(self.connector.open(Purpose::Rows)?),
            _ if self.flavor.kind == Kind::TiDb => {
                let mut session = self.connector.open(Purpose::Rows)?;
                enter_tidb_snapshot(&mut session, self.tso.as_deref().unwrap_or_default())?;
                Ok(session)
            }
            ConsistencyMode::Lock => self.rejoin_locked(&mut state),
            _ => {
                if let Some(session) = self.rejoin_by_own_position()? {
                    return Ok(session);
                }
                self.rejoin_by_proof(&mut state)
            }
        }
    }

    /// The tables cannot have changed while the lock is there, so it is looked at after the snapshot has started.
    fn rejoin_locked(&self, state: &mut State) -> Result<Session, SnapshotError> {
        let mut session = self.connector.open(Purpose::Rows)?;
        // What it reads from now on it keeps.
        session.start_snapshot()?;
        if let Some(lock) = &mut state.lock {
            lock.ping().map_err(SnapshotError::LockLost)?;
        }
        Ok(session)
    }

    /// MariaDB: a new snapshot that stands at the recorded binlog position sees the recorded rows.
    fn rejoin_by_own_position(&self) -> Result<Option<Session>, SnapshotError> {
        let Some(recorded) = &self.own_position else {
            return Ok(None);
        };
        let mut session = self.connector.open(Purpose::Rows)?;
        session.start_snapshot()?;
        session.mark_start()?;
        Ok((OwnPosition::of(&mut session)?.as_ref() == Some(recorded)).then_some(session))
    }

    /// Reads the position without a lock; if nothing was written, takes the lock, compares again, and starts a snapshot for
    /// the caller and new spares for whoever comes next.
    fn rejoin_by_proof(&self, state: &mut State) -> Result<Session, SnapshotError> {
        let mut reader = self.connector.open(Purpose::Metadata)?;
        self.compare(&Moment::read(&mut reader)?)?;
        if let Some(last) = state.last_proof {
            let pause = PROOF_INTERVAL.saturating_sub(last.elapsed());
            self.connector.cancel_token().sleep(pause);
        }
        state.last_proof = Some(Instant::now());
        let mut sessions = (0..=self.options.spare_connections)
            .map(|_| self.connector.open(Purpose::Rows))
            .collect::<Result<Vec<_>, _>>()?;
        let kind = match self.mode {
            ConsistencyMode::Flush => global_lock(&self.flavor, false),
            _ => LockKind::Tables(self.tables.clone()),
        };
        let lock = HeldLock::take(&self.connector, kind, &self.options, true)?;
        self.compare(&Moment::read(&mut reader)?)?;
        for session in &mut sessions {
            session.hurry(LOCKED_WAIT)?;
            session.start_snapshot()?;
        }
        lock.release(false)?;
        for session in &mut sessions {
            session.take_time()?;
            session.mark_start()?;
        }
        let first = sessions.pop();
        state.spares.extend(sessions);
        first.ok_or_else(|| self.lost(&self.moment, "no session was opened"))
    }

    fn compare(&self, now: &Moment) -> Result<(), SnapshotError> {
        if now.proves_unchanged(&self.moment) {
            return Ok(());
        }
        let why = match &self.moment.binlog {
            BinlogState::At(_) if self.moment.filtered => "the binlog does not hold every write",
            BinlogState::At(_) => "something was written in between",
            BinlogState::Off => "without a binlog nothing can be proven",
            BinlogState::Denied(_) => "the account may not read the binlog position",
        };
        Err(self.lost(now, why))
    }

    fn lost(&self, now: &Moment, why: &'static str) -> SnapshotError {
        SnapshotError::Lost {
            recorded: self.moment.to_string(),
            now: now.to_string(),
            why,
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        // A panicking holder leaves fewer spares or no lock behind, both of which are looked at before use.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
