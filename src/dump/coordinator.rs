//! `Coordinator`: hands out chunks, collects what became of them, and knows when a table is whole.
//!
//! Owns the state of every table of a run. It plans while the workers read, over the extra connection, which holds neither
//! lock nor snapshot. Tables that need the lock come first; the lock is given back when the last of them is read. A table
//! that fails does not stop the others; anything that reaches further cancels the run.

use std::sync::Arc;
use std::time::{Duration, Instant};

use crossbeam_channel::Select;

use super::config::DumpConfig;
use super::job::{Failure, Job, Report, TableJob};
use super::pipe::StagedFile;
use super::pool::Channels;
use super::schema::{OtherObjects, SchemaWriter};
use super::worker::Shared;
use crate::catalog::identity::{self, Identity};
use crate::chunk::{Chunk, ChunkOptions, SessionProbe, TablePlanner};
use crate::error::Error;
use crate::manifest::FileEntry;
use crate::server::error::{Reach, ServerError};
use crate::server::extra::ExtraConnection;

/// How often a waiting coordinator looks up: whether the run is cancelled, whether connections need a sign of life.
const BEAT: Duration = Duration::from_millis(100);
/// How often connections that wait are pinged.
const KEEP_ALIVE: Duration = Duration::from_secs(15);
/// How long the workers have to say why they ended.
const LAST_WORDS: Duration = Duration::from_millis(500);
/// Looking whether tables were altered takes at most one part in so many of the time.
const CHECK_REST: u32 = 10;

/// A table on its way into the dump.
pub struct TableState {
    /// What the workers need to know of it.
    pub job: Arc<TableJob>,
    /// Schema files that wait for their names.
    pub staged_schema: Vec<StagedFile>,
    /// Schema files.
    pub schema_files: Vec<FileEntry>,
    /// Data files, in the order in which chunks ended.
    pub data_files: Vec<FileEntry>,
    /// What it was when the snapshots started.
    pub identity: Option<Identity>,
    /// Columns whose cells are bytes.
    pub binary_columns: Vec<String>,
    /// Why it cannot be dumped.
    pub failure: Option<String>,
    outstanding: usize,
    planned: bool,
}

impl TableState {
    /// A table of which nothing has been read.
    pub fn new(job: TableJob, identity: Option<Identity>) -> Self {
        Self {
            job: Arc::new(job),
            staged_schema: Vec::new(),
            schema_files: Vec::new(),
            data_files: Vec::new(),
            identity,
            binary_columns: Vec::new(),
            failure: None,
            outstanding: 0,
            planned: false,
        }
    }

    fn is_complete(&self) -> bool {
        self.planned && self.outstanding == 0
    }
}

/// Directs one run.
pub struct Coordinator<'a> {
    /// What was asked for.
    pub config: &'a DumpConfig,
    /// What the workers share.
    pub shared: &'a Shared<'a>,
    /// Asks the server.
    pub extra: &'a mut ExtraConnection,
    /// All base tables, in the order in which they are read.
    pub tables: &'a mut Vec<TableState>,
    /// Writes schema files.
    pub schema: &'a SchemaWriter<'a>,
    /// Views, routines and the like go here, once the lock is given back.
    pub others: &'a mut OtherObjects,
    /// How the table at an index is cut.
    pub chunk_options: &'a dyn Fn(usize) -> ChunkOptions,
    /// How many of the tables, from the first, need the lock.
    pub locked: usize,
    /// Whether DDL is kept out to the end.
    pub keep_ddl_out: bool,
    /// What the user ought to know.
    pub warnings: &'a mut Vec<String>,
    /// Tables that are complete, but may have been altered while they were read.
    pub unchecked: Vec<usize>,
    /// When tables were last looked at.
    pub last_check: Instant,
    /// How long that took.
    pub check_took: Duration,
}

/// The tables of one phase that are still to be planned, and the one that is being planned.
struct Feed {
    tables: std::ops::Range<usize>,
    current: Option<(usize, TablePlanner)>,
}

impl Coordinator<'_> {
    /// Has all tables read. Cancels the run if it fails, so that the workers end. A worker that failed for good has cancelled
    /// it, and then its reason is the one to be told, whatever that has interrupted here.
    pub fn run(mut self, channels: Channels) -> Result<(), Error> {
        let Err(error) = self.read_all(&channels) else {
            return Ok(());
        };
        self.shared.cancel.cancel();
        // Without jobs the workers end, and then the reports do.
        drop(channels.jobs);
        let until = Instant::now() + LAST_WORDS;
        while let Ok(report) = channels.reports.recv_deadline(until) {
            if let Report::Failed {
                failure: Failure::Run(reason),
                ..
            } = report
                && !matches!(reason, Error::Interrupted)
            {
                return Err(reason);
            }
        }
        Err(error)
    }

    fn read_all(&mut self, channels: &Channels) -> Result<(), Error> {
        if self.locked > 0 {
            self.phase(channels, 0..self.locked)?;
            let released = self.shared.snapshot.release_lock(self.keep_ddl_out);
            released.map_err(Error::SnapshotLost)?;
        }
        self.shared.files.throttle.take_time();
        if self.config.objects.schemas {
            *self.others = self.schema.others(self.extra)?;
            self.warnings.append(&mut self.others.warnings);
        }
        self.phase(channels, self.locked..self.tables.len())?;
        // A lock that was lost unnoticed proves nothing about the last rows.
        let alive = self.shared.snapshot.keep_alive();
        alive.map_err(Error::SnapshotLost)?;
        Ok(())
    }

    /// Has some tables read, and waits for the last of their chunks.
    fn phase(&mut self, channels: &Channels, tables: std::ops::Range<usize>) -> Result<(), Error> {
        let mut feed = Feed {
            tables,
            current: None,
        };
        let mut next = self.next_job(&mut feed)?;
        let mut outstanding = 0_usize;
        let mut last_beat = Instant::now();
        while next.is_some() || outstanding > 0 {
            if self.shared.cancel.is_cancelled() {
                return Err(Error::Interrupted);
            }
            let held = self.shared.snapshot.check_lock();
            held.map_err(Error::SnapshotLost)?;
            if last_beat.elapsed() >= KEEP_ALIVE {
                self.extra.keep_alive();
                let alive = self.shared.snapshot.keep_alive();
                alive.map_err(Error::SnapshotLost)?;
                last_beat = Instant::now();
            }
            let mut select = Select::new();
            let report = select.recv(&channels.reports);
            if next.is_some() {
                select.send(&channels.jobs);
            }
            let Ok(ready) = select.select_timeout(BEAT) else {
                continue;
            };
            if ready.index() == report {
                let report = ready.recv(&channels.reports).map_err(|_| gone())?;
                outstanding -= usize::from(!matches!(report, Report::Warning(_)));
                self.take(report)?;
                self.check_identities(false)?;
            } else if let Some(job) = next.take() {
                self.tables[job.table.index].outstanding += 1;
                outstanding += 1;
                ready.send(&channels.jobs, job).map_err(|_| gone())?;
                next = self.next_job(&mut feed)?;
            }
        }
        self.check_identities(true)
    }

    /// Plans the next chunk; tables that fail on the way are passed over.
    fn next_job(&mut self, feed: &mut Feed) -> Result<Option<Job>, Error> {
        loop {
            let Some((index, planner)) = &mut feed.current else {
                let Some(index) = feed.tables.next() else {
                    return Ok(None);
                };
                let options = (self.chunk_options)(index);
                let table = &self.tables[index].job.table;
                feed.current = Some((index, TablePlanner::new(table, &options)));
                continue;
            };
            let index = *index;
            if let Some(chunk) = self.next_chunk(index, planner)? {
                let table = Arc::clone(&self.tables[index].job);
                return Ok(Some(Job { table, chunk }));
            }
            feed.current = None;
            self.tables[index].planned = true;
            self.note_progress(index);
        }
    }

    /// Asks the planner, on a fresh extra connection if need be.
    fn next_chunk(
        &mut self,
        index: usize,
        planner: &mut TablePlanner,
    ) -> Result<Option<Chunk>, Error> {
        let state = &self.tables[index];
        if state.failure.is_some() {
            return Ok(None);
        }
        let answer = self
            .extra
            .ask(|session| planner.next(&mut SessionProbe::new(session)));
        match answer {
            Ok(chunk) => Ok(chunk),
            Err(error) => {
                self.fail_or_end(index, error)?;
                Ok(None)
            }
        }
    }

    /// Takes note of what a worker says.
    fn take(&mut self, report: Report) -> Result<(), Error> {
        match report {
            Report::Warning(warning) if self.warnings.contains(&warning) => {}
            Report::Warning(warning) => self.warnings.push(warning),
            Report::Done {
                table,
                files,
                binary_columns,
            } => {
                let state = &mut self.tables[table];
                state.binary_columns = binary_columns;
                state.outstanding -= 1;
                state.data_files.extend(files);
                self.note_progress(table);
            }
            Report::Failed { table, failure } => {
                self.tables[table].outstanding -= 1;
                match failure {
                    Failure::Run(error) => return Err(error),
                    Failure::Table(reason) => self.fail(table, reason),
                }
            }
        }
        Ok(())
    }

    fn note_progress(&mut self, index: usize) {
        let state = &self.tables[index];
        if state.is_complete() {
            if state.failure.is_none() {
                self.unchecked.push(index);
            }
            state.job.progress.finish();
        }
    }

    /// A table whose definition changed while it was read is torn, whatever its rows look like (seen with instant ALTER,
    /// partitions and RENAME swaps, which give no error). Looking costs a scan of the server's list of tables, so with many
    /// tables it is done for many at a time; with few it follows the last chunk at once, before later DDL can be blamed.
    fn check_identities(&mut self, now: bool) -> Result<(), Error> {
        let rest = self.check_took.saturating_mul(CHECK_REST);
        if self.unchecked.is_empty() || (!now && self.last_check.elapsed() < rest) {
            return Ok(());
        }
        let begun = Instant::now();
        let indices = std::mem::take(&mut self.unchecked);
        let jobs: Vec<_> = indices
            .iter()
            .map(|&index| Arc::clone(&self.tables[index].job))
            .collect();
        let names: Vec<_> = jobs.iter().map(|job| (&job.table.name, None)).collect();
        let found = self
            .extra
            .ask(|session| identity::read(session, &names))
            .map_err(|source| Error::server("looking whether tables were altered", source))?;
        for (index, now) in indices.into_iter().zip(found) {
            let change = match (&self.tables[index].identity, now) {
                (Some(then), Some(now)) => then.differs(&now),
                (Some(_), None) => Some("it is gone".to_owned()),
                (None, _) => None,
            };
            if let Some(change) = change {
                self.fail(index, format!("altered during the dump: {change}"));
            }
        }
        self.last_check = Instant::now();
        self.check_took = begun.elapsed();
        Ok(())
    }

    /// An error that reaches no further than the table ends the table; any other ends the run.
    fn fail_or_end(&mut self, index: usize, error: ServerError) -> Result<(), Error> {
        if self.tables[index].job.reach_of(&error) == Reach::Table {
            self.fail(index, error.to_string());
            return Ok(());
        }
        let what = format!("dumping {}", self.tables[index].job.table.name);
        Err(Error::server(&what, error))
    }

    fn fail(&mut self, index: usize, reason: String) {
        let state = &mut self.tables[index];
        if state.failure.is_none() {
            log::error!("table {} cannot be dumped: {reason}", state.job.table.name);
            state.failure = Some(reason);
        }
        state.job.progress.give_up();
    }
}

fn gone() -> Error {
    Error::Request {
        message: "the workers ended before their work did".to_owned(),
        hint: None,
    }
}
