//! Triggers, routines, packages, libraries and events.
//!
//! Owns the settings around each of them: a stored object keeps the `sql_mode`, client charset, connection collation and
//! database collation (an event also the time zone) of the session that made it, so the session that makes it again must have
//! the same. Bodies are passed on byte for byte, in the charset they were written in.

use super::super::ident::{ObjectName, quote};
use super::super::{Database, Routine, Trigger};
use super::{SchemaFile, client_charset, delimiter, show_unconverted, statement_of};
use crate::server::error::ServerError;
use crate::server::session::{Session, TextRow};

/// What follows an object: the header's own settings again.
const RESTORE: &str = "/*!40101 SET NAMES utf8mb4*/;\n\
    /*!40103 SET TIME_ZONE='+00:00'*/;\n\
    /*!40101 SET SQL_MODE='NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'*/;\n";

/// A stored object as SHOW CREATE tells it.
struct Stored<'a> {
    statement: &'a [u8],
    sql_mode: String,
    charset: Option<String>,
    collation: Option<String>,
    database_collation: Option<String>,
    time_zone: Option<String>,
}

impl<'a> Stored<'a> {
    /// From a row whose second column is the `sql_mode`; `statement` is the column of the text, followed by the charset and
    /// two collations (not for a library, which has none).
    fn read(row: &'a TextRow, statement: usize, what: &str) -> Result<Self, ServerError> {
        Ok(Self {
            statement: statement_of(row, statement, what)?,
            sql_mode: row.text(1).unwrap_or_default(),
            charset: row.text(statement + 1),
            collation: row.text(statement + 2),
            database_collation: row.text(statement + 3),
            time_zone: None,
        })
    }

    fn write(&self, file: &mut SchemaFile, own_collation: &str) {
        let other = self
            .database_collation
            .as_deref()
            .filter(|c| *c != own_collation);
        if let Some(collation) = other {
            file.statement(format!("ALTER DATABASE COLLATE {collation}"));
        }
        let charset = self.charset.as_deref().unwrap_or("utf8mb4");
        let lexer = client_charset::lexer_command(charset, self.statement);
        // First, because the command is a SET NAMES too.
        file.bytes.extend_from_slice(lexer.before.as_bytes());
        file.statement(format!("/*!50003 SET sql_mode='{}'*/", self.sql_mode));
        if let Some(charset) = &self.charset {
            file.statement(format!("/*!50003 SET character_set_client={charset}*/"));
        }
        if let Some(collation) = &self.collation {
            file.statement(format!("/*!50003 SET collation_connection={collation}*/"));
        }
        if let Some(zone) = &self.time_zone {
            file.statement(format!("/*!50106 SET time_zone='{zone}'*/"));
        }
        let mark = delimiter::for_statement(self.statement);
        file.bytes
            .extend_from_slice(format!("DELIMITER {mark}\n").as_bytes());
        file.bytes.extend_from_slice(self.statement);
        // On a line of its own, because a body may end in a comment.
        file.bytes
            .extend_from_slice(format!("\n{mark}\nDELIMITER ;\n").as_bytes());
        file.bytes.extend_from_slice(lexer.after.as_bytes());
        file.bytes.extend_from_slice(RESTORE.as_bytes());
        if other.is_some() {
            file.statement(format!("ALTER DATABASE COLLATE {own_collation}"));
        }
    }
}

/// `{db}.{table}-schema-trigger.sql`: the triggers of one table of `database`, in the order they fire.
pub fn triggers(
    session: &mut Session,
    database: &Database,
    triggers: &[Trigger],
) -> Result<SchemaFile, ServerError> {
    let mut file = SchemaFile::new();
    for trigger in triggers {
        let name = ObjectName::new(&database.name, &trigger.name);
        let what = format!("trigger {name}");
        let row = show_unconverted(session, &format!("SHOW CREATE TRIGGER {name}"), &what)?;
        Stored::read(&row, 2, &what)?.write(&mut file, &database.collation);
    }
    Ok(file)
}

/// `{db}-schema-post.sql`: routines, packages, libraries, then events. `None` if there are none.
pub fn post(session: &mut Session, database: &Database) -> Result<Option<SchemaFile>, ServerError> {
    if database.routines.is_empty() && database.events.is_empty() {
        return Ok(None);
    }
    let mut file = SchemaFile::new();
    for routine in &database.routines {
        write_routine(session, database, routine, &mut file)?;
    }
    for event in &database.events {
        let name = ObjectName::new(&database.name, event);
        let what = format!("event {name}");
        let row = show_unconverted(session, &format!("SHOW CREATE EVENT {name}"), &what)?;
        let mut stored = Stored::read(&row, 3, &what)?;
        stored.time_zone = row.text(2);
        stored.write(&mut file, &database.collation);
    }
    Ok(Some(file))
}

fn write_routine(
    session: &mut Session,
    database: &Database,
    routine: &Routine,
    file: &mut SchemaFile,
) -> Result<(), ServerError> {
    let name = format!("{}.{}", quote(&database.name), quote(&routine.name));
    let kind = routine.kind.keyword();
    let what = format!("{} {name}", kind.to_lowercase());
    let row = show_unconverted(session, &format!("SHOW CREATE {kind} {name}"), &what)?;
    Stored::read(&row, 2, &what)?.write(file, &database.collation);
    Ok(())
}
