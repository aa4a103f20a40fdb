//! The contents of schema files: the statements that make databases, tables, sequences, views and stored objects again.
//!
//! Owns their bytes. Every file begins with [`HEADER`] and loads alone, with the plain client, in a session with any
//! settings and the right database selected; the order of files is create, sequence, schema, data, post, view, trigger. What
//! the server printed is passed on as it is: DDL is bytes, since a DEFAULT may hold any. Only plain SQL and version comments
//! that every supported server knows are used (B133), and the client's DELIMITER around bodies. What files are called
//! `manifest/names.rs` knows, where they go `storage/`.

mod client_charset;
mod definer;
mod delimiter;
mod implicit_collation;
mod preamble;
mod sequence;
mod stand_in;
mod stored;
mod users;
mod view;

pub use definer::Definer;
pub use sequence::sequence;
pub use stored::{post, triggers};
pub use users::users;
pub use view::{ViewFiles, view};

use super::ident::{ObjectName, quote};
use crate::server::answer::TextRow;
use crate::server::error::ServerError;
use crate::server::session::Session;

/// How every schema file begins. All in version comments, which TiDB Lightning skips. Not strict, because a strict server
/// refuses what it once let in (zero dates as DEFAULT, ENUM values cut off).
pub const HEADER: &str = "/*!40101 SET NAMES utf8mb4*/;\n\
    /*!40014 SET FOREIGN_KEY_CHECKS=0*/;\n\
    /*!40103 SET TIME_ZONE='+00:00'*/;\n\
    /*!40101 SET SQL_MODE='NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'*/;\n";

/// A schema file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SchemaFile {
    /// What is in it.
    pub bytes: Vec<u8>,
    /// What it cannot keep, each a sentence that names the object.
    pub warnings: Vec<String>,
}

impl SchemaFile {
    /// A file that holds nothing but its header.
    fn new() -> Self {
        Self {
            bytes: HEADER.as_bytes().to_vec(),
            warnings: Vec::new(),
        }
    }

    /// Adds a statement and its end.
    fn statement(&mut self, sql: impl AsRef<[u8]>) {
        self.bytes.extend_from_slice(sql.as_ref());
        self.bytes.extend_from_slice(b";\n");
    }
}

/// `{db}-schema-create.sql`.
pub fn database(session: &mut Session, name: &str) -> Result<SchemaFile, ServerError> {
    let what = format!("database {}", quote(name));
    let row = show(
        session,
        &format!("SHOW CREATE DATABASE {}", quote(name)),
        &what,
    )?;
    let mut file = SchemaFile::new();
    file.statement(statement_of(&row, 1, &what)?);
    Ok(file)
}

/// The text of SHOW CREATE TABLE as it has to be sent to give the same again.
pub fn show_create_table(session: &mut Session, name: &ObjectName) -> Result<Vec<u8>, ServerError> {
    let what = format!("table {name}");
    let row = show(session, &format!("SHOW CREATE TABLE {name}"), &what)?;
    let create = statement_of(&row, 1, &what)?;
    Ok(if session.flavor().marks_explicit_collations() {
        implicit_collation::leave_out(create)
    } else {
        create.to_vec()
    })
}

/// `{db}.{table}-schema.sql` from what [`show_create_table`] returned.
pub fn table(create: &[u8]) -> SchemaFile {
    let mut file = SchemaFile::new();
    file.statement(create);
    file
}

/// Whether a generated column, a default, a check or an index of what [`show_create_table`] returned computes with a string
/// that has a backslash in it.
pub fn has_backslash_in_expression(create: &[u8]) -> bool {
    const MARKS: [&[u8]; 5] = [
        b" GENERATED ALWAYS AS (",
        b" DEFAULT (",
        b" CHECK (",
        b" VALUES ",
        b"KEY ",
    ];
    let mut lines = create.split(|byte| *byte == b'\n');
    lines.any(|line| {
        let has_mark = |mark: &&[u8]| memchr::memmem::find(line, mark).is_some();
        line.contains(&b'\\') && MARKS.iter().any(has_mark)
    })
}

/// Runs a SHOW CREATE statement, which answers with one row.
fn show(session: &mut Session, sql: &str, what: &str) -> Result<TextRow, ServerError> {
    let doing = doing(what);
    session.first(sql, &doing)?.ok_or(ServerError::Protocol {
        doing,
        what: "SHOW CREATE returned no row".to_owned(),
    })
}

/// Runs `work` while every text comes in the bytes the server keeps, not converted for us: a body in the charset of whoever
/// created it, which is how it must be sent again.
fn unconverted<T>(
    session: &mut Session,
    what: &str,
    work: impl FnOnce(&mut Session) -> Result<T, ServerError>,
) -> Result<T, ServerError> {
    let doing = doing(what);
    session.execute("SET character_set_results=NULL", &doing)?;
    let done = work(session);
    if !session.is_broken() {
        session.execute("SET character_set_results=utf8mb4", &doing)?;
    }
    done
}

/// The statement in column `index`; NULL is how the server hides it from an account.
fn statement_of<'a>(row: &'a TextRow, index: usize, what: &str) -> Result<&'a [u8], ServerError> {
    row.bytes(index).ok_or_else(|| ServerError::Hidden {
        object: what.to_owned(),
    })
}

fn doing(what: &str) -> String {
    format!("reading the definition of {what}")
}
