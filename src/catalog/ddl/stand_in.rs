//! The table that stands in for a view until the view can be made.
//!
//! Owns its columns. Views may be created in any order when each of them exists already as a table with the same column
//! names. Types matter too: a function over the wrong type is refused when a view is made (MariaDB 4079), and so is a
//! COLLATE on a number (1253). So a column keeps its type, but text is one character long, which no server counts as too
//! much, however many columns there are.

use super::super::ident::{ObjectName, quote, text_literal};
use crate::server::answer::TextRow;
use crate::server::error::ServerError;
use crate::server::session::Session;

/// InnoDB's limit (MySQL manual, InnoDB Limits); views have 4096.
const MOST_COLUMNS: usize = 1017;

/// The statement that makes the stand-in; `None` if the view has no columns that the server could tell.
pub(super) fn create(
    session: &mut Session,
    name: &ObjectName,
) -> Result<Option<String>, ServerError> {
    let sql = format!(
        "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME, DATA_TYPE, COLUMN_TYPE, CHARACTER_SET_NAME, COLLATION_NAME \
         FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} ORDER BY ORDINAL_POSITION",
        text_literal(&name.database),
        text_literal(&name.name)
    );
    let rows = session.rows(&sql, &format!("reading the columns of view {name}"))?;
    let own = (Some(name.database.as_bytes()), Some(name.name.as_bytes()));
    let columns: Vec<Column> = rows
        .iter()
        .filter(|row| (row.bytes(0), row.bytes(1)) == own)
        .map(Column::read)
        .collect();
    Ok((!columns.is_empty()).then(|| statement(&name.name, &columns)))
}

struct Column {
    name: String,
    definition: String,
    /// Whether it can be a primary key as it is.
    is_plain: bool,
}

impl Column {
    fn read(row: &TextRow) -> Self {
        let cell = |index| row.text(index).unwrap_or_default();
        let data_type = cell(3).to_lowercase();
        let charset = row
            .text(5)
            .zip(row.text(6))
            .map(|(charset, collation)| format!(" CHARACTER SET {charset} COLLATE {collation}"));
        let (definition, is_plain) = match data_type.as_str() {
            "char" | "varchar" | "tinytext" | "text" | "mediumtext" | "longtext" | "enum"
            | "set" => (format!("varchar(1){}", charset.unwrap_or_default()), true),
            "binary" | "varbinary" | "tinyblob" | "blob" | "mediumblob" | "longblob" | "null" => {
                ("varbinary(1)".to_owned(), true)
            }
            // Without NULL the first one would be given a default of its own.
            "timestamp" => (format!("{} NULL", cell(4)), false),
            "tinyint" | "smallint" | "mediumint" | "int" | "bigint" | "decimal" | "date"
            | "datetime" => (cell(4), true),
            _ => (cell(4), false),
        };
        Self {
            name: cell(2),
            definition,
            is_plain,
        }
    }

    /// Names InnoDB keeps for itself (error 1166).
    fn is_reserved(&self) -> bool {
        let reserved = ["DB_ROW_ID", "DB_TRX_ID", "DB_ROLL_PTR", "FTS_DOC_ID"];
        reserved
            .iter()
            .any(|name| self.name.eq_ignore_ascii_case(name))
    }
}

/// A table; or a view over nothing, where no table can have such columns.
fn statement(name: &str, columns: &[Column]) -> String {
    let name = quote(name);
    if columns.len() > MOST_COLUMNS || columns.iter().any(Column::is_reserved) {
        let list: Vec<String> = columns
            .iter()
            .map(|column| format!("1 AS {}", quote(&column.name)))
            .collect();
        return format!("CREATE VIEW {name} AS SELECT\n{}", list.join(",\n"));
    }
    // A primary key, because a server may refuse tables without one (3750, sql_require_primary_key).
    let key = columns.iter().position(|column| column.is_plain);
    let list: Vec<String> = columns
        .iter()
        .enumerate()
        .map(|(index, column)| {
            let end = if key == Some(index) {
                " NOT NULL PRIMARY KEY"
            } else {
                ""
            };
            format!("{} {}{end}", quote(&column.name), column.definition)
        })
        .collect();
    format!("CREATE TABLE {name} (\n{}\n)", list.join(",\n"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn column(name: &str, definition: &str, is_plain: bool) -> Column {
        Column {
            name: name.to_owned(),
            definition: definition.to_owned(),
            is_plain,
        }
    }

    #[test]
    fn the_first_column_that_can_be_a_key_is_one() {
        let columns = [column("g", "point", false), column("a`b", "int", true)];
        assert_eq!(
            statement("v", &columns),
            "CREATE TABLE `v` (\n`g` point,\n`a``b` int NOT NULL PRIMARY KEY\n)"
        );
    }

    #[test]
    fn columns_that_no_table_may_have_make_a_view() {
        let columns = [column("db_row_id", "int", true), column("x", "int", true)];
        assert_eq!(
            statement("v", &columns),
            "CREATE VIEW `v` AS SELECT\n1 AS `db_row_id`,\n1 AS `x`"
        );
    }
}
