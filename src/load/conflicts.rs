//! What speaks against a load, told before anything is written.
//!
//! Owns the refusals: objects that are there already, tables that must be there and are not, or have rows, or triggers. What an
//! interrupted load of the same dump had made is no conflict.

use super::config::Existing;
use super::journey::{Journey, Opening, was_made_by_us};
use super::line::Line;
use super::plan::Plan;
use super::script::Script;
use super::target::{exists, has_rows};
use crate::catalog::ident::ObjectName;
use crate::error::Error;
use crate::format::statement::Statement;
use crate::manifest::layout::Role;
use crate::manifest::source::DumpFile;

impl Journey<'_> {
    /// Everything that must not be there, or must, before anything is written.
    pub(super) fn refuse_conflicts(
        &self,
        line: &mut Line<'_>,
        plan: &Plan,
        opening: &Opening,
    ) -> Result<(), Error> {
        let mut conflicts = Vec::new();
        if self.config.existing == Existing::Fail {
            for file in &plan.definitions {
                let is_ours = match file.table() {
                    // A view's stand-in comes long before the view.
                    Some(name) => was_made_by_us(plan, opening, &name),
                    None => opening.knows(&file.name),
                };
                if !is_ours {
                    self.collect_conflicts(line, plan, opening, file, &mut conflicts)?;
                }
            }
        }
        conflicts.sort();
        conflicts.dedup();
        if let Some(first) = conflicts.first() {
            let more = match conflicts.len() - 1 {
                0 => String::new(),
                n => format!(" (and {n} more)"),
            };
            return Err(Error::Request {
                message: format!("the target has {first} already{more}"),
                hint: Some(
                    "say by --existing what becomes of it: skip, drop or truncate".to_owned(),
                ),
            });
        }
        if !self.config.schemas {
            self.refuse_missing_tables(line, plan, opening)?;
        }
        self.refuse_triggers(plan, opening)
    }

    fn collect_conflicts(
        &self,
        line: &mut Line<'_>,
        plan: &Plan,
        opening: &Opening,
        file: &DumpFile,
        conflicts: &mut Vec<String>,
    ) -> Result<(), Error> {
        if let Some(name) = file.table() {
            let target = plan.target_table(&name);
            if opening.survey.tables.contains_key(&target) {
                conflicts.push(target.to_string());
            }
            return Ok(());
        }
        let database = plan.target(&file.database);
        if file.role != Role::Post || !opening.survey.databases.contains(database) {
            return Ok(());
        }
        let script = Script::read(self.source, file, self.config.trust)?;
        for step in &script.steps {
            let Statement::Create { kind, name } = &step.statement else {
                continue;
            };
            let target = ObjectName::new(database, &name.object);
            let there = line.keep_trying(|session, _| exists(session, *kind, &target));
            if there.map_err(|(error, _)| Error::server("looking at the target", error))? {
                let kind = kind.keyword().to_lowercase();
                conflicts.push(format!("{kind} {target}"));
            }
        }
        Ok(())
    }

    /// Without definitions the tables must be there, and empty unless the user says otherwise.
    fn refuse_missing_tables(
        &self,
        line: &mut Line<'_>,
        plan: &Plan,
        opening: &Opening,
    ) -> Result<(), Error> {
        for table in &plan.tables {
            let target = plan.target_table(&table.name);
            if !opening.survey.tables.contains_key(&target) {
                return Err(Error::Request {
                    message: format!("the target has no table {target}"),
                    hint: Some("leave out --no-schemas".to_owned()),
                });
            }
            if self.config.existing != Existing::Fail || !opening.done.is_empty() {
                continue;
            }
            let rows = line.keep_trying(|session, _| has_rows(session, &target));
            if rows.map_err(|(error, _)| Error::server("looking at the target", error))? {
                return Err(Error::Request {
                    message: format!("table {target} of the target has rows"),
                    hint: Some("use --existing truncate to empty it".to_owned()),
                });
            }
        }
        Ok(())
    }

    fn refuse_triggers(&self, plan: &Plan, opening: &Opening) -> Result<(), Error> {
        // Those of an interrupted load come after the rows; a table that is dropped loses its own.
        let keeps_triggers = !self.config.schemas
            || matches!(self.config.existing, Existing::Truncate | Existing::Fail);
        if self.config.with_triggers || !keeps_triggers {
            return Ok(());
        }
        let tables = plan.tables.iter().filter(|table| {
            let name = plan.target_table(&table.name);
            let is_whole = |file: &DumpFile| opening.done.until(&file.name) == u64::MAX;
            opening.survey.with_triggers.contains(&name)
                && !opening.forgotten.has_notes(&table.files[0].name)
                && !table.files.iter().all(is_whole)
        });
        match tables.map(|table| plan.target_table(&table.name)).next() {
            Some(name) => Err(Error::Request {
                message: format!(
                    "table {name} of the target has triggers, which would fire for every row"
                ),
                hint: Some("drop them, or use --with-triggers".to_owned()),
            }),
            None => Ok(()),
        }
    }
}
