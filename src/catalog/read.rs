//! The statements that fill a [`Catalog`].
//!
//! Owns what is asked of `information_schema` and in which shape. MariaDB and MySQL before 8 open every table of every
//! database unless the database (and the table) is compared to one constant (EXPLAIN says "Scanned all databases" even for
//! IN: seen), so each statement is about one database, and about single tables when few are wanted. Names are compared once
//! more here, byte by byte, because `information_schema` compares `A` to `a` and `é` to `e` as equal.

use std::collections::HashMap;

use super::column::Column;
use super::ident::{ObjectName, quote, text_literal};
use super::key::KeyPart;
use super::table::{Table, TableKind};
use super::{Catalog, Database, Routine, RoutineKind, Selection, Trigger, UnknownName};
use crate::server::error::ServerError;
use crate::server::rows::Row;
use crate::server::session::Session;

/// Up to so many tables of a database are asked for by name, so that the others are not opened.
const FEW_TABLES: usize = 16;

/// Reads one catalog.
pub(super) struct Reader<'a> {
    session: &'a mut Session,
    selection: Selection<'a>,
    /// Whether `A` and `a` are two names (`lower_case_table_names` is 0).
    case_sensitive: bool,
}

/// What `information_schema.TABLES` lists, before anything is opened.
struct Listed {
    name: String,
    kind: TableKind,
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
            if let (true, Some(kind)) = (is(row, database), table_kind(&text(row, 2))) {
                found.push((text(row, 1), kind));
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
        let listed = found.into_iter().map(|(name, kind)| Listed {
            wanted: wanted(&name, kind),
            name,
            kind,
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
            let mut filler = Filler {
                reader: self,
                database,
                tables: &mut tables,
                base,
            };
            let partitioned = filler.sizes()?;
            filler.columns()?;
            filler.keys()?;
            if partitioned {
                filler.partitions()?;
            }
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

    fn each(
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

/// Adds to the base tables of one database what has to be asked of opened tables.
struct Filler<'r, 'a, 't> {
    reader: &'r mut Reader<'a>,
    database: &'t str,
    tables: &'t mut [Table],
    /// Where the base tables stand in `tables`.
    base: HashMap<String, usize>,
}

impl Filler<'_, '_, '_> {
    /// Engine and size. Says whether any table has partitions.
    fn sizes(&mut self) -> Result<bool, ServerError> {
        let mut partitioned = false;
        let columns = "ENGINE, TABLE_ROWS, DATA_LENGTH, CREATE_OPTIONS";
        self.each(
            About::new("TABLES", columns),
            "reading the sizes of",
            |row, table| {
                table.engine = row.cell(2).map(|_| text(row, 2));
                table.rows_estimate = number(row, 3);
                table.data_length_bytes = number(row, 4);
                partitioned |= text(row, 5).contains("partitioned");
            },
        )?;
        Ok(partitioned)
    }

    fn columns(&mut self) -> Result<(), ServerError> {
        let columns = "ORDINAL_POSITION, COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, CHARACTER_SET_NAME, IS_NULLABLE, EXTRA, \
                       COLLATION_NAME";
        let in_order = About {
            order: " ORDER BY 3",
            ..About::new("COLUMNS", columns)
        };
        self.each(in_order, "reading the columns of", |row, table| {
            let column = Column::read(|index| row.cell(index + 3).map(|_| text(row, index + 3)));
            table.columns.push(column);
        })
    }

    fn keys(&mut self) -> Result<(), ServerError> {
        let hidden = self.reader.session.flavor().hidden_index_condition();
        let columns = format!(
            "INDEX_NAME, SEQ_IN_INDEX, COLUMN_NAME, SUB_PART, NULLABLE, INDEX_TYPE, COLLATION, {hidden}"
        );
        let mut parts: HashMap<String, Vec<KeyPart>> = HashMap::new();
        let unique = About {
            only: " AND NON_UNIQUE = 0",
            ..About::new("STATISTICS", &columns)
        };
        self.each(unique, "reading the keys of", |row, table| {
            let part = KeyPart {
                key: text(row, 2),
                position: number(row, 3).unwrap_or_default(),
                column: row.cell(4).map(|_| text(row, 4)),
                whole: row.cell(5).is_none(),
                nullable: text(row, 6) == "YES",
                index_type: text(row, 7),
                descending: text(row, 8) == "D",
                hidden: number(row, 9) == Some(1),
            };
            parts.entry(table.name.name.clone()).or_default().push(part);
        })?;
        for (name, parts) in parts {
            if let Some(&index) = self.base.get(&name) {
                self.tables[index].keys = KeyPart::keys(parts);
            }
        }
        Ok(())
    }

    /// Top-level partitions; the view has a row for each subpartition (mydumper PR#2077).
    fn partitions(&mut self) -> Result<(), ServerError> {
        let columns = "PARTITION_ORDINAL_POSITION, PARTITION_NAME";
        let named = About {
            only: " AND PARTITION_NAME IS NOT NULL",
            ..About::new("PARTITIONS", columns)
        };
        let mut found: Vec<(String, u64, String)> = Vec::new();
        self.each(named, "reading the partitions of", |row, table| {
            let position = number(row, 2).unwrap_or_default();
            found.push((table.name.name.clone(), position, text(row, 3)));
        })?;
        found.sort_unstable();
        found.dedup();
        for (name, _, partition) in found {
            if let Some(&index) = self.base.get(&name) {
                self.tables[index].partitions.push(partition);
            }
        }
        Ok(())
    }

    /// Calls `take` with each row about one of our tables.
    fn each(
        &mut self,
        about: About<'_>,
        verb: &str,
        mut take: impl FnMut(&Row<'_>, &mut Table),
    ) -> Result<(), ServerError> {
        let names = self.base.keys().map(String::as_str);
        let sql = about.tables(self.database, names.collect());
        let (database, tables, base) = (self.database, &mut *self.tables, &self.base);
        self.reader.each(&sql, &doing(verb, database), |row| {
            let name = row
                .cell(1)
                .and_then(|bytes| std::str::from_utf8(bytes).ok());
            if let (true, Some(&index)) = (is(row, database), name.and_then(|name| base.get(name)))
            {
                take(row, &mut tables[index]);
            }
        })
    }
}

/// A question to a view of `information_schema` about tables of one database.
#[derive(Clone, Copy)]
pub(super) struct About<'q> {
    view: &'q str,
    columns: &'q str,
    /// A further condition, with AND before it.
    only: &'q str,
    order: &'q str,
}

impl<'q> About<'q> {
    pub(super) fn new(view: &'q str, columns: &'q str) -> Self {
        Self {
            view,
            columns,
            only: "",
            order: "",
        }
    }

    /// The statement; its first two columns are database and table. It may tell of other tables too.
    pub(super) fn tables(self, database: &str, mut names: Vec<&str>) -> String {
        let Self {
            view,
            columns,
            only,
            order,
        } = self;
        let whole = of_database("TABLE_SCHEMA", database);
        let select = |condition: &str| {
            format!(
                "SELECT TABLE_SCHEMA, TABLE_NAME, {columns} FROM information_schema.{view} WHERE {condition}{only}"
            )
        };
        if names.len() > FEW_TABLES {
            return select(&whole) + order;
        }
        names.sort_unstable();
        let selects: Vec<String> = names
            .into_iter()
            .map(|name| select(&format!("{whole} AND TABLE_NAME = {}", text_literal(name))))
            .collect();
        selects.join(" UNION ALL ") + order
    }
}

fn doing(verb: &str, database: &str) -> String {
    format!("{verb} {}", quote(database))
}

fn of_database(column: &str, database: &str) -> String {
    format!("{column} = {}", text_literal(database))
}

/// Whether the row's first cell is that name, byte for byte.
fn is(row: &Row<'_>, name: &str) -> bool {
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
        "BASE TABLE" | "SYSTEM VERSIONED" => Some(TableKind::Base),
        "VIEW" => Some(TableKind::View),
        "SEQUENCE" => Some(TableKind::Sequence),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_tables_are_asked_for_one_by_one_and_many_together() {
        let about = About {
            only: " AND x",
            order: " ORDER BY 3",
            ..About::new("V", "C")
        };
        let one = |name| {
            format!(
                "SELECT TABLE_SCHEMA, TABLE_NAME, C FROM information_schema.V WHERE \
                 TABLE_SCHEMA = _utf8mb4 x'64' AND TABLE_NAME = _utf8mb4 x'{name}' AND x"
            )
        };
        let (a, b) = (one("61"), one("62"));
        assert_eq!(
            about.tables("d", vec!["b", "a"]),
            format!("{a} UNION ALL {b} ORDER BY 3")
        );
        assert_eq!(
            about.tables("d", vec!["t"; 17]),
            "SELECT TABLE_SCHEMA, TABLE_NAME, C FROM information_schema.V WHERE TABLE_SCHEMA = _utf8mb4 x'64' AND x \
             ORDER BY 3"
        );
    }
}
