//! `Checkpoint`: what of this dump has been loaded, kept in the target beside the rows.
//!
//! Owns the table `rdump_checkpoint`. A piece of rows writes its line in the same transaction, so that line and rows are there
//! together or not at all; a second try of the piece would meet the line and fail (error 1062). A definition is noted before it
//! is sent: what is there afterwards and was not before is ours. Lines are keyed by the dump, so loads of several dumps do not
//! see each other's. When a line was written, whoever loads decides.

use std::collections::HashMap;

use crate::catalog::ident::{ObjectName, hex};
use crate::server::error::ServerError;
use crate::server::session::Session;

/// The table's name.
pub const TABLE: &str = "rdump_checkpoint";
/// The `until` of a file that is loaded to its end.
pub const WHOLE: u64 = u64::MAX;

const DOING: &str = "keeping the checkpoint";

/// The lines of one dump.
#[derive(Debug, Clone)]
pub struct Checkpoint {
    table: ObjectName,
    dump: String,
}

/// What was done, as the lines say it.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Done {
    /// For each file of rows, up to which statement it is loaded.
    until: HashMap<String, u64>,
    /// Statements that were noted.
    noted: HashMap<String, Vec<u64>>,
}

impl Done {
    /// Whether nothing was done.
    pub fn is_empty(&self) -> bool {
        self.until.is_empty() && self.noted.is_empty()
    }

    /// Up to which statement a file of rows is loaded.
    pub fn until(&self, file: &str) -> u64 {
        self.until.get(file).copied().unwrap_or_default()
    }

    /// Whether a statement was noted.
    pub fn is_noted(&self, file: &str, statement: u64) -> bool {
        self.noted
            .get(file)
            .is_some_and(|noted| noted.contains(&statement))
    }

    /// Whether any statement of a file was noted.
    pub fn has_notes(&self, file: &str) -> bool {
        self.noted.contains_key(file)
    }
}

impl Checkpoint {
    /// The checkpoint of a dump in a database.
    pub fn new(database: &str, dump: String) -> Self {
        Self {
            table: ObjectName::new(database, TABLE),
            dump,
        }
    }

    /// Makes the table, if it is not there.
    pub fn create(&self, session: &mut Session) -> Result<(), ServerError> {
        let sql = format!(
            "CREATE TABLE IF NOT EXISTS {} (\
             dump CHAR(32) CHARACTER SET ascii COLLATE ascii_bin NOT NULL, \
             file VARBINARY(255) NOT NULL, \
             part BIGINT UNSIGNED NOT NULL, \
             until BIGINT UNSIGNED NOT NULL, \
             PRIMARY KEY (dump, file, part)) ENGINE=InnoDB",
            self.table
        );
        session.execute(&sql, "making the checkpoint")
    }

    /// Everything that was done. A table that is not there says that nothing was.
    pub fn read(&self, session: &mut Session) -> Result<Done, ServerError> {
        const NOTHING_THERE: [u16; 2] = [1049, 1146];
        let sql = format!(
            "SELECT file, part, until FROM {} WHERE dump = '{}'",
            self.table, self.dump
        );
        let rows = match session.rows(&sql, DOING) {
            Err(error)
                if error
                    .code()
                    .is_some_and(|code| NOTHING_THERE.contains(&code)) =>
            {
                return Ok(Done::default());
            }
            rows => rows?,
        };
        let mut done = Done::default();
        for row in rows {
            let file = row.text(0).unwrap_or_default();
            let part = row.number(1).unwrap_or_default();
            match row.number(2).unwrap_or_default() {
                0 => done.noted.entry(file).or_default().push(part),
                until => {
                    let known = done.until.entry(file).or_default();
                    *known = until.max(*known);
                }
            }
        }
        Ok(done)
    }

    /// Up to which statement a file of rows is loaded.
    pub fn until(&self, session: &mut Session, file: &str) -> Result<u64, ServerError> {
        let sql = format!(
            "SELECT MAX(until) FROM {} WHERE dump = '{}' AND file = x'{}'",
            self.table,
            self.dump,
            hex(file.as_bytes())
        );
        let row = session.first(&sql, DOING)?;
        Ok(row.and_then(|row| row.number(0)).unwrap_or_default())
    }

    /// Writes that the statements of a file of rows behind `part` and up to `until` are loaded; to be called in their
    /// transaction. False when that was written before, and so they were loaded before.
    pub fn advance(
        &self,
        session: &mut Session,
        file: &str,
        part: u64,
        until: u64,
    ) -> Result<bool, ServerError> {
        const DUPLICATE: u16 = 1062;
        match self.insert(session, file, part, until) {
            Err(error) if error.code() == Some(DUPLICATE) => Ok(false),
            written => written.map(|()| true),
        }
    }

    /// Notes a statement that is about to be sent. One that is noted already stays so.
    pub fn note(
        &self,
        session: &mut Session,
        file: &str,
        statement: u64,
    ) -> Result<(), ServerError> {
        self.advance(session, file, statement, 0).map(drop)
    }

    /// Whether a statement was noted.
    pub fn is_noted(
        &self,
        session: &mut Session,
        file: &str,
        statement: u64,
    ) -> Result<bool, ServerError> {
        let sql = format!(
            "SELECT 1 FROM {} WHERE dump = '{}' AND file = x'{}' AND part = {statement}",
            self.table,
            self.dump,
            hex(file.as_bytes())
        );
        Ok(session.first(&sql, DOING)?.is_some())
    }

    /// Forgets everything of this dump, and the table with its last line.
    pub fn remove(&self, session: &mut Session) -> Result<(), ServerError> {
        const NOTHING_THERE: [u16; 2] = [1049, 1146];
        let delete = format!("DELETE FROM {} WHERE dump = '{}'", self.table, self.dump);
        match session.execute(&delete, DOING) {
            Err(error)
                if error
                    .code()
                    .is_some_and(|code| NOTHING_THERE.contains(&code)) =>
            {
                return Ok(());
            }
            deleted => deleted?,
        }
        let left = session.first(&format!("SELECT 1 FROM {} LIMIT 1", self.table), DOING)?;
        if left.is_none() {
            session.execute(&format!("DROP TABLE IF EXISTS {}", self.table), DOING)?;
        }
        Ok(())
    }

    fn insert(
        &self,
        session: &mut Session,
        file: &str,
        part: u64,
        until: u64,
    ) -> Result<(), ServerError> {
        let sql = format!(
            "INSERT INTO {} (dump, file, part, until) VALUES ('{}', x'{}', {part}, {until})",
            self.table,
            self.dump,
            hex(file.as_bytes())
        );
        session.execute(&sql, DOING)
    }
}
