//! Which rows of a chunk differ.
//!
//! Owns the search for the first row on either side that the other lacks, and how its key is told. Only the values of the key
//! are shown; no other value of a row leaves this file. Memory is a few bytes for each row of the chunk.

use std::collections::HashMap;

use xxhash_rust::xxh3::xxh3_64;

use super::against::{Comparison, Failure, Piece};
use super::files;
use crate::error::Error;
use crate::format::csv::{CsvCell, cells};
use crate::format::{CsvOptions, Format};
use crate::server::session::Session;

/// No key is shown at more length.
const LONGEST_KEY: usize = 120;

/// A phrase with the first key on each side that the other lacks; empty when there is no key to tell.
pub fn first_differing(
    comparison: &Comparison<'_>,
    session: &mut Session,
    piece: &Piece<'_>,
) -> Result<String, Failure> {
    let Some(key) = piece.table.keys.first() else {
        return Ok(String::new());
    };
    let columns: Vec<&str> = piece.table.dumped_columns().collect();
    let places: Vec<usize> = key
        .columns
        .iter()
        .filter_map(|name| columns.iter().position(|column| column == name))
        .collect();
    // A key over a generated column is not in the rows.
    if places.len() != key.columns.len() {
        return Ok(String::new());
    }
    let mut on_server: HashMap<u64, i64> = HashMap::new();
    comparison.read(session, piece, |_, text| {
        *on_server.entry(xxh3_64(text)).or_default() += 1;
    })?;
    let mut only_in_dump = None;
    for file in &piece.files {
        let seen = files::each_row(comparison.source, file, |text| {
            let left = on_server.entry(xxh3_64(text)).or_default();
            *left -= 1;
            if *left < 0 && only_in_dump.is_none() {
                only_in_dump = Some(key_of(text, &places, &comparison.format));
            }
        });
        seen.map_err(|error: Error| Failure::Dump(error))?;
    }
    let mut only_on_server = None;
    comparison.read(session, piece, |_, text| {
        let left = on_server.get_mut(&xxh3_64(text));
        if let Some(left) = left
            && *left > 0
            && only_on_server.is_none()
        {
            only_on_server = Some(key_of(text, &places, &comparison.format));
        }
    })?;
    let side = |key: Option<String>, where_: &str| {
        key.map(|key| format!("; the first row that is so only {where_} has the key {key}"))
            .unwrap_or_default()
    };
    Ok(side(only_in_dump, "in the dump") + &side(only_on_server, "on the server"))
}

/// The values at some places of a row's text, as they are written.
fn key_of(text: &[u8], places: &[usize], format: &Format) -> String {
    let values: Vec<Vec<u8>> = match format {
        Format::Sql(options) => sql_values(text, options.escape_backslash),
        Format::Csv(options) => csv_values(text, options),
    };
    let shown = places.iter().filter_map(|place| values.get(*place));
    let shown: Vec<_> = shown.map(|value| String::from_utf8_lossy(value)).collect();
    let key = shown.join(",");
    let cut: String = key.chars().take(LONGEST_KEY).collect();
    let dots = if cut.len() < key.len() { "…" } else { "" };
    format!("({cut}{dots})")
}

/// The values of `(…,…)`, split at commas outside of strings and brackets.
fn sql_values(text: &[u8], escapes: bool) -> Vec<Vec<u8>> {
    let inner = text.strip_prefix(b"(").unwrap_or(text);
    let inner = inner.strip_suffix(b")").unwrap_or(inner);
    let mut values = vec![Vec::new()];
    let (mut depth, mut in_text, mut at) = (0_usize, false, 0);
    while let Some(&byte) = inner.get(at) {
        at += 1;
        match byte {
            b'\'' => in_text = !in_text,
            b'\\' if in_text && escapes => {
                if let (Some(value), Some(next)) = (values.last_mut(), inner.get(at)) {
                    value.extend_from_slice(&[byte, *next]);
                }
                at += 1;
                continue;
            }
            b'(' if !in_text => depth += 1,
            b')' if !in_text => depth = depth.saturating_sub(1),
            b',' if !in_text && depth == 0 => {
                values.push(Vec::new());
                continue;
            }
            _ => {}
        }
        if let Some(value) = values.last_mut() {
            value.push(byte);
        }
    }
    values
}

fn csv_values(text: &[u8], options: &CsvOptions) -> Vec<Vec<u8>> {
    let value = |cell| match cell {
        CsvCell::Null => b"NULL".to_vec(),
        CsvCell::Bare(value) | CsvCell::Quoted(value) => value,
    };
    cells(text, options).into_iter().map(value).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::format::SqlOptions;

    #[test]
    fn only_the_values_of_the_key_are_shown() {
        let format = Format::Sql(SqlOptions {
            statement_size_bytes: 1,
            escape_backslash: true,
            complete_insert: false,
            history: false,
        });
        let text = br"('a,\'b',CONVERT('x,' USING UTF8MB4),7,NULL)";
        assert_eq!(key_of(text, &[2, 0], &format), r"(7,'a,\'b')");
        let long = format!("('{}')", "x".repeat(500));
        assert!(key_of(long.as_bytes(), &[0], &format).ends_with("…)"));
    }
}
