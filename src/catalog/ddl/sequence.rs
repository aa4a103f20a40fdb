//! Sequences.
//!
//! Owns the statement that puts a new sequence where the old one stands, so that no number is given out twice.

use super::super::ident::{ObjectName, quote};
use super::{SchemaFile, doing, show, statement_of};
use crate::server::answer::TextRow;
use crate::server::error::ServerError;
use crate::server::flavor::Kind;
use crate::server::session::Session;

/// `{db}.{sequence}-schema-sequence.sql`.
pub fn sequence(session: &mut Session, name: &ObjectName) -> Result<SchemaFile, ServerError> {
    let what = format!("sequence {name}");
    let row = show(session, &format!("SHOW CREATE SEQUENCE {name}"), &what)?;
    let mut file = SchemaFile::new();
    file.statement(statement_of(&row, 1, &what)?);
    let doing = doing(&what);
    let position = if session.flavor().kind == Kind::TiDb {
        // One row for each kind of id; only a sequence's own says SEQUENCE.
        let rows = session.rows(&format!("SHOW TABLE {name} NEXT_ROW_ID"), &doing)?;
        let own = rows
            .iter()
            .find(|r| r.text(4).as_deref() == Some("SEQUENCE"));
        own.and_then(|row| row.text(3))
            .map(|next| format!("SELECT SETVAL({},{next})", quote(&name.name)))
    } else {
        let sql = format!(
            "SELECT next_not_cached_value, start_value, increment, cycle_count FROM {name}"
        );
        let row = session.first(&sql, &doing)?;
        row.and_then(|row| position(&name.name, &row))
    };
    if let Some(statement) = position {
        file.statement(statement);
    }
    Ok(file)
}

/// MariaDB. SETVAL moves only in the direction of the increment, and does nothing otherwise; `0` as its third argument says
/// that the value itself has not been used (MariaDB manual, SETVAL). ALTER SEQUENCE … RESTART goes anywhere.
fn position(name: &str, row: &TextRow) -> Option<String> {
    let number = |index| row.text(index)?.parse::<i128>().ok();
    let (next, start, increment) = (number(0)?, number(1)?, number(2)?);
    let rounds = number(3).unwrap_or_default();
    let name = quote(name);
    let is_ahead = if increment < 0 {
        next <= start
    } else {
        next >= start
    };
    Some(match (is_ahead, rounds) {
        (false, 0) => format!("ALTER SEQUENCE {name} RESTART {next}"),
        (_, 0) => format!("SELECT SETVAL({name},{next},0)"),
        _ => format!("SELECT SETVAL({name},{next},0,{rounds})"),
    })
}
