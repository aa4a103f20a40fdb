//! CSV files, by `LOAD DATA LOCAL INFILE` from memory, or as INSERTs where the server does not take files.
//!
//! Owns the translation: whatever marks a dump's CSV has, the server is sent one form of text that it cannot misread. What it
//! makes of the rows is believed only when it says that it has taken all of them as they are: LOCAL implies IGNORE, which skips
//! duplicates and turns what is no number into 0 without an error (seen).

use std::io;
use std::sync::{Arc, Mutex, PoisonError};

use super::rows::{RowError, RowLoader, TableRows};
use super::script::unreadable;
use crate::catalog::ident::{hex, quote, text_literal};
use crate::error::Error;
use crate::format::CsvOptions;
use crate::format::csv::{CsvCell, Records, cells};
use crate::manifest::Manifest;
use crate::manifest::source::{DumpFile, PlainFile};
use crate::progress::Attempt;
use crate::server::error::ServerError;
use crate::server::send::NextBlock;
use crate::server::session::Session;

/// A block of text for the server, and a statement of the other way, are about so long.
const BLOCK_BYTES: usize = 256 << 10;

/// A file on its way, shared with the thread that sends it.
struct Feed {
    records: Option<Records<PlainFile>>,
    columns: Vec<Column>,
    options: CsvOptions,
    rows: u64,
    failure: Option<Error>,
    file: DumpFile,
}

/// A column of the file.
#[derive(Clone)]
struct Column {
    name: String,
    encoding: Encoding,
}

/// How a column's bytes are written.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Encoding {
    Text,
    Hex,
    Base64,
    Raw,
}

/// What the server made of a file.
enum Verdict {
    /// All of its rows are there, as they are.
    Taken { rows: u64 },
    /// It takes no files.
    Off,
    /// It changed or skipped something.
    Doubtful { warnings: u64 },
}

/// Sends a file, within the transaction that is open if the table knows transactions.
pub fn load(
    loader: &RowLoader<'_>,
    session: &mut Session,
    table: &TableRows<'_>,
    file: &DumpFile,
    counted: &mut Attempt,
) -> Result<(), RowError> {
    const SAVEPOINT: &str = "SAVEPOINT rdump";
    let doing = format!("loading {}", file.name);
    session.execute(SAVEPOINT, &doing)?;
    let rows = match send_file(loader, session, table, file, &doing)? {
        Verdict::Taken { rows } => rows,
        Verdict::Doubtful { warnings } if table.is_transactional => {
            // As statements the rows are taken, or refused with a reason.
            log::info!(
                "{warnings} warnings at {}; its rows are sent as INSERTs",
                file.name
            );
            session.execute(&format!("ROLLBACK TO {SAVEPOINT}"), &doing)?;
            insert_all(loader, session, table, file, &doing)?
        }
        Verdict::Off => insert_all(loader, session, table, file, &doing)?,
        Verdict::Doubtful { warnings } => {
            return Err(RowError::Final(Error::Request {
                message: format!(
                    "table {} took the rows of file {} with {warnings} warnings, and cannot give them back",
                    table.name, file.name
                ),
                hint: Some("is it the table that was dumped, and was it empty?".to_owned()),
            }));
        }
    };
    let raw = file.expected.as_ref().map_or(0, |entry| entry.raw_bytes);
    let rows = if file.expected.is_some() { 0 } else { rows };
    counted.add_rows(rows, raw);
    Ok(())
}

fn send_file(
    loader: &RowLoader<'_>,
    session: &mut Session,
    table: &TableRows<'_>,
    file: &DumpFile,
    doing: &str,
) -> Result<Verdict, RowError> {
    let feed = open(loader, session, table, file)?;
    let columns = feed.columns.clone();
    let feed = Arc::new(Mutex::new(feed));
    let shared = Arc::clone(&feed);
    let blocks: Box<NextBlock<'static>> = Box::new(move |block: &mut Vec<u8>| {
        let mut feed = shared.lock().unwrap_or_else(PoisonError::into_inner);
        feed.next_block(block)
    });
    let sent = session.load_local(&statement(table, &columns), blocks, doing);
    let mut feed = feed.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(error) = feed.failure.take() {
        return Err(error.into());
    }
    match sent {
        Err(error) if is_off(&error) => Ok(Verdict::Off),
        Err(error) => Err(error.into()),
        Ok(answer) if answer.rows == feed.rows && answer.warnings == 0 => {
            Ok(Verdict::Taken { rows: feed.rows })
        }
        Ok(answer) => Ok(Verdict::Doubtful {
            warnings: answer.warnings,
        }),
    }
}

/// A dump of ours has no value that the table did not hold; any other may have, and is taken strictly.
fn insert_all(
    loader: &RowLoader<'_>,
    session: &mut Session,
    table: &TableRows<'_>,
    file: &DumpFile,
    doing: &str,
) -> Result<u64, RowError> {
    const STRICT: &str =
        "SET sql_mode='STRICT_ALL_TABLES,NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES'";
    if file.expected.is_none() {
        session.execute(STRICT, doing)?;
    }
    let mut feed = open(loader, session, table, file)?;
    insert(session, table, &mut feed, doing)?;
    Ok(feed.rows)
}

/// LOCAL INFILE is turned off: 1148, MySQL 3948, MariaDB 4166.
fn is_off(error: &ServerError) -> bool {
    matches!(error.code(), Some(1148 | 3948 | 4166))
}

fn open(
    loader: &RowLoader<'_>,
    session: &mut Session,
    table: &TableRows<'_>,
    file: &DumpFile,
) -> Result<Feed, RowError> {
    let manifest = loader.source.manifest.as_ref();
    let options = manifest.map_or_else(CsvOptions::default, Manifest::csv_options);
    let plain = loader.source.read(file).map_err(Error::from)?;
    let mut records = Records::new(plain, &options, loader.longest_statement);
    let names = if options.header {
        let header = records.next_record().map_err(|e| unreadable(e, file))?;
        let header = cells(header.unwrap_or_default(), &options);
        let name = |cell| match cell {
            CsvCell::Null => String::new(),
            CsvCell::Bare(name) | CsvCell::Quoted(name) => {
                String::from_utf8_lossy(&name).into_owned()
            }
        };
        header.into_iter().map(name).collect()
    } else {
        stored_columns(session, table)?
    };
    let entry = manifest.and_then(|manifest| {
        let mut tables = manifest.tables.iter();
        tables.find(|entry| {
            file.table()
                .is_some_and(|t| t.database == entry.database && t.name == entry.name)
        })
    });
    let encoding = |name: &str| {
        let mut binary = entry.iter().flat_map(|entry| &entry.binary_columns);
        let found = binary.find(|column| column.name == name);
        match found.map(|column| column.encoding.as_str()) {
            None => Encoding::Text,
            Some("base64") => Encoding::Base64,
            Some("raw") => Encoding::Raw,
            Some(_) => Encoding::Hex,
        }
    };
    let columns = names
        .into_iter()
        .map(|name: String| Column {
            encoding: encoding(&name),
            name,
        })
        .collect();
    Ok(Feed {
        records: Some(records),
        columns,
        options,
        rows: 0,
        failure: None,
        file: file.clone(),
    })
}

/// The columns of the target's table that are not generated.
fn stored_columns(
    session: &mut Session,
    table: &TableRows<'_>,
) -> Result<Vec<String>, ServerError> {
    let sql = format!(
        "SELECT COLUMN_NAME FROM information_schema.COLUMNS WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {} \
         AND EXTRA NOT LIKE '%GENERATED' ORDER BY ORDINAL_POSITION",
        text_literal(&table.name.database),
        text_literal(&table.name.name)
    );
    let rows = session.rows(&sql, &format!("reading the columns of {}", table.name))?;
    Ok(rows.iter().filter_map(|row| row.text(0)).collect())
}

fn statement(table: &TableRows<'_>, columns: &[Column]) -> String {
    let mut targets = Vec::new();
    let mut settings = Vec::new();
    for (index, column) in columns.iter().enumerate() {
        let name = quote(&column.name);
        if column.encoding == Encoding::Text {
            targets.push(name);
        } else {
            targets.push(format!("@c{index}"));
            settings.push(format!("{name}=UNHEX(@c{index})"));
        }
    }
    let settings = match settings.as_slice() {
        [] => String::new(),
        settings => format!(" SET {}", settings.join(", ")),
    };
    format!(
        "LOAD DATA LOCAL INFILE 'rdump' INTO TABLE {} CHARACTER SET utf8mb4 \
         FIELDS TERMINATED BY '\\t' ENCLOSED BY '' ESCAPED BY '\\\\' LINES TERMINATED BY '\\n' ({}){settings}",
        table.name,
        targets.join(", ")
    )
}

impl Feed {
    /// The next row, taken apart.
    fn next_row(&mut self) -> Result<Option<Vec<CsvCell>>, Error> {
        let Some(records) = &mut self.records else {
            return Ok(None);
        };
        let next = records
            .next_record()
            .map_err(|e| unreadable(e, &self.file))?;
        let Some(row) = next else {
            if let Some(records) = self.records.take() {
                records.into_source().finish()?;
            }
            return Ok(None);
        };
        let cells = cells(row, &self.options);
        self.rows += 1;
        if cells.len() != self.columns.len() {
            return Err(Error::Request {
                message: format!(
                    "row {} of file {} has {} cells instead of {}",
                    self.rows,
                    self.file.name,
                    cells.len(),
                    self.columns.len()
                ),
                hint: None,
            });
        }
        Ok(Some(cells))
    }

    fn next_block(&mut self, block: &mut Vec<u8>) -> io::Result<()> {
        while block.len() < BLOCK_BYTES {
            let row = match self.next_row() {
                Ok(Some(row)) => row,
                Ok(None) => return Ok(()),
                Err(error) => {
                    self.failure = Some(error);
                    return Err(io::Error::other("the file cannot be read"));
                }
            };
            for (index, (cell, column)) in row.into_iter().zip(&self.columns).enumerate() {
                if index > 0 {
                    block.push(b'\t');
                }
                match cell {
                    CsvCell::Null => block.extend_from_slice(b"\\N"),
                    CsvCell::Bare(value) | CsvCell::Quoted(value) => match column.encoding {
                        Encoding::Text => escape(&value, block),
                        encoding => block.extend_from_slice(&as_hex(&value, encoding)),
                    },
                }
            }
            block.push(b'\n');
        }
        Ok(())
    }
}

fn escape(value: &[u8], out: &mut Vec<u8>) {
    for byte in value {
        match byte {
            b'\t' | b'\n' | b'\\' => out.extend_from_slice(&[b'\\', *byte]),
            0 => out.extend_from_slice(b"\\0"),
            _ => out.push(*byte),
        }
    }
}

fn as_hex(value: &[u8], encoding: Encoding) -> Vec<u8> {
    match encoding {
        Encoding::Hex => value.to_vec(),
        Encoding::Base64 => hex(&from_base64(value)).into_bytes(),
        Encoding::Text | Encoding::Raw => hex(value).into_bytes(),
    }
}

/// RFC 4648 section 4; what is no digit of it is passed over, as the server's FROM_BASE64 does with blanks.
fn from_base64(text: &[u8]) -> Vec<u8> {
    let mut out = Vec::with_capacity(text.len() / 4 * 3);
    let (mut bits, mut held) = (0_u32, 0_u32);
    for byte in text {
        let digit = match byte {
            b'A'..=b'Z' => byte - b'A',
            b'a'..=b'z' => byte - b'a' + 26,
            b'0'..=b'9' => byte - b'0' + 52,
            b'+' => 62,
            b'/' => 63,
            _ => continue,
        };
        bits = bits << 6 | u32::from(digit);
        held += 6;
        if held >= 8 {
            held -= 8;
            out.push((bits >> held).to_le_bytes()[0]);
        }
    }
    out
}

/// The same rows as statements.
fn insert(
    session: &mut Session,
    table: &TableRows<'_>,
    feed: &mut Feed,
    doing: &str,
) -> Result<(), RowError> {
    let names: Vec<String> = feed.columns.iter().map(|c| quote(&c.name)).collect();
    let head = format!("INSERT INTO {} ({}) VALUES ", table.name, names.join(","));
    let mut sql = Vec::new();
    loop {
        let row = feed.next_row()?;
        if let Some(row) = &row {
            sql.extend_from_slice(if sql.is_empty() {
                head.as_bytes()
            } else {
                b","
            });
            literals(row, &feed.columns, &mut sql);
        }
        if !sql.is_empty() && (row.is_none() || sql.len() >= BLOCK_BYTES) {
            session
                .run(&sql, doing)
                .map_err(|source| RowError::Server {
                    statement: Some(feed.rows),
                    source,
                })?;
            sql.clear();
        }
        if row.is_none() {
            return Ok(());
        }
    }
}

/// Numbers as they are, all else as hex digits, which mean the same in every session.
fn literals(row: &[CsvCell], columns: &[Column], sql: &mut Vec<u8>) {
    for (index, (cell, column)) in row.iter().zip(columns).enumerate() {
        sql.push(if index == 0 { b'(' } else { b',' });
        match (cell, column.encoding) {
            (CsvCell::Null, _) => sql.extend_from_slice(b"NULL"),
            (CsvCell::Bare(value), Encoding::Text) if is_number(value) => {
                sql.extend_from_slice(value);
            }
            (CsvCell::Bare(value) | CsvCell::Quoted(value), Encoding::Text) => {
                sql.extend_from_slice(b"_utf8mb4 x'");
                sql.extend_from_slice(hex(value).as_bytes());
                sql.push(b'\'');
            }
            (CsvCell::Bare(value) | CsvCell::Quoted(value), encoding) => {
                sql.extend_from_slice(b"x'");
                sql.extend_from_slice(&as_hex(value, encoding));
                sql.push(b'\'');
            }
        }
    }
    sql.push(b')');
}

/// Whether a value means the same as a number in SQL. A negative zero does not: as a string it keeps its sign.
fn is_number(value: &[u8]) -> bool {
    let text = std::str::from_utf8(value).unwrap_or_default();
    let is_made_of_digits = value
        .iter()
        .all(|b| b.is_ascii_digit() || b"+-.eE".contains(b));
    let number = text.parse::<f64>().ok().filter(|_| is_made_of_digits);
    number.is_some_and(|number| number != 0.0 || number.is_sign_positive())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn base64_is_undone_with_every_padding() {
        for (text, bytes) in [("", ""), ("YQ==", "a"), ("YWI=", "ab"), ("YWJj", "abc")] {
            assert_eq!(from_base64(text.as_bytes()), bytes.as_bytes());
        }
    }

    #[test]
    fn only_numbers_are_written_bare() {
        for text in ["1", "0", "1.5e-3", "+7"] {
            assert!(is_number(text.as_bytes()), "{text}");
        }
        for text in ["", "nan", "1)", "0x1", "e", "-0", "-0.0"] {
            assert!(!is_number(text.as_bytes()), "{text}");
        }
    }
}
