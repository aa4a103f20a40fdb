//! What a file of a dump is, by its name alone: the layout of rdump and Dumpling, and of mydumper where it differs.
//!
//! Owns the way back from a file name to the names of objects. A dump with a manifest needs it for the endings only: there the
//! manifest tells the names, which a file's name may have shortened. The way there is in `names.rs`.

use super::{MANIFEST_NAME, METADATA_NAME};

/// What a file is for, in the order of loading.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Role {
    /// `CREATE DATABASE`.
    Database,
    /// A sequence and where it stands.
    Sequence,
    /// `CREATE TABLE`, also the stand-in for a view.
    Table,
    /// Rows as INSERT statements.
    SqlData,
    /// Rows as CSV.
    CsvData,
    /// Routines and events.
    Post,
    /// A view.
    View,
    /// The triggers of a table.
    Trigger,
    /// Accounts and grants.
    Users,
}

impl Role {
    /// Whether the file holds rows.
    pub fn is_data(self) -> bool {
        matches!(self, Self::SqlData | Self::CsvData)
    }
}

/// What a file's name tells.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Placed {
    /// What the file is for.
    pub role: Role,
    /// The database; empty for accounts.
    pub database: String,
    /// The table, view or sequence.
    pub object: Option<String>,
}

/// Endings of schema files, the compression's left out. The plural is mydumper's.
const ENDINGS: [(&str, Role); 9] = [
    ("-schema-create.sql", Role::Database),
    ("-schema-sequence.sql", Role::Sequence),
    ("-schema-view.sql", Role::View),
    ("-schema-trigger.sql", Role::Trigger),
    ("-schema-triggers.sql", Role::Trigger),
    ("-schema-post.sql", Role::Post),
    ("-schema-users.sql", Role::Users),
    ("-schema.sql", Role::Table),
    // The base of a data file is cut elsewhere.
    (".sql", Role::SqlData),
];

/// What the file is for, and the rest of its name. `stem` is the name without the ending of its compression.
pub fn role_of(stem: &str) -> Option<(Role, &str)> {
    let found = ENDINGS
        .iter()
        .find_map(|(ending, role)| Some((*role, stem.strip_suffix(ending)?)));
    found.or_else(|| Some((Role::CsvData, stem.strip_suffix(".csv")?)))
}

/// What the name tells; `None` for a file that no dump has. `stem` is the name without the ending of its compression.
pub fn place(stem: &str) -> Option<Placed> {
    if matches!(stem, MANIFEST_NAME | METADATA_NAME) {
        return None;
    }
    let (role, base) = role_of(stem)?;
    let (database, object) = match role {
        Role::Users => return Some(placed(role, String::new(), None)),
        Role::Database | Role::Post => (base, None),
        Role::SqlData | Role::CsvData => {
            let (database, rest) = base.split_once('.')?;
            // `table.000000000`, or mydumper's `table.00000` and `table` alone.
            let table = match rest.rsplit_once('.') {
                Some((table, number)) if number.bytes().all(|byte| byte.is_ascii_digit()) => table,
                _ => rest,
            };
            (database, Some(table))
        }
        _ => {
            let (database, object) = base.split_once('.')?;
            (database, Some(object))
        }
    };
    let object = object.map(decode).transpose().ok()?;
    Some(placed(role, decode(database).ok()?, object))
}

fn placed(role: Role, database: String, object: Option<String>) -> Placed {
    Placed {
        role,
        database,
        object,
    }
}

/// Undoes the encoding of `names.rs`. A lone `%`, as older tools leave it, is itself.
fn decode(text: &str) -> Result<String, std::string::FromUtf8Error> {
    let bytes = text.as_bytes();
    let mut out = Vec::with_capacity(bytes.len());
    let mut at = 0;
    while at < bytes.len() {
        let hex = bytes.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        let decoded = hex
            .and_then(|hex| std::str::from_utf8(hex).ok())
            .and_then(|hex| u8::from_str_radix(hex, 16).ok());
        out.push(decoded.unwrap_or(bytes[at]));
        at += if decoded.is_some() { 3 } else { 1 };
    }
    String::from_utf8(out)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::names::FileNames;
    use super::*;
    use crate::catalog::ident::ObjectName;

    #[test]
    fn every_name_that_is_written_is_read_back() {
        let names = FileNames::new("sql", None, None);
        for (database, table) in [("shop", "a.b"), ("a-schema", "x-schema-view"), ("%", "täg")] {
            let name = ObjectName::new(database, table);
            let whole = |role| placed(role, database.to_owned(), Some(table.to_owned()));
            for (file, role) in [
                (names.table(&name), Role::Table),
                (names.view(&name), Role::View),
                (names.sequence(&name), Role::Sequence),
                (names.triggers(&name), Role::Trigger),
                (names.data(&name, 3, None), Role::SqlData),
                (names.data(&name, 3, Some(1)), Role::SqlData),
            ] {
                assert_eq!(place(&file), Some(whole(role)), "{file}");
            }
            let of_database = |role| placed(role, database.to_owned(), None);
            let create = names.database(database);
            assert_eq!(place(&create), Some(of_database(Role::Database)));
            assert_eq!(place(&names.post(database)), Some(of_database(Role::Post)));
        }
        assert_eq!(place(&names.users()).unwrap().role, Role::Users);
    }

    #[test]
    fn names_of_other_dumpers_are_known_and_strangers_are_not() {
        let data = |name: &str| place(name).map(|placed| (placed.role, placed.object.unwrap()));
        assert_eq!(data("d.t.sql"), Some((Role::SqlData, "t".to_owned())));
        assert_eq!(data("d.t.00001.csv"), Some((Role::CsvData, "t".to_owned())));
        for stranger in ["metadata", "manifest.json", "README", "x.txt", "nodot.sql"] {
            assert_eq!(place(stranger), None, "{stranger}");
        }
    }
}
