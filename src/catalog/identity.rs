//! Whether a table is still the one it was.
//!
//! Owns [`Identity`]. An old snapshot reads wrong rows, and no error 1412, after DROP, TRUNCATE or EXCHANGE PARTITION, RENAME
//! swaps, RENAME COLUMN, instant ADD and DROP COLUMN (seen: DESIGN.md section 5), so a table's identity is taken before the
//! snapshots start and again after its last chunk. It consists of what DDL changes and rows and statistics do not: the text of
//! SHOW CREATE TABLE, InnoDB's ids of the table and its partitions, and where there are none the time of creation (MariaDB's is
//! the ctime of a file, which a restart under an init script that does `chown` moves: seen). Only the ids tell of TRUNCATE and
//! EXCHANGE PARTITION (seen on all four servers), and reading them takes the PROCESS privilege. What follows from a change the
//! journey decides.

use std::collections::HashMap;
use std::fmt;

use xxhash_rust::xxh3::xxh3_128;

use super::ddl;
use super::fill::About;
use super::ident::ObjectName;
use super::read::{number, text};
use crate::server::error::{Reach, ServerError};
use crate::server::session::Session;

/// Ids of a table and its partitions, each with what its name has after the table's own.
type Ids = Vec<(String, u64)>;

/// What a table is known by.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Identity {
    /// CREATE_TIME; partitioned tables of MySQL 5.6 have none.
    created: Option<String>,
    /// [`definition_hash`] of its definition.
    definition: u128,
    /// InnoDB's ids; `None` if the account may not see them.
    storage: Option<Ids>,
}

impl Identity {
    /// What has changed, as a clause; `None` if it is the same table.
    pub fn differs(&self, now: &Self) -> Option<String> {
        if self.definition != now.definition {
            return Some("its definition is another one".to_owned());
        }
        let change = match (&self.storage, &now.storage) {
            (Some(then), Some(now)) if !then.is_empty() || !now.is_empty() => (then != now)
                .then_some(
                    "it or a partition of it was made anew, truncated, exchanged or swapped",
                ),
            _ => (self.created != now.created).then_some("it was made anew"),
        };
        change.map(str::to_owned)
    }
}

/// For the manifest.
impl fmt::Display for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:032x}", self.definition)?;
        if let Some(created) = &self.created {
            write!(f, ", created {created}")?;
        }
        for (partition, id) in self.storage.iter().flatten() {
            write!(f, ", id {id}{partition}")?;
        }
        Ok(())
    }
}

/// A hash of SHOW CREATE TABLE that does not change when rows are inserted.
pub fn definition_hash(create: &[u8]) -> u128 {
    // The second is TiDB's, printed inside a comment.
    const COUNTERS: [&[u8]; 2] = [b" AUTO_INCREMENT=", b"AUTO_RANDOM_BASE="];
    let mut rest = create;
    let mut lasting = Vec::with_capacity(create.len());
    while let Some(byte) = rest.first() {
        let counter = COUNTERS.into_iter().find(|word| rest.starts_with(word));
        if let Some(word) = counter {
            let value = &rest[word.len()..];
            let digits = value
                .iter()
                .take_while(|byte| byte.is_ascii_digit())
                .count();
            rest = &value[digits..];
        } else {
            lasting.push(*byte);
            rest = &rest[1..];
        }
    }
    xxh3_128(&lasting)
}

/// Reads identities in bulk, one for each of `tables` and in their order; `None` stands for a table that is gone or broken.
/// The hash of a definition that was read just before saves reading it again. Each call costs a scan of InnoDB's list of all
/// tables (0.1 to 0.5 s for 3,000), so ask for many tables at a time.
pub fn read(
    session: &mut Session,
    tables: &[(&ObjectName, Option<u128>)],
) -> Result<Vec<Option<Identity>>, ServerError> {
    let names: Vec<&ObjectName> = tables.iter().map(|(name, _)| *name).collect();
    let created = creation_times(session, &names)?;
    let storage = storage_ids(session, &names)?;
    let mut found = Vec::with_capacity(tables.len());
    for (name, known) in tables {
        let definition = match known {
            Some(hash) => Some(*hash),
            None => current_definition(session, name)?,
        };
        let ids =
            |ids: &HashMap<String, Ids>| ids.get(&stored_name(name)).cloned().unwrap_or_default();
        let identity = |definition| Identity {
            created: created.get(*name).cloned(),
            definition,
            storage: storage.as_ref().map(ids),
        };
        found.push(definition.map(identity));
    }
    Ok(found)
}

fn current_definition(
    session: &mut Session,
    name: &ObjectName,
) -> Result<Option<u128>, ServerError> {
    match ddl::show_create_table(session, name) {
        Err(error) if error.reach() == Reach::Table => Ok(None),
        create => Ok(Some(definition_hash(&create?))),
    }
}

fn creation_times(
    session: &mut Session,
    names: &[&ObjectName],
) -> Result<HashMap<ObjectName, String>, ServerError> {
    let mut by_database: HashMap<&str, Vec<&str>> = HashMap::new();
    for name in names {
        by_database
            .entry(&name.database)
            .or_default()
            .push(&name.name);
    }
    let mut times = HashMap::with_capacity(names.len());
    for (database, tables) in by_database {
        let sql = About::new("TABLES", "CREATE_TIME").tables(database, tables);
        let mut rows = session.stream(&sql, "reading when tables were created")?;
        while let Some(row) = rows.next_row()? {
            if row.cell(2).is_some() {
                let name = ObjectName::new(text(&row, 0), text(&row, 1));
                times.insert(name, text(&row, 2));
            }
        }
    }
    Ok(times)
}

/// By [`stored_name`]; `None` if the server has no such list, or not for this account.
fn storage_ids(
    session: &mut Session,
    names: &[&ObjectName],
) -> Result<Option<HashMap<String, Ids>>, ServerError> {
    let Some(view) = session.flavor().innodb_tables_view() else {
        return Ok(None);
    };
    let mut ids: HashMap<String, Ids> = names
        .iter()
        .map(|name| (stored_name(name), Vec::new()))
        .collect();
    let sql = format!("SELECT NAME, TABLE_ID FROM information_schema.{view}");
    match add_storage_ids(session, &sql, &mut ids) {
        // MariaDB refuses before, MySQL after it has named the columns.
        Err(error @ ServerError::Statement { .. }) if !error.is_transient() => {
            log::debug!("{error}");
            Ok(None)
        }
        read => read.map(|()| Some(ids)),
    }
}

fn add_storage_ids(
    session: &mut Session,
    sql: &str,
    ids: &mut HashMap<String, Ids>,
) -> Result<(), ServerError> {
    let mut rows = session.stream(sql, "reading InnoDB's table ids")?;
    while let Some(row) = rows.next_row()? {
        let file = text(&row, 0);
        // A partition's name has #P# or #p# after the table's own, in which # is written otherwise.
        let (table, partition) = file.split_at(file.find('#').unwrap_or(file.len()));
        if let (Some(list), Some(id)) = (ids.get_mut(&decoded(table)), number(&row, 1)) {
            list.push((partition.to_owned(), id));
        }
    }
    for list in ids.values_mut() {
        list.sort_unstable();
    }
    Ok(())
}

/// Stands for every character that is not ASCII: InnoDB writes some of them by a table of thousands of two-letter codes. Two
/// tables that differ in nothing else share their ids, so a TRUNCATE of one is taken for one of both.
const FOREIGN: char = '\u{fffd}';

/// Database and table as [`decoded`] gives them.
fn stored_name(name: &ObjectName) -> String {
    let plain = |c: char| if c.is_ascii() { c } else { FOREIGN };
    let ObjectName { database, name } = name;
    let database = database.chars().map(plain);
    database
        .chain(['/'])
        .chain(name.chars().map(plain))
        .collect()
}

/// A name in the charset `filename` (MySQL manual, Mapping of Identifiers to File Names): `@` and four hex digits, or `@` and
/// two characters of which one is no hex digit. The `/` between database and table is the only one that stands as itself.
fn decoded(file: &str) -> String {
    let mut out = String::with_capacity(file.len());
    let mut rest = file;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        if c != '@' {
            out.push(if c.is_ascii() { c } else { FOREIGN });
        } else if let Some(digits) = rest
            .get(..4)
            .filter(|d| d.bytes().all(|b| b.is_ascii_hexdigit()))
        {
            let code = u8::from_str_radix(digits, 16).ok().filter(u8::is_ascii);
            out.push(code.map_or(FOREIGN, char::from));
            rest = &rest[4..];
        } else {
            out.push(FOREIGN);
            rest = rest.get(2..).unwrap_or_default();
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn identity(created: &str, definition: u128, ids: Option<&[u64]>) -> Identity {
        Identity {
            created: Some(created.to_owned()),
            definition,
            storage: ids.map(|ids| ids.iter().map(|id| (String::new(), *id)).collect()),
        }
    }

    #[test]
    fn a_change_is_named() {
        let old = identity("1", 1, Some(&[1]));
        assert_eq!(old.differs(&old), None);
        let changed = |now: Identity| old.differs(&now).unwrap();
        assert!(changed(identity("2", 2, Some(&[2]))).contains("definition"));
        assert!(changed(identity("1", 1, Some(&[2]))).contains("truncated"));
        // The time of a file moves without the table.
        assert_eq!(old.differs(&identity("2", 1, Some(&[1]))), None);
        // The right to see the ids may come and go.
        assert_eq!(old.differs(&identity("1", 1, None)), None);
        for ids in [None, Some(&[][..])] {
            let old = identity("1", 1, ids);
            assert!(old.differs(&identity("2", 1, ids)).is_some());
        }
    }

    #[test]
    fn a_growing_counter_is_no_new_definition() {
        let hash =
            |options: &str| definition_hash(format!("CREATE TABLE `t` (…){options}").as_bytes());
        let counted = hash(" ENGINE=InnoDB AUTO_INCREMENT=17 DEFAULT CHARSET=utf8mb4");
        assert_eq!(
            counted,
            hash(" ENGINE=InnoDB AUTO_INCREMENT=4 DEFAULT CHARSET=utf8mb4")
        );
        assert_eq!(counted, hash(" ENGINE=InnoDB DEFAULT CHARSET=utf8mb4"));
        assert_ne!(counted, hash(" ENGINE=InnoDB DEFAULT CHARSET=latin1"));
    }

    #[test]
    fn names_of_files_and_tables_meet() {
        // As InnoDB names them on MariaDB 10.11, MySQL 9.7 and 5.6.
        for (file, table) in [
            ("cat_x/a@0020b@002f@0p", "a b/é"),
            ("cat_x/@65e5@672c", "日本"),
            ("cat_x/Stra@1je@0040x", "Straße@x"),
            ("cat_x/plain_1", "plain_1"),
        ] {
            assert_eq!(
                decoded(file),
                stored_name(&ObjectName::new("cat_x", table)),
                "{file}"
            );
        }
        assert_eq!(decoded("d/@"), "d/\u{fffd}");
    }
}
