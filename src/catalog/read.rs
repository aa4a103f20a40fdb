//! The statements that fill a [`Catalog`].
//!
//! Owns which databases, tables and stored objects are taken. Each statement is about one database, because MariaDB and
//! MySQL before 8 look into all of them unless the name is compared to one constant (EXPLAIN says "Scanned all databases"
//! even for IN: seen). Names are compared once more here, byte by byte, because `information_schema` compares `A` to `a` and
//! `é` to `e` as equal. What is asked of opened tables it leaves to `fill.rs`.

use std::collections::HashMap;

use super::fill::Filler;
use super::ident::{ObjectName, quote, text_literal};
use super::table::{Table, TableKind};
use super::{Catalog, Database, Routine, RoutineKind, Selection, Trigger, UnknownName};
use crate::server::error::ServerError;
use crate::server::rows::Row;
use crate::server::session::Session;

/// The type of a table that keeps past versions of its rows (MariaDB).
const VERSIONED: &str = "SYSTEM VERSIONED";

/// Reads one catalog.
pub(super) struct Reader<'a> {
    pub(super) session: &'a mut Session,
    selection: Selection<'a>,
    /// Whether `A` and `a` are two names (`lower_case_table_names` is 0).
    case_sensitive: bool,
}

/// What `information_schema.TABLES` lists, before anything is opened.
struct Listed {
    name: String,
    kind: TableKind,
    versioned: bool,
    wanted: bool,
}

impl<'a> Reader<'a> {
    pub(super) fn open(
        session: &'a mut Session,
        selection: Selection<'a>,
    ) -> Result<Self, ServerError> {
        let row = session.first(
            "SELECT @@lower_case_table_names",
            "reading the server's settings",
        )?;
        let case_sensitive = row.and_then(|row| row.number(0)) == Some(0);
        Ok(Self {
            session,
            selection,
            case_sensitive,
        })
    }

    pub(super) fn read(mut self) -> Result<Catalog, ServerError> {
        let databases = self.databases()?;
        let mut catalog = Catalog {
            unknown: self.unknown_databases(&databases),
            ..Catalog::default()
        };
        for mut database in databases {
            if self.is_wanted(&database.name) {
                self.fill(&mut database, &mut catalog.unknown)?;
                catalog.databases.push(database);
            }
        }
        Ok(catalog)
    }

    /// All databases that the account sees.
    fn databases(&mut self) -> Result<Vec<Database>, ServerError> {
        let sql = "SELECT SCHEMA_NAME, DEFAULT_CHARACTER_SET_NAME, DEFAULT_COLLATION_NAME \
                   FROM information_schema.SCHEMATA";
        let mut databases = Vec::new();
        self.each(sql, "listing the databases", |row| {
            databases.push(Database {
                name: text(row, 0),
                charset: text(row, 1),
                collation: text(row, 2),
                ..Database::default()
            });
        })?;
        databases.sort_unstable_by(|a, b| a.name.cmp(&b.name));
        Ok(databases)
    }

    /// What the user named, as databases or as parts of tables, and is not there.
    fn unknown_databases(&self, known: &[Database]) -> Vec<UnknownName> {
        let of_tables = self.selection.tables.iter().map(|table| &table.database);
        let mut unknown: Vec<UnknownName> = Vec::new();
        for name in self.selection.databases.iter().chain(of_tables) {
            let entry = UnknownName::Database(name.clone());
            if !known.iter().any(|database| self.same(&database.name, name))
                && !unknown.contains(&entry)
            {
                unknown.push(entry);
            }
        }
        unknown
    }

    fn is_wanted(&self, database: &str) -> bool {
        let Selection {
            databases, tables, ..
        } = self.selection;
        (databases.is_empty() || databases.iter().any(|name| self.same(name, database)))
            && (tables.is_empty() || tables.iter().any(|t| self.same(&t.database, database)))
            && (self.selection.may_match_database)(database)
    }

    /// Whether the server takes the two names for the same.
    fn same(&self, a: &str, b: &str) -> bool {
        a == b || (!self.case_sensitive && a.to_lowercase() == b.to_lowercase())
    }

    fn fill(
        &mut self,
        database: &mut Database,
        unknown: &mut Vec<UnknownName>,
    ) -> Result<(), ServerError> {
        let listed = self.listed(&database.name)?;
        for table in self.selection.tables {
            if self.same(&table.database, &database.name)
                && !listed
                    .iter()
                    .any(|entry| self.same(&entry.name, &table.name))
            {
                unknown.push(UnknownName::Table(table.clone()));
            }
        }
        database.tables = self.tables(&database.name, listed)?;
        let kinds = self.selection.kinds;
        if kinds.triggers {
            self.triggers(database)?;
        }
        if kinds.routines {
            self.routines(database)?;
        }
        if kinds.events {
            self.events(database)?;
        }
        Ok(())
    }

    /// Names and types alone, for which no table is opened.
    fn listed(&mut self, database: &str) -> Result<Vec<Listed>, ServerError> {
        let sql = format!(
            "SELECT TABLE_SCHEMA, TABLE_NAME, TABLE_TYPE FROM information_schema.TABLES WHERE {}",
            of_database("TABLE_SCHEMA", database)
        );
        let mut found = Vec::new();
        self.each(&sql, &doing("listing the tables of", database), |row| {
            let table_type = text(row, 2);
            if let (true, Some(kind)) = (is(row, database), table_kind(&table_type)) {
                found.push((text(row, 1), kind, table_type == VERSIONED));
            }
        })?;
        let wanted = |name: &str, kind| {
            let Selection { kinds, tables, .. } = self.selection;
            let named = |table: &ObjectName| {
                self.same(&table.database, database) && self.same(&table.name, name)
            };
            (kind != TableKind::View || kinds.views)
                && (kind != TableKind::Sequence || kinds.sequences)
                && (tables.is_empty() || tables.iter().any(named))
                && (self.selection.matches)(database, name)
        };
        let listed = found.into_iter().map(|(name, kind, versioned)| Listed {
            wanted: wanted(&name, kind),
            name,
            kind,
            versioned,
        });
        Ok(listed.collect())
    }

    /// The wanted ones with all that is kept of them.
    fn tables(&mut self, database: &str, listed: Vec<Listed>) -> Result<Vec<Table>, ServerError> {
        let mut tables: Vec<Table> = listed
            .into_iter()
            .filter(|entry| entry.wanted)
            .map(|entry| Table {
                name: ObjectName::new(database, entry.name),
                kind: entry.kind,
                engine: None,
                rows_estimate: None,
                data_length_bytes: None,
                columns: Vec::new(),
                keys: Vec::new(),
                partitions: Vec::new(),
                misread_in_binary: false,
                has_unshown_values: false,
                versioned: entry.versioned,
                history: None,
            })
            .collect();
        tables.sort_unstable_by(|a, b| a.name.name.cmp(&b.name.name));
        let base: HashMap<String, usize> = tables
            .iter()
            .enumerate()
            .filter(|(_, table)| table.kind == TableKind::Base)
            .map(|(index, table)| (table.name.name.clone(), index))
            .collect();
        if !base.is_empty() {
            Filler::new(self, database, &mut tables, base).fill()?;
        }
        Ok(tables)
    }

    fn triggers(&mut self, database: &mut Database) -> Result<(), ServerError> {
        let sql = format!(
            "SELECT TRIGGER_SCHEMA, EVENT_OBJECT_TABLE, TRIGGER_NAME, ACTION_ORDER \
             FROM information_schema.TRIGGERS WHERE {}",
            of_database("TRIGGER_SCHEMA", &database.name)
        );
        let mut found = Vec::new();
        let name = &database.name;
        self.each(&sql, &doing("listing the triggers of", name), |row| {
            if is(row, name) {
                // Unknown before MySQL 5.7, where no two triggers share an event.
                let order = number(row, 3).unwrap_or_default();
                found.push((text(row, 1), order, text(row, 2)));
            }
        })?;
        found.sort_unstable();
        let is_selected = |table: &String| {
            let by_name = |t: &Table| t.name.name.as_str().cmp(table);
            let place = database.tables.binary_search_by(by_name);
            place.is_ok_and(|index| database.tables[index].kind == TableKind::Base)
        };
        database.triggers = found
            .into_iter()
            .filter(|(table, ..)| is_selected(table))
            .map(|(table, _, name)| Trigger { table, name })
            .collect();
        Ok(())
    }

    fn routines(&mut self, database: &mut Database) -> Result<(), ServerError> {
        let sql = format!(
            "SELECT ROUTINE_SCHEMA, ROUTINE_NAME, ROUTINE_TYPE FROM information_schema.ROUTINES WHERE {}",
            of_database("ROUTINE_SCHEMA", &database.name)
        );
        let name = &database.name;
        let mut found = Vec::new();
        self.each(&sql, &doing("listing the routines of", name), |row| {
            if let (true, Some(kind)) = (is(row, name), RoutineKind::of(&text(row, 2))) {
                let name = text(row, 1);
                found.push(Routine { kind, name });
            }
        })?;
        if self.session.flavor().has_libraries() {
            let sql = format!(
                "SELECT LIBRARY_SCHEMA, LIBRARY_NAME FROM information_schema.LIBRARIES WHERE {}",
                of_database("LIBRARY_SCHEMA", name)
            );
            self.each(&sql, &doing("listing the libraries of", name), |row| {
                if is(row, name) {
                    let kind = RoutineKind::Library;
                    let name = text(row, 1);
                    found.push(Routine { kind, name });
                }
            })?;
        }
        found.sort_unstable();
        database.routines = found;
        Ok(())
    }

    fn events(&mut self, database: &mut Database) -> Result<(), ServerError> {
        let sql = format!(
            "SELECT EVENT_SCHEMA, EVENT_NAME FROM information_schema.EVENTS WHERE {}",
            of_database("EVENT_SCHEMA", &database.name)
        );
        let name = &database.name;
        let mut found = Vec::new();
        self.each(&sql, &doing("listing the events of", name), |row| {
            if is(row, name) {
                found.push(text(row, 1));
            }
        })?;
        found.sort_unstable();
        database.events = found;
        Ok(())
    }

    pub(super) fn each(
        &mut self,
        sql: &str,
        doing: &str,
        mut take: impl FnMut(&Row<'_>),
    ) -> Result<(), ServerError> {
        let mut source = self.session.stream(sql, doing)?;
        while let Some(row) = source.next_row()? {
            take(&row);
        }
        Ok(())
    }
}

pub(super) fn doing(verb: &str, database: &str) -> String {
    format!("{verb} {}", quote(database))
}

pub(super) fn of_database(column: &str, database: &str) -> String {
    format!("{column} = {}", text_literal(database))
}

/// Whether the row's first cell is that name, byte for byte.
pub(super) fn is(row: &Row<'_>, name: &str) -> bool {
    row.cell(0) == Some(name.as_bytes())
}

/// A cell as text; empty for NULL.
pub(super) fn text(row: &Row<'_>, index: usize) -> String {
    String::from_utf8_lossy(row.cell(index).unwrap_or_default()).into_owned()
}

pub(super) fn number(row: &Row<'_>, index: usize) -> Option<u64> {
    std::str::from_utf8(row.cell(index)?).ok()?.parse().ok()
}

/// `None` for what cannot be dumped: the server's own views, temporary tables.
fn table_kind(table_type: &str) -> Option<TableKind> {
    match table_type {
        "BASE TABLE" | VERSIONED => Some(TableKind::Base),
        "VIEW" => Some(TableKind::View),
        "SEQUENCE" => Some(TableKind::Sequence),
        _ => None,
    }
}
