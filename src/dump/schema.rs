//! `SchemaWriter`: the files that make the objects again.
//!
//! Owns which schema files a dump has and what goes into the manifest of them. Their text comes from `catalog/ddl`, their
//! names from `manifest/names.rs`.

use super::config::{Definer, Objects};
use super::coordinator::TableState;
use super::pipe::{FileOptions, StagedFile, write_small};
use crate::catalog::ddl::{self, SchemaFile};
use crate::catalog::ident::ObjectName;
use crate::catalog::identity;
use crate::catalog::table::{Table, TableKind};
use crate::catalog::{Catalog, Database};
use crate::error::Error;
use crate::manifest::FileEntry;
use crate::manifest::names::FileNames;
use crate::progress::Progress;
use crate::server::error::ServerError;
use crate::server::extra::ExtraConnection;

/// Writes schema files.
pub struct SchemaWriter<'a> {
    /// Where and how files are written.
    pub files: &'a FileOptions<'a>,
    /// How they are called.
    pub names: &'a FileNames,
    /// Counts them.
    pub progress: &'a Progress,
    /// Which kinds of object are wanted.
    pub objects: Objects,
    /// Whose they shall be.
    pub definer: &'a Definer,
    /// Whether rows are loaded in sessions whose backslash is a plain character.
    pub plain_backslashes: bool,
    /// The databases, with their triggers.
    pub catalog: &'a Catalog,
}

/// What was written besides the base tables.
#[derive(Default)]
pub struct OtherObjects {
    /// Files of databases, routines and events.
    pub files: Vec<FileEntry>,
    /// Views and sequences with their files.
    pub tables: Vec<(ObjectName, TableKind, Vec<FileEntry>)>,
    /// What could not be kept.
    pub warnings: Vec<String>,
}

/// A base table's schema files, which wait for their names: a dump that never gets its snapshot leaves nothing.
pub struct TableSchema {
    /// The table, then its triggers.
    pub files: Vec<StagedFile>,
    /// Part of the table's identity.
    pub definition: u128,
    /// What could not be kept.
    pub warnings: Vec<String>,
}

impl SchemaWriter<'_> {
    /// Writes the files of everything but the base tables.
    pub fn others(&self, extra: &mut ExtraConnection) -> Result<OtherObjects, Error> {
        let mut others = OtherObjects::default();
        for database in &self.catalog.databases {
            let text = ask(extra, &database.name, |s| ddl::database(s, &database.name))?;
            let name = self.names.database(&database.name);
            others
                .files
                .push(self.write(name, text, &mut others.warnings)?);
            for table in &database.tables {
                let files = match table.kind {
                    TableKind::Base => continue,
                    TableKind::View => self.view(extra, &table.name, &mut others.warnings)?,
                    TableKind::Sequence => {
                        let text = ask(extra, &table.name, |s| ddl::sequence(s, &table.name))?;
                        let name = self.names.sequence(&table.name);
                        vec![self.write(name, text, &mut others.warnings)?]
                    }
                };
                others.tables.push((table.name.clone(), table.kind, files));
            }
            if let Some(text) = ask(extra, &database.name, |s| {
                ddl::post(s, database, self.definer)
            })? {
                let name = self.names.post(&database.name);
                others
                    .files
                    .push(self.write(name, text, &mut others.warnings)?);
            }
        }
        if self.objects.users {
            let text = ask(extra, &"accounts", ddl::users)?;
            let name = self.names.users();
            others
                .files
                .push(self.write(name, text, &mut others.warnings)?);
        }
        Ok(others)
    }

    /// Writes the files of a base table, itself and its triggers, without their names.
    pub fn table(&self, extra: &mut ExtraConnection, table: &Table) -> Result<TableSchema, Error> {
        let name = &table.name;
        let mut warnings = Vec::new();
        let (create, text, misreads) = ask(extra, name, |session| {
            let create = ddl::show_create_table(session, name)?;
            let text = ddl::table(&create);
            let misreads = session.flavor().misreads_backslashes_in_expressions();
            Ok((create, text, misreads))
        })?;
        if self.plain_backslashes && misreads && ddl::has_backslash_in_expression(&create) {
            warnings.push(format!(
                "an expression of table {name} holds a backslash, which MySQL misreads where backslashes are plain characters: its rows may not load without --escape-backslash"
            ));
        }
        let file = self.names.table(name);
        let mut files = vec![self.stage(file, text, &mut warnings)?];
        if let Some(database) = self.database(&name.database)
            && self.objects.triggers
        {
            let triggers = database.triggers_of(&name.name);
            if !triggers.is_empty() {
                let text = ask(extra, name, |s| {
                    ddl::triggers(s, database, triggers, self.definer)
                })?;
                files.push(self.stage(self.names.triggers(name), text, &mut warnings)?);
            }
        }
        Ok(TableSchema {
            files,
            definition: identity::definition_hash(&create),
            warnings,
        })
    }

    fn view(
        &self,
        extra: &mut ExtraConnection,
        name: &ObjectName,
        warnings: &mut Vec<String>,
    ) -> Result<Vec<FileEntry>, Error> {
        let written = ask(extra, name, |s| ddl::view(s, name, self.definer))?;
        let mut files = Vec::new();
        if let Some(stand_in) = written.stand_in {
            files.push(self.write(self.names.table(name), stand_in, warnings)?);
        }
        files.push(self.write(self.names.view(name), written.view, warnings)?);
        Ok(files)
    }

    fn database(&self, name: &str) -> Option<&Database> {
        let databases = &self.catalog.databases;
        let at = databases.binary_search_by(|database| database.name.as_str().cmp(name));
        at.ok().map(|at| &databases[at])
    }

    fn write(
        &self,
        name: String,
        text: SchemaFile,
        warnings: &mut Vec<String>,
    ) -> Result<FileEntry, Error> {
        let staged = self.stage(name, text, warnings)?;
        self.commit(staged)
    }

    fn stage(
        &self,
        name: String,
        text: SchemaFile,
        warnings: &mut Vec<String>,
    ) -> Result<StagedFile, Error> {
        warnings.extend(text.warnings);
        Ok(write_small(self.files, name, &text.bytes)?)
    }

    /// Gives the base tables' schema files their names.
    pub fn commit_all(&self, tables: &mut [TableState]) -> Result<(), Error> {
        for state in tables {
            for staged in std::mem::take(&mut state.staged_schema) {
                state.schema_files.push(self.commit(staged)?);
            }
        }
        Ok(())
    }

    fn commit(&self, staged: StagedFile) -> Result<FileEntry, Error> {
        let entry = staged.commit()?;
        self.progress.add_file(entry.raw_bytes, entry.stored_bytes);
        Ok(entry)
    }
}

fn ask<T>(
    extra: &mut ExtraConnection,
    object: &impl std::fmt::Display,
    question: impl FnMut(&mut crate::server::session::Session) -> Result<T, ServerError>,
) -> Result<T, Error> {
    extra
        .ask(question)
        .map_err(|source| Error::server(&format!("reading the definition of {object}"), source))
}
