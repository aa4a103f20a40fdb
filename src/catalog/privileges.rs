//! What the account may do.
//!
//! Owns the reading of SHOW GRANTS, in which a server includes the roles in force (seen on MariaDB and MySQL 9.7), and the list
//! of rights a dump needs. Objects that the account may not see are missing from every list without an error, so only this list
//! can tell. It is a help for the user and no proof: managed servers refuse what they grant, which only trying tells. Grants
//! hold password hashes and are never logged.

use std::fmt;

use super::ident::quote;
use super::{Catalog, Kinds};
use crate::server::error::ServerError;
use crate::server::flavor::{Flavor, Kind};
use crate::server::session::Session;

/// The rights of an account.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Privileges {
    grants: Vec<Grant>,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Grant {
    /// In upper case; rights on single columns are left out.
    rights: Vec<String>,
    scope: Scope,
    /// MySQL's partial revokes (8.0.16) take a right on a database away again.
    revoked: bool,
}

#[derive(Debug, Clone, PartialEq, Eq)]
enum Scope {
    Global,
    /// A pattern in which `%` and `_` match, unless a backslash stands before them.
    Database(String),
    Table(String, String),
}

/// A right that a dump of the selected objects needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The right as in GRANT.
    pub right: &'static str,
    /// Where, as in GRANT … ON.
    pub on: String,
    /// What happens without it, as a sentence.
    pub otherwise: String,
    /// Whether the account has it.
    pub held: bool,
}

/// As the end of "The account lacks …".
impl fmt::Display for Need {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} on {}: {}", self.right, self.on, self.otherwise)
    }
}

impl Privileges {
    /// Asks the server.
    pub fn read(session: &mut Session) -> Result<Self, ServerError> {
        let rows = session.rows("SHOW GRANTS", "reading the account's privileges")?;
        let lines = rows.iter().filter_map(|row| row.text(0));
        Ok(Self {
            grants: lines.filter_map(|line| Grant::parse(&line)).collect(),
        })
    }

    /// Whether the right is held on everything.
    pub fn has_globally(&self, right: &str) -> bool {
        self.grants
            .iter()
            .any(|grant| grant.scope == Scope::Global && !grant.revoked && grant.gives(right))
    }

    /// Whether the right is held on the whole database.
    pub fn has_on_database(&self, right: &str, database: &str) -> bool {
        let is_about = |grant: &&Grant| match &grant.scope {
            Scope::Database(pattern) => like(pattern, database),
            _ => false,
        };
        let mut own = self.grants.iter().filter(is_about);
        own.clone()
            .any(|grant| !grant.revoked && grant.gives(right))
            || (self.has_globally(right) && !own.any(|grant| grant.revoked && grant.gives(right)))
    }

    /// Whether the right is held on the whole table.
    pub fn has_on_table(&self, right: &str, database: &str, table: &str) -> bool {
        let is_about = |grant: &Grant| match &grant.scope {
            Scope::Table(d, t) => d == database && t == table,
            _ => false,
        };
        self.has_on_database(right, database)
            || self
                .grants
                .iter()
                .any(|grant| is_about(grant) && grant.gives(right))
    }

    /// FLUSH TABLES WITH READ LOCK and BACKUP STAGE.
    pub fn may_flush(&self) -> bool {
        ["RELOAD", "FLUSH_TABLES"]
            .iter()
            .any(|right| self.has_globally(right))
    }

    /// LOCK INSTANCE FOR BACKUP.
    pub fn may_lock_instance(&self) -> bool {
        self.has_globally("BACKUP_ADMIN")
    }

    /// LOCK TABLES … READ on tables of the database.
    pub fn may_lock_tables(&self, database: &str) -> bool {
        self.has_on_database("LOCK TABLES", database)
    }

    /// The binlog's position. MariaDB 10.5 renamed the right.
    pub fn may_see_position(&self) -> bool {
        ["REPLICATION CLIENT", "BINLOG MONITOR", "SUPER"]
            .iter()
            .any(|right| self.has_globally(right))
    }

    /// InnoDB's table ids, and other users' queries.
    pub fn may_see_processes(&self) -> bool {
        self.has_globally("PROCESS")
    }

    /// The bodies of routines that belong to others.
    fn may_see_routines(&self, database: &str) -> bool {
        self.has_globally("SELECT")
            || self.has_globally("SHOW_ROUTINE")
            || self.has_on_database("SHOW CREATE ROUTINE", database)
            || self.has_on_table("SELECT", "mysql", "proc")
    }

    /// Every right that a dump of the catalog needs or profits by, whatever the consistency mode.
    pub fn needs(&self, flavor: &Flavor, catalog: &Catalog, kinds: Kinds) -> Vec<Need> {
        let mut needs = Vec::new();
        for database in &catalog.databases {
            let name = &database.name;
            let mut add = |right, otherwise: &str, held| {
                needs.push(Need {
                    right,
                    on: format!("{}.*", quote(name)),
                    otherwise: otherwise.to_owned(),
                    held,
                });
            };
            let has = |right| self.has_on_database(right, name);
            let on_every_table = |right| {
                let mut tables = database.tables.iter();
                tables.all(|table| self.has_on_table(right, name, &table.name.name))
            };
            let hidden = "tables without it are not seen and not dumped";
            add("SELECT", hidden, has("SELECT"));
            if kinds.views {
                add(
                    "SHOW VIEW",
                    "views cannot be dumped",
                    on_every_table("SHOW VIEW"),
                );
            }
            if kinds.triggers {
                add(
                    "TRIGGER",
                    "triggers are not seen and not dumped",
                    on_every_table("TRIGGER"),
                );
            }
            if kinds.events && flavor.kind != Kind::TiDb {
                add("EVENT", "events are not seen and not dumped", has("EVENT"));
            }
            if kinds.routines && flavor.kind != Kind::TiDb {
                let (right, on) = routine_right(flavor, name);
                needs.push(Need {
                    right,
                    on,
                    otherwise: "routines of other accounts are not seen or not dumped".to_owned(),
                    held: self.may_see_routines(name),
                });
            }
        }
        needs.push(Need {
            right: "PROCESS",
            on: "*.*".to_owned(),
            otherwise: "a TRUNCATE or EXCHANGE PARTITION during the dump may go unnoticed"
                .to_owned(),
            held: self.may_see_processes(),
        });
        needs
    }
}

/// The narrowest right that shows the bodies of all routines, and on what it is granted.
pub fn routine_right(flavor: &Flavor, database: &str) -> (&'static str, String) {
    match flavor.kind {
        Kind::MySql if flavor.version >= (8, 0, 20) => ("SHOW_ROUTINE", "*.*".to_owned()),
        Kind::MariaDb if flavor.version >= (11, 3, 0) => {
            ("SHOW CREATE ROUTINE", format!("{}.*", quote(database)))
        }
        Kind::MySql if flavor.version >= (8, 0, 0) => ("SELECT", "*.*".to_owned()),
        _ => ("SELECT", "`mysql`.`proc`".to_owned()),
    }
}

impl Grant {
    /// `None` for a line about roles, proxies or routines.
    fn parse(line: &str) -> Option<Self> {
        let (revoked, rest) = match line.strip_prefix("REVOKE ") {
            Some(rest) => (true, rest),
            None => (false, line.strip_prefix("GRANT ")?),
        };
        let (rights, rest) = rest.split_once(" ON ")?;
        // A role's name stands in quotes and might hold anything.
        if rights.starts_with(['`', '\'']) {
            return None;
        }
        let (database, rest) = name(rest)?;
        let (table, rest) = name(rest.strip_prefix('.')?)?;
        if !rest.starts_with(" TO ") && !rest.starts_with(" FROM ") {
            return None;
        }
        let scope = match (database, table) {
            (None, None) => Scope::Global,
            (Some(database), None) => Scope::Database(database),
            (Some(database), Some(table)) => Scope::Table(database, table),
            (None, Some(_)) => return None,
        };
        Some(Self {
            rights: whole_rights(rights),
            scope,
            revoked,
        })
    }

    fn gives(&self, right: &str) -> bool {
        self.rights
            .iter()
            .any(|held| held == right || held == "ALL PRIVILEGES" || held == "ALL")
    }
}

/// The rights of a list, but those on single columns: `SELECT (a, b)`.
fn whole_rights(list: &str) -> Vec<String> {
    let mut rights = Vec::new();
    let mut rest = list;
    while !rest.is_empty() {
        let end = rest.find([',', '(']).unwrap_or(rest.len());
        let right = rest[..end].trim().to_uppercase();
        rest = &rest[end..];
        if rest.starts_with('(') {
            rest = rest.split_once(')').map_or("", |(_, after)| after);
        } else if !right.is_empty() {
            rights.push(right);
        }
        rest = rest.strip_prefix(',').unwrap_or(rest).trim_start();
    }
    rights
}

/// `*` (as `None`) or a name, quoted or not, and what follows.
fn name(text: &str) -> Option<(Option<String>, &str)> {
    if let Some(rest) = text.strip_prefix('*') {
        return Some((None, rest));
    }
    let Some(quoted) = text.strip_prefix('`') else {
        let end = text.find(['.', ' '])?;
        return Some((Some(text[..end].to_owned()), &text[end..]));
    };
    let mut name = String::new();
    let mut rest = quoted;
    loop {
        let (before, after) = rest.split_once('`')?;
        name.push_str(before);
        match after.strip_prefix('`') {
            Some(after) => {
                name.push('`');
                rest = after;
            }
            None => return Some((Some(name), after)),
        }
    }
}

/// Whether the name matches a database pattern of GRANT.
fn like(pattern: &str, name: &str) -> bool {
    let mut chars = pattern.chars();
    let rest = |text: &str| text.chars().next().map_or(0, char::len_utf8);
    match chars.next() {
        None => name.is_empty(),
        Some('%') => {
            let after = chars.as_str();
            like(after, name) || (!name.is_empty() && like(pattern, &name[rest(name)..]))
        }
        Some('_') => !name.is_empty() && like(chars.as_str(), &name[rest(name)..]),
        Some(c) => {
            let wanted = if c == '\\' {
                chars.next().unwrap_or(c)
            } else {
                c
            };
            name.starts_with(wanted) && like(chars.as_str(), &name[wanted.len_utf8()..])
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn privileges(lines: &[&str]) -> Privileges {
        Privileges {
            grants: lines.iter().filter_map(|line| Grant::parse(line)).collect(),
        }
    }

    #[test]
    fn grants_of_real_servers_are_read() {
        let account = privileges(&[
            "GRANT `cat_r` TO `cat_p`@`%`",
            "GRANT PROCESS ON *.* TO 'cat_p'@'%' IDENTIFIED BY PASSWORD '*60'",
            "GRANT BACKUP_ADMIN,FLUSH_TABLES ON *.* TO `cat_p`@`%`",
            r"GRANT SELECT, LOCK TABLES, SHOW VIEW ON `cat\_y`.* TO `cat_p`@`%` WITH GRANT OPTION",
            "GRANT SELECT, UPDATE (`a`, `b`), INSERT (a) ON `o``x`.`t` TO `cat_p`@`%`",
            "GRANT EXECUTE ON PROCEDURE `d`.`p` TO `cat_p`@`%`",
            "GRANT PROXY ON ''@'%' TO 'root'@'localhost' WITH GRANT OPTION",
            "SET DEFAULT ROLE `cat_r` FOR `cat_p`@`%`",
        ]);
        assert_eq!(account.grants.len(), 4);
        assert!(account.may_flush() && account.may_lock_instance() && account.may_see_processes());
        assert!(!account.may_see_position());
        assert!(account.may_lock_tables("cat_y") && !account.may_lock_tables("catxy"));
        assert!(account.has_on_table("SHOW VIEW", "cat_y", "any"));
        assert!(account.has_on_table("SELECT", "o`x", "t"));
        assert!(
            !account.has_on_table("UPDATE", "o`x", "t")
                && !account.has_on_table("SELECT", "o`x", "u")
        );
    }

    #[test]
    fn all_privileges_hold_every_right_but_where_they_are_revoked() {
        let account = privileges(&[
            "GRANT ALL PRIVILEGES ON *.* TO 'a'@'%' WITH GRANT OPTION",
            "REVOKE SELECT ON `private`.* FROM `a`@`%`",
        ]);
        assert!(account.has_on_database("SELECT", "public") && account.may_see_position());
        assert!(!account.has_on_database("SELECT", "private"));
        assert!(account.has_on_database("EVENT", "private"));
    }

    #[test]
    fn a_database_pattern_matches_as_in_grant() {
        for (pattern, name, matches) in [
            ("shop%", "shop_1", true),
            ("%", "", true),
            ("sh_p", "shüp", true),
            (r"sh\_p", "shop", false),
            (r"sh\_p", "sh_p", true),
            ("%op", "shop", true),
            ("shop", "shops", false),
        ] {
            assert_eq!(like(pattern, name), matches, "{pattern} {name}");
        }
    }
}
