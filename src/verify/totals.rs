//! The whole against its parts: what the manifest says of a table and of its files, and what `metadata` says of the moment.
//!
//! Owns the comparisons for which no data file need be read.

use std::collections::{BTreeMap, BTreeSet};

use crate::catalog::ident::ObjectName;
use crate::error::Error;
use crate::manifest::layout::Role;
use crate::manifest::source::Source;
use crate::manifest::{Manifest, PositionEntry, TableEntry};

/// What the manifest contradicts, itself or `metadata`.
pub fn differences(manifest: &Manifest, source: &Source) -> Result<Vec<String>, Error> {
    let mut found: Vec<_> = manifest.tables.iter().flat_map(table).collect();
    let Some(metadata) = source.metadata()? else {
        found.push("file metadata is missing".to_owned());
        return Ok(found);
    };
    found.extend(position(manifest, &String::from_utf8_lossy(&metadata)));
    Ok(found)
}

fn table(table: &TableEntry) -> Vec<String> {
    let name = ObjectName::new(&table.database, &table.name);
    let parts: Vec<_> = table
        .files
        .iter()
        .filter_map(|file| file.data.as_ref())
        .collect();
    let mut found = Vec::new();
    let rows: u64 = parts.iter().map(|data| data.rows).sum();
    if rows != table.rows {
        found.push(format!(
            "the files of table {name} hold {rows} rows instead of {}",
            table.rows
        ));
    }
    let sum = parts
        .iter()
        .filter_map(|data| u128::from_str_radix(&data.digest, 16).ok())
        .fold(0, u128::wrapping_add);
    if format!("{sum:032x}") != table.digest {
        found.push(format!(
            "the files of table {name} hold other rows than it had (another digest)"
        ));
    }
    let places: Vec<_> = parts.iter().map(|data| (data.chunk, data.part)).collect();
    if !places.is_sorted_by(|a, b| a < b) {
        found.push(format!(
            "the files of table {name} are out of order in the manifest"
        ));
    }
    found
}

/// `metadata` repeats the position of the manifest.
fn position(manifest: &Manifest, metadata: &str) -> Vec<String> {
    // The first block is the server's own; a replica has one more.
    let own = metadata
        .split("SHOW SLAVE STATUS:")
        .next()
        .unwrap_or_default();
    let says = |key: &str| {
        own.lines()
            .find_map(|line| line.trim().strip_prefix(key))
            .map(|value| value.trim().to_owned())
    };
    let PositionEntry::Known { file, offset, gtid } = &manifest.consistency.position else {
        let claims = says("Log:");
        return claims
            .map(|log| {
                format!("metadata names the position {log}, of which manifest.json knows nothing")
            })
            .into_iter()
            .collect();
    };
    let expected = [
        ("Log:", file.clone()),
        ("Pos:", offset.to_string()),
        ("GTID:", gtid.clone().unwrap_or_default()),
    ];
    // A GTID set may be written over several lines.
    let gtid_text = own.split_once("GTID:").map(|(_, rest)| rest.to_owned());
    let same = |key: &str, value: &str| match (key, &gtid_text) {
        ("GTID:", Some(text)) => {
            let squeeze = |text: &str| text.split_whitespace().collect::<String>();
            let known = squeeze(value);
            squeeze(text).starts_with(&known)
        }
        _ => says(key).as_deref() == Some(value),
    };
    expected
        .iter()
        .filter(|(key, value)| !same(key, value))
        .map(|(key, value)| format!("metadata does not have the `{key} {value}` of manifest.json"))
        .collect()
}

/// Without a manifest: tables with rows and no definition, and the other way round what a database lacks.
pub fn structure(source: &Source) -> Vec<String> {
    let mut roles: BTreeMap<ObjectName, BTreeSet<Role>> = BTreeMap::new();
    for file in &source.files {
        if let Some(name) = file.table() {
            roles.entry(name).or_default().insert(file.role);
        }
    }
    let any_schema = source.files.iter().any(|file| file.role == Role::Table);
    let mut found = Vec::new();
    for (name, roles) in &roles {
        let has_rows = roles.iter().any(|role| role.is_data());
        let defined = [Role::Table, Role::Sequence]
            .iter()
            .any(|role| roles.contains(role));
        if has_rows && !defined && any_schema {
            found.push(format!("table {name} has rows and no definition"));
        }
    }
    found
}
