//! `RowLoader`: a file of rows, transaction by transaction.
//!
//! Owns the rule that a row is loaded once: the rows of a transaction and the line that says so are committed together, and
//! every try begins where the last line ends. Tables that know no transactions are loaded as a whole, and when a try fails they
//! are emptied first, if they were empty when this load came. What is sent over the line, and where it stopped, is told by the
//! number of the statement; never by what is in it.

use super::checkpoint::{Checkpoint, Done, WHOLE};
use super::definitions::reset;
use super::line::{Line, Transience};
use super::script::{refused, unreadable};
use super::target::has_rows;
use super::{csv_rows, rules};
use crate::catalog::ident::ObjectName;
use crate::error::Error;
use crate::format::lexer::Statements;
use crate::format::statement::{Rows, Statement, first_foreign, with_hex_texts};
use crate::manifest::layout::Role;
use crate::manifest::source::{DumpFile, PlainFile, Source};
use crate::progress::{Attempt, TableProgress};
use crate::server::error::{ServerError, chain};
use crate::server::session::Session;

/// What loads rows.
pub struct RowLoader<'a> {
    /// Where they come from.
    pub source: &'a Source,
    /// What is done.
    pub checkpoint: &'a Checkpoint,
    /// What was done when the run began.
    pub done: &'a Done,
    /// Bytes after which a transaction ends.
    pub max_transaction_bytes: u64,
    /// The longest statement the target takes, in bytes.
    pub longest_statement: usize,
    /// Whether files may hold any statement.
    pub trust: bool,
}

/// A table in the target.
pub struct TableRows<'a> {
    /// Its name there.
    pub name: ObjectName,
    /// Whether its engine knows transactions.
    pub is_transactional: bool,
    /// Its files.
    pub files: &'a [DumpFile],
    /// Where its rows are counted.
    pub progress: TableProgress,
}

/// Why a try ended.
#[derive(Debug)]
pub enum RowError {
    /// The server, while a statement was sent.
    Server {
        /// The statement's number in the file, from 1.
        statement: Option<u64>,
        /// What went wrong.
        source: ServerError,
    },
    /// The piece was loaded by an earlier try.
    Applied,
    /// Anything that another try would meet again.
    Final(Error),
}

impl From<ServerError> for RowError {
    fn from(source: ServerError) -> Self {
        Self::Server {
            statement: None,
            source,
        }
    }
}

impl From<Error> for RowError {
    fn from(error: Error) -> Self {
        Self::Final(error)
    }
}

impl Transience for RowError {
    fn is_transient(&self) -> bool {
        match self {
            Self::Server { source, .. } => source.is_transient(),
            Self::Applied => true,
            Self::Final(_) => false,
        }
    }

    fn is_unreachable(&self) -> bool {
        matches!(self, Self::Server { source, .. } if source.is_unreachable())
    }

    fn shown(&self) -> String {
        match self {
            Self::Server { source, .. } => chain(source),
            Self::Applied => "the piece was loaded already".to_owned(),
            Self::Final(error) => chain(error),
        }
    }
}

impl RowError {
    fn into_error(self, file: &DumpFile, attempts: u32) -> Error {
        match self {
            Self::Server { statement, source } => Error::Load {
                file: file.name.clone(),
                statement,
                attempts,
                source: source.without_values(),
            },
            Self::Applied => Error::Request {
                message: format!(
                    "file {} is loaded by somebody else at the same time",
                    file.name
                ),
                hint: Some("let one rdump load run at a time".to_owned()),
            },
            Self::Final(error) => error,
        }
    }
}

/// The transaction that is open.
struct Open {
    /// The statement before its first.
    from: u64,
    bytes: u64,
}

impl RowLoader<'_> {
    /// Loads a file into a table that knows transactions.
    pub fn load_file(
        &self,
        line: &mut Line<'_>,
        table: &TableRows<'_>,
        file: &DumpFile,
    ) -> Result<(), Error> {
        if self.done.until(&file.name) == WHOLE {
            return Ok(());
        }
        let loaded =
            line.keep_trying(|session, attempt| self.attempt(session, table, file, attempt));
        loaded.map_err(|(error, attempts)| error.into_error(file, attempts))
    }

    fn attempt(
        &self,
        session: &mut Session,
        table: &TableRows<'_>,
        file: &DumpFile,
        attempt: u32,
    ) -> Result<(), RowError> {
        let until = match attempt {
            1 => self.done.until(&file.name),
            _ => self.checkpoint.until(session, &file.name)?,
        };
        if until == WHOLE {
            return Ok(());
        }
        reset(session, &table.name.database)?;
        let mut counted = table.progress.attempt();
        match file.role {
            Role::CsvData => {
                session.execute("START TRANSACTION", "beginning a transaction")?;
                csv_rows::load(self, session, table, file, &mut counted)?;
                self.commit(session, file, until, WHOLE)?;
            }
            _ => self.send_sql(session, file, until, &mut counted)?,
        }
        count_file(&mut counted, file);
        counted.keep();
        Ok(())
    }

    /// Sends what is behind `until`, and commits it piece by piece.
    fn send_sql(
        &self,
        session: &mut Session,
        file: &DumpFile,
        until: u64,
        counted: &mut Attempt,
    ) -> Result<(), RowError> {
        let mut statements = self.open(file)?;
        let mut open: Option<Open> = None;
        let mut index = 0;
        loop {
            let escapes = statements.backslash_escapes();
            let Some(sql) = statements
                .next_statement()
                .map_err(|e| unreadable(e, file))?
            else {
                break;
            };
            let bytes = sql.len() as u64;
            if self.is_rows(file, sql, escapes)? {
                index += 1;
                if index <= until {
                    continue;
                }
                if open.is_none() {
                    session.execute("START TRANSACTION", "beginning a transaction")?;
                }
                let piece = open.get_or_insert(Open {
                    from: index - 1,
                    bytes: 0,
                });
                piece.bytes += bytes;
            }
            send(session, file, sql, escapes, index)?;
            counted.add_rows(rows_without_manifest(file, sql, escapes), bytes);
            if let Some(piece) = open.take_if(|piece| piece.bytes >= self.max_transaction_bytes) {
                self.commit(session, file, piece.from, index)?;
            }
        }
        finish(statements.into_source())?;
        match open {
            Some(piece) => self.commit(session, file, piece.from, WHOLE),
            None if self.checkpoint.advance(session, &file.name, index, WHOLE)? => Ok(()),
            None => Err(RowError::Applied),
        }
    }

    fn commit(
        &self,
        session: &mut Session,
        file: &DumpFile,
        from: u64,
        until: u64,
    ) -> Result<(), RowError> {
        if !self.checkpoint.advance(session, &file.name, from, until)? {
            return Err(RowError::Applied);
        }
        session.execute("COMMIT", "committing rows")?;
        Ok(())
    }

    /// Loads all files of a table whose engine knows no transactions.
    pub fn load_table(&self, line: &mut Line<'_>, table: &TableRows<'_>) -> Result<(), Error> {
        let Some(first) = table.files.first() else {
            return Ok(());
        };
        if self.done.until(&first.name) == WHOLE {
            return Ok(());
        }
        let loaded =
            line.keep_trying(|session, attempt| self.attempt_table(session, table, first, attempt));
        loaded.map_err(|(error, attempts)| error.into_error(first, attempts))
    }

    fn attempt_table(
        &self,
        session: &mut Session,
        table: &TableRows<'_>,
        first: &DumpFile,
        attempt: u32,
    ) -> Result<(), RowError> {
        const EMPTY_BEFORE: u64 = 0;
        let noted = self
            .checkpoint
            .is_noted(session, &first.name, EMPTY_BEFORE)?;
        reset(session, &table.name.database)?;
        if noted {
            let sql = format!("TRUNCATE TABLE {}", table.name);
            session.execute(&sql, &format!("emptying {}", table.name))?;
        } else if attempt > 1 {
            return Err(RowError::Final(Error::Request {
                message: format!(
                    "table {} cannot be loaded again: its engine knows no transactions, and it had rows before",
                    table.name
                ),
                hint: Some("empty it, and load it with --restart".to_owned()),
            }));
        } else if !has_rows(session, &table.name)? {
            self.checkpoint.note(session, &first.name, EMPTY_BEFORE)?;
        }
        let mut counted = table.progress.attempt();
        for file in table.files {
            if file.role == Role::CsvData {
                csv_rows::load(self, session, table, file, &mut counted)?;
            } else {
                self.send_all(session, file, &mut counted)?;
            }
            count_file(&mut counted, file);
        }
        self.checkpoint.advance(session, &first.name, 1, WHOLE)?;
        counted.keep();
        Ok(())
    }

    fn send_all(
        &self,
        session: &mut Session,
        file: &DumpFile,
        counted: &mut Attempt,
    ) -> Result<(), RowError> {
        let mut statements = self.open(file)?;
        let mut index = 0;
        loop {
            let escapes = statements.backslash_escapes();
            let Some(sql) = statements
                .next_statement()
                .map_err(|e| unreadable(e, file))?
            else {
                break;
            };
            index += u64::from(self.is_rows(file, sql, escapes)?);
            send(session, file, sql, escapes, index)?;
            let rows = rows_without_manifest(file, sql, escapes);
            counted.add_rows(rows, sql.len() as u64);
        }
        finish(statements.into_source())
    }

    fn open(&self, file: &DumpFile) -> Result<Statements<PlainFile>, RowError> {
        let plain = self.source.read(file).map_err(Error::from)?;
        Ok(Statements::new(plain, self.longest_statement))
    }

    /// Whether a statement inserts rows. What the file must not hold is refused.
    fn is_rows(&self, file: &DumpFile, sql: &[u8], escapes: bool) -> Result<bool, RowError> {
        let statement = Statement::read(sql);
        if !self.trust {
            rules::check(file, &statement).map_err(|refusal| refused(file, &refusal))?;
            if let Statement::Insert { rows_at, .. } = &statement
                && first_foreign(sql, *rows_at, escapes).is_some()
            {
                let refusal = "an INSERT with something else than values in its rows";
                return Err(refused(file, refusal).into());
            }
        }
        Ok(!matches!(statement, Statement::Set(_)))
    }
}

fn send(
    session: &mut Session,
    file: &DumpFile,
    sql: &[u8],
    escapes: bool,
    index: u64,
) -> Result<(), RowError> {
    let doing = format!("loading {} (INSERT {index})", file.name);
    let sent = if session.takes_any_bytes() || std::str::from_utf8(sql).is_ok() {
        session.run(sql, &doing)
    } else {
        session.run(&with_hex_texts(sql, escapes), &doing)
    };
    sent.map_err(|source| RowError::Server {
        statement: Some(index),
        source,
    })
}

fn finish(plain: PlainFile) -> Result<(), RowError> {
    plain.finish().map_err(Error::from)?;
    Ok(())
}

/// The manifest says how many rows a file has; without it they are counted.
fn rows_without_manifest(file: &DumpFile, sql: &[u8], escapes: bool) -> u64 {
    if file.expected.is_some() {
        return 0;
    }
    match Statement::read(sql) {
        Statement::Insert { rows_at, .. } => Rows::new(sql, rows_at, escapes).count() as u64,
        _ => 0,
    }
}

fn count_file(counted: &mut Attempt, file: &DumpFile) {
    let data = file.expected.as_ref().and_then(|entry| entry.data.as_ref());
    counted.add_rows(data.map_or(0, |data| data.rows), 0);
    counted.add_file(file.stored_bytes);
}
