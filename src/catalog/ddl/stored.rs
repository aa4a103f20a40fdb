//! Triggers, routines, packages, libraries and events.
//!
//! Owns the settings around each of them: a stored object keeps the `sql_mode`, client charset, connection collation and
//! database collation (an event also the time zone) of the session that made it, so the session that makes it again must have
//! the same. Bodies are passed on byte for byte, in the charset they were written in.

use super::super::ident::ObjectName;
use super::super::{Database, Trigger};
use super::preamble::{BodyOf, Preamble};
use super::{Definer, SchemaFile, client_charset, delimiter, show, statement_of, unconverted};
use crate::server::error::ServerError;
use crate::server::session::Session;

/// What follows an object: the header's own settings again.
const RESTORE: &str = "/*!40101 SET NAMES utf8mb4*/;\n\
    /*!40103 SET TIME_ZONE='+00:00'*/;\n\
    /*!40101 SET SQL_MODE='NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'*/;\n";

/// A stored object as SHOW CREATE tells it.
struct Stored {
    statement: Vec<u8>,
    sql_mode: String,
    charset: Option<String>,
    collation: Option<String>,
    database_collation: Option<String>,
    time_zone: Option<String>,
}

impl Stored {
    /// Reads the answer of SHOW CREATE: in every one the `sql_mode` is the second column, and the text is followed by the
    /// charset and two collations (not for a library, which has none).
    fn read(
        session: &mut Session,
        name: &ObjectName,
        of: BodyOf,
        file: &mut SchemaFile,
    ) -> Result<Self, ServerError> {
        let (keyword, column) = match of {
            BodyOf::Trigger => ("TRIGGER", 2),
            BodyOf::Routine(kind) => (kind.keyword(), 2),
            BodyOf::Event => ("EVENT", 3),
        };
        let what = format!("{} {name}", keyword.to_lowercase());
        unconverted(session, &what, |session| {
            let row = show(session, &format!("SHOW CREATE {keyword} {name}"), &what)?;
            let statement = statement_of(&row, column, &what)?;
            let sql_mode = row.text(1).unwrap_or_default();
            let charset = row.text(column + 1);
            let preamble = Preamble {
                of,
                name,
                charset: charset.as_deref().unwrap_or("utf8mb4"),
                sql_mode: &sql_mode,
            };
            let (statement, warning) = preamble.correct(session, statement)?;
            file.warnings.extend(warning);
            Ok(Self {
                statement,
                sql_mode,
                charset,
                collation: row.text(column + 2),
                database_collation: row.text(column + 3),
                time_zone: row.text(2).filter(|_| of == BodyOf::Event),
            })
        })
    }

    fn write(&self, file: &mut SchemaFile, own_collation: &str, definer: &Definer) {
        let statement = definer.apply(&self.statement);
        let other = self
            .database_collation
            .as_deref()
            .filter(|c| *c != own_collation);
        if let Some(collation) = other {
            file.statement(format!("ALTER DATABASE COLLATE {collation}"));
        }
        let charset = self.charset.as_deref().unwrap_or("utf8mb4");
        let lexer = client_charset::lexer_command(charset, &statement);
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
        let mark = delimiter::for_statement(&statement);
        file.bytes
            .extend_from_slice(format!("DELIMITER {mark}\n").as_bytes());
        file.bytes.extend_from_slice(&statement);
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
    definer: &Definer,
) -> Result<SchemaFile, ServerError> {
    let mut file = SchemaFile::new();
    for trigger in triggers {
        let name = ObjectName::new(&database.name, &trigger.name);
        let stored = Stored::read(session, &name, BodyOf::Trigger, &mut file)?;
        stored.write(&mut file, &database.collation, definer);
    }
    Ok(file)
}

/// `{db}-schema-post.sql`: routines, packages, libraries, then events. `None` if there are none.
pub fn post(
    session: &mut Session,
    database: &Database,
    definer: &Definer,
) -> Result<Option<SchemaFile>, ServerError> {
    if database.routines.is_empty() && database.events.is_empty() {
        return Ok(None);
    }
    let mut file = SchemaFile::new();
    let routines = database
        .routines
        .iter()
        .map(|routine| (&routine.name, BodyOf::Routine(routine.kind)));
    let events = database.events.iter().map(|name| (name, BodyOf::Event));
    for (name, of) in routines.chain(events) {
        let name = ObjectName::new(&database.name, name);
        let stored = Stored::read(session, &name, of, &mut file)?;
        stored.write(&mut file, &database.collation, definer);
    }
    Ok(Some(file))
}
