//! `--sql`: the rows of one query instead of tables.
//!
//! Owns a small journey of its own: one session, one statement, files `result.*`. A single statement is one point in time by
//! itself. When its connection dies, the whole query is asked again; nothing of the first answer has a name by then.

use super::config::DumpConfig;
use super::pipe::{ChunkWriter, FileOptions, Scratch, StagedFile};
use crate::catalog::column::CellKind;
use crate::error::Error;
use crate::format::EncodedColumn;
use crate::manifest::names::FileNames;
use crate::manifest::{DataEntry, FileEntry};
use crate::progress::{Attempt, TableProgress};
use crate::retry::chance;
use crate::server::connector::Connector;
use crate::server::error::ServerError;
use crate::server::session::{Purpose, Session};
use crate::storage::StorageError;

const DOING: &str = "reading the rows of --sql";

/// Why one try ended.
enum QueryError {
    Server(ServerError),
    Storage(StorageError),
    /// The statement is no query.
    NoResult,
}

impl From<ServerError> for QueryError {
    fn from(error: ServerError) -> Self {
        Self::Server(error)
    }
}

impl From<StorageError> for QueryError {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

/// Writes the rows of `query`; returns the files, which have their names.
pub fn dump(
    config: &DumpConfig,
    query: &str,
    connector: &Connector,
    files: &FileOptions<'_>,
    names: &FileNames,
    progress: &TableProgress,
) -> Result<Vec<FileEntry>, Error> {
    let mut failed = 0;
    loop {
        let error = match read(config, query, connector, files, names, progress) {
            Ok((staged, attempt)) => {
                let entries = staged
                    .into_iter()
                    .map(StagedFile::commit)
                    .collect::<Result<_, _>>()?;
                attempt.keep();
                progress.finish();
                return Ok(entries);
            }
            Err(QueryError::Storage(error)) => return Err(error.into()),
            Err(QueryError::NoResult) => {
                return Err(Error::Request {
                    message: "the statement of --sql has no result".to_owned(),
                    hint: Some("write a SELECT".to_owned()),
                });
            }
            Err(QueryError::Server(error)) => error,
        };
        failed += 1;
        let pause = config.retry.pause_after(failed, chance());
        match pause.filter(|_| error.is_transient()) {
            Some(pause) if !connector.cancel_token().sleep(pause) => {
                log::warn!("{error}; trying again");
            }
            _ => return Err(Error::server("the query of --sql", error)),
        }
    }
}

/// A dump changes nothing: what is more than one statement, or has no result, is refused before it runs (DDL would end the
/// read-only transaction by itself), and the server refuses what writes.
fn confine(session: &mut Session, query: &str) -> Result<(), QueryError> {
    if !session.has_result(query, DOING)? {
        return Err(QueryError::NoResult);
    }
    match session.execute("START TRANSACTION READ ONLY", DOING) {
        // TiDB has no such transactions.
        Err(error @ ServerError::Statement { .. }) if !error.is_transient() => {
            log::debug!("{error}");
            Ok(())
        }
        started => Ok(started?),
    }
}

fn read(
    config: &DumpConfig,
    query: &str,
    connector: &Connector,
    files: &FileOptions<'_>,
    names: &FileNames,
    progress: &TableProgress,
) -> Result<(Vec<StagedFile>, Attempt), QueryError> {
    let mut session = connector.open(Purpose::Rows)?;
    confine(&mut session, query)?;
    let mut rows = session.stream(query, DOING)?;
    let columns = rows
        .columns()
        .iter()
        .map(|meta| EncodedColumn {
            name: String::from_utf8_lossy(&meta.name).into_owned(),
            kind: CellKind::of(meta),
        })
        .collect();
    // A query names no table; CSV needs none.
    let encoder = config.format.encoder("result", columns, false, u64::MAX);
    let origin = DataEntry {
        chunk: 0,
        part: 0,
        lower: None,
        upper: None,
        condition: None,
        partition: None,
        rows: 0,
        digest: String::new(),
    };
    let mut scratch = Scratch::default();
    let name = |part| names.result(part);
    let mut writer = ChunkWriter::new(
        files,
        &name,
        origin,
        encoder,
        &mut scratch,
        progress.attempt(),
    );
    while let Some(row) = rows.next_row()? {
        writer.row(&row)?;
    }
    let (staged, _, attempt) = writer.finish()?;
    Ok((staged, attempt))
}
