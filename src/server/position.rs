//! `Position`: where in the server's history a dump stands.
//!
//! Owns the reading of binlog and replica coordinates in every spelling the servers know (MySQL 8.4 dropped SHOW MASTER
//! STATUS and the `Master_*` columns), and the judgement whether two readings prove that nothing was written between
//! them. When to read, it leaves to `snapshot.rs`; how a position is written down, to `manifest/`.

use std::fmt;

use super::answer::NamedRow;
use super::error::ServerError;
use super::flavor::Kind;
use super::session::Session;

/// A place in the binary log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Position {
    /// The binlog file; TiDB says `tidb-binlog`.
    pub file: String,
    /// The offset in it; TiDB's TSO.
    pub offset: u64,
    /// The GTID set at that place, if the server has GTIDs.
    pub gtid: Option<String>,
}

/// Where a replica stands in its source's history.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ReplicaPosition {
    /// The channel or connection name; empty for the default one.
    pub channel: String,
    /// The source's host.
    pub host: String,
    /// The source's binlog file up to which everything is applied.
    pub file: String,
    /// The offset in it.
    pub offset: u64,
    /// The applied GTID set, if known.
    pub gtid: Option<String>,
}

/// What the server said about its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum BinlogState {
    /// The binlog is on and stands there.
    At(Position),
    /// The server writes no binlog.
    Off,
    /// The account may not ask.
    Denied(String),
}

/// Everything that tells one moment of a server from another.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Moment {
    /// The binlog.
    pub binlog: BinlogState,
    /// Replication, one entry per channel.
    pub replicas: Vec<ReplicaPosition>,
    /// Whether some writes may never reach the binlog: Binlog_Do_DB, Binlog_Ignore_DB, or what comes by replication.
    pub filtered: bool,
    /// Whether every write moves the GTID set. On MySQL only while `gtid_mode` is ON: the set of earlier times stays, and
    /// anonymous transactions leave it alone (seen on 9.7).
    pub gtids_complete: bool,
}

impl Moment {
    /// Reads the present moment. A missing privilege is a state, not an error.
    pub fn read(session: &mut Session) -> Result<Self, ServerError> {
        let doing = "reading the binlog position";
        let statements = session.flavor().binlog_status_statements();
        let (binlog, filtered) = match first_known(session, statements, doing) {
            Ok(rows) => match rows.first() {
                Some(row) => {
                    let filtered = ["Binlog_Do_DB", "Binlog_Ignore_DB"]
                        .iter()
                        .any(|name| row.get(name).is_some_and(|value| !value.is_empty()));
                    (BinlogState::At(position_of(session, row)?), filtered)
                }
                None => (BinlogState::Off, false),
            },
            Err(error) if is_denied(&error) => (BinlogState::Denied(error.to_string()), false),
            Err(error) => return Err(error),
        };
        let replicas = read_replicas(session)?;
        let filtered = filtered || misses_writes(session, replicas.is_some())?;
        Ok(Self {
            binlog,
            replicas: replicas.unwrap_or_default(),
            filtered,
            gtids_complete: gtids_complete(session)?,
        })
    }

    /// Whether equal readings mean that nothing was written in between. GTID sets survive a restart, which rotates the
    /// file; without GTIDs file and offset must be equal. A server without binlog, or one that does not log everything,
    /// proves nothing.
    pub fn proves_unchanged(&self, earlier: &Self) -> bool {
        let (BinlogState::At(now), BinlogState::At(then)) = (&self.binlog, &earlier.binlog) else {
            return false;
        };
        if self.filtered || earlier.filtered || self.replicas != earlier.replicas {
            return false;
        }
        let complete = self.gtids_complete && earlier.gtids_complete;
        match (&now.gtid, &then.gtid) {
            (Some(now), Some(then)) if complete && (!now.is_empty() || !then.is_empty()) => {
                now == then
            }
            _ => (&now.file, now.offset) == (&then.file, then.offset),
        }
    }

    /// Whether a place in the binlog stands for all rows: nothing is written past it, and no replication writes what the
    /// binlog may not hold (log_slave_updates).
    pub fn binlog_holds_everything(&self) -> bool {
        !self.filtered && self.replicas.is_empty()
    }

    /// The binlog position, if there is one.
    pub fn position(&self) -> Option<&Position> {
        match &self.binlog {
            BinlogState::At(position) => Some(position),
            _ => None,
        }
    }
}

impl fmt::Display for Position {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.file, self.offset)?;
        match &self.gtid {
            Some(gtid) if !gtid.is_empty() => write!(f, " (GTID {})", gtid.replace('\n', "")),
            _ => Ok(()),
        }
    }
}

impl fmt::Display for Moment {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.binlog {
            BinlogState::At(position) => position.fmt(f),
            BinlogState::Off => f.write_str("unknown (the binlog is off)"),
            BinlogState::Denied(_) => {
                f.write_str("unknown (no privilege to read the binlog position)")
            }
        }
    }
}

/// Whether the server refused for want of a privilege.
pub(super) fn is_denied(error: &ServerError) -> bool {
    // Access denied to database, table, for this operation; 1045 is what RDS answers to FLUSH TABLES (tidb#36547).
    matches!(error.code(), Some(1044 | 1045 | 1142 | 1227))
}

/// Runs the first statement that the server can parse.
fn first_known(
    session: &mut Session,
    statements: &[&str],
    doing: &str,
) -> Result<Vec<NamedRow>, ServerError> {
    const SYNTAX_ERROR: u16 = 1064;
    let mut failure = None;
    for statement in statements {
        match session.named_rows(statement, doing) {
            Err(error) if error.code() == Some(SYNTAX_ERROR) => failure = Some(error),
            done => return done,
        }
    }
    failure.map_or(Ok(Vec::new()), Err)
}

fn gtids_complete(session: &mut Session) -> Result<bool, ServerError> {
    if session.flavor().kind != Kind::MySql {
        return Ok(true);
    }
    match session.first("SELECT @@global.gtid_mode", "reading the GTID mode") {
        Ok(row) => Ok(row.and_then(|row| row.text(0)).as_deref() == Some("ON")),
        // A server without GTIDs does not know the variable.
        Err(error) if error.is_transient() => Err(error),
        Err(_) => Ok(false),
    }
}

fn position_of(session: &mut Session, row: &NamedRow) -> Result<Position, ServerError> {
    let gtid = match session.flavor().kind {
        Kind::MariaDb => session
            .first(
                "SELECT @@global.gtid_binlog_pos",
                "reading the GTID position",
            )?
            .and_then(|row| row.text(0)),
        _ => row.get("Executed_Gtid_Set"),
    };
    Ok(Position {
        file: row.get("File").unwrap_or_default(),
        offset: row.number("Position"),
        gtid,
    })
}

/// Whether writes that come from other servers may stay out of the binlog: those of a cluster's other nodes, and those of a
/// source when the account may not see whether there is one (MariaDB wants SLAVE MONITOR; seen: torn dumps).
fn misses_writes(session: &mut Session, sees_replicas: bool) -> Result<bool, ServerError> {
    let rows = session.rows(
        "SHOW GLOBAL VARIABLES WHERE Variable_name IN ('log_slave_updates', 'log_replica_updates', 'wsrep_on')",
        "asking what the binlog holds",
    )?;
    let is_on = |name: &str| {
        rows.iter().any(|row| {
            row.text(0).is_some_and(|found| found.contains(name))
                && row.text(1).as_deref() == Some("ON")
        })
    };
    Ok(!is_on("_updates") && (!sees_replicas || is_on("wsrep_on")))
}

/// `None` if the account may not see them.
fn read_replicas(session: &mut Session) -> Result<Option<Vec<ReplicaPosition>>, ServerError> {
    let statements = session.flavor().replica_status_statements();
    let rows = match first_known(session, statements, "reading the replication state") {
        Ok(rows) => rows,
        Err(error) if is_denied(&error) => return Ok(None),
        Err(error) => return Err(error),
    };
    Ok(Some(rows.iter().map(replica_of).collect()))
}

fn replica_of(row: &NamedRow) -> ReplicaPosition {
    let either = |new: &str, old: &str| row.get(new).or_else(|| row.get(old)).unwrap_or_default();
    ReplicaPosition {
        channel: either("Channel_Name", "Connection_name"),
        host: either("Source_Host", "Master_Host"),
        file: either("Relay_Source_Log_File", "Relay_Master_Log_File"),
        offset: either("Exec_Source_Log_Pos", "Exec_Master_Log_Pos")
            .parse()
            .unwrap_or_default(),
        gtid: row
            .get("Executed_Gtid_Set")
            .or_else(|| row.get("Gtid_Slave_Pos")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(file: &str, offset: u64, gtid: Option<&str>) -> Moment {
        Moment {
            binlog: BinlogState::At(Position {
                file: file.to_owned(),
                offset,
                gtid: gtid.map(str::to_owned),
            }),
            replicas: Vec::new(),
            filtered: false,
            gtids_complete: true,
        }
    }

    #[test]
    fn equal_gtid_sets_prove_it_though_a_restart_rotated_the_file() {
        let (then, now) = (at("b.1", 900, Some("0-1-7")), at("b.2", 4, Some("0-1-7")));
        assert!(now.proves_unchanged(&then));
        assert!(!at("b.1", 900, Some("0-1-8")).proves_unchanged(&then));
    }

    #[test]
    fn without_gtids_file_and_offset_must_be_equal() {
        let then = at("b.1", 900, Some(""));
        assert!(at("b.1", 900, Some("")).proves_unchanged(&then));
        assert!(!at("b.2", 900, Some("")).proves_unchanged(&then));
    }

    #[test]
    fn a_gtid_set_that_anonymous_writes_leave_alone_proves_nothing() {
        let mut then = at("b.1", 900, Some("uuid:1-20"));
        then.gtids_complete = false;
        let mut now = at("b.1", 1000, Some("uuid:1-20"));
        now.gtids_complete = false;
        assert!(!now.proves_unchanged(&then));
        assert!(then.proves_unchanged(&then.clone()));
    }

    #[test]
    fn a_server_that_does_not_log_everything_proves_nothing() {
        let mut off = at("b.1", 4, None);
        off.binlog = BinlogState::Off;
        assert!(!off.clone().proves_unchanged(&off));
        let mut filtered = at("b.1", 4, None);
        filtered.filtered = true;
        assert!(!filtered.clone().proves_unchanged(&filtered));
    }
}
