//! `Starter`: starts the snapshots of all sessions at one moment, by the mode asked for or the best that works.
//!
//! Owns the order of steps under a lock: nothing but START TRANSACTION and the position. A mode that cannot be had leaves no
//! lock behind. Who joins later, it leaves to `snapshot.rs`.

use std::time::Duration;

use super::connector::Connector;
use super::error::ServerError;
use super::flavor::{Flavor, Kind};
use super::lock::{HeldLock, LockFailure, LockKind};
use super::position::{BinlogState, Moment, Position};
use super::session::Session;
use super::snapshot::{ConsistencyMode, SnapshotError, SnapshotRequest};

/// How often MariaDB's snapshots are started anew until all stand at one binlog position.
const LOCKLESS_ROUNDS: u32 = 10;

/// How long one statement may take while a lock keeps others waiting: a silent peer would keep it for the read timeout (seen).
pub(super) const LOCKED_WAIT: Duration = Duration::from_secs(5);

/// What one start needs.
pub(super) struct Starter<'a> {
    pub connector: &'a Connector,
    pub request: &'a SnapshotRequest<'a>,
    /// Reads positions; holds no lock and no snapshot.
    pub reader: &'a mut Session,
    pub sessions: &'a mut Vec<Session>,
}

/// The snapshots' moment and what still holds it.
pub(super) struct Started {
    pub mode: ConsistencyMode,
    pub moment: Moment,
    /// MariaDB: the snapshots' own binlog file and position.
    pub own_position: Option<OwnPosition>,
    pub tso: Option<String>,
    pub lock: Option<HeldLock>,
    /// Better modes that could not be had, with why.
    pub passed_over: Vec<String>,
}

/// A MariaDB snapshot's own place in the binlog, by which an equal one is recognised.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct OwnPosition {
    file: String,
    offset: u64,
}

impl Starter<'_> {
    /// Tries the modes that are allowed, best first.
    pub(super) fn start(&mut self) -> Result<Started, SnapshotError> {
        let asked = self.request.options.mode;
        let modes = match asked {
            ConsistencyMode::Auto | ConsistencyMode::Snapshot if self.is_tidb() => {
                return self.tidb();
            }
            ConsistencyMode::Auto => vec![ConsistencyMode::Flush, ConsistencyMode::Snapshot],
            mode => vec![mode],
        };
        let mut reasons = Vec::new();
        for mode in modes {
            let result = match mode {
                ConsistencyMode::Flush => self.flush(asked != ConsistencyMode::Auto),
                ConsistencyMode::Lock => self.locked(ConsistencyMode::Lock),
                ConsistencyMode::None => self.unprotected(),
                _ => self.snapshot(),
            };
            match result {
                Ok(mut started) => {
                    started.passed_over = reasons;
                    return Ok(started);
                }
                Err(LockFailure::Denied(error)) => {
                    reasons.push(format!("{}: {error}", mode.name()));
                }
                Err(LockFailure::Busy(why)) => reasons.push(format!("{}: {why}", mode.name())),
                Err(LockFailure::Server(error)) => return Err(error.into()),
            }
            log::info!("--consistency {}", reasons.join("; "));
        }
        Err(SnapshotError::Unavailable { reasons })
    }

    fn is_tidb(&self) -> bool {
        self.reader.flavor().kind == Kind::TiDb
    }

    fn flush(&mut self, patient: bool) -> Result<Started, LockFailure> {
        let kind = global_lock(self.reader.flavor(), self.request.needs_lock);
        self.under(kind, ConsistencyMode::Flush, patient)
    }

    fn locked(&mut self, mode: ConsistencyMode) -> Result<Started, LockFailure> {
        if !self.reader.flavor().table_locks_wait_for_transactions() {
            return Err(LockFailure::Busy(
                "table locks of this server are granted over open transactions and prove nothing"
                    .to_owned(),
            ));
        }
        if self.request.tables.is_empty() {
            return self.unlocked(mode);
        }
        let kind = LockKind::Tables(self.request.tables.to_vec());
        self.under(kind, mode, true)
    }

    /// Without a table there is nothing to lock; the snapshots are empty whenever they start.
    fn unlocked(&mut self, mode: ConsistencyMode) -> Result<Started, LockFailure> {
        self.start_all()?;
        let moment = Moment::read(self.reader)?;
        Ok(started(mode, moment, None))
    }

    /// Starts all snapshots and reads the position while a lock keeps everyone from committing.
    fn under(
        &mut self,
        kind: LockKind,
        mode: ConsistencyMode,
        patient: bool,
    ) -> Result<Started, LockFailure> {
        let lock = HeldLock::take(self.connector, kind, self.request.options, patient)?;
        self.reader.hurry(LOCKED_WAIT)?;
        for session in self.sessions.iter_mut() {
            session.hurry(LOCKED_WAIT)?;
        }
        self.start_all()?;
        let moment = Moment::read(self.reader)?;
        let mut start = started(mode, moment, Some(lock));
        if let Some(first) = self.sessions.first_mut()
            && start.moment.binlog_holds_everything()
        {
            start.own_position = OwnPosition::of(first)?;
        }
        self.reader.take_time()?;
        Ok(start)
    }

    /// MariaDB first without a lock: snapshots that all stand at one binlog position are one moment.
    fn snapshot(&mut self) -> Result<Started, LockFailure> {
        if self.reader.flavor().has_binlog_snapshot() && !self.request.needs_lock {
            for _ in 0..LOCKLESS_ROUNDS {
                let replicas = Moment::read(self.reader)?;
                if !replicas.binlog_holds_everything() {
                    break;
                }
                self.start_all()?;
                match self.shared_position()? {
                    Agreement::At(own) => return self.lockless(own, replicas),
                    Agreement::Differ => self.end_all()?,
                    Agreement::NoBinlog => {
                        self.end_all()?;
                        break;
                    }
                }
            }
        }
        self.locked(ConsistencyMode::Snapshot)
    }

    fn lockless(&mut self, own: OwnPosition, mut moment: Moment) -> Result<Started, LockFailure> {
        let gtid = self
            .reader
            .first(
                &format!(
                    "SELECT BINLOG_GTID_POS({}, {})",
                    crate::catalog::ident::text_literal(&own.file),
                    own.offset
                ),
                "reading the GTID position of the snapshot",
            )?
            .and_then(|row| row.text(0));
        moment.binlog = BinlogState::At(Position {
            file: own.file.clone(),
            offset: own.offset,
            gtid,
        });
        let mut start = started(ConsistencyMode::Snapshot, moment, None);
        start.own_position = Some(own);
        Ok(start)
    }

    fn unprotected(&mut self) -> Result<Started, LockFailure> {
        let moment = Moment::read(self.reader)?;
        Ok(started(ConsistencyMode::None, moment, None))
    }

    fn tidb(&mut self) -> Result<Started, SnapshotError> {
        let mut moment = Moment::read(self.reader)?;
        let tso = match (&self.request.options.snapshot, moment.position()) {
            (Some(asked), _) => asked.clone(),
            (None, Some(position)) => position.offset.to_string(),
            (None, None) => {
                return Err(SnapshotError::Unavailable {
                    reasons: vec!["TiDB did not tell its TSO".to_owned()],
                });
            }
        };
        if let (BinlogState::At(position), Ok(offset)) = (&mut moment.binlog, tso.parse()) {
            position.offset = offset;
        }
        for session in self.sessions.iter_mut() {
            enter_tidb_snapshot(session, &tso)?;
        }
        let mut start = started(ConsistencyMode::Snapshot, moment, None);
        start.tso = Some(tso);
        Ok(start)
    }

    fn start_all(&mut self) -> Result<(), ServerError> {
        self.sessions
            .iter_mut()
            .try_for_each(Session::start_snapshot)
    }

    fn end_all(&mut self) -> Result<(), ServerError> {
        self.sessions.iter_mut().try_for_each(Session::end_snapshot)
    }

    fn shared_position(&mut self) -> Result<Agreement, ServerError> {
        let mut shared: Option<OwnPosition> = None;
        for session in self.sessions.iter_mut() {
            match (OwnPosition::of(session)?, &shared) {
                (None, _) => return Ok(Agreement::NoBinlog),
                (Some(own), Some(first)) if own != *first => return Ok(Agreement::Differ),
                (own, _) => shared = own,
            }
        }
        Ok(shared.map_or(Agreement::NoBinlog, Agreement::At))
    }
}

fn started(mode: ConsistencyMode, moment: Moment, lock: Option<HeldLock>) -> Started {
    Started {
        mode,
        moment,
        own_position: None,
        tso: None,
        lock,
        passed_over: Vec::new(),
    }
}

/// What the sessions' own positions say together.
enum Agreement {
    At(OwnPosition),
    Differ,
    NoBinlog,
}

impl OwnPosition {
    /// Reads it; `None` where the server has none, or writes no binlog (empty values would be "equal").
    pub(super) fn of(session: &mut Session) -> Result<Option<Self>, ServerError> {
        if !session.flavor().has_binlog_snapshot() {
            return Ok(None);
        }
        let rows = session.rows(
            "SHOW STATUS LIKE 'Binlog\\_snapshot\\_%'",
            "reading the snapshot's binlog position",
        )?;
        let value = |name: &str| {
            rows.iter()
                .find(|row| row.text(0).is_some_and(|n| n.eq_ignore_ascii_case(name)))
                .and_then(|row| row.text(1))
        };
        let file = value("Binlog_snapshot_file").unwrap_or_default();
        let offset = value("Binlog_snapshot_position").and_then(|text| text.parse().ok());
        Ok(offset
            .filter(|_| !file.is_empty())
            .map(|offset| Self { file, offset }))
    }
}

/// The gentlest lock that stops every commit. Tables without snapshots are read under it, and must not be held by writers
/// that BACKUP STAGE stopped in mid-statement (deadlock, seen with Aria); the global read lock waits for statements to end.
pub(super) fn global_lock(flavor: &Flavor, reads_under_it: bool) -> LockKind {
    if flavor.has_backup_stage() && !reads_under_it {
        LockKind::BackupStage
    } else {
        LockKind::Global
    }
}

/// TiDB: makes every later SELECT of the session read at `tso`; it must be set outside a transaction (mydumper PR#48).
pub(super) fn enter_tidb_snapshot(session: &mut Session, tso: &str) -> Result<(), ServerError> {
    session.execute(
        &format!(
            "SET SESSION tidb_snapshot={}",
            crate::catalog::ident::text_literal(tso)
        ),
        "entering the TiDB snapshot",
    )
}
