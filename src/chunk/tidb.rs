//! TiDB: the bounds are those of the table's regions.
//!
//! Owns the choice between the hidden row id and the clustered key. It follows TiDB's documentation and has met no real
//! server. That a sample is in order and without repetition is checked here (dumpling#334: bounds of a partitioned table
//! were not sorted, rows lost and doubled).

use std::cmp::Ordering;

use super::bound::Bound;
use super::column::{KeyColumn, KeyKind};
use super::probe::{KeyProbe, TableKey};
use crate::catalog::table::Table;

/// The regions of a table, as bounds of its key.
#[derive(Debug)]
pub(super) struct Regions {
    pub(super) key: TableKey,
    pub(super) bounds: Vec<Bound>,
}

/// The hidden column of tables whose rows are not stored by their primary key.
fn row_id(table: &Table) -> TableKey {
    let (least, largest) = (i128::from(i64::MIN), i128::from(i64::MAX));
    TableKey {
        table: table.name.clone(),
        index: None,
        columns: vec![KeyColumn {
            name: "_tidb_rowid".to_owned(),
            kind: KeyKind::Integer(least, largest),
            descending: false,
        }],
    }
}

/// Asks for the regions by row id and, where rows have none, by the primary key. `None` if neither tells any.
pub(super) fn regions<E>(
    table: &Table,
    primary: Option<TableKey>,
    probe: &mut dyn KeyProbe<Error = E>,
) -> Result<Option<Regions>, E> {
    let row_id = row_id(table);
    for key in [Some(row_id), primary].into_iter().flatten() {
        if let Some(keys) = probe.region_keys(&key)? {
            let key = TableKey { index: None, ..key };
            let bounds = increasing(keys);
            return Ok(Some(Regions { key, bounds }));
        }
    }
    Ok(None)
}

/// The bounds that lie after the one before. Integers are compared here; everything else the server has sorted, in an
/// order that only it knows.
fn increasing(keys: Vec<Bound>) -> Vec<Bound> {
    let mut bounds: Vec<Bound> = Vec::with_capacity(keys.len());
    for key in keys {
        let order = bounds
            .last()
            .map_or(Ordering::Less, |last| compare(last, &key));
        if order == Ordering::Less {
            bounds.push(key);
        }
    }
    bounds
}

fn compare(left: &[String], right: &[String]) -> Ordering {
    for (left, right) in left.iter().zip(right) {
        let order = match (left.parse::<i128>(), right.parse::<i128>()) {
            (Ok(left), Ok(right)) => left.cmp(&right),
            _ if left == right => Ordering::Equal,
            _ => Ordering::Less,
        };
        if order != Ordering::Equal {
            return order;
        }
    }
    Ordering::Equal
}
