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

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::convert::Infallible;

    use super::super::probe::KeyRange;
    use super::super::{ChunkOptions, TablePlanner};
    use super::*;
    use crate::catalog::column::Column;
    use crate::catalog::ident::ObjectName;
    use crate::catalog::key::Key;
    use crate::catalog::table::TableKind;

    /// Knows the regions of a table by the name of its key's first column.
    struct Script(&'static str, &'static [&'static str]);

    impl KeyProbe for Script {
        type Error = Infallible;

        fn nth_key(&mut self, _: &KeyRange<'_>, _: u64) -> Result<Option<Bound>, Infallible> {
            unreachable!("TiDB is not asked for rows")
        }

        fn estimate_rows(
            &mut self,
            _: &KeyRange<'_>,
            _: &[(i128, i128)],
        ) -> Result<u64, Infallible> {
            unreachable!("TiDB is not asked for estimates")
        }

        fn region_keys(&mut self, key: &TableKey) -> Result<Option<Vec<Bound>>, Infallible> {
            let known = key.columns[0].name == self.0;
            let bounds = self.1.iter().map(|text| vec![(*text).to_owned()]);
            Ok(known.then(|| bounds.collect()))
        }
    }

    fn conditions(mut script: Script) -> Vec<String> {
        let id = Column {
            name: "id".to_owned(),
            data_type: "bigint".to_owned(),
            column_type: "bigint(20)".to_owned(),
            charset: None,
            misordered: false,
            nullable: false,
            generated: false,
            invisible: false,
        };
        let key = Key {
            name: "PRIMARY".to_owned(),
            columns: vec!["id".to_owned()],
            descending: vec![false],
        };
        let table = Table {
            name: ObjectName::new("d", "t"),
            kind: TableKind::Base,
            engine: Some("InnoDB".to_owned()),
            rows_estimate: None,
            data_length_bytes: None,
            columns: vec![id],
            keys: vec![key],
            partitions: Vec::new(),
            misread_in_binary: false,
            has_unshown_values: false,
            versioned: false,
            history: None,
        };
        let options = ChunkOptions {
            rows: Some(1000),
            regions: true,
            ..ChunkOptions::default()
        };
        let mut planner = TablePlanner::new(&table, &options);
        let mut found = Vec::new();
        while let Some(chunk) = planner.next(&mut script).unwrap() {
            assert_eq!(chunk.force_index, None);
            found.push(chunk.condition.unwrap_or_default());
        }
        found
    }

    #[test]
    fn rows_without_a_clustered_key_are_cut_by_their_hidden_id() {
        let found = conditions(Script("_tidb_rowid", &["1", "200", "200", "90", "5000"]));
        let expected = [
            "`_tidb_rowid` <= 1",
            "`_tidb_rowid` > 1 AND `_tidb_rowid` <= 200",
            "`_tidb_rowid` > 200 AND `_tidb_rowid` <= 5000",
            "`_tidb_rowid` > 5000",
        ];
        assert_eq!(found, expected);
    }

    #[test]
    fn a_clustered_key_takes_its_place() {
        let found = conditions(Script("id", &["-5", "7"]));
        assert_eq!(found, ["`id` <= -5", "`id` > -5 AND `id` <= 7", "`id` > 7"]);
    }

    #[test]
    fn without_regions_there_is_one_chunk() {
        assert_eq!(conditions(Script("other", &[])), [""]);
    }
}
