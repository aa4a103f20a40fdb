//! What is left when the rows are there: indexes and foreign keys that were deferred, and the GTID state of a replica.
//!
//! Owns the order: all indexes before the first foreign key, which may need one of another table.

use super::definitions::{DONE_ALREADY, reset};
use super::indexes::{add, name_of, split};
use super::journey::{Journey, Opening};
use super::line::Line;
use super::plan::Plan;
use super::script::Script;
use crate::catalog::ident::{ObjectName, text_literal};
use crate::error::Error;
use crate::format::statement::{ObjectKind, Statement};
use crate::manifest::layout::Role;
use crate::manifest::source::DumpFile;
use crate::manifest::{Manifest, PositionEntry};
use crate::server::error::ServerError;
use crate::server::flavor::Kind;
use crate::server::session::Session;

/// The notes of deferred statements: a file has fewer statements than that.
const INDEXES: u64 = 1 << 32;
const FOREIGN_KEYS: u64 = 2 << 32;

impl Journey<'_> {
    /// Adds what `--defer-indexes` has left out.
    pub(super) fn add_indexes(
        &self,
        line: &mut Line<'_>,
        plan: &Plan,
        opening: &Opening,
    ) -> Result<(), Error> {
        if !self.config.defer_indexes {
            return Ok(());
        }
        for note in [INDEXES, FOREIGN_KEYS] {
            let tables = plan.definitions.iter().filter(|f| f.role == Role::Table);
            for file in tables {
                let script = Script::read(self.source, file, self.config.trust)?;
                for step in &script.steps {
                    let Statement::Create { kind, name } = &step.statement else {
                        continue;
                    };
                    let split = split(&step.sql);
                    let definitions = match note {
                        INDEXES => split.indexes,
                        _ => split.foreign_keys,
                    };
                    let table = ObjectName::new(plan.target(&file.database), &name.object);
                    if *kind == ObjectKind::Table && !definitions.is_empty() {
                        add_to(line, opening, file, (&table, &definitions), note)?;
                    }
                }
            }
        }
        Ok(())
    }

    /// `--set-gtid`: where in the source's history the target stands now.
    pub(super) fn set_gtid(&self, line: &mut Line<'_>) -> Result<(), Error> {
        if !self.config.set_gtid {
            return Ok(());
        }
        let gtid = gtid_of(self.source.manifest.as_ref())?;
        let doing = "setting the GTID state";
        let set = line.keep_trying(|session, _| {
            let sql = match session.flavor().kind {
                Kind::MariaDb => format!("SET GLOBAL gtid_slave_pos={}", plain(&gtid)),
                _ => format!("SET GLOBAL gtid_purged={}", plain(&format!("+{gtid}"))),
            };
            session.execute(&sql, doing)
        });
        set.map_err(|(error, _)| Error::server(doing, error))
    }
}

fn add_to(
    line: &mut Line<'_>,
    opening: &Opening,
    file: &DumpFile,
    (table, definitions): (&ObjectName, &[Vec<u8>]),
    note: u64,
) -> Result<(), Error> {
    let first = name_of(&definitions[0]).unwrap_or_default();
    let doing = format!("adding indexes and foreign keys to {table}");
    let added = line.keep_trying(|session, _| {
        reset(session, &table.database)?;
        let checkpoint = &opening.checkpoint;
        let noted = checkpoint.is_noted(session, &file.name, note)?;
        if noted && has_key(session, table, &first, &doing)? {
            return Ok(());
        }
        checkpoint.note(session, &file.name, note)?;
        match session.run(&add(table, definitions), &doing) {
            Err(error) if noted && error.code().is_some_and(|c| DONE_ALREADY.contains(&c)) => {
                Ok(())
            }
            added => added,
        }
    });
    added.map_err(|(error, _)| Error::server(&doing, error))
}

/// The GTID set of the dump.
pub fn gtid_of(manifest: Option<&Manifest>) -> Result<String, Error> {
    let position = manifest.map(|manifest| &manifest.consistency.position);
    match position {
        Some(PositionEntry::Known {
            gtid: Some(gtid), ..
        }) if is_gtid_set(gtid) => Ok(gtid.split_whitespace().collect()),
        _ => Err(Error::Request {
            message: "the dump knows no GTID set".to_owned(),
            hint: Some("leave out --set-gtid".to_owned()),
        }),
    }
}

/// What both servers write, and nothing that could end a string.
fn is_gtid_set(text: &str) -> bool {
    let is_part = |c: char| c.is_ascii_alphanumeric() || c.is_whitespace() || "-:,_".contains(c);
    !text.trim().is_empty() && text.chars().all(is_part)
}

fn plain(text: &str) -> String {
    format!("'{text}'")
}

fn has_key(
    session: &mut Session,
    table: &ObjectName,
    name: &str,
    doing: &str,
) -> Result<bool, ServerError> {
    let (schema, object) = (text_literal(&table.database), text_literal(&table.name));
    let name = text_literal(name);
    let sql = format!(
        "SELECT 1 FROM information_schema.STATISTICS WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {object} AND INDEX_NAME = {name} \
         UNION SELECT 1 FROM information_schema.TABLE_CONSTRAINTS WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {object} AND CONSTRAINT_NAME = {name}"
    );
    Ok(session.first(&sql, doing)?.is_some())
}
