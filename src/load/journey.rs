//! `Journey`: the steps of one load, with what they share.
//!
//! Owns the connections' lifetimes and the decision what becomes of everything that was there before: the target is looked at
//! once, before anything is written, and what an interrupted load of the same dump had made counts as its own.

use std::collections::{HashSet, VecDeque};

use xxhash_rust::xxh3::xxh3_128;

use super::checkpoint::{Checkpoint, Done};
use super::config::{Existing, LoadConfig};
use super::definitions::{Definitions, Earlier, Task, reset};
use super::indexes::split;
use super::line::{Line, Lines};
use super::plan::{DatabasePlan, Plan, TablePlan};
use super::pool::{Job, work};
use super::rows::{RowLoader, TableRows};
use super::script::Script;
use super::target::{Survey, exists};
use crate::cancel::CancelToken;
use crate::catalog::ident::{ObjectName, quote};
use crate::error::Error;
use crate::format::statement::{ObjectKind, Statement};
use crate::manifest::layout::Role;
use crate::manifest::source::{DumpFile, Source};
use crate::progress::Progress;
use crate::server::connector::Connector;
use crate::server::error::ServerError;
use crate::server::reaper::Reaper;
use crate::server::session::Session;

/// One run.
pub struct Journey<'a> {
    pub(super) config: &'a LoadConfig,
    pub(super) source: &'a Source,
    progress: &'a Progress,
    lines: Lines<'a>,
    /// Waits at the end until the server has ended the sessions that were given up.
    _reaper: Reaper,
}

/// What was found out before anything was written.
pub(super) struct Opening {
    pub(super) survey: Survey,
    pub(super) checkpoint: Checkpoint,
    /// What an interrupted load had done.
    pub(super) done: Done,
    /// Files of an interrupted load that is forgotten: what they made is dropped.
    pub(super) forgotten: Done,
}

impl<'a> Journey<'a> {
    /// Nothing is opened yet.
    pub fn new(
        config: &'a LoadConfig,
        source: &'a Source,
        progress: &'a Progress,
        cancel: &'a CancelToken,
    ) -> Self {
        let mut connector = Connector::new(config.connection.clone(), cancel.clone());
        let reaper = connector.start_reaper();
        let mut settings = Vec::new();
        if config.skip_binlog {
            settings.push("SET SESSION sql_log_bin=0".to_owned());
        }
        Self {
            config,
            source,
            progress,
            lines: Lines::new(connector, config.retry, cancel, progress, settings),
            _reaper: reaper,
        }
    }

    /// The target in words.
    pub fn target(&self) -> String {
        self.lines.connector.server()
    }

    /// Loads the plan. Returns whether an interrupted load was continued, and what the user ought to know.
    pub fn load(&self, plan: &Plan) -> Result<(bool, Vec<String>), Error> {
        let mut line = self.lines.line();
        let opening = self.open(&mut line, plan)?;
        self.refuse_conflicts(&mut line, plan, &opening)?;
        for database in &plan.databases {
            self.create_database(&mut line, plan, database, &opening)?;
        }
        let made = line.keep_trying(|session, _| opening.checkpoint.create(session));
        made.map_err(|(error, _)| Error::server("making the checkpoint", error))?;
        self.define(&mut line, plan, &opening, |role| role < Role::SqlData)?;
        self.load_rows(&mut line, plan, &opening)?;
        self.add_indexes(&mut line, plan, &opening)?;
        self.define(&mut line, plan, &opening, |role| role > Role::CsvData)?;
        self.set_gtid(&mut line)?;
        let removed = line.keep_trying(|session, _| opening.checkpoint.remove(session));
        removed.map_err(|(error, _)| Error::server("removing the checkpoint", error))?;
        Ok((!opening.done.is_empty(), Vec::new()))
    }

    fn open(&self, line: &mut Line<'_>, plan: &Plan) -> Result<Opening, Error> {
        let names: Vec<String> = plan
            .databases
            .iter()
            .map(|database| plan.target(&database.name).to_owned())
            .collect();
        let home = self.config.checkpoint_database.as_ref().or(names.first());
        let Some(home) = home else {
            return Err(Error::Request {
                message: "there is no database for the checkpoint".to_owned(),
                hint: Some("name one by --checkpoint-db".to_owned()),
            });
        };
        let checkpoint = Checkpoint::new(home, plan.identity.clone());
        let found = line.keep_trying(|session, _| {
            let survey = Survey::make(session, &names)?;
            let mut done = checkpoint.read(session)?;
            let mut forgotten = Done::default();
            if self.config.restart && !done.is_empty() {
                checkpoint.remove(session)?;
                forgotten = std::mem::take(&mut done);
            }
            Ok::<_, ServerError>((survey, done, forgotten))
        });
        let (survey, done, forgotten) =
            found.map_err(|(error, _)| Error::server("looking at the target", error))?;
        if !done.is_empty() {
            log::info!("an interrupted load of this dump is continued");
        }
        Ok(Opening {
            survey,
            checkpoint,
            done,
            forgotten,
        })
    }

    /// A database that is there stays as it is. One that comes into being while its statement's connection dies is ours: it was
    /// not there before.
    fn create_database(
        &self,
        line: &mut Line<'_>,
        plan: &Plan,
        database: &DatabasePlan,
        opening: &Opening,
    ) -> Result<(), Error> {
        let target = plan.target(&database.name);
        if opening.survey.databases.contains(target) {
            return Ok(());
        }
        let script = match &database.file {
            Some(file) => Script::read(self.source, file, self.config.trust)?,
            None => Script { steps: Vec::new() },
        };
        let name = ObjectName::new("", target);
        let made = line.keep_trying(|session, attempt| {
            if attempt > 1 && exists(session, ObjectKind::Database, &name)? {
                return Ok(());
            }
            reset(session, "")?;
            let doing = format!("making database {}", quote(target));
            let mut created = false;
            for step in &script.steps {
                if let Statement::Create { name, .. } = &step.statement {
                    let (from, to) = name.place;
                    let head = &step.sql[..from];
                    let sql = [head, quote(target).as_bytes(), &step.sql[to..]].concat();
                    session.run(&sql, &doing)?;
                    created = true;
                } else {
                    session.run(&step.sql, &doing)?;
                }
            }
            if !created {
                session.execute(&format!("CREATE DATABASE {}", quote(target)), &doing)?;
            }
            Ok::<_, ServerError>(())
        });
        made.map_err(|(error, _)| Error::server(&format!("database {}", quote(target)), error))
    }

    /// Sends the schema files of some roles.
    fn define(
        &self,
        line: &mut Line<'_>,
        plan: &Plan,
        opening: &Opening,
        wanted: impl Fn(Role) -> bool,
    ) -> Result<(), Error> {
        let definitions = Definitions {
            checkpoint: &opening.checkpoint,
            done: &opening.done,
            shape: &|sql| {
                if self.config.defer_indexes {
                    split(sql).create
                } else {
                    sql.to_vec()
                }
            },
        };
        for file in plan.definitions.iter().filter(|file| wanted(file.role)) {
            if self.lines.cancel.is_cancelled() {
                return Err(Error::Interrupted);
            }
            if self.stays(plan, opening, file) {
                continue;
            }
            let script = Script::read(self.source, file, self.config.trust)?;
            let earlier = |session: &mut Session, kind: ObjectKind, name: &ObjectName| {
                self.earlier(session, opening, file, kind, name)
            };
            let task = Task {
                file,
                script: &script,
                database: plan.target(&file.database),
                earlier: &earlier,
            };
            definitions.send(line, &task)?;
            self.progress.add_file(0, file.stored_bytes);
        }
        Ok(())
    }

    /// Whether a file is passed over, because its table, view or sequence is there and is to stay.
    fn stays(&self, plan: &Plan, opening: &Opening, file: &DumpFile) -> bool {
        let Some(name) = file.table() else {
            return false;
        };
        self.config.existing == Existing::Skip
            && opening
                .survey
                .tables
                .contains_key(&plan.target_table(&name))
            && !was_made_by_us(plan, opening, &name)
    }

    fn earlier(
        &self,
        session: &mut Session,
        opening: &Opening,
        file: &DumpFile,
        kind: ObjectKind,
        name: &ObjectName,
    ) -> Result<Earlier, ServerError> {
        let is_of_schema = file.object.is_some() && file.role != Role::Trigger;
        let is_there = if is_of_schema {
            // What a view's stand-in was, its own file has dropped by now.
            file.role != Role::View && opening.survey.tables.contains_key(name)
        } else {
            exists(session, kind, name)?
        };
        if !is_there {
            return Ok(Earlier::Absent);
        }
        if opening.forgotten.has_notes(&file.name) {
            return Ok(Earlier::Dropped);
        }
        let is_view = opening.survey.tables.get(name).is_some_and(|t| t.is_view);
        Ok(match self.config.existing {
            // What appeared since nobody was there is not ours: the server will refuse the statement.
            Existing::Fail => Earlier::Absent,
            Existing::Skip => Earlier::Stays,
            Existing::Drop => Earlier::Dropped,
            Existing::Truncate if file.role == Role::Table && !is_view => Earlier::Emptied,
            Existing::Truncate => Earlier::Dropped,
        })
    }

    fn load_rows(&self, line: &mut Line<'_>, plan: &Plan, opening: &Opening) -> Result<(), Error> {
        let tables: Vec<&TablePlan> = plan
            .tables
            .iter()
            .filter(|table| {
                let is_there = opening
                    .survey
                    .tables
                    .contains_key(&plan.target_table(&table.name));
                let is_ours = was_made_by_us(plan, opening, &table.name)
                    || !self.config.schemas && !opening.done.is_empty();
                self.config.existing != Existing::Skip || !is_there || is_ours
            })
            .collect();
        let databases: HashSet<String> = tables
            .iter()
            .map(|table| plan.target(&table.name.database).to_owned())
            .collect();
        let databases: Vec<String> = databases.into_iter().collect();
        let survey = line.keep_trying(|session, _| Survey::make(session, &databases));
        let survey = survey.map_err(|(error, _)| Error::server("looking at the target", error))?;
        if !self.config.schemas && self.config.existing == Existing::Truncate {
            empty(line, plan, opening, &tables)?;
        }
        let loader = RowLoader {
            source: self.source,
            checkpoint: &opening.checkpoint,
            done: &opening.done,
            max_transaction_bytes: self.config.max_transaction_bytes,
            longest_statement: survey.max_allowed_packet,
            trust: self.config.trust,
        };
        let rows: Vec<TableRows<'_>> = tables
            .iter()
            .map(|table| {
                let shown = format!("{}.{}", table.name.database, table.name.name);
                let name = plan.target_table(&table.name);
                TableRows {
                    is_transactional: survey.is_transactional(&name),
                    name,
                    files: &table.files,
                    progress: self.progress.table(shown, table.rows),
                }
            })
            .collect();
        let mut jobs = VecDeque::new();
        for table in &rows {
            if table.is_transactional {
                let files = table.files.iter().map(Some);
                jobs.extend(files.map(|file| Job { table, file }));
            } else {
                jobs.push_back(Job { table, file: None });
            }
        }
        work(&self.lines, &loader, jobs, self.config.threads)?;
        for table in &rows {
            table.progress.finish();
        }
        Ok(())
    }
}

impl Opening {
    /// Whether an interrupted load of this dump noted anything of a file.
    pub(super) fn knows(&self, file: &str) -> bool {
        self.done.has_notes(file) || self.forgotten.has_notes(file)
    }
}

/// Whether an interrupted load of this dump made the table, view or sequence.
pub(super) fn was_made_by_us(plan: &Plan, opening: &Opening, name: &ObjectName) -> bool {
    let files = plan.definitions.iter();
    let mut own =
        files.filter(|file| file.role != Role::Trigger && file.table().as_ref() == Some(name));
    own.any(|file| opening.knows(&file.name))
}

/// `--no-schemas --existing truncate`.
fn empty(
    line: &mut Line<'_>,
    plan: &Plan,
    opening: &Opening,
    tables: &[&TablePlan],
) -> Result<(), Error> {
    for table in tables {
        let target = plan.target_table(&table.name);
        // No file is called so: it would have to hold a slash.
        let note = format!("empty/{:032x}", xxh3_128(target.to_string().as_bytes()));
        if opening.done.has_notes(&note) {
            continue;
        }
        let emptied = line.keep_trying(|session, _| {
            reset(session, "")?;
            let sql = format!("TRUNCATE TABLE {target}");
            session.execute(&sql, &format!("emptying {target}"))?;
            opening.checkpoint.note(session, &note, 1)
        });
        emptied.map_err(|(error, _)| Error::server(&format!("emptying {target}"), error))?;
    }
    Ok(())
}
