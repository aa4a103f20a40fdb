//! The rows of a dump against those of a server, chunk by chunk.
//!
//! Owns the comparison: each chunk's rows are read again and written as the dump wrote them, and the sums of their hashes are
//! compared, so the order does not matter. A chunk that had no row has no file, so the number of all rows is compared too. What
//! differs in a chunk `keys.rs` tells. A connection that dies costs its chunk another try; nothing is locked, so a server that
//! is written to meanwhile differs.

use std::collections::{BTreeMap, HashMap};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use xxhash_rust::xxh3::xxh3_64;

use super::config::VerifyConfig;
use super::keys;
use crate::cancel::CancelToken;
use crate::catalog::column::CellKind;
use crate::catalog::ident::{ObjectName, quote};
use crate::catalog::table::{Table, TableKind};
use crate::catalog::{Catalog, Kinds, Selection, history, select};
use crate::error::Error;
use crate::format::{CsvOptions, EncodedColumn, Encoder, Format, SqlOptions};
use crate::manifest::source::{DumpFile, Source};
use crate::manifest::{Manifest, TableEntry};
use crate::progress::Progress;
use crate::retry::chance;
use crate::server::ConnectOptions;
use crate::server::connector::Connector;
use crate::server::error::{ServerError, chain};
use crate::server::extra::ExtraConnection;
use crate::server::rows::Row;
use crate::server::session::{Purpose, RowText, Session};

/// The rows of one chunk, or of a whole table whose manifest does not tell its chunks.
pub struct Piece<'a> {
    /// The table on the server.
    pub table: &'a Table,
    /// Its chunk; `None` for all.
    chunk: Option<u64>,
    condition: Option<&'a str>,
    partition: Option<&'a str>,
    /// Its files.
    pub files: Vec<&'a DumpFile>,
    rows: u64,
    digest: u128,
}

/// Compares.
pub struct Comparison<'a> {
    connector: Connector,
    config: &'a VerifyConfig,
    /// The dump.
    pub source: &'a Source,
    manifest: &'a Manifest,
    cancel: &'a CancelToken,
    progress: &'a Progress,
    /// How the dump is written.
    pub format: Format,
}

impl<'a> Comparison<'a> {
    /// Nothing is connected to yet.
    pub fn new(
        options: &ConnectOptions,
        config: &'a VerifyConfig,
        source: &'a Source,
        manifest: &'a Manifest,
        progress: &'a Progress,
        cancel: &'a CancelToken,
    ) -> Self {
        let format = format_of(manifest);
        let text = match format {
            Format::Sql(_) => RowText::Own,
            Format::Csv(_) => RowText::Utf8,
        };
        Self {
            connector: Connector::new(options.clone(), cancel.clone()).reading(text),
            config,
            source,
            manifest,
            cancel,
            progress,
            format,
        }
    }

    /// The server in words.
    pub fn server(&self) -> String {
        self.connector.server()
    }

    /// Everything that differs.
    pub fn differences(&self) -> Result<Vec<String>, Error> {
        let mut extra = ExtraConnection::new(self.connector.clone(), self.config.retry);
        let catalog = self.catalog(&mut extra)?;
        let there: HashMap<&ObjectName, &Table> = catalog
            .tables()
            .filter(|table| table.kind == TableKind::Base)
            .map(|table| (&table.name, table))
            .collect();
        let mut found = Vec::new();
        let mut pieces = Vec::new();
        let mut totals = Vec::new();
        for entry in self.manifest.tables.iter().filter(|e| e.kind == "table") {
            let name = self.target(entry);
            let Some(table) = there.get(&name) else {
                found.push(format!("table {name} is not on {}", self.server()));
                continue;
            };
            pieces.extend(self.pieces(entry, table));
            totals.push((*table, entry.rows));
        }
        let differing = self.compare_all(&pieces)?;
        for (table, rows) in totals {
            // Where a chunk differs, the number says nothing new.
            if differing
                .iter()
                .any(|(index, _)| pieces[*index].table.name == table.name)
            {
                continue;
            }
            let sql = format!(
                "SELECT COUNT(*) FROM {}{}",
                table.name,
                self.conditions(None)
            );
            let doing = format!("counting the rows of {}", table.name);
            let count = extra
                .ask(|session| session.first(&sql, &doing))
                .map_err(|source| Error::server(&doing, source))?;
            let count = count.and_then(|row| row.number(0)).unwrap_or_default();
            if count != rows && table.history.is_none() {
                found.push(format!(
                    "table {} has {count} rows on the server and {rows} in the dump",
                    table.name
                ));
            }
        }
        found.extend(differing.into_iter().map(|(_, text)| text));
        Ok(found)
    }

    fn catalog(&self, extra: &mut ExtraConnection) -> Result<Catalog, Error> {
        let mut databases: Vec<String> = self
            .manifest
            .tables
            .iter()
            .map(|entry| self.target(entry).database)
            .collect();
        databases.sort();
        databases.dedup();
        let selection = Selection {
            databases: &databases,
            tables: &[],
            may_match_database: &|_| true,
            matches: &|_, _| true,
            kinds: Kinds {
                views: false,
                sequences: false,
                triggers: false,
                routines: false,
                events: false,
            },
        };
        let with_history = matches!(&self.format, Format::Sql(options) if options.history);
        let read = extra.ask(|session| {
            let mut catalog = Catalog::read(session, selection)?;
            if with_history {
                for database in &mut catalog.databases {
                    history::mark(session, &mut database.tables)?;
                }
            }
            Ok(catalog)
        });
        read.map_err(|error| Error::server("reading the list of tables", error))
    }

    fn target(&self, entry: &TableEntry) -> ObjectName {
        let database = self.config.database.as_ref().unwrap_or(&entry.database);
        ObjectName::new(database, &entry.name)
    }

    /// The chunks of a table, each with all of its files.
    fn pieces<'t>(&'t self, entry: &'t TableEntry, table: &'t Table) -> Vec<Piece<'t>> {
        let files: Vec<&DumpFile> = self
            .source
            .files
            .iter()
            .filter(|file| {
                let of_table = file.table();
                of_table.is_some_and(|t| t.database == entry.database && t.name == entry.name)
            })
            .collect();
        let data = |file: &DumpFile| file.expected.as_ref().and_then(|e| e.data.clone());
        let entries: Vec<_> = entry.files.iter().filter_map(|f| f.data.as_ref()).collect();
        // A manifest that does not tell which rows a chunk has tells the table's sum alone.
        let is_cut = entries.len() < 2
            || entries
                .iter()
                .all(|data| data.condition.is_some() || data.partition.is_some());
        let mut pieces: BTreeMap<u64, Piece<'t>> = BTreeMap::new();
        for data in entries {
            let chunk = if is_cut { data.chunk } else { 0 };
            let piece = pieces.entry(chunk).or_insert_with(|| Piece {
                table,
                chunk: is_cut.then_some(chunk),
                condition: data.condition.as_deref().filter(|_| is_cut),
                partition: data.partition.as_deref().filter(|_| is_cut),
                files: Vec::new(),
                rows: 0,
                digest: 0,
            });
            piece.rows += data.rows;
            let digest = u128::from_str_radix(&data.digest, 16).unwrap_or_default();
            piece.digest = piece.digest.wrapping_add(digest);
        }
        for file in files {
            if let Some(data) = data(file)
                && let Some(piece) = pieces.get_mut(&if is_cut { data.chunk } else { 0 })
            {
                piece.files.push(file);
            }
        }
        pieces.into_values().collect()
    }

    /// Compares all pieces, several at the same time; what differs, by the order of the pieces.
    fn compare_all(&self, pieces: &[Piece<'_>]) -> Result<Vec<(usize, String)>, Error> {
        let next = AtomicUsize::new(0);
        let found: Mutex<Vec<(usize, String)>> = Mutex::default();
        let failed: Mutex<Option<Error>> = Mutex::default();
        let work = || {
            let mut session = None;
            loop {
                let index = next.fetch_add(1, Ordering::Relaxed);
                let Some(piece) = pieces.get(index).filter(|_| !self.cancel.is_cancelled()) else {
                    return;
                };
                match self.try_piece(&mut session, piece) {
                    Ok(None) => {}
                    Ok(Some(text)) => found
                        .lock()
                        .unwrap_or_else(PoisonError::into_inner)
                        .push((index, text)),
                    Err(error) => {
                        next.store(pieces.len(), Ordering::Relaxed);
                        let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                        failed.get_or_insert(error);
                        return;
                    }
                }
            }
        };
        std::thread::scope(|scope| {
            for _ in 0..self.config.threads.min(pieces.len()) {
                scope.spawn(work);
            }
        });
        if self.cancel.is_cancelled() {
            return Err(Error::Interrupted);
        }
        if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
            return Err(error);
        }
        let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
        found.sort();
        Ok(found)
    }

    fn try_piece(
        &self,
        session: &mut Option<Session>,
        piece: &Piece<'_>,
    ) -> Result<Option<String>, Error> {
        let mut failed = 0;
        loop {
            let error = match self.compare(session, piece) {
                Ok(text) => return Ok(text),
                Err(Failure::Dump(error)) => return Err(error),
                Err(Failure::Server(error)) => error,
            };
            *session = None;
            failed += 1;
            let pause = self.config.retry.pause_after(failed, chance());
            match pause.filter(|_| error.is_transient()) {
                Some(pause) if !self.cancel.sleep(pause) => {
                    log::warn!("{}; trying again", chain(&error));
                    self.progress.add_retry();
                }
                _ => {
                    let what = format!("comparing {}", piece.table.name);
                    return Err(Error::server(&what, error));
                }
            }
        }
    }

    fn compare(
        &self,
        session: &mut Option<Session>,
        piece: &Piece<'_>,
    ) -> Result<Option<String>, Failure> {
        let session = match session {
            Some(session) => session,
            None => session.insert(self.connector.open(Purpose::Rows)?),
        };
        let (mut rows, mut digest) = (0_u64, 0_u128);
        self.read(session, piece, |_, text| {
            rows += 1;
            digest = digest.wrapping_add(u128::from(xxh3_64(text)));
        })?;
        if (rows, digest) == (piece.rows, piece.digest) {
            return Ok(None);
        }
        let place = match piece.chunk {
            Some(chunk) => format!("table {} differs in chunk {chunk}", piece.table.name),
            None => format!("table {} differs", piece.table.name),
        };
        let numbers = format!("{} rows in the dump, {rows} on the server", piece.rows);
        let first = keys::first_differing(self, session, piece)?;
        Ok(Some(format!("{place}: {numbers}{first}")))
    }

    /// Reads the rows of a piece, each as cells and as the text that the dump has for it.
    pub fn read(
        &self,
        session: &mut Session,
        piece: &Piece<'_>,
        mut each: impl FnMut(&Row<'_>, &[u8]),
    ) -> Result<(), ServerError> {
        let table = piece.table;
        let expressions = select::expressions(table, matches!(self.format, Format::Sql(_)));
        let partition = match piece.partition {
            Some(name) => format!(" PARTITION ({})", quote(name)),
            None => String::new(),
        };
        let history = match &table.history {
            Some(_) => " FOR SYSTEM_TIME ALL",
            None => "",
        };
        let sql = format!(
            "SELECT /*!40001 SQL_NO_CACHE */ {} FROM {}{partition}{history}{}",
            expressions.join(", "),
            table.name,
            self.conditions(piece.condition)
        );
        let mut rows = session.stream(&sql, &format!("reading {}", table.name))?;
        let metas = rows.columns();
        let columns: Vec<_> = table
            .dumped_columns()
            .zip(metas)
            .map(|(name, meta)| EncodedColumn {
                name: name.to_owned(),
                kind: CellKind::of(meta),
            })
            .map(|column| match (&self.format, table.misread_in_binary) {
                (Format::Sql(_), true) => column.as_hex_text(),
                _ => column,
            })
            .collect();
        let mut encoder = self.encoder(table, columns);
        let mut text = Vec::new();
        while let Some(row) = rows.next_row()? {
            text.clear();
            let place = encoder.row(&row, &mut text).text;
            each(&row, &text[place]);
        }
        Ok(())
    }

    fn encoder(&self, table: &Table, columns: Vec<EncodedColumn>) -> Box<dyn Encoder> {
        let named = table.needs_column_list();
        self.format
            .encoder(&table.name.name, columns, named, u64::MAX)
    }

    fn conditions(&self, chunk: Option<&str>) -> String {
        let user = self.manifest.where_clause.iter();
        let terms: Vec<String> = user
            .map(|condition| format!("({condition}\n)"))
            .chain(chunk.map(|condition| format!("({condition})")))
            .collect();
        match terms.as_slice() {
            [] => String::new(),
            terms => format!(" WHERE {}", terms.join(" AND ")),
        }
    }
}

/// Why a piece could not be compared.
pub enum Failure {
    /// The server.
    Server(ServerError),
    /// The dump.
    Dump(Error),
}

impl From<ServerError> for Failure {
    fn from(error: ServerError) -> Self {
        Self::Server(error)
    }
}

fn format_of(manifest: &Manifest) -> Format {
    if manifest.format == "csv" {
        let binary = manifest.csv_binary();
        return Format::Csv(CsvOptions {
            binary,
            ..manifest.csv_options()
        });
    }
    let dialect = manifest.dialect.as_ref();
    Format::Sql(SqlOptions {
        statement_size_bytes: 1,
        escape_backslash: dialect.is_none_or(|dialect| dialect.escape_backslash),
        complete_insert: false,
        history: dialect.is_some_and(|dialect| dialect.history),
    })
}
