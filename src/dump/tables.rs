//! `Journey`: the steps of one run, with what they share.
//!
//! Owns the connections' lifetimes: the extra connection, the snapshot with its sessions, the reaper that outlives them all.

use std::sync::Arc;
use std::time::{Duration, Instant};

use time::OffsetDateTime;

use super::config::DumpConfig;
use super::coordinator::{Coordinator, TableState};
use super::finish::{Facts, finish};
use super::free_space;
use super::job::{Reading, TableJob};
use super::opening::{compare_with_catalog, keep_from_alters, mark_unreadable};
use super::pipe::FileOptions;
use super::pool::with_workers;
use super::query;
use super::report::DumpReport;
use super::schema::{OtherObjects, SchemaWriter};
use super::sentinel::Sentinel;
use super::survey::{self, Survey, read_catalog};
use super::throttle::Throttle;
use super::worker::Shared;
use crate::cancel::CancelToken;
use crate::catalog::Catalog;
use crate::catalog::identity;
use crate::catalog::table::TableKind;
use crate::error::Error;
use crate::format::Format;
use crate::manifest::names::FileNames;
use crate::progress::Progress;
use crate::server::connector::Connector;
use crate::server::error::{Reach, chain};
use crate::server::extra::ExtraConnection;
use crate::server::flavor::Flavor;
use crate::server::position::{BinlogState, Moment};
use crate::server::reaper::Reaper;
use crate::server::session::{RowText, Session};
use crate::server::snapshot::{ConsistencyMode, Snapshot, SnapshotError, SnapshotRequest};
use crate::storage::Storage;

/// How often the snapshots are taken anew after connection trouble; nothing has been read by then.
const SNAPSHOT_TRIES: u32 = 5;

/// One run.
pub struct Journey<'a> {
    pub(super) config: &'a DumpConfig,
    progress: &'a Progress,
    cancel: &'a CancelToken,
    pub(super) storage: &'a dyn Storage,
    connector: Connector,
    /// Waits at the end until the server has ended the sessions that were given up.
    _reaper: Reaper,
    names: FileNames,
    throttle: Throttle,
    started: OffsetDateTime,
}

/// What was dumped, before anything says that it is whole.
struct Outcome {
    mode: ConsistencyMode,
    moment: Moment,
    others: OtherObjects,
    tables: Vec<TableState>,
    inconsistent: Vec<String>,
    warnings: Vec<String>,
}

impl<'a> Journey<'a> {
    /// Nothing is opened yet.
    pub fn new(
        config: &'a DumpConfig,
        progress: &'a Progress,
        cancel: &'a CancelToken,
        storage: &'a dyn Storage,
        started: OffsetDateTime,
    ) -> Self {
        let mut connector = Connector::new(config.connection.clone(), cancel.clone())
            .reading(row_text(&config.format));
        Self {
            config,
            progress,
            cancel,
            storage,
            _reaper: connector.start_reaper(),
            connector,
            names: FileNames::new(
                config.format.extension(),
                config.compression.extension(),
                config.file_name_template.clone(),
            ),
            throttle: Throttle::new(config.max_rate, config.query.is_none(), progress, cancel),
            started,
        }
    }

    /// Plans, and reads no rows.
    pub fn dry_run(&self, clock: Instant) -> Result<DumpReport, Error> {
        let mut extra = self.extra();
        let survey = Survey::make(self.config, &mut extra)?;
        let plan = survey
            .plan
            .dry_run(self.config, &survey.flavor, &mut extra)?;
        Ok(DumpReport {
            counts: self.progress.counts(),
            views: {
                let kinds = survey.catalog.tables().map(|table| table.kind);
                kinds.filter(|kind| *kind == TableKind::View).count() as u64
            },
            output: self.storage.describe(),
            consistency: self.config.consistency.mode,
            position: None,
            duration: clock.elapsed(),
            warnings: survey.warnings,
            plan: Some(plan),
        })
    }

    /// Dumps the rows of one query.
    pub fn query(&self, query: &str, clock: Instant) -> Result<DumpReport, Error> {
        let mut extra = self.extra();
        let moment = extra
            .ask(Moment::read)
            .map_err(|error| Error::server("reading the binlog position", error))?;
        let files = self.file_options();
        let counted = self.progress.table("--sql", 0);
        let entries = query::dump(
            self.config,
            query,
            &self.connector,
            &files,
            &self.names,
            &counted,
        )?;
        let outcome = Outcome {
            mode: ConsistencyMode::None,
            moment,
            others: OtherObjects {
                files: entries,
                ..OtherObjects::default()
            },
            tables: Vec::new(),
            inconsistent: Vec::new(),
            warnings: Vec::new(),
        };
        let flavor = survey::flavor(&mut extra)?;
        self.conclude(outcome, &flavor, clock)
    }

    /// Dumps tables and everything around them.
    pub fn tables(&self, clock: Instant) -> Result<DumpReport, Error> {
        let mut extra = self.extra();
        let mut survey = Survey::make(self.config, &mut extra)?;
        let tight = free_space::check(self.config, self.storage, &survey.plan.tables)?;
        survey.warnings.extend(tight);
        let outcome = if self.config.objects.data {
            self.dump_data(&mut extra, &mut survey)
        } else {
            self.dump_schemas(&mut extra, &mut survey)
        }?;
        let failures: Vec<_> = outcome
            .tables
            .iter()
            .filter_map(|state| {
                let failure = state.failure.as_ref()?;
                Some(format!("{} ({failure})", state.job.table.name))
            })
            .collect();
        if !failures.is_empty() {
            return Err(Error::Tables { failures });
        }
        self.conclude(outcome, &survey.flavor, clock)
    }

    fn dump_data(
        &self,
        extra: &mut ExtraConnection,
        survey: &mut Survey,
    ) -> Result<Outcome, Error> {
        let mut tables = self.table_states(survey);
        let files = self.file_options();
        // Before the snapshots: what is altered between the two is found by the identities.
        self.write_schemas(extra, survey, &files, &mut tables)?;
        let (snapshot, sessions) = self.take_snapshot(extra, survey, &mut tables)?;
        log::debug!(
            "{} sessions in a snapshot by {} at {}",
            sessions.len(),
            snapshot.mode().name(),
            snapshot.moment()
        );
        if snapshot.keeps_tables() {
            keep_from_alters(extra, &tables)?;
        }
        let schema = self.schema_writer(&files, &survey.catalog);
        schema.commit_all(&mut tables)?;
        let now = read_catalog(self.config, extra)?;
        survey
            .warnings
            .extend(compare_with_catalog(&mut tables, &now));
        let shared = Shared {
            files: self.file_options(),
            names: &self.names,
            numbered_parts: self.config.file_size_bytes.is_some(),
            format: &self.config.format,
            max_allowed_packet: survey.max_allowed_packet,
            snapshot: &snapshot,
            retry: self.config.retry,
            cancel: self.cancel,
            progress: self.progress,
        };
        let chunk_options = |index| survey.plan.chunk_options(self.config, index);
        let mut others = OtherObjects::default();
        let coordinate = |channels| {
            Coordinator {
                config: self.config,
                shared: &shared,
                extra,
                tables: &mut tables,
                schema: &schema,
                others: &mut others,
                chunk_options: &chunk_options,
                locked: survey.plan.locked,
                keep_ddl_out: survey.keep_ddl_out,
                warnings: &mut survey.warnings,
                unchecked: Vec::new(),
                last_check: Instant::now(),
                check_took: Duration::ZERO,
            }
            .run(channels)
        };
        let watched = || with_workers(&shared, sessions, coordinate).and_then(|done| done);
        self.sentinel().watch(watched)?;
        let (mode, moment) = (snapshot.mode(), snapshot.moment().clone());
        Ok(Outcome {
            mode,
            moment,
            others,
            tables,
            inconsistent: std::mem::take(&mut survey.plan.inconsistent),
            warnings: std::mem::take(&mut survey.warnings),
        })
    }

    /// `--no-data`: the statements that make the objects, and nothing that needs a snapshot.
    fn dump_schemas(
        &self,
        extra: &mut ExtraConnection,
        survey: &mut Survey,
    ) -> Result<Outcome, Error> {
        let moment = extra
            .ask(Moment::read)
            .map_err(|error| Error::server("reading the binlog position", error))?;
        let mut tables = self.table_states(survey);
        let files = self.file_options();
        self.write_schemas(extra, survey, &files, &mut tables)?;
        let schema = self.schema_writer(&files, &survey.catalog);
        let others = schema.others(extra)?;
        schema.commit_all(&mut tables)?;
        for state in &tables {
            state.job.progress.finish();
        }
        Ok(Outcome {
            mode: ConsistencyMode::None,
            moment,
            others,
            tables,
            inconsistent: Vec::new(),
            warnings: std::mem::take(&mut survey.warnings),
        })
    }

    /// Writes the base tables' schema files and takes their identities. A table that cannot be read is left out and named in
    /// the end.
    fn write_schemas(
        &self,
        extra: &mut ExtraConnection,
        survey: &mut Survey,
        files: &FileOptions<'_>,
        tables: &mut [TableState],
    ) -> Result<(), Error> {
        let schema = self.schema_writer(files, &survey.catalog);
        let mut definitions = vec![None; tables.len()];
        if self.config.objects.schemas {
            for (state, definition) in tables.iter_mut().zip(&mut definitions) {
                if self.cancel.is_cancelled() {
                    return Err(Error::Interrupted);
                }
                match schema.table(extra, &state.job.table) {
                    Ok(written) => {
                        state.staged_schema = written.files;
                        *definition = Some(written.definition);
                        survey.warnings.extend(written.warnings);
                    }
                    Err(Error::Server { source, .. }) if source.reach() == Reach::Table => {
                        state.failure = Some(source.to_string());
                    }
                    Err(error) => return Err(error),
                }
            }
        }
        if !self.config.objects.data {
            return Ok(());
        }
        let jobs: Vec<_> = tables.iter().map(|state| Arc::clone(&state.job)).collect();
        let known: Vec<_> = jobs
            .iter()
            .zip(definitions)
            .map(|(job, definition)| (&job.table.name, definition))
            .collect();
        let found = extra
            .ask(|session| identity::read(session, &known))
            .map_err(|error| Error::server("reading when tables were altered", error))?;
        for (state, identity) in tables.iter_mut().zip(found) {
            state.identity = identity;
        }
        Ok(())
    }

    fn table_states(&self, survey: &mut Survey) -> Vec<TableState> {
        let condition = self.config.where_clause.as_deref();
        let reading = Reading {
            labels_by_number: matches!(self.config.format, Format::Sql(_)),
            checks_json: survey.flavor.has_binary_json(),
        };
        std::mem::take(&mut survey.plan.tables)
            .into_iter()
            .enumerate()
            .map(|(index, table)| {
                let estimate = table.rows_estimate.unwrap_or_default();
                let name = format!("{}.{}", table.name.database, table.name.name);
                let progress = self.progress.table(name, estimate);
                let job = TableJob::new(index, table, progress, condition, reading);
                TableState::new(job, None)
            })
            .collect()
    }

    /// Takes the snapshots, again if connections die meanwhile. A table that cannot even be locked is left out and named in
    /// the end.
    fn take_snapshot(
        &self,
        extra: &mut ExtraConnection,
        survey: &Survey,
        tables: &mut [TableState],
    ) -> Result<(Snapshot, Vec<Session>), Error> {
        let mut tries = 0;
        loop {
            let sound: Vec<_> = tables
                .iter()
                .filter(|state| state.failure.is_none())
                .map(|state| state.job.table.name.clone())
                .collect();
            let request = SnapshotRequest {
                options: &self.config.consistency,
                sessions: self.config.threads,
                tables: &sound,
                needs_lock: survey.plan.locked > 0,
                keep_ddl_out: survey.keep_ddl_out,
            };
            let error = match Snapshot::take(&self.connector, &request) {
                Ok(taken) => return Ok(taken),
                Err(error) => error,
            };
            tries += 1;
            let pause = self.config.retry.pause_after(tries, crate::retry::chance());
            match (&error, pause) {
                (SnapshotError::Server(cause), _) if cause.reach() == Reach::Table => {
                    if !mark_unreadable(extra, tables)? {
                        return Err(error.into());
                    }
                }
                (_, Some(pause)) if error.is_transient() && tries < SNAPSHOT_TRIES => {
                    log::warn!("{}; trying again", chain(&error));
                    if self.cancel.sleep(pause) {
                        return Err(Error::Interrupted);
                    }
                }
                _ => return Err(error.into()),
            }
        }
    }

    fn conclude(
        &self,
        mut outcome: Outcome,
        flavor: &Flavor,
        clock: Instant,
    ) -> Result<DumpReport, Error> {
        if let BinlogState::Denied(reason) = &outcome.moment.binlog {
            let warning = format!("the binlog position is not known: {reason}");
            outcome.warnings.push(warning);
        }
        let kinds = outcome.others.tables.iter().map(|(_, kind, _)| *kind);
        let views = kinds.filter(|kind| *kind == TableKind::View).count() as u64;
        let position = outcome.moment.position().map(ToString::to_string);
        let facts = Facts {
            config: self.config,
            server: flavor.to_string(),
            started: self.started,
            mode: outcome.mode,
            moment: &outcome.moment,
            inconsistent: outcome.inconsistent,
            warnings: &outcome.warnings,
        };
        finish(self.storage, &facts, outcome.others, outcome.tables)?;
        Ok(DumpReport {
            counts: self.progress.counts(),
            views,
            output: self.storage.describe(),
            consistency: outcome.mode,
            position,
            duration: clock.elapsed(),
            warnings: outcome.warnings,
            plan: None,
        })
    }

    /// Asks over a connection of its own.
    fn sentinel(&self) -> Sentinel<'_> {
        Sentinel::new(
            &self.config.watch,
            self.connector.clone(),
            &self.throttle,
            self.storage,
            self.cancel,
        )
    }

    /// How sessions are opened.
    pub(super) fn connector(&self) -> &Connector {
        &self.connector
    }

    pub(super) fn extra(&self) -> ExtraConnection {
        ExtraConnection::new(self.connector.clone(), self.config.retry)
    }

    fn file_options(&self) -> FileOptions<'_> {
        FileOptions {
            storage: self.storage,
            compression: self.config.compression,
            file_size_bytes: self.config.file_size_bytes,
            compress_beside: false,
            throttle: &self.throttle,
        }
    }

    fn schema_writer<'b>(
        &'b self,
        files: &'b FileOptions<'b>,
        catalog: &'b Catalog,
    ) -> SchemaWriter<'b> {
        SchemaWriter {
            files,
            names: &self.names,
            progress: self.progress,
            objects: self.config.objects,
            definer: &self.config.definer,
            plain_backslashes: matches!(&self.config.format, Format::Sql(o) if !o.escape_backslash),
            catalog,
        }
    }
}

/// CSV is UTF-8 for whoever reads it; SQL goes back into the same columns.
fn row_text(format: &Format) -> RowText {
    match format {
        Format::Sql(_) => RowText::Own,
        Format::Csv(_) => RowText::Utf8,
    }
}
