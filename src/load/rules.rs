//! What a file of each role may hold. A dump may come from anywhere, and a load runs it with an account that may do anything.
//!
//! Owns the refusals. Files of rows hold INSERTs into their own table and harmless settings; schema files make the object they
//! are named after, in the database they are for. Bodies of routines, triggers and events are what their dump says: a person
//! who loads those trusts it as far as that. `--trust` turns all of this off.

use crate::format::statement::{Name, ObjectKind, Setting, Statement};
use crate::manifest::layout::Role;
use crate::manifest::source::DumpFile;

/// Session variables that a file may set to a word, text or number.
const VARIABLES: [&str; 11] = [
    "character_set_client",
    "character_set_results",
    "collation_connection",
    "foreign_key_checks",
    "names",
    "sql_mode",
    "sql_notes",
    "system_versioning_alter_history",
    "system_versioning_insert_history",
    "time_zone",
    "unique_checks",
];
/// Those that may be set back to what a variable of the user's own kept.
const RESTORED: [&str; 3] = [
    "character_set_client",
    "character_set_results",
    "collation_connection",
];
/// Charsets of files with rows and tables: in none of them is the second byte of a character a quote or a backslash, so that
/// the server ends a string where we do.
const PLAIN_CHARSETS: [&str; 7] = [
    "ascii", "binary", "latin1", "utf8", "utf8mb3", "utf8mb4", "default",
];

/// Why a statement is not run, as what follows "file x holds …".
pub type Refusal = String;

/// Judges a statement of a file.
pub fn check(file: &DumpFile, statement: &Statement) -> Result<(), Refusal> {
    let own = |name: &Name| is_own(file, name);
    let allowed = match (file.role, statement) {
        (_, Statement::Set(settings)) => return settings.iter().try_for_each(|s| setting(file, s)),
        (Role::SqlData, Statement::Insert { table, .. }) => own(table),
        (Role::Database, Statement::Create { kind, name }) => {
            *kind == ObjectKind::Database && name.database.is_none() && name.object == file.database
        }
        (Role::Table, Statement::Create { kind, name }) => {
            matches!(kind, ObjectKind::Table | ObjectKind::View) && own(name)
        }
        (Role::Sequence, Statement::Create { kind, name }) => {
            *kind == ObjectKind::Sequence && own(name)
        }
        (Role::Sequence, Statement::SetSequence(name)) => own(name),
        (Role::View, Statement::Create { kind, name }) => *kind == ObjectKind::View && own(name),
        (Role::View, Statement::Drop { kind, name }) => {
            matches!(kind, ObjectKind::Table | ObjectKind::View) && own(name)
        }
        (Role::Trigger, Statement::Create { kind, name }) => {
            *kind == ObjectKind::Trigger && in_database(file, name)
        }
        (Role::Post, Statement::Create { kind, name }) => {
            let kinds = [
                ObjectKind::Procedure,
                ObjectKind::Function,
                ObjectKind::Package,
                ObjectKind::PackageBody,
                ObjectKind::Library,
                ObjectKind::Event,
            ];
            kinds.contains(kind) && in_database(file, name)
        }
        (Role::Trigger | Role::Post, Statement::AlterDatabase) => true,
        (Role::Users, Statement::Create { kind, .. }) => {
            matches!(kind, ObjectKind::User | ObjectKind::Role)
        }
        (Role::Users, Statement::Account) => true,
        _ => false,
    };
    if allowed {
        return Ok(());
    }
    Err(describe(statement))
}

/// Whether a file of rows may begin a statement like this; for the many that are INSERTs.
fn is_own(file: &DumpFile, name: &Name) -> bool {
    in_database(file, name) && file.object.as_ref() == Some(&name.object)
}

/// A name without its database is of the selected one.
fn in_database(file: &DumpFile, name: &Name) -> bool {
    let named = name.database.as_ref();
    named.is_none_or(|database| *database == file.database)
}

fn setting(file: &DumpFile, setting: &Setting) -> Result<(), Refusal> {
    let variable = setting.variable.as_str();
    if variable.starts_with('@') {
        return Ok(());
    }
    let known = match &setting.value {
        Some(_) => VARIABLES.contains(&variable),
        None => RESTORED.contains(&variable),
    };
    let is_charset = matches!(
        variable,
        "names" | "character_set_client" | "character_set_results"
    );
    let is_plain = || {
        let value = setting.value.as_deref().unwrap_or_default();
        PLAIN_CHARSETS
            .iter()
            .any(|charset| charset.eq_ignore_ascii_case(value))
    };
    let may_be_wide = matches!(file.role, Role::View | Role::Trigger | Role::Post);
    if known && (!is_charset || may_be_wide || is_plain()) {
        return Ok(());
    }
    Err(format!("a statement that sets {variable}"))
}

fn describe(statement: &Statement) -> String {
    match statement {
        Statement::Set(_) => "a SET statement".to_owned(),
        Statement::Insert { table, .. } => {
            format!("an INSERT into {}", shown(table))
        }
        Statement::Create { kind, name } => {
            format!("a CREATE {} of {}", kind.keyword(), shown(name))
        }
        Statement::Drop { kind, name } => format!("a DROP {} of {}", kind.keyword(), shown(name)),
        Statement::AlterDatabase => "an ALTER DATABASE statement".to_owned(),
        Statement::SetSequence(name) => format!("a change of the sequence {}", shown(name)),
        Statement::Account => "a statement about accounts".to_owned(),
        Statement::Other(word) => {
            // A word of SQL, never a value: statements begin with one.
            let word: String = word.chars().take(20).collect();
            format!("a statement that begins with `{word}` and is not of the form that dumps have")
        }
    }
}

fn shown(name: &Name) -> String {
    match &name.database {
        Some(database) => format!("{database}.{}", name.object),
        None => name.object.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn verdict(role: Role, sql: &str) -> Result<(), Refusal> {
        let file = DumpFile {
            name: "shop.t.sql".to_owned(),
            stored_bytes: 0,
            role,
            database: "shop".to_owned(),
            object: Some("t".to_owned()),
            expected: None,
        };
        check(&file, &Statement::read(sql.as_bytes()))
    }

    #[test]
    fn what_dumps_hold_is_run() {
        for (role, sql) in [
            (Role::SqlData, "INSERT INTO `t` VALUES\n(1)"),
            (Role::SqlData, "/*!40101 SET NAMES binary*/"),
            (
                Role::SqlData,
                "/*!40101 SET SQL_MODE='NO_BACKSLASH_ESCAPES'*/",
            ),
            (Role::Table, "CREATE TABLE `t` (`a` int)"),
            (Role::Table, "CREATE TABLE `shop`.`t` (`a` int)"),
            (Role::View, "SET character_set_client = gbk"),
            (
                Role::View,
                "SET character_set_client = @PREV_CHARACTER_SET_CLIENT",
            ),
            (Role::View, "DROP TABLE IF EXISTS `t`"),
            (
                Role::Trigger,
                "CREATE TRIGGER x BEFORE INSERT ON t FOR EACH ROW SET @a=1",
            ),
            (Role::Users, "GRANT SELECT ON *.* TO `a`@`%`"),
        ] {
            assert_eq!(verdict(role, sql), Ok(()), "{sql}");
        }
    }

    #[test]
    fn what_leaves_the_file_s_own_object_is_refused() {
        for (role, sql) in [
            (Role::SqlData, "INSERT INTO `mysql`.`user` VALUES (1)"),
            (Role::SqlData, "INSERT INTO `u` VALUES (1)"),
            (Role::SqlData, "INSERT INTO `t` SELECT * FROM u"),
            (Role::SqlData, "DELETE FROM `t`"),
            (Role::SqlData, "CREATE TABLE `t` (a int)"),
            (Role::SqlData, "SET NAMES gbk"),
            (Role::SqlData, "SET GLOBAL general_log=1"),
            (Role::SqlData, "SET sql_mode=@x"),
            (Role::SqlData, "SET PASSWORD='x'"),
            (Role::Table, "CREATE TABLE `mysql`.`x` (a int)"),
            (Role::Table, "DROP TABLE IF EXISTS `t`"),
            (Role::Table, "GRANT ALL ON *.* TO x"),
            (Role::Post, "CREATE USER x"),
            (Role::Database, "CREATE DATABASE other"),
        ] {
            assert!(verdict(role, sql).is_err(), "{sql}");
        }
        let refusal = verdict(Role::SqlData, "DROP DATABASE mysql");
        assert!(refusal.is_err_and(|text| text.contains("`DROP`")));
    }
}
