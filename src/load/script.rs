//! `Script`: the statements of a schema file.
//!
//! Owns the reading of a whole file at once, with a limit, and the judgement of every statement in it before the first is run.

use crate::error::Error;
use crate::format::lexer::{LexError, Statements};
use crate::format::statement::Statement;
use crate::load::rules;
use crate::manifest::source::{DumpFile, Source, SourceError, read_error};

/// No definition of an object is longer; a file has one, or those of one database's routines.
const LONGEST_FILE: usize = 256 << 20;

/// A statement with what it is about.
#[derive(Debug, Clone)]
pub struct Step {
    /// The text.
    pub sql: Vec<u8>,
    /// Its number in the file, from 1.
    pub number: u64,
    /// What it is.
    pub statement: Statement,
}

/// The statements of a file, in order.
#[derive(Debug, Clone)]
pub struct Script {
    /// All of them.
    pub steps: Vec<Step>,
}

impl Script {
    /// Reads and judges a schema file; with `trust` anything goes.
    pub fn read(source: &Source, file: &DumpFile, trust: bool) -> Result<Self, Error> {
        let plain = source.read(file)?;
        let mut statements = Statements::new(plain, LONGEST_FILE);
        let mut steps = Vec::new();
        let mut bytes = 0;
        while let Some(sql) = statements
            .next_statement()
            .map_err(|e| unreadable(e, file))?
        {
            let statement = Statement::read(sql);
            if !trust {
                rules::check(file, &statement).map_err(|refusal| refused(file, &refusal))?;
            }
            bytes += sql.len();
            if bytes > LONGEST_FILE {
                let limit = LONGEST_FILE;
                let number = steps.len() as u64;
                return Err(unreadable(LexError::TooLong { number, limit }, file));
            }
            steps.push(Step {
                sql: sql.to_vec(),
                number: steps.len() as u64 + 1,
                statement,
            });
        }
        statements.into_source().finish()?;
        Ok(Self { steps })
    }
}

/// The error of a file that holds what it must not.
pub fn refused(file: &DumpFile, refusal: &str) -> Error {
    Error::Request {
        message: format!("file {} holds {refusal}, which is not run", file.name),
        hint: Some("use --trust to run whatever the files of this dump hold".to_owned()),
    }
}

/// The error of a file whose text cannot be read to its end.
pub fn unreadable(error: LexError, file: &DumpFile) -> Error {
    match error {
        LexError::Read(error) => read_error(error, &file.name).into(),
        other => Error::Source(SourceError::Damaged {
            name: file.name.clone(),
            what: format!("it {other}"),
        }),
    }
}
