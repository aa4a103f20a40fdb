//! `Plan`: which files are loaded, into which databases.
//!
//! Owns the choice by the user's filters and the renaming of a database. Nothing is connected to and no file is opened here.

use std::collections::BTreeMap;

use xxhash_rust::xxh3::xxh3_128;

use crate::catalog::ident::{ObjectName, quote};
use crate::error::Error;
use crate::load::config::LoadConfig;
use crate::manifest::layout::Role;
use crate::manifest::source::{DumpFile, Source, SourceError};

/// What is to be done.
#[derive(Debug)]
pub struct Plan {
    /// The databases, by name.
    pub databases: Vec<DatabasePlan>,
    /// Schema files of everything but databases, in the order of their roles.
    pub definitions: Vec<DumpFile>,
    /// Tables with rows, the largest first.
    pub tables: Vec<TablePlan>,
    /// Tells this load from all others: 32 hex digits.
    pub identity: String,
    new_name: Option<String>,
}

/// A database.
#[derive(Debug)]
pub struct DatabasePlan {
    /// Its name in the dump.
    pub name: String,
    /// The file that makes it, if the dump has it.
    pub file: Option<DumpFile>,
}

/// The rows of a table.
#[derive(Debug)]
pub struct TablePlan {
    /// Its name in the dump.
    pub name: ObjectName,
    /// Its files, in order.
    pub files: Vec<DumpFile>,
    /// Rows in them, if the manifest says.
    pub rows: u64,
}

impl TablePlan {
    fn bytes(&self) -> u64 {
        let raw = |file: &DumpFile| {
            let expected = file.expected.as_ref();
            expected.map_or(file.stored_bytes, |expected| expected.raw_bytes)
        };
        self.files.iter().map(raw).sum()
    }
}

impl Plan {
    /// Chooses files. Refuses what can be seen to be wrong from outside.
    pub fn make(config: &LoadConfig, source: &Source) -> Result<Self, Error> {
        check_presence(source)?;
        let chosen: Vec<&DumpFile> = source
            .files
            .iter()
            .filter(|file| is_wanted(config, file))
            .collect();
        let mut databases: BTreeMap<&str, Option<&DumpFile>> = BTreeMap::new();
        for file in &chosen {
            if !file.database.is_empty() {
                let made_by = databases.entry(&file.database).or_default();
                if file.role == Role::Database && config.schemas {
                    *made_by = Some(file);
                }
            }
        }
        if let (Some(name), 2..) = (&config.database, databases.len()) {
            return Err(Error::Request {
                message: format!(
                    "the dump holds {} databases, which cannot all go into {}",
                    databases.len(),
                    quote(name)
                ),
                hint: Some("choose one by -f 'db.*'".to_owned()),
            });
        }
        if databases.is_empty() && !chosen.iter().any(|file| file.role == Role::Users) {
            return Err(Error::Request {
                message: format!("nothing in {} is to be loaded", source.describe()),
                hint: Some("check -T and -f, which go by the names in the dump".to_owned()),
            });
        }
        let definitions = chosen
            .iter()
            .filter(|file| config.schemas && !file.role.is_data() && file.role != Role::Database)
            .map(|file| (*file).clone())
            .collect();
        let tables = if config.data {
            tables(&chosen, source)
        } else {
            Vec::new()
        };
        let new_name = config.database.as_deref().unwrap_or_default();
        let identity = xxh3_128(format!("{} {new_name}", source.identity).as_bytes());
        Ok(Self {
            databases: databases
                .into_iter()
                .map(|(name, file)| DatabasePlan {
                    name: name.to_owned(),
                    file: file.cloned(),
                })
                .collect(),
            definitions,
            tables,
            identity: format!("{identity:032x}"),
            new_name: config.database.clone(),
        })
    }

    /// The name in the target of a database of the dump.
    pub fn target<'a>(&'a self, database: &'a str) -> &'a str {
        self.new_name.as_deref().unwrap_or(database)
    }

    /// The name in the target of a table of the dump.
    pub fn target_table(&self, name: &ObjectName) -> ObjectName {
        ObjectName::new(self.target(&name.database), &name.name)
    }

    /// All files that will be read.
    pub fn files(&self) -> impl Iterator<Item = &DumpFile> {
        let made = self.databases.iter().filter_map(|d| d.file.as_ref());
        let rows = self.tables.iter().flat_map(|table| &table.files);
        made.chain(&self.definitions).chain(rows)
    }
}

fn check_presence(source: &Source) -> Result<(), Error> {
    if let Some(name) = source.missing.first() {
        let name = name.clone();
        return Err(SourceError::Missing { name }.into());
    }
    for file in &source.files {
        if let Some(expected) = &file.expected
            && expected.stored_bytes != file.stored_bytes
        {
            return Err(Error::Source(SourceError::Damaged {
                name: file.name.clone(),
                what: format!(
                    "it has {} bytes as stored instead of {}",
                    file.stored_bytes, expected.stored_bytes
                ),
            }));
        }
    }
    Ok(())
}

fn is_wanted(config: &LoadConfig, file: &DumpFile) -> bool {
    match (file.role, &file.object) {
        (Role::Users, _) => config.users,
        (_, Some(object)) => {
            let listed = |name: &ObjectName| name.database == file.database && name.name == *object;
            (config.tables.is_empty() || config.tables.iter().any(listed))
                && config.filter.matches(&file.database, object)
        }
        // The result of a query belongs to no table.
        (_, None) if file.database.is_empty() => false,
        (Role::Post, None) => {
            config.tables.is_empty() && config.filter.may_match_database(&file.database)
        }
        (_, None) => {
            let named = |name: &ObjectName| name.database == file.database;
            (config.tables.is_empty() || config.tables.iter().any(named))
                && config.filter.may_match_database(&file.database)
        }
    }
}

fn tables(chosen: &[&DumpFile], source: &Source) -> Vec<TablePlan> {
    let mut by_name: BTreeMap<ObjectName, Vec<DumpFile>> = BTreeMap::new();
    for file in chosen.iter().filter(|file| file.role.is_data()) {
        if let Some(name) = file.table() {
            by_name.entry(name).or_default().push((*file).clone());
        }
    }
    let known = source.manifest.iter().flat_map(|manifest| &manifest.tables);
    let rows: BTreeMap<ObjectName, u64> = known
        .map(|table| (ObjectName::new(&table.database, &table.name), table.rows))
        .collect();
    let mut tables: Vec<TablePlan> = by_name
        .into_iter()
        .map(|(name, files)| TablePlan {
            rows: rows.get(&name).copied().unwrap_or_default(),
            name,
            files,
        })
        .collect();
    // Stable, so that equal ones stay in the order of their names.
    tables.sort_by_key(|table| std::cmp::Reverse(table.bytes()));
    tables
}
