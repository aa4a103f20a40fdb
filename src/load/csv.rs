//! CSV files, by `LOAD DATA LOCAL INFILE`.
//!
//! Owns the statement. What the server makes of the rows is believed only when it says that it has taken all of them as they
//! are: LOCAL implies IGNORE, which skips duplicates and turns what is no number into 0 without an error (seen).

use super::rows::{RowError, RowLoader, TableRows};
use crate::error::Error;
use crate::manifest::source::DumpFile;
use crate::progress::Attempt;
use crate::server::session::Session;

/// Sends a file, within the transaction that is open.
pub fn load(
    _loader: &RowLoader<'_>,
    _session: &mut Session,
    _table: &TableRows<'_>,
    file: &DumpFile,
    _counted: &mut Attempt,
) -> Result<(), RowError> {
    Err(RowError::Final(Error::Request {
        message: format!("file {} is CSV", file.name),
        hint: None,
    }))
}
