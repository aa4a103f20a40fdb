//! `Worker`: reads chunks over one session, and gets a new session when that one dies.
//!
//! Owns the attempts at a chunk: each writes into files nobody sees, each failure is judged by how far it reaches, and what is
//! given up is ended on the server. Whether a fresh session may take part in the snapshot it asks `server/snapshot.rs`.

use std::time::Duration;

use crossbeam_channel::{Receiver, Sender};

use super::job::{Failure, Job, Report};
use super::pipe::{ChunkWriter, FileOptions, Scratch, StagedFile};
use crate::cancel::CancelToken;
use crate::catalog::column::CellKind;
use crate::catalog::ident::quote;
use crate::compress::Compression;
use crate::error::Error;
use crate::format::{EncodedColumn, Format};
use crate::manifest::names::FileNames;
use crate::manifest::{DataEntry, FileEntry};
use crate::progress::{Attempt, Progress};
use crate::retry::{RetryPolicy, chance};
use crate::server::error::{Reach, ServerError, chain};
use crate::server::session::Session;
use crate::server::snapshot::{Snapshot, SnapshotError};
use crate::storage::StorageError;

/// What all workers share.
pub struct Shared<'a> {
    /// Where files go.
    pub files: FileOptions<'a>,
    /// How they are called.
    pub names: &'a FileNames,
    /// Whether a chunk may have several files.
    pub numbered_parts: bool,
    /// What is in them.
    pub format: &'a Format,
    /// The source's limit on a statement, in bytes.
    pub max_allowed_packet: u64,
    /// The snapshot.
    pub snapshot: &'a Snapshot,
    /// How often a chunk is tried.
    pub retry: RetryPolicy,
    /// Stops everything.
    pub cancel: &'a CancelToken,
    /// Counts.
    pub progress: &'a Progress,
}

/// One worker.
pub struct Worker<'a> {
    shared: &'a Shared<'a>,
    session: Option<Session>,
    scratch: Scratch,
}

/// A chunk whose files have their names.
struct Done {
    files: Vec<FileEntry>,
    binary_columns: Vec<String>,
}

/// A chunk that is read, in files without names.
struct ReadChunk {
    files: Vec<StagedFile>,
    /// The first row that no server of the source's kind may take back.
    oversized: Option<u64>,
    /// JSON columns, quoted, with a document that its text does not give back.
    altered_columns: Vec<String>,
    attempt: Attempt,
    binary_columns: Vec<String>,
}

/// Why one attempt ended.
enum AttemptError {
    Server(ServerError),
    Rejoin(SnapshotError),
    Storage(StorageError),
}

impl From<ServerError> for AttemptError {
    fn from(error: ServerError) -> Self {
        Self::Server(error)
    }
}

impl From<StorageError> for AttemptError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl<'a> Worker<'a> {
    /// A worker with its session in the snapshot.
    pub fn new(shared: &'a Shared<'a>, session: Session) -> Self {
        Self {
            shared,
            session: Some(session),
            scratch: Scratch::default(),
        }
    }

    /// Works until the jobs end or the run is cancelled.
    pub fn run(mut self, jobs: &Receiver<Job>, reports: &Sender<Report>) {
        while let Ok(job) = jobs.recv() {
            self.shared.files.throttle.wait_for_turn();
            if self.shared.cancel.is_cancelled() {
                break;
            }
            let report = match self.dump(&job, reports) {
                Ok(done) => Report::Done {
                    table: job.table.index,
                    files: done.files,
                    binary_columns: done.binary_columns,
                },
                Err(failure) => {
                    if matches!(failure, Failure::Run(_)) {
                        // The coordinator may be waiting for the server just now.
                        self.shared.cancel.cancel();
                    }
                    Report::Failed {
                        table: job.table.index,
                        failure,
                    }
                }
            };
            if reports.send(report).is_err() {
                break;
            }
        }
    }

    /// Tries a chunk until it is done, its attempts are used up, or trying is pointless.
    fn dump(&mut self, job: &Job, reports: &Sender<Report>) -> Result<Done, Failure> {
        let mut failed = 0;
        loop {
            let error = match self.attempt(job, reports) {
                Ok(done) => return Ok(done),
                Err(error) => error,
            };
            failed += 1;
            if self.shared.cancel.is_cancelled() {
                return Err(Failure::Run(Error::Interrupted));
            }
            let pause = self.judge(job, error, failed)?;
            self.shared.progress.add_retry();
            if self.shared.cancel.sleep(pause) {
                return Err(Failure::Run(Error::Interrupted));
            }
        }
    }

    /// The pause before the next attempt, or the end of the chunk.
    fn judge(&mut self, job: &Job, error: AttemptError, failed: u32) -> Result<Duration, Failure> {
        let pause = self.shared.retry.pause_after(failed, chance());
        let table = job.table.table.name.to_string();
        let chunk = job.chunk.index;
        match error {
            AttemptError::Storage(error) => {
                // Nothing more is read over a session whose rows have nowhere to go.
                self.give_up_session();
                Err(Failure::Run(error.into()))
            }
            AttemptError::Rejoin(source) => match pause.filter(|_| source.is_transient()) {
                Some(pause) => {
                    log::warn!(
                        "{}; trying again in {} ms",
                        chain(&source),
                        pause.as_millis()
                    );
                    Ok(pause)
                }
                None => Err(Failure::Run(Error::Rejoin {
                    table,
                    chunk,
                    source,
                })),
            },
            AttemptError::Server(source) => {
                let reach = job.table.reach_of(&source);
                if reach != Reach::Table || self.session.as_ref().is_none_or(Session::is_broken) {
                    self.give_up_session();
                }
                match (reach, pause) {
                    (Reach::Attempt, Some(pause)) => {
                        log::warn!(
                            "{}; trying again in {} ms",
                            chain(&source),
                            pause.as_millis()
                        );
                        Ok(pause)
                    }
                    (Reach::Table, _) => Err(Failure::Table(chain(&source))),
                    _ => Err(Failure::Run(Error::Chunk {
                        table,
                        chunk,
                        attempts: failed,
                        source,
                    })),
                }
            }
        }
    }

    /// Reads the chunk once. Its files have their names only when all its rows are there.
    fn attempt(&mut self, job: &Job, reports: &Sender<Report>) -> Result<Done, AttemptError> {
        let session = if let Some(session) = &mut self.session {
            session
        } else {
            let fresh = self.shared.snapshot.rejoin();
            let fresh = fresh.map_err(AttemptError::Rejoin)?;
            log::info!("connection {} goes on {}", fresh.id(), job.doing());
            self.session.insert(fresh)
        };
        let chunk = read(self.shared, session, &mut self.scratch, job)?;
        let lock = self.shared.snapshot.check_lock();
        lock.map_err(AttemptError::Rejoin)?;
        if let Err(error) = session.release_tables() {
            // All rows are here; the next chunk gets another session.
            if !self.shared.cancel.is_cancelled() {
                log::info!("{}", chain(&error));
            }
            self.give_up_session();
        }
        if let Some(row) = chunk.oversized {
            let warning = format!(
                "row {row} of chunk {} of {} makes a statement longer than the server's max_allowed_packet",
                job.chunk.index, job.table.table.name
            );
            // The coordinator is gone only when the run is over, and then nobody listens.
            reports.send(Report::Warning(warning)).ok();
        }
        if !chunk.altered_columns.is_empty() {
            let warning = format!(
                "{} of {} holds documents with dates, decimals or bytes, which JSON's text shows as strings and doubles: that is what they are after loading",
                chunk.altered_columns.join(", "),
                job.table.table.name
            );
            reports.send(Report::Warning(warning)).ok();
        }
        let files = chunk
            .files
            .into_iter()
            .map(StagedFile::commit)
            .collect::<Result<_, _>>()?;
        chunk.attempt.keep();
        log::debug!("done {}", job.doing());
        Ok(Done {
            files,
            binary_columns: chunk.binary_columns,
        })
    }

    /// Leaves the session and has it ended on the server.
    fn give_up_session(&mut self) {
        if let Some(session) = self.session.take() {
            session.abandon();
        }
    }
}

/// A large table without a key that cuts it is one chunk, whose worker would both encode and compress while others idle.
fn deserves_a_thread(shared: &Shared<'_>, job: &Job) -> bool {
    const LARGE_BYTES: u64 = 128 << 20;
    let chunk = &job.chunk;
    let is_whole = chunk.condition.is_none() && chunk.partition.is_none();
    is_whole
        && shared.files.compression != Compression::None
        && job.table.table.data_length_bytes.unwrap_or_default() >= LARGE_BYTES
}

/// Streams the rows of one chunk into staged files.
fn read(
    shared: &Shared<'_>,
    session: &mut Session,
    scratch: &mut Scratch,
    job: &Job,
) -> Result<ReadChunk, AttemptError> {
    let table = &job.table.table;
    let name = |part| {
        let part = shared.numbered_parts.then_some(part);
        shared.names.data(&table.name, job.chunk.index, part)
    };
    let mut rows = session.stream(&job.sql(), &job.doing())?;
    let columns: Vec<_> = table
        .dumped_columns()
        .zip(rows.columns())
        .map(|(name, meta)| EncodedColumn {
            name: name.to_owned(),
            kind: CellKind::of(meta),
        })
        .collect();
    let checks_start = columns.len();
    let binary_columns = columns
        .iter()
        .filter(|column| column.kind == CellKind::Binary)
        .map(|column| column.name.clone())
        .collect();
    let columns = if table.misread_in_binary && matches!(shared.format, Format::Sql(_)) {
        columns
            .into_iter()
            .map(EncodedColumn::as_hex_text)
            .collect()
    } else {
        columns
    };
    let encoder = shared.format.encoder(
        &table.name.name,
        columns,
        table.needs_column_list(),
        shared.max_allowed_packet,
    );
    let template = DataEntry {
        chunk: job.chunk.index,
        part: 0,
        lower: job.chunk.lower.clone(),
        upper: job.chunk.upper.clone(),
        condition: job.chunk.condition.clone(),
        partition: job.chunk.partition.clone(),
        rows: 0,
        digest: String::new(),
    };
    let attempt = job.table.progress.attempt();
    let files = FileOptions {
        compress_beside: deserves_a_thread(shared, job),
        ..shared.files
    };
    let mut writer = ChunkWriter::new(&files, &name, template, encoder, scratch, attempt);
    let checked = &job.table.checked_columns;
    let mut altered = vec![false; checked.len()];
    while let Some(row) = rows.next_row()? {
        writer.row(&row)?;
        for (index, altered) in altered.iter_mut().enumerate() {
            *altered |= row.cell(checks_start + index) == Some(b"0");
        }
    }
    let (files, oversized, attempt) = writer.finish()?;
    let altered = checked.iter().zip(altered).filter(|(_, altered)| *altered);
    Ok(ReadChunk {
        files,
        oversized,
        altered_columns: altered.map(|(name, _)| quote(name)).collect(),
        attempt,
        binary_columns,
    })
}
