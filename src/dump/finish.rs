//! The end of a dump: everything synced, then `metadata`, then `manifest.json`.
//!
//! Owns the order of the last steps and the assembly of the manifest from what the tables became. A dump with a failed table
//! has no manifest.

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;
use time::macros::format_description;

use super::config::DumpConfig;
use super::coordinator::TableState;
use super::schema::OtherObjects;
use crate::catalog::table::TableKind;
use crate::error::Error;
use crate::format::{CsvBinary, Format};
use crate::manifest::{
    BinaryColumn, Consistency, Dialect, FORMAT_VERSION, FileEntry, MANIFEST_NAME, METADATA_NAME,
    Manifest, PositionEntry, TableEntry, metadata,
};
use crate::server::position::{BinlogState, Moment};
use crate::server::snapshot::ConsistencyMode;
use crate::storage::Storage;

/// What the manifest says of a dump beside its files.
pub struct Facts<'a> {
    /// What was asked for.
    pub config: &'a DumpConfig,
    /// The server's kind and version.
    pub server: String,
    /// When the run began.
    pub started: OffsetDateTime,
    /// The mode that was reached.
    pub mode: ConsistencyMode,
    /// The point in time.
    pub moment: &'a Moment,
    /// Tables read without snapshot and lock.
    pub inconsistent: Vec<String>,
    /// What the user ought to know.
    pub warnings: &'a [String],
}

/// Makes everything durable and writes the two files that say so.
pub fn finish(
    storage: &dyn Storage,
    facts: &Facts<'_>,
    others: OtherObjects,
    tables: Vec<TableState>,
) -> Result<(), Error> {
    storage.sync()?;
    let finished = OffsetDateTime::now_utc();
    let text = metadata::text(facts.moment, &plain(facts.started), &plain(finished));
    storage.put(METADATA_NAME, text.as_bytes())?;
    let manifest = manifest(facts, finished, others, tables);
    let mut json = serde_json::to_vec_pretty(&manifest).map_err(|error| Error::Request {
        message: format!("the manifest could not be written as JSON: {error}"),
        hint: None,
    })?;
    json.push(b'\n');
    storage.put(MANIFEST_NAME, &json)?;
    Ok(())
}

fn manifest(
    facts: &Facts<'_>,
    finished: OffsetDateTime,
    others: OtherObjects,
    tables: Vec<TableState>,
) -> Manifest {
    let binary = binary_encoding(&facts.config.format);
    let mut entries: Vec<_> = tables
        .into_iter()
        .map(|table| table_entry(table, binary))
        .collect();
    entries.extend(others.tables.into_iter().map(|(name, kind, files)| {
        TableEntry {
            database: name.database,
            name: name.name,
            kind: match kind {
                TableKind::Base => "table",
                TableKind::View => "view",
                TableKind::Sequence => "sequence",
            }
            .to_owned(),
            binary_columns: Vec::new(),
            rows: 0,
            digest: digest(0),
            identity: None,
            files,
        }
    }));
    entries.sort_by(|a, b| (&a.database, &a.name).cmp(&(&b.database, &b.name)));
    Manifest {
        format_version: FORMAT_VERSION,
        tool: concat!("rdump ", env!("CARGO_PKG_VERSION")).to_owned(),
        server: facts.server.clone(),
        started: stamp(facts.started),
        finished: stamp(finished),
        consistency: Consistency {
            mode: facts.mode.name().to_owned(),
            position: position(facts.moment),
            inconsistent_tables: facts.inconsistent.clone(),
        },
        format: facts.config.format.extension().to_owned(),
        compression: facts.config.compression.to_string(),
        dialect: Some(Dialect::of(&facts.config.format)),
        where_clause: facts.config.where_clause.clone(),
        files: others.files,
        tables: entries,
        warnings: facts.warnings.to_vec(),
    }
}

fn table_entry(state: TableState, binary: Option<&str>) -> TableEntry {
    let place = |file: &FileEntry| file.data.as_ref().map(|data| (data.chunk, data.part));
    let mut data_files = state.data_files;
    data_files.sort_by_key(place);
    let parts = || data_files.iter().filter_map(|file| file.data.as_ref());
    let rows = parts().map(|data| data.rows).sum();
    let sum = parts()
        .filter_map(|data| u128::from_str_radix(&data.digest, 16).ok())
        .fold(0, u128::wrapping_add);
    let table = &state.job.table;
    TableEntry {
        database: table.name.database.clone(),
        name: table.name.name.clone(),
        kind: "table".to_owned(),
        binary_columns: state
            .binary_columns
            .into_iter()
            .filter_map(|name| {
                binary.map(|encoding| BinaryColumn {
                    name,
                    encoding: encoding.to_owned(),
                })
            })
            .collect(),
        rows,
        digest: digest(sum),
        identity: state.identity.map(|identity| identity.to_string()),
        files: state.schema_files.into_iter().chain(data_files).collect(),
    }
}

fn binary_encoding(format: &Format) -> Option<&'static str> {
    match format {
        Format::Sql(_) => None,
        Format::Csv(options) => Some(match options.binary {
            CsvBinary::Hex => "hex",
            CsvBinary::Base64 => "base64",
            CsvBinary::Raw => "raw",
        }),
    }
}

fn digest(sum: u128) -> String {
    format!("{sum:032x}")
}

fn position(moment: &Moment) -> PositionEntry {
    match &moment.binlog {
        BinlogState::At(position) => PositionEntry::Known {
            file: position.file.clone(),
            offset: position.offset,
            gtid: position.gtid.clone(),
        },
        BinlogState::Off => PositionEntry::BinlogOff,
        BinlogState::Denied(reason) => PositionEntry::Denied {
            reason: reason.clone(),
        },
    }
}

/// `2026-01-02T03:04:05Z`
fn stamp(time: OffsetDateTime) -> String {
    let whole = time.replace_nanosecond(0).unwrap_or(time);
    whole.format(&Rfc3339).unwrap_or_default()
}

/// `2026-01-02 03:04:05`, as Dumpling writes it, but always UTC.
fn plain(time: OffsetDateTime) -> String {
    let format = format_description!("[year]-[month]-[day] [hour]:[minute]:[second]");
    time.format(format).unwrap_or_default()
}
