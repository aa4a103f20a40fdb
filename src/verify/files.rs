//! One file: its bytes against the manifest's hash, its rows against the manifest's count and digest.
//!
//! Owns the reading of a file once, as statements or CSV rows. A file that is damaged gives one difference, since everything
//! else that could be said of it follows from that.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use crate::catalog::ident::ObjectName;
use crate::error::Error;
use crate::format::CsvOptions;
use crate::format::csv::Records;
use crate::format::lexer::{LexError, Statements};
use crate::format::statement::{Rows, Statement};
use crate::manifest::Manifest;
use crate::manifest::layout::Role;
use crate::manifest::source::{DumpFile, PlainFile, Source, SourceError, read_error};
use crate::progress::{Progress, TableProgress};

/// The longest statement whose rows are counted: several files are read at the same time.
const LONGEST_STATEMENT: usize = 256 << 20;

/// Checks files.
pub struct FileCheck<'a> {
    source: &'a Source,
    tables: HashMap<ObjectName, TableProgress>,
    csv: CsvOptions,
}

/// The rows of a file.
#[derive(Default)]
struct Counted {
    rows: u64,
    digest: u128,
}

impl Counted {
    fn add(&mut self, row: &[u8]) {
        self.rows += 1;
        self.digest = self.digest.wrapping_add(u128::from(xxh3_64(row)));
    }
}

/// Why a file cannot be read to its end.
enum Trouble {
    Source(SourceError),
    /// A row is longer than we hold in memory.
    TooLong,
    /// Its text is not what its kind is made of.
    Text(String),
}

impl From<SourceError> for Trouble {
    fn from(error: SourceError) -> Self {
        Self::Source(error)
    }
}

impl<'a> FileCheck<'a> {
    /// Announces the tables of the dump.
    pub fn new(source: &'a Source, progress: &Progress) -> Self {
        let manifest = source.manifest.as_ref();
        let rows: HashMap<ObjectName, u64> = manifest
            .iter()
            .flat_map(|manifest| &manifest.tables)
            .map(|table| (ObjectName::new(&table.database, &table.name), table.rows))
            .collect();
        let mut tables = HashMap::new();
        for file in source.files.iter().filter(|file| file.role.is_data()) {
            if let Some(name) = file.table()
                && !tables.contains_key(&name)
            {
                let shown = format!("{}.{}", name.database, name.name);
                let expected = rows.get(&name).copied().unwrap_or_default();
                tables.insert(name, progress.table(shown, expected));
            }
        }
        Self {
            source,
            tables,
            csv: manifest.map_or_else(CsvOptions::default, Manifest::csv_options),
        }
    }

    /// Reads a file and says what differs. An error is what is no fault of the file.
    pub fn check(&self, file: &DumpFile) -> Result<Vec<String>, Error> {
        if let Some(expected) = &file.expected
            && expected.stored_bytes != file.stored_bytes
        {
            return Ok(vec![format!(
                "file {} has {} bytes instead of {}",
                file.name, file.stored_bytes, expected.stored_bytes
            )]);
        }
        let plain = self.source.read(file)?;
        let done = match file.role {
            Role::SqlData | Role::CsvData => {
                let mut counted = Counted::default();
                rows(plain, file, &self.csv, |row| counted.add(row)).map(|()| counted)
            }
            _ => self
                .source
                .check(file)
                .map_err(Trouble::from)
                .map(|_| Counted::default()),
        };
        let counted = match done {
            Ok(counted) => counted,
            Err(Trouble::Source(error @ SourceError::Storage(_))) => return Err(error.into()),
            Err(Trouble::Source(error)) => return Ok(vec![error.to_string()]),
            // Its bytes can still be told from others.
            Err(Trouble::TooLong) => {
                let checked = self.source.check(file);
                return Ok(checked
                    .err()
                    .map(|error| error.to_string())
                    .into_iter()
                    .collect());
            }
            Err(Trouble::Text(text)) => return Ok(vec![text]),
        };
        if let Some(progress) = file.table().and_then(|name| self.tables.get(&name)) {
            let mut attempt = progress.attempt();
            attempt.add_rows(counted.rows, raw_bytes(file));
            attempt.add_file(file.stored_bytes);
            attempt.keep();
        }
        Ok(compare(file, &counted))
    }

    /// Counts the tables as done.
    pub fn finish(&self) {
        self.tables.values().for_each(TableProgress::finish);
    }
}

fn raw_bytes(file: &DumpFile) -> u64 {
    let expected = file.expected.as_ref();
    expected.map_or(file.stored_bytes, |expected| expected.raw_bytes)
}

fn compare(file: &DumpFile, counted: &Counted) -> Vec<String> {
    let expected = file.expected.as_ref();
    let Some(data) = expected.and_then(|entry| entry.data.as_ref()) else {
        return Vec::new();
    };
    let mut found = Vec::new();
    if counted.rows != data.rows {
        found.push(format!(
            "file {} holds {} rows instead of {}",
            file.name, counted.rows, data.rows
        ));
    } else if format!("{:032x}", counted.digest) != data.digest {
        found.push(format!(
            "file {} holds other rows than were written (another digest)",
            file.name
        ));
    }
    found
}

/// Gives each row of a file of rows to `each`, as the text that its hash covers.
pub fn each_row(source: &Source, file: &DumpFile, each: impl FnMut(&[u8])) -> Result<(), Error> {
    let manifest = source.manifest.as_ref();
    let csv = manifest.map_or_else(CsvOptions::default, Manifest::csv_options);
    rows(source.read(file)?, file, &csv, each).map_err(|trouble| match trouble {
        Trouble::Source(error) => error.into(),
        Trouble::TooLong => damaged(file, "it has a row that is too long"),
        Trouble::Text(text) => damaged(file, &text),
    })
}

fn damaged(file: &DumpFile, what: &str) -> Error {
    Error::Source(SourceError::Damaged {
        name: file.name.clone(),
        what: what.to_owned(),
    })
}

fn rows(
    plain: PlainFile,
    file: &DumpFile,
    csv: &CsvOptions,
    each: impl FnMut(&[u8]),
) -> Result<(), Trouble> {
    match file.role {
        Role::CsvData => csv_rows(plain, file, csv, each),
        _ => sql_rows(plain, file, each),
    }
}

fn sql_rows(plain: PlainFile, file: &DumpFile, mut each: impl FnMut(&[u8])) -> Result<(), Trouble> {
    let mut statements = Statements::new(plain, LONGEST_STATEMENT);
    loop {
        let escapes = statements.backslash_escapes();
        let statement = match statements.next_statement() {
            Ok(Some(statement)) => statement,
            Ok(None) => break,
            Err(error) => return Err(trouble(error, file)),
        };
        if let Statement::Insert { rows_at, .. } = Statement::read(statement) {
            for row in Rows::new(statement, rows_at, escapes) {
                each(&statement[row]);
            }
        }
    }
    statements.into_source().finish()?;
    Ok(())
}

fn csv_rows(
    plain: PlainFile,
    file: &DumpFile,
    csv: &CsvOptions,
    mut each: impl FnMut(&[u8]),
) -> Result<(), Trouble> {
    let mut records = Records::new(plain, csv, LONGEST_STATEMENT);
    let mut is_header = csv.header;
    loop {
        match records.next_record() {
            Ok(Some(_)) if is_header => is_header = false,
            Ok(Some(row)) => each(row),
            Ok(None) => break,
            Err(error) => return Err(trouble(error, file)),
        }
    }
    records.into_source().finish()?;
    Ok(())
}

fn trouble(error: LexError, file: &DumpFile) -> Trouble {
    match error {
        LexError::Read(error) => read_error(error, &file.name).into(),
        LexError::TooLong { .. } => Trouble::TooLong,
        LexError::Unfinished { .. } => Trouble::Text(format!("file {} {error}", file.name)),
    }
}
