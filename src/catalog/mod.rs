//! What the server holds, read in bulk.
//!
//! Owns [`Catalog`]: which databases, tables and stored objects a dump takes, in an order that depends on their names
//! alone. It keeps what is needed of a table and not a byte more, since there may be ten thousand of them. The statements
//! that make the objects again it leaves to `ddl/`, the rules of a filter to whoever passes [`Selection::matches`].

pub mod column;
pub mod ddl;
mod fill;
pub mod filter;
pub mod history;
pub mod ident;
pub mod identity;
pub mod key;
pub mod privileges;
mod read;
pub mod select;
pub mod table;

use crate::server::error::ServerError;
use crate::server::session::Session;
use ident::{ObjectName, quote};
use table::Table;

/// What to look for.
#[derive(Clone, Copy)]
pub struct Selection<'a> {
    /// Databases the user named; empty for all.
    pub databases: &'a [String],
    /// Tables the user named; empty for all.
    pub tables: &'a [ObjectName],
    /// Whether the database may hold a table that is wanted, so that it has to be opened at all.
    pub may_match_database: &'a dyn Fn(&str) -> bool,
    /// Whether the table, view or sequence of that database and name is wanted.
    pub matches: &'a dyn Fn(&str, &str) -> bool,
    /// Kinds of object beside tables.
    pub kinds: Kinds,
}

/// Kinds of object that are listed beside tables.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[allow(clippy::struct_excessive_bools)] // one switch per kind, as on the command line
pub struct Kinds {
    /// Views.
    pub views: bool,
    /// Sequences.
    pub sequences: bool,
    /// Triggers of the selected tables.
    pub triggers: bool,
    /// Procedures, functions, packages, libraries.
    pub routines: bool,
    /// Events.
    pub events: bool,
}

/// Everything that was selected.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Catalog {
    /// The databases, by name in binary order.
    pub databases: Vec<Database>,
    /// What the user named and the server does not show; each says so in a sentence.
    pub unknown: Vec<UnknownName>,
}

/// A database with what was selected in it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Database {
    /// The name as the server spells it.
    pub name: String,
    /// The default charset.
    pub charset: String,
    /// The default collation.
    pub collation: String,
    /// Tables, views and sequences, by name in binary order.
    pub tables: Vec<Table>,
    /// Triggers of the selected tables: by table, and within a table in the order they fire.
    pub triggers: Vec<Trigger>,
    /// Stored routines: in an order in which they can be created.
    pub routines: Vec<Routine>,
    /// Names of events.
    pub events: Vec<String>,
}

/// A trigger.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trigger {
    /// The table it belongs to.
    pub table: String,
    /// Its own name.
    pub name: String,
}

/// Kinds of stored routine, in the order in which they are created: a package's body needs the package.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum RoutineKind {
    /// MySQL 9.2: code that routines in JavaScript import.
    Library,
    /// MariaDB: the outside of a package.
    Package,
    /// MariaDB: its inside.
    PackageBody,
    /// A stored function.
    Function,
    /// A stored procedure.
    Procedure,
}

impl RoutineKind {
    /// As in SHOW CREATE.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::Library => "LIBRARY",
            Self::Package => "PACKAGE",
            Self::PackageBody => "PACKAGE BODY",
            Self::Function => "FUNCTION",
            Self::Procedure => "PROCEDURE",
        }
    }

    /// The kind of `information_schema.ROUTINES.ROUTINE_TYPE`.
    fn of(word: &str) -> Option<Self> {
        [
            Self::Package,
            Self::PackageBody,
            Self::Function,
            Self::Procedure,
        ]
        .into_iter()
        .find(|kind| kind.keyword() == word)
    }
}

/// A stored routine, package or library.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Routine {
    /// What it is.
    pub kind: RoutineKind,
    /// Its name.
    pub name: String,
}

/// Something the user named that is not there.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum UnknownName {
    /// A database.
    #[error("the server has no database {}, or this account may not see it", quote(.0))]
    Database(String),
    /// A table, view or sequence.
    #[error("the server has no table {0}, or this account may not see it")]
    Table(ObjectName),
}

impl Catalog {
    /// Reads what is selected: a few statements per database, never several per table. Unknown names are no error here but
    /// listed in [`Catalog::unknown`], so that an error always means that asking again may help.
    pub fn read(session: &mut Session, selection: Selection<'_>) -> Result<Self, ServerError> {
        read::Reader::open(session, selection)?.read()
    }

    /// All tables, views and sequences.
    pub fn tables(&self) -> impl Iterator<Item = &Table> {
        self.databases.iter().flat_map(|database| &database.tables)
    }
}

impl Database {
    /// The triggers of a table, in the order they fire.
    pub fn triggers_of(&self, table: &str) -> &[Trigger] {
        let start = self
            .triggers
            .partition_point(|trigger| trigger.table.as_str() < table);
        let rest = &self.triggers[start..];
        &rest[..rest.partition_point(|trigger| trigger.table == table)]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn triggers_are_found_by_their_table() {
        let trigger = |table: &str, name: &str| Trigger {
            table: table.to_owned(),
            name: name.to_owned(),
        };
        let database = Database {
            triggers: vec![trigger("a", "z"), trigger("a", "b"), trigger("c", "a")],
            ..Database::default()
        };
        let names = |table| -> Vec<&str> {
            database
                .triggers_of(table)
                .iter()
                .map(|t| t.name.as_str())
                .collect()
        };
        assert_eq!(names("a"), ["z", "b"]);
        assert_eq!(names("b"), [] as [&str; 0]);
        assert_eq!(names("c"), ["a"]);
    }

    #[test]
    fn an_unknown_name_is_a_sentence() {
        let name = UnknownName::Table(ObjectName::new("shop", "itm"));
        assert_eq!(
            name.to_string(),
            "the server has no table `shop`.`itm`, or this account may not see it"
        );
    }
}
