//! `Session`: an open connection, and everything that is said over it.
//!
//! Owns the settings every session gets, first or rebuilt, in one place (`configure`). A
//! session that failed in mid-result is broken and says so; it is never used again. A session that is dropped broken, or
//! while the run is cancelled, is handed to the reaper, which ends it on the server. Which session stands in which
//! snapshot it leaves to `snapshot.rs`.

use std::io;
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable;

use super::ConnectOptions;
use super::answer::{NamedRow, TextRow, collect};
use super::driver::{DriverRows, Waits};
use super::error::ServerError;
use super::flavor::{Flavor, Kind};
use super::origin::Origin;
use super::reaper::{Abandoned, ReaperHandle};
use super::rows::RowSource;
use super::socket::SessionSocket;
use super::wire::{Wire, WireRows};
use crate::cancel::{Interrupt, Registration};
use crate::catalog::ident::ObjectName;

/// How long the server may wait for us to take bytes before it hangs up: our disk may be slow, but not without end.
const NET_WRITE_TIMEOUT_SECONDS: u32 = 3600;
/// How long a statement waits for others' locks, as behind an ALTER that itself waits; it is then tried again.
const LOCK_WAIT_TIMEOUT_SECONDS: u32 = 60;
/// How long an idle session is kept: longer than the default 8 h, so that a spare outlives a long dump.
const WAIT_TIMEOUT_SECONDS: u32 = 86_400;
/// How long a session that is left may take to show that the server hears the goodbye.
const LAST_WORD: Duration = Duration::from_millis(500);

/// What a session is for; it decides the settings.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Purpose {
    /// Catalog, DDL, positions: text arrives as utf8mb4.
    Metadata,
    /// Rows: text arrives as [`RowText`] says.
    Rows,
}

/// In which charset the text of rows arrives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RowText {
    /// Each column's own bytes, with its true charset in the metadata: lossless.
    Own,
    /// Converted by the server, for files that other programs read.
    Utf8,
}

/// An open, configured connection.
pub struct Session {
    pub(super) connection: Conn,
    pub(super) socket: Arc<SessionSocket>,
    registration: Registration,
    reaper: Option<ReaperHandle>,
    /// On a plain connection: its packets can be read in place.
    pub(super) wire: Option<Wire>,
    pub(super) waits: Waits,
    /// The usual waits, while shorter ones hold.
    unhurried: Option<Waits>,
    ping_wait: Duration,
    opened: Instant,
    id: u64,
    flavor: Flavor,
    pub(super) broken: bool,
    can_release_tables: bool,
    releases_tables: bool,
}

impl Session {
    /// A session over a fresh connection whose time limits are still those of the connect.
    pub(super) fn new(
        connection: Conn,
        socket: Arc<SessionSocket>,
        registration: Registration,
        reaper: Option<ReaperHandle>,
        options: &ConnectOptions,
    ) -> Self {
        Self {
            connection,
            socket,
            registration,
            reaper,
            wire: None,
            waits: Waits::all(options.connect_timeout),
            unhurried: None,
            ping_wait: options.connect_timeout,
            opened: Instant::now(),
            id: 0,
            flavor: Flavor::parse("", ""),
            broken: false,
            can_release_tables: true,
            releases_tables: false,
        }
    }

    /// From now on rows are read from the socket itself, which must be plain.
    pub(super) fn read_in_place(&mut self) {
        self.wire = Some(Wire::default());
    }

    /// Raises the time limits from those of the connect to those of the work.
    pub(super) fn raise_waits(&mut self, options: &ConnectOptions) -> io::Result<()> {
        self.waits = Waits {
            first_row: options.first_row_timeout,
            later: options.read_timeout,
        };
        self.socket.set_read_timeout(options.read_timeout)?;
        self.socket.set_write_timeout(options.read_timeout)
    }

    /// The one place where a session gets its settings (DESIGN.md section 5).
    pub(super) fn configure(
        &mut self,
        known: &Known,
        variables: &[(String, String)],
        purpose: Purpose,
        text: RowText,
    ) -> Result<(), ServerError> {
        let doing = "setting up a session";
        // A proxy's handshake may name another connection than the server's own.
        let row = self.first(
            "SELECT CONNECTION_ID(), @@version, @@version_comment",
            doing,
        )?;
        let row = row.unwrap_or(TextRow(Vec::new()));
        self.id = row.number(0).unwrap_or_default();
        let parse = || {
            Flavor::parse(
                &row.text(1).unwrap_or_default(),
                &row.text(2).unwrap_or_default(),
            )
        };
        self.flavor = known.flavor.get_or_init(parse).clone();
        // First, so that none of them can undo what lossless reading depends on.
        for (name, value) in variables {
            self.execute(
                &format!("SET SESSION {name}={value}"),
                &format!("setting the session variable {name}"),
            )?;
        }
        self.execute("SET NAMES utf8mb4", doing)?;
        self.execute(&format!("SET SESSION {}", required_settings()), doing)?;
        // Not before: a server's own limits on SELECT may refuse the question.
        if self.flavor.kind != Kind::TiDb {
            known.check_origin(&Origin::of(self)?)?;
        }
        self.execute(
            "SET SESSION TRANSACTION ISOLATION LEVEL REPEATABLE READ",
            doing,
        )?;
        for setting in self.flavor.optional_settings() {
            self.set_if_known(setting)?;
        }
        if self.flavor.kind != Kind::TiDb {
            self.set_if_known("sql_quote_show_create=1")?;
        }
        if purpose == Purpose::Rows {
            if text == RowText::Own {
                self.execute("SET character_set_results=NULL", doing)?;
            }
            for setting in self.flavor.optional_row_settings() {
                // All there are serve to release tables.
                self.can_release_tables &= self.set_if_known(setting)?;
            }
        }
        Ok(())
    }

    /// Sets a variable that some servers or accounts do not have; a refusal by the server is no error.
    pub fn set_if_known(&mut self, assignment: &str) -> Result<bool, ServerError> {
        match self.execute(&format!("SET SESSION {assignment}"), "setting up a session") {
            Ok(()) => Ok(true),
            Err(error @ ServerError::Statement { .. }) if !error.is_transient() => {
                log::debug!("{error}");
                Ok(false)
            }
            Err(error) => Err(error),
        }
    }

    /// The connection's id on the server itself, as KILL wants it.
    pub fn id(&self) -> u64 {
        self.id
    }

    /// Which server this is.
    pub fn flavor(&self) -> &Flavor {
        &self.flavor
    }

    /// Whether the session must not be used again.
    pub fn is_broken(&self) -> bool {
        self.broken
    }

    /// Runs a statement whose result does not matter. `doing` completes "The server failed while …".
    pub fn execute(&mut self, sql: &str, doing: &str) -> Result<(), ServerError> {
        self.rows(sql, doing).map(drop)
    }

    /// Runs a statement and collects its rows; for small results only.
    pub fn rows(&mut self, sql: &str, doing: &str) -> Result<Vec<TextRow>, ServerError> {
        collect(&mut *self.stream(sql, doing)?)
    }

    /// As [`Session::rows`], with the names of the columns.
    pub fn named_rows(&mut self, sql: &str, doing: &str) -> Result<Vec<NamedRow>, ServerError> {
        let mut source = self.stream(sql, doing)?;
        let names: Arc<[String]> = source
            .columns()
            .iter()
            .map(|column| String::from_utf8_lossy(&column.name).into_owned())
            .collect();
        let rows = collect(&mut *source)?.into_iter();
        Ok(rows
            .map(|row| NamedRow {
                names: Arc::clone(&names),
                row,
            })
            .collect())
    }

    /// Runs a statement whose rows are read as they come; for results of any size. The wait for the first row has its own
    /// bound: a server may sort for long before it sends anything.
    pub fn stream(
        &mut self,
        sql: &str,
        doing: &str,
    ) -> Result<Box<dyn RowSource + '_>, ServerError> {
        if let Some(wire) = &mut self.wire {
            return Ok(Box::new(WireRows::start(
                wire,
                &mut self.broken,
                Arc::clone(&self.socket),
                self.waits,
                sql.as_bytes(),
                doing,
            )?));
        }
        Ok(Box::new(DriverRows::start(
            &mut self.connection,
            &mut self.broken,
            Arc::clone(&self.socket),
            self.waits,
            sql,
            doing,
        )?))
    }

    /// Whether a statement has a result set, by having the server prepare it: nothing is run.
    pub fn has_result(&mut self, sql: &str, doing: &str) -> Result<bool, ServerError> {
        let prepared = self.connection.prep(sql);
        let prepared = prepared.map_err(|error| ServerError::from_driver(doing, error));
        if let Err(error) = &prepared {
            self.broken |= error.breaks_session();
        }
        let statement = prepared?;
        let has_result = !statement.columns().is_empty();
        self.connection
            .close(statement)
            .map_err(|error| ServerError::from_driver(doing, error))?;
        Ok(has_result)
    }

    /// Lets statements take at least so long before their first answer.
    pub(super) fn wait_longer(&mut self, limit: Duration) {
        self.waits.first_row = self.waits.first_row.max(limit);
    }

    /// Lets nothing wait for longer than that, until [`Session::take_time`]: a silent peer must not keep a lock for long.
    pub(super) fn hurry(&mut self, limit: Duration) -> Result<(), ServerError> {
        let doing = "bounding the waits under a lock";
        self.unhurried.get_or_insert(self.waits);
        self.set_waits(Waits::all(limit), doing)
    }

    /// Back to the usual waits.
    pub(super) fn take_time(&mut self) -> Result<(), ServerError> {
        match self.unhurried.take() {
            Some(waits) => self.set_waits(waits, "setting the usual waits"),
            None => Ok(()),
        }
    }

    fn set_waits(&mut self, waits: Waits, doing: &str) -> Result<(), ServerError> {
        self.waits = waits;
        let set = self.socket.set_read_timeout(waits.later);
        set.map_err(|source| ServerError::lost(doing.to_owned(), &source))
    }

    /// Starts this session's snapshot. Returns at once; it is the caller who makes sure that the moment is right.
    pub fn start_snapshot(&mut self) -> Result<(), ServerError> {
        let doing = "starting a snapshot";
        self.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT", doing)
    }

    /// Once the snapshot stands, and before a table is read: from now on tables can be released, where the server lets us.
    pub fn mark_start(&mut self) -> Result<(), ServerError> {
        self.releases_tables = self.can_release_tables;
        self.execute("SAVEPOINT rdump", "starting a snapshot")
    }

    /// Whether tables can be given back before the end (DESIGN.md section 3).
    pub(super) fn can_release_tables(&self) -> bool {
        self.can_release_tables
    }

    /// Gives the tables read so far back to DDL, without leaving the snapshot: every table that a transaction has read stays
    /// locked against ALTER, and all queries queue behind it (seen).
    pub fn release_tables(&mut self) -> Result<(), ServerError> {
        if self.releases_tables {
            self.execute("ROLLBACK TO SAVEPOINT rdump", "releasing a table")?;
        }
        Ok(())
    }

    /// Keeps the tables to the end of the snapshot, read or not. Beside a table lock that lasts as long an ALTER has to wait
    /// in any case, and whoever asks for a table after it waits behind it (seen): so none is asked for later.
    pub fn keep_tables(&mut self, tables: &[ObjectName]) -> Result<(), ServerError> {
        self.releases_tables = false;
        tables.iter().try_for_each(|table| {
            let sql = format!("SELECT 1 FROM {table} LIMIT 0");
            self.execute(&sql, &format!("opening {table}"))
        })
    }

    /// Leaves the snapshot.
    pub fn end_snapshot(&mut self) -> Result<(), ServerError> {
        self.releases_tables = false;
        self.execute("ROLLBACK", "ending a snapshot")
    }

    /// The first row of a result, if it has one.
    pub fn first(&mut self, sql: &str, doing: &str) -> Result<Option<TextRow>, ServerError> {
        Ok(self.rows(sql, doing)?.into_iter().next())
    }

    /// Asks for a sign of life, for which the server has as long as for a connect.
    pub fn ping(&mut self) -> Result<(), ServerError> {
        let doing = "checking that the server is alive";
        let answer = self
            .socket
            .set_read_timeout(self.ping_wait)
            .map_err(mysql::Error::from)
            .and_then(|()| self.connection.ping());
        let restored = self.socket.set_read_timeout(self.waits.later);
        answer.and_then(|()| Ok(restored?)).map_err(|error| {
            self.broken = true;
            ServerError::from_driver(doing, error)
        })
    }

    /// Whether the server answers, where there is somebody to end what it does not hear of.
    fn is_heard(&mut self) -> bool {
        self.ping_wait = self.ping_wait.min(LAST_WORD);
        self.reaper.is_none() || self.ping().is_ok()
    }

    /// Ends another session on the server, whatever it is doing. One that is gone already is no error.
    pub fn kill(&mut self, id: u64) -> Result<(), ServerError> {
        const NO_SUCH_THREAD: u16 = 1094;
        match self.execute(&format!("KILL {id}"), "ending an abandoned session") {
            Err(error) if error.code() == Some(NO_SUCH_THREAD) => Ok(()),
            done => done,
        }
    }

    /// How long the server has been running, in seconds; `None` if it does not tell.
    pub(super) fn uptime_seconds(&mut self) -> Result<Option<u64>, ServerError> {
        let row = self.first(
            "SHOW GLOBAL STATUS LIKE 'Uptime'",
            "asking how long the server has been running",
        )?;
        Ok(row.and_then(|row| row.number(1)))
    }

    /// What whoever ends it on the server needs to know.
    pub(super) fn as_abandoned(&self) -> Abandoned {
        Abandoned {
            id: self.id,
            opened: self.opened,
        }
    }

    /// Leaves the session for good without a word to the server, and has it ended there. Returns what [`Connector::replace`]
    /// needs to wait for that.
    ///
    /// [`Connector::replace`]: super::connector::Connector::replace
    pub fn abandon(mut self) -> Abandoned {
        self.broken = true;
        self.as_abandoned()
    }
}

impl Drop for Session {
    /// A session that can still be talked to is closed by the driver with a word to the server. Any other one would stay
    /// there for as long as its statement runs, or as the server waits for its network, with its locks and its snapshot.
    fn drop(&mut self) {
        if !self.broken && !self.registration.token().is_cancelled() && self.is_heard() {
            return;
        }
        self.socket.interrupt();
        if let Some(reaper) = &self.reaper
            && self.id != 0
        {
            reaper.end(self.as_abandoned());
        }
    }
}

/// What the first session learned of the server; all others check it.
#[derive(Default)]
pub(super) struct Known {
    flavor: OnceLock<Flavor>,
    origin: OnceLock<Origin>,
}

impl Known {
    fn check_origin(&self, origin: &Origin) -> Result<(), ServerError> {
        let first = self.origin.get_or_init(|| origin.clone());
        if first == origin {
            return Ok(());
        }
        Err(ServerError::OtherServer {
            first: first.to_string(),
            now: origin.to_string(),
        })
    }
}

/// Whether rdump sets that session variable itself, so that a user's value has no effect.
pub fn is_fixed_setting(name: &str) -> bool {
    const FIXED: [&str; 14] = [
        "autocommit",
        "character_set_client",
        "character_set_connection",
        "character_set_results",
        "completion_type",
        "lock_wait_timeout",
        "net_write_timeout",
        "sql_big_selects",
        "sql_mode",
        "sql_safe_updates",
        "sql_select_limit",
        "system_versioning_asof",
        "time_zone",
        "wait_timeout",
    ];
    FIXED.iter().any(|fixed| fixed.eq_ignore_ascii_case(name))
}

/// Settings that every supported server knows.
fn required_settings() -> String {
    format!(
        "time_zone='+00:00', sql_mode='NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES', autocommit=1, completion_type=0, \
         net_write_timeout={NET_WRITE_TIMEOUT_SECONDS}, wait_timeout={WAIT_TIMEOUT_SECONDS}, \
         lock_wait_timeout={LOCK_WAIT_TIMEOUT_SECONDS}, sql_safe_updates=0, sql_select_limit=18446744073709551615, sql_big_selects=1"
    )
}
