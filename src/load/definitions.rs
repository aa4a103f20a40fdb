//! `Definitions`: schema files, statement by statement, each CREATE once.
//!
//! Owns what is done when a connection dies in between: a CREATE is noted in the checkpoint before it is sent, so that one that
//! is there afterwards is ours, and one that is not is sent again. Settings are sent again with every try. What becomes of
//! objects that were there before is decided by the journey.

use super::checkpoint::{Checkpoint, Done};
use super::line::{Line, Transience};
use super::script::{Script, Step};
use super::target::exists;
use crate::catalog::ident::{ObjectName, quote};
use crate::error::Error;
use crate::format::statement::{Name, ObjectKind, Statement};
use crate::manifest::layout::Role;
use crate::manifest::source::DumpFile;
use crate::server::error::{ServerError, chain};
use crate::server::session::Session;

/// Codes of a server that finds a definition done already: they count as success for a statement that was noted before.
pub const DONE_ALREADY: [u16; 16] = [
    1007, 1008, 1050, 1051, 1054, 1060, 1061, 1068, 1091, 1176, 1304, 1359, 1507, 1517, 1826, 1831,
];

/// What every session is told before a file: what a file leaves unsaid must not depend on the one before.
pub const RESET: &str = "SET NAMES utf8mb4, time_zone='+00:00', foreign_key_checks=0, unique_checks=0, \
     sql_mode='NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'";

/// What becomes of an object that is there and was not made by this load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Earlier {
    /// There is none.
    Absent,
    /// It stays, and its statement is not sent.
    Stays,
    /// It is dropped first.
    Dropped,
    /// It loses its rows, and its statement is not sent.
    Emptied,
}

/// Sends schema files.
pub struct Definitions<'a> {
    /// What was done so far by this load, and is noted.
    pub checkpoint: &'a Checkpoint,
    /// What an interrupted load had done.
    pub done: &'a Done,
    /// Changes a CREATE TABLE before it is sent.
    pub shape: &'a dyn Fn(&[u8]) -> Vec<u8>,
}

/// A statement that failed.
#[derive(Debug)]
pub struct StepError {
    number: Option<u64>,
    source: ServerError,
}

impl From<ServerError> for StepError {
    fn from(source: ServerError) -> Self {
        Self {
            number: None,
            source,
        }
    }
}

impl Transience for StepError {
    fn is_transient(&self) -> bool {
        self.source.is_transient()
    }

    fn is_unreachable(&self) -> bool {
        self.source.is_unreachable()
    }

    fn shown(&self) -> String {
        chain(&self.source)
    }
}

/// A file with its statements, on its way to a database of the target.
pub struct Task<'a> {
    /// The file.
    pub file: &'a DumpFile,
    /// Its statements.
    pub script: &'a Script,
    /// The target database; empty for accounts.
    pub database: &'a str,
    /// What was there before.
    pub earlier: &'a dyn Fn(&mut Session, ObjectKind, &ObjectName) -> Result<Earlier, ServerError>,
}

impl Definitions<'_> {
    /// Sends a file.
    pub fn send(&self, line: &mut Line<'_>, task: &Task<'_>) -> Result<(), Error> {
        let sent = line.keep_trying(|session, attempt| self.attempt(session, task, attempt));
        sent.map_err(|(error, attempts)| Error::Load {
            file: task.file.name.clone(),
            statement: error.number,
            attempts,
            source: error.source,
        })
    }

    fn attempt(
        &self,
        session: &mut Session,
        task: &Task<'_>,
        attempt: u32,
    ) -> Result<(), StepError> {
        reset(session, task.database)?;
        let steps = &task.script.steps;
        for (index, step) in steps.iter().enumerate() {
            let failed = |source| StepError {
                number: Some(step.number),
                source,
            };
            let done = match &step.statement {
                Statement::Create { kind, name } => {
                    self.create(session, task, step, (*kind, name), attempt)
                }
                // It makes room for what follows: nothing of ours must go.
                Statement::Drop { .. } => match next_create(&steps[index..]) {
                    Some((next, kind, name))
                        if self.is_ours(session, task, next, kind, name, attempt)? =>
                    {
                        Ok(())
                    }
                    _ => run(session, task, step),
                },
                _ => run(session, task, step),
            };
            done.map_err(failed)?;
        }
        Ok(())
    }

    fn create(
        &self,
        session: &mut Session,
        task: &Task<'_>,
        step: &Step,
        (kind, name): (ObjectKind, &Name),
        attempt: u32,
    ) -> Result<(), ServerError> {
        let noted = self.is_noted(session, task, step, attempt)?;
        let target = ObjectName::new(task.database, &name.object);
        if noted && exists(session, kind, &target)? {
            return Ok(());
        }
        if !noted {
            let earlier = (task.earlier)(session, kind, &target)?;
            match earlier {
                Earlier::Absent => {}
                Earlier::Stays => return Ok(()),
                Earlier::Dropped => drop_earlier(session, kind, &target)?,
                Earlier::Emptied => {
                    let sql = format!("TRUNCATE TABLE {target}");
                    session.execute(&sql, &format!("emptying {target}"))?;
                }
            }
            self.checkpoint
                .note(session, &task.file.name, step.number)?;
            if earlier == Earlier::Emptied {
                return Ok(());
            }
        }
        let sent = if kind == ObjectKind::Table && task.file.role == Role::Table {
            let shaped = (self.shape)(&step.sql);
            session.run(&shaped, &doing(task, step))
        } else {
            run(session, task, step)
        };
        match sent {
            Err(error) if noted && error.code().is_some_and(|c| DONE_ALREADY.contains(&c)) => {
                log::info!("{target} is there already: {error}");
                Ok(())
            }
            sent => sent,
        }
    }

    fn is_ours(
        &self,
        session: &mut Session,
        task: &Task<'_>,
        step: &Step,
        kind: ObjectKind,
        name: &Name,
        attempt: u32,
    ) -> Result<bool, ServerError> {
        if !self.is_noted(session, task, step, attempt)? {
            return Ok(false);
        }
        exists(session, kind, &ObjectName::new(task.database, &name.object))
    }

    /// The first try knows from the beginning of the run what is noted.
    fn is_noted(
        &self,
        session: &mut Session,
        task: &Task<'_>,
        step: &Step,
        attempt: u32,
    ) -> Result<bool, ServerError> {
        let file = &task.file.name;
        if attempt == 1 || self.done.is_noted(file, step.number) {
            return Ok(self.done.is_noted(file, step.number));
        }
        self.checkpoint.is_noted(session, file, step.number)
    }
}

/// Gives the session the settings that files begin with, and the database.
pub fn reset(session: &mut Session, database: &str) -> Result<(), ServerError> {
    session.execute(RESET, "setting up a session")?;
    if database.is_empty() {
        return Ok(());
    }
    session.execute(
        &format!("USE {}", quote(database)),
        &format!("selecting database {}", quote(database)),
    )
}

fn next_create(steps: &[Step]) -> Option<(&Step, ObjectKind, &Name)> {
    steps.iter().find_map(|step| match &step.statement {
        Statement::Create { kind, name } => Some((step, *kind, name)),
        _ => None,
    })
}

fn run(session: &mut Session, task: &Task<'_>, step: &Step) -> Result<(), ServerError> {
    session.run(&step.sql, &doing(task, step))
}

fn doing(task: &Task<'_>, step: &Step) -> String {
    format!("loading {} (statement {})", task.file.name, step.number)
}

/// A table and a view share their names, so either may be in the way of either.
fn drop_earlier(
    session: &mut Session,
    kind: ObjectKind,
    name: &ObjectName,
) -> Result<(), ServerError> {
    let kinds: &[&str] = match kind {
        ObjectKind::Table | ObjectKind::View => &["VIEW", "TABLE"],
        ObjectKind::Sequence => &["SEQUENCE"],
        _ => &[kind.keyword()],
    };
    for kind in kinds {
        let sql = format!("DROP {kind} IF EXISTS {name}");
        let doing = format!("dropping {name}");
        match session.execute(&sql, &doing) {
            // It is of the other kind.
            Err(error) if matches!(error.code(), Some(1347 | 1965 | 1051 | 4092)) => {}
            dropped => dropped?,
        }
    }
    Ok(())
}
