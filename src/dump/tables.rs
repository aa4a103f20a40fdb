//! `Journey`: the steps of one run, with what they share.
//!
//! Owns the connections' lifetimes: the extra connection, the snapshot with its sessions, the reaper that outlives them all.
//! What is abandoned on failure is handed to the reaper here.

use std::time::{Duration, Instant};

use time::OffsetDateTime;

use super::config::DumpConfig;
use super::coordinator::{Coordinator, TableState};
use super::finish::{Facts, finish};
use super::job::TableJob;
use super::pipe::FileOptions;
use super::plan::Plan;
use super::pool::with_workers;
use super::query;
use super::report::DumpReport;
use super::schema::{OtherObjects, SchemaWriter};
use super::worker::Shared;
use crate::cancel::CancelToken;
use crate::catalog::ident::ObjectName;
use crate::catalog::{Catalog, Kinds, Selection};
use crate::error::Error;
use crate::manifest::names::{FileNames, is_shortened};
use crate::progress::Progress;
use crate::server::connector::Connector;
use crate::server::error::Reach;
use crate::server::extra::ExtraConnection;
use crate::server::flavor::Flavor;
use crate::server::position::Moment;
use crate::server::reaper::Reaper;
use crate::server::session::Session;
use crate::server::snapshot::{ConsistencyMode, Snapshot, SnapshotError, SnapshotRequest};
use crate::storage::Storage;

/// How often the snapshots are taken anew after connection trouble; nothing has been read by then.
const SNAPSHOT_TRIES: u32 = 5;
/// The reaper has little time, so it gives up soon.
const REAPER_TIMEOUT: Duration = Duration::from_secs(2);

/// One run.
pub struct Journey<'a> {
    config: &'a DumpConfig,
    progress: &'a Progress,
    cancel: &'a CancelToken,
    storage: &'a dyn Storage,
    connector: Connector,
    names: FileNames,
    started: OffsetDateTime,
}

/// What the server holds and which server it is.
struct Survey {
    catalog: Catalog,
    plan: Plan,
    flavor: Flavor,
    max_allowed_packet: u64,
    keep_ddl_out: bool,
    warnings: Vec<String>,
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
        Self {
            config,
            progress,
            cancel,
            storage,
            connector: Connector::new(config.connection.clone(), cancel.clone()),
            names: FileNames::new(
                config.format.extension(),
                config.compression.extension(),
                config.file_name_template.clone(),
            ),
            started,
        }
    }

    /// Plans, and reads no rows.
    pub fn dry_run(&self, clock: Instant) -> Result<DumpReport, Error> {
        let mut extra = self.extra();
        let survey = self.survey(&mut extra)?;
        let plan = survey.plan.dry_run(self.config, &mut extra)?;
        Ok(DumpReport {
            counts: self.progress.counts(),
            views: survey.catalog.table_count() as u64,
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
        let flavor = flavor(&mut extra)?;
        self.conclude(outcome, &flavor, clock)
    }

    /// Dumps tables and everything around them.
    pub fn tables(&self, clock: Instant) -> Result<DumpReport, Error> {
        let mut extra = self.extra();
        let mut survey = self.survey(&mut extra)?;
        let reaper = Reaper::start(self.uncancelled_connector());
        let outcome = if self.config.objects.data {
            self.dump_data(&mut extra, &mut survey, &reaper)
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
        reaper: &Reaper,
    ) -> Result<Outcome, Error> {
        let mut tables = self.table_states(survey);
        let (snapshot, sessions) = self.take_snapshot(extra, survey, &mut tables)?;
        let files = self.file_options();
        let shared = Shared {
            files: self.file_options(),
            names: &self.names,
            numbered_parts: self.config.file_size_bytes.is_some(),
            format: &self.config.format,
            max_allowed_packet: survey.max_allowed_packet,
            snapshot: &snapshot,
            reaper,
            retry: self.config.retry,
            cancel: self.cancel,
            progress: self.progress,
        };
        let schema = self.schema_writer(&files, &survey.catalog);
        let chunk_options = |index| survey.plan.chunk_options(self.config, index);
        let mut others = OtherObjects::default();
        let result = with_workers(&shared, sessions, |channels| {
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
            }
            .run(&channels)
        });
        let (mode, moment) = (snapshot.mode(), snapshot.moment().clone());
        let held = snapshot.abandon();
        match result.and_then(|done| done) {
            Ok(()) => Ok(Outcome {
                mode,
                moment,
                others,
                tables,
                inconsistent: std::mem::take(&mut survey.plan.inconsistent),
                warnings: std::mem::take(&mut survey.warnings),
            }),
            Err(error) => {
                for id in held {
                    reaper.end(id);
                }
                Err(error)
            }
        }
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
        let schema = self.schema_writer(&files, &survey.catalog);
        for state in &mut tables {
            if self.cancel.is_cancelled() {
                return Err(Error::Interrupted);
            }
            let (written, warnings) = schema.table(extra, &state.job.table)?;
            state.schema_files = written;
            state.job.progress.finish();
            survey.warnings.extend(warnings);
        }
        Ok(Outcome {
            mode: ConsistencyMode::None,
            moment,
            others: schema.others(extra)?,
            tables,
            inconsistent: Vec::new(),
            warnings: std::mem::take(&mut survey.warnings),
        })
    }

    /// Reads what there is and decides what is to be read, in which order.
    fn survey(&self, extra: &mut ExtraConnection) -> Result<Survey, Error> {
        let (config, objects) = (self.config, &self.config.objects);
        let flavor = flavor(extra)?;
        let wanted = &config.selection;
        let selection = Selection {
            databases: &wanted.databases,
            tables: &wanted.tables,
            may_match_database: &|database| wanted.filter.may_match_database(database),
            matches: &|database, table| wanted.filter.matches(database, table),
            kinds: Kinds {
                views: objects.views && objects.schemas,
                sequences: objects.sequences && objects.schemas,
                triggers: objects.triggers && objects.schemas,
                routines: objects.routines && objects.schemas,
                events: objects.events && objects.schemas,
            },
        };
        let mut catalog = extra
            .ask(|session| Catalog::read(session, selection))
            .map_err(|error| Error::server("reading the list of tables", error))?;
        if !catalog.unknown.is_empty() {
            let sentences: Vec<_> = catalog.unknown.iter().map(ToString::to_string).collect();
            return Err(Error::Request {
                message: sentences.join("; "),
                hint: None,
            });
        }
        let max_allowed_packet = extra
            .ask(|session| session.first("SELECT @@max_allowed_packet", "reading a limit"))
            .map_err(|error| Error::server("reading max_allowed_packet", error))?
            .and_then(|row| row.number(0))
            .unwrap_or(u64::MAX);
        let warnings = self.first_warnings(&catalog);
        let plan = Plan::new(config, &mut catalog, &flavor)?;
        Ok(Survey {
            keep_ddl_out: config.consistency.backup_lock || wanted.is_everything(),
            catalog,
            plan,
            flavor,
            max_allowed_packet,
            warnings,
        })
    }

    fn first_warnings(&self, catalog: &Catalog) -> Vec<String> {
        let unused = self.config.selection.filter.unused_rules();
        let unused = unused
            .into_iter()
            .map(|rule| format!("the filter rule {rule} matches no table"));
        let shortened = catalog
            .tables()
            .filter(|table| is_shortened(&table.name))
            .map(|table| {
                format!(
                    "the name of {} is too long for a file, so its files carry a shortened one; the manifest has the whole",
                    table.name
                )
            });
        unused.chain(shortened).collect()
    }

    fn table_states(&self, survey: &mut Survey) -> Vec<TableState> {
        let condition = self.config.where_clause.as_deref();
        std::mem::take(&mut survey.plan.tables)
            .into_iter()
            .enumerate()
            .map(|(index, table)| {
                let estimate = table.rows_estimate.unwrap_or_default();
                let name = format!("{}.{}", table.name.database, table.name.name);
                let progress = self.progress.table(name, estimate);
                TableState::new(TableJob::new(index, table, progress, condition), None)
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
                    log::warn!("{error}; trying again");
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
        outcome: Outcome,
        flavor: &Flavor,
        clock: Instant,
    ) -> Result<DumpReport, Error> {
        let views = outcome.others.tables.len() as u64;
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

    fn extra(&self) -> ExtraConnection {
        ExtraConnection::new(self.connector.clone(), self.config.retry)
    }

    fn uncancelled_connector(&self) -> Connector {
        let mut options = self.config.connection.clone();
        options.connect_timeout = options.connect_timeout.min(REAPER_TIMEOUT);
        options.read_timeout = REAPER_TIMEOUT;
        options.first_row_timeout = REAPER_TIMEOUT;
        Connector::new(options, CancelToken::new())
    }

    fn file_options(&self) -> FileOptions<'a> {
        FileOptions {
            storage: self.storage,
            compression: self.config.compression,
            file_size_bytes: self.config.file_size_bytes,
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
            catalog,
        }
    }
}

fn flavor(extra: &mut ExtraConnection) -> Result<Flavor, Error> {
    extra
        .ask(|session| Ok(session.flavor().clone()))
        .map_err(|error| Error::server("connecting to the server", error))
}

/// Finds the tables that cannot be opened; returns whether there are any new ones.
fn mark_unreadable(extra: &mut ExtraConnection, tables: &mut [TableState]) -> Result<bool, Error> {
    let mut found = false;
    for state in tables.iter_mut().filter(|state| state.failure.is_none()) {
        let name: &ObjectName = &state.job.table.name;
        let sql = format!("SELECT 1 FROM {name} LIMIT 0");
        let doing = format!("opening {name}");
        match extra.ask(|session| session.execute(&sql, &doing)) {
            Ok(()) => {}
            Err(error) if error.reach() == Reach::Table => {
                log::error!("{error}");
                state.failure = Some(error.to_string());
                found = true;
            }
            Err(error) => return Err(Error::server(&doing, error)),
        }
    }
    Ok(found)
}
