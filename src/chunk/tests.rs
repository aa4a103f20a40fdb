//! Plans against keys in memory: every row in exactly one chunk, even chunks, few questions.
//!
//! The conditions are evaluated as SQL text, so that what the server is sent is what is tested.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeSet;
use std::convert::Infallible;

use proptest::prelude::*;

use self::condition::{holds, parse};
use super::*;
use crate::catalog::column::Column;
use crate::catalog::ident::ObjectName;
use crate::catalog::key::Key;
use crate::catalog::table::{Table, TableKind};

mod condition;

type Row = Vec<i128>;

/// An index in memory. Its estimates are as wrong as InnoDB's.
struct Memory {
    rows: BTreeSet<Row>,
    /// The number of rows that the statistics tell; estimates of ranges are never more than half of it.
    known_rows: u64,
    questions: usize,
    /// The most index entries that a question read.
    most_entries: u64,
}

impl Memory {
    fn new(rows: BTreeSet<Row>) -> Self {
        Self {
            known_rows: rows.len() as u64,
            rows,
            questions: 0,
            most_entries: 0,
        }
    }

    fn count(&self, prefix: &[i128], (first, last): (i128, i128)) -> u64 {
        let from: Row = [prefix, &[first]].concat();
        let range = self.rows.range(from..);
        let at = prefix.len();
        let inside = range.take_while(|row| row[..at] == *prefix && row[at] <= last);
        inside.count() as u64
    }
}

fn numbers(literals: &[String]) -> Row {
    literals.iter().map(|text| text.parse().unwrap()).collect()
}

impl KeyProbe for Memory {
    type Error = Infallible;

    fn nth_key(&mut self, range: &KeyRange<'_>, n: u64) -> Result<Option<Vec<String>>, Infallible> {
        self.questions += 1;
        self.most_entries = self.most_entries.max(n);
        let prefix = numbers(range.prefix);
        let after = [prefix.as_slice(), &numbers(range.after)].concat();
        let mut following = self
            .rows
            .range(after.clone()..)
            .skip_while(|row| after.len() > prefix.len() && row.starts_with(&after))
            .take_while(|row| row.starts_with(&prefix));
        let row = following.nth(usize::try_from(n).unwrap() - 1);
        let literals = |row: &Row| row[prefix.len()..].iter().map(i128::to_string).collect();
        Ok(row.map(literals))
    }

    fn estimate_rows(
        &mut self,
        range: &KeyRange<'_>,
        spans: &[(i128, i128)],
    ) -> Result<u64, Infallible> {
        self.questions += 1;
        let prefix = numbers(range.prefix);
        let estimate = |span: &(i128, i128)| {
            let rows = self.count(&prefix, *span);
            // Up to ten pages exact, then 1.3 to 3.2 times too much.
            let noise = (span.0.wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 32).rem_euclid(20);
            let tenths = if rows < 160 {
                10
            } else {
                13 + u64::try_from(noise).unwrap()
            };
            (rows * tenths / 10).min(self.known_rows / 2).max(1)
        };
        Ok(spans.iter().map(estimate).sum())
    }

    fn region_keys(&mut self, _: &TableKey) -> Result<Option<Vec<Vec<String>>>, Infallible> {
        unreachable!("only TiDB has regions")
    }
}

fn column(name: &str, column_type: &str) -> Column {
    let data_type = column_type.split(['(', ' ']).next().unwrap();
    Column {
        name: name.to_owned(),
        data_type: data_type.to_owned(),
        column_type: column_type.to_owned(),
        charset: column_type.contains("char").then(|| "latin1".to_owned()),
        misordered: false,
        nullable: false,
        generated: false,
        invisible: false,
    }
}

fn key(name: &str, columns: &[&str]) -> Key {
    Key {
        name: name.to_owned(),
        columns: columns.iter().map(|column| (*column).to_owned()).collect(),
        descending: vec![false; columns.len()],
    }
}

/// A table of so many rows, 1000 bytes each, with a primary key over BIGINT columns `c0`, `c1`…
fn table(key_columns: usize, rows: u64) -> Table {
    let names: Vec<String> = (0..key_columns).map(|index| format!("c{index}")).collect();
    let names: Vec<&str> = names.iter().map(String::as_str).collect();
    Table {
        name: ObjectName::new("d", "t"),
        kind: TableKind::Base,
        engine: Some("InnoDB".to_owned()),
        rows_estimate: Some(rows),
        data_length_bytes: Some(rows * 1000),
        columns: names
            .iter()
            .map(|name| column(name, "bigint(20)"))
            .collect(),
        keys: vec![key("PRIMARY", &names)],
        partitions: Vec::new(),
        misread_in_binary: false,
        has_unshown_values: false,
        versioned: false,
        history: None,
    }
}

fn plan(table: &Table, options: &ChunkOptions, probe: &mut Memory) -> Vec<Chunk> {
    let mut planner = TablePlanner::new(table, options);
    let mut chunks = Vec::new();
    while let Some(chunk) = planner.next(probe).unwrap() {
        chunks.push(chunk);
        // The largest table made here has 30,000 rows, and with a target of one row as many chunks.
        assert!(chunks.len() <= 40_000, "no end");
    }
    chunks
}

fn with_rows(rows: u64) -> ChunkOptions {
    ChunkOptions {
        rows: Some(rows),
        ..ChunkOptions::default()
    }
}

/// How many chunks' conditions hold for a row.
fn chunks_of(chunks: &[Chunk], row: &[i128]) -> usize {
    let of = |chunk: &&Chunk| chunk.condition.as_ref().is_none_or(|sql| holds(sql, row));
    chunks.iter().filter(of).count()
}

/// The rows in each chunk. A row is in one at or after that of the row before it, and in neither neighbour of that.
fn sizes(chunks: &[Chunk], rows: &BTreeSet<Row>) -> Vec<u64> {
    let conditions = chunks
        .iter()
        .map(|chunk| chunk.condition.as_deref().map(parse));
    let conditions: Vec<_> = conditions.collect();
    let is_in = |index: usize, row: &Row| match conditions.get(index) {
        Some(condition) => condition.as_ref().is_none_or(|sql| sql.holds(row)),
        None => false,
    };
    let mut sizes = vec![0; chunks.len()];
    let mut at = 0;
    for row in rows {
        while !is_in(at, row) {
            at += 1;
            assert!(at < chunks.len(), "{row:?} is in no chunk");
        }
        assert!(at == 0 || !is_in(at - 1, row), "{row:?} is in two chunks");
        assert!(!is_in(at + 1, row), "{row:?} is in two chunks");
        sizes[at] += 1;
    }
    sizes
}

/// Runs of ids: where each begins, how far its ids lie apart, how many there are.
fn ids() -> impl Strategy<Value = BTreeSet<i128>> {
    let step = prop_oneof![Just(1), 1..1000_i128, 1..1_000_000_000_000_i128];
    let run = (any::<i64>(), step, 1..4000_i128);
    let near = (-5000..5000_i64, Just(1_i128), 1..4000_i128);
    let runs = prop::collection::vec(prop_oneof![run, near], 1..5);
    runs.prop_map(|runs| {
        let ids = runs.into_iter().flat_map(|(start, step, count)| {
            (0..count).map(move |index| i128::from(start) + index * step)
        });
        ids.filter(|id| i64::try_from(*id).is_ok()).collect()
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(40))]

    #[test]
    fn integer_keys_are_cut_evenly_and_whole(
        ids in ids(),
        target in prop_oneof![1..20_u64, 20..500_u64, 2000..3000_u64],
        others in prop::collection::vec(any::<i64>(), 20),
    ) {
        let rows: BTreeSet<Row> = ids.iter().map(|id| vec![*id]).collect();
        let mut probe = Memory::new(rows.clone());
        let chunks = plan(&table(1, rows.len() as u64), &with_rows(target), &mut probe);
        let sizes = sizes(&chunks, &rows);
        prop_assert_eq!(sizes.iter().sum::<u64>(), rows.len() as u64);
        // Rows that came or went since are in one chunk too.
        for id in others {
            prop_assert_eq!(chunks_of(&chunks, &[i128::from(id)]), 1);
        }
        // Three times, and a little more, since the noise here is wider than the servers'.
        prop_assert!(sizes.iter().all(|size| *size <= target * 7 / 2), "{} {:?}", target, sizes);
        let small = sizes.iter().filter(|size| **size * 3 < target).count();
        prop_assert!(small <= 1 + sizes.len() / 10, "{} {:?}", target, sizes);
        prop_assert!(probe.questions <= 10 * chunks.len() + 60, "{} {:?}", probe.questions, sizes);
    }

    #[test]
    fn crowded_values_are_cut_by_the_next_column(
        groups in prop::collection::vec((any::<i8>(), 1..6000_i128), 1..6),
        target in prop_oneof![1..20_u64, 100..500_u64, 2000..2500_u64],
    ) {
        let rows: BTreeSet<Row> = groups
            .iter()
            .flat_map(|(value, count)| (0..*count).map(|id| vec![i128::from(*value), id * 3]))
            .collect();
        let mut probe = Memory::new(rows.clone());
        let chunks = plan(&table(2, rows.len() as u64), &with_rows(target), &mut probe);
        let sizes = sizes(&chunks, &rows);
        prop_assert_eq!(sizes.iter().sum::<u64>(), rows.len() as u64);
        prop_assert!(sizes.iter().all(|size| *size <= target * 4), "{} {:?}", target, sizes);
        for value in (i8::MIN..=i8::MAX).step_by(17) {
            prop_assert_eq!(chunks_of(&chunks, &[i128::from(value), 7]), 1);
        }
        prop_assert!(probe.questions <= 10 * chunks.len() + 60, "{} {:?}", probe.questions, sizes);
    }
}

#[test]
fn estimates_under_stale_statistics_are_not_believed() {
    for known_rows in [0, 10, 3000] {
        let rows: BTreeSet<Row> = (0..30_000).map(|id| vec![id]).collect();
        let mut probe = Memory::new(rows.clone());
        probe.known_rows = known_rows;
        let mut table = table(1, known_rows);
        table.data_length_bytes = Some(16_384);
        let chunks = plan(&table, &with_rows(5000), &mut probe);
        assert_eq!(sizes(&chunks, &rows), [5000; 6]);
    }
}

#[test]
fn a_table_is_not_read_to_be_cut() {
    let dense: BTreeSet<Row> = (1..=60_000).map(|id| vec![id * 5 / 4]).collect();
    let lines = (0..60_000).map(|line| vec![line / 4 * 8, line % 4]);
    // A chunk of 20,000 rows is a third of the table; the second key's factor is learned from a few rows.
    for (rows, columns, most_entries) in [(dense, 1, 256), (lines.collect(), 2, 4200)] {
        let mut probe = Memory::new(rows.clone());
        let chunks = plan(&table(columns, 60_000), &with_rows(20_000), &mut probe);
        let sizes = sizes(&chunks, &rows);
        assert!(
            sizes.iter().all(|size| (10_000..=30_000).contains(size)),
            "{sizes:?}"
        );
        assert!(probe.most_entries <= most_entries, "{}", probe.most_entries);
    }
}

#[test]
fn keys_beside_2_to_the_64th_and_below_zero_are_cut() {
    let ends: [(&str, i128); 2] = [
        ("bigint(20) unsigned", i128::from(u64::MAX)),
        ("bigint(20)", i128::from(i64::MAX)),
    ];
    for (column_type, last) in ends {
        let low = if last > i128::from(i64::MAX) {
            0
        } else {
            i128::from(i64::MIN)
        };
        let rows: BTreeSet<Row> = (0..9000)
            .flat_map(|id| [vec![last - id], vec![low + id]])
            .collect();
        let mut table = table(1, rows.len() as u64);
        table.columns[0] = column("c0", column_type);
        let mut probe = Memory::new(rows.clone());
        let chunks = plan(&table, &with_rows(2000), &mut probe);
        let sizes = sizes(&chunks, &rows);
        assert_eq!(sizes.iter().sum::<u64>(), 18_000);
        assert!(
            sizes.iter().all(|size| (500..=4000).contains(size)),
            "{sizes:?}"
        );
    }
}

#[test]
fn a_small_table_is_one_chunk_without_a_question() {
    let mut probe = Memory::new(BTreeSet::new());
    let mut table = table(1, 1000);
    let chunks = plan(&table, &ChunkOptions::default(), &mut probe);
    assert_eq!((chunks.len(), probe.questions), (1, 0));
    assert_eq!(chunks[0].condition, None);
    table.kind = TableKind::View;
    assert_eq!(plan(&table, &ChunkOptions::default(), &mut probe), []);
}

#[test]
fn neighbours_share_a_bound_and_the_ends_have_none() {
    let rows: BTreeSet<Row> = (0..10).map(|id| vec![id, id]).collect();
    let mut probe = Memory::new(rows);
    let options = ChunkOptions {
        order_by_primary_key: true,
        ..with_rows(4)
    };
    let chunks = plan(&table(2, 10), &options, &mut probe);
    let conditions: Vec<_> = chunks
        .iter()
        .map(|chunk| chunk.condition.as_deref().unwrap())
        .collect();
    assert_eq!(
        conditions,
        [
            "(`c0` < 3 OR (`c0` = 3 AND `c1` <= 3))",
            "(`c0` > 3 OR (`c0` = 3 AND `c1` > 3)) AND (`c0` < 7 OR (`c0` = 7 AND `c1` <= 7))",
            "(`c0` > 7 OR (`c0` = 7 AND `c1` > 7))",
        ]
    );
    let bounds: Vec<_> = chunks
        .iter()
        .map(|chunk| (chunk.lower.as_deref(), chunk.upper.as_deref()))
        .collect();
    assert_eq!(
        bounds,
        [
            (None, Some("3, 3")),
            (Some("3, 3"), Some("7, 7")),
            (Some("7, 7"), None)
        ]
    );
    assert_eq!(chunks[1].order_by, ["`c0`", "`c1`"]);
    assert_eq!(chunks[1].force_index.as_deref(), Some("PRIMARY"));
}

#[test]
fn a_table_without_a_key_is_cut_by_its_partitions() {
    let mut table = table(1, 1_000_000);
    table.keys.clear();
    table.partitions = vec!["p0".to_owned(), "p`1".to_owned()];
    let mut probe = Memory::new(BTreeSet::new());
    let chunks = plan(&table, &ChunkOptions::default(), &mut probe);
    let names: Vec<_> = chunks
        .iter()
        .map(|chunk| chunk.partition.as_deref().unwrap())
        .collect();
    assert_eq!((names, probe.questions), (vec!["p0", "p`1"], 0));
    table.partitions.clear();
    assert_eq!(plan(&table, &ChunkOptions::default(), &mut probe).len(), 1);
}

#[test]
fn the_primary_key_is_taken_else_one_that_begins_with_an_integer() {
    let mut table = table(1, 1_000_000);
    table.columns.push(column("s", "varchar(9)"));
    table.columns.push(column(
        "big_set",
        "set('a','b','c','d','e','f','g','h','i','j','k')",
    ));
    table.columns.push(column("place", "point"));
    let chosen = |table: &Table| {
        let rows: BTreeSet<Row> = (0..100).map(|id| vec![id; 2]).collect();
        let chunks = plan(table, &with_rows(10), &mut Memory::new(rows));
        chunks[0].force_index.clone()
    };
    table.keys = vec![key("PRIMARY", &["s"]), key("i", &["c0"])];
    assert_eq!(chosen(&table).as_deref(), Some("PRIMARY"));
    table.keys = vec![key("a", &["s"]), key("i", &["c0", "s"])];
    assert_eq!(chosen(&table).as_deref(), Some("i"));
    table.keys = vec![
        key("PRIMARY", &["big_set"]),
        key("a", &["place"]),
        key("i", &["c0"]),
    ];
    assert_eq!(chosen(&table).as_deref(), Some("i"));
}

#[test]
fn the_last_tenth_is_cut_finer_when_asked() {
    let rows: BTreeSet<Row> = (0..1000).map(|id| vec![id]).collect();
    let mut table = table(1, 1000);
    table.data_length_bytes = Some(DEFAULT_CHUNK_BYTES * 10);
    let options = ChunkOptions {
        finer_tail: true,
        ..ChunkOptions::default()
    };
    let chunks = plan(&table, &options, &mut Memory::new(rows.clone()));
    let sizes = sizes(&chunks, &rows);
    assert_eq!(sizes[..9], [100; 9]);
    assert!(sizes[9..].iter().all(|size| *size <= 37), "{sizes:?}");
}
