//! What has to be asked of opened tables: sizes, columns, keys, partitions.
//!
//! Owns the questions about base tables and their answers' shape. Opening tables is what costs, on MariaDB and MySQL before 8:
//! all of a database for each view of `information_schema`, but only those named when few are wanted. Which tables these
//! are it is told by `read.rs`.

use std::collections::HashMap;

use super::column::Column;
use super::ident::text_literal;
use super::key::KeyPart;
use super::read::{Reader, doing, is, number, of_database, text};
use super::table::Table;
use crate::server::error::ServerError;
use crate::server::rows::Row;

/// Up to so many tables of a database are asked for by name, so that the others are not opened.
const FEW_TABLES: usize = 16;

/// Adds to the base tables of one database what has to be asked of opened tables.
pub(super) struct Filler<'r, 'a, 't> {
    reader: &'r mut Reader<'a>,
    database: &'t str,
    tables: &'t mut [Table],
    /// Where the base tables stand in `tables`.
    base: HashMap<String, usize>,
}

impl<'r, 'a, 't> Filler<'r, 'a, 't> {
    pub(super) fn new(
        reader: &'r mut Reader<'a>,
        database: &'t str,
        tables: &'t mut [Table],
        base: HashMap<String, usize>,
    ) -> Self {
        Self {
            reader,
            database,
            tables,
            base,
        }
    }

    pub(super) fn fill(mut self) -> Result<(), ServerError> {
        let partitioned = self.sizes()?;
        self.columns()?;
        self.keys()?;
        if partitioned {
            self.partitions()?;
        }
        Ok(())
    }

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
        let columns = "PARTITION_ORDINAL_POSITION, PARTITION_NAME, PARTITION_DESCRIPTION";
        let misreads = self.reader.session.flavor().misreads_partitions_in_binary();
        let named = About {
            only: " AND PARTITION_NAME IS NOT NULL",
            ..About::new("PARTITIONS", columns)
        };
        let mut found: Vec<(String, u64, String)> = Vec::new();
        self.each(named, "reading the partitions of", |row, table| {
            let position = number(row, 2).unwrap_or_default();
            found.push((table.name.name.clone(), position, text(row, 3)));
            let values = row.cell(4).unwrap_or_default();
            table.misread_in_binary |= misreads && !values.is_ascii();
            table.has_unshown_values |= is_unshown(values);
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

/// Whether a list of values has one that the server shows as `?`, or that it cuts in the middle of its quotes (MySQL 5.6).
fn is_unshown(values: &[u8]) -> bool {
    let quotes = memchr::memchr_iter(b'\'', values).count();
    quotes % 2 == 1 || values.contains(&b'?')
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
