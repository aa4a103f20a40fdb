//! `TablePlanner`: hands out the chunks of one table, one at a time.
//!
//! Owns the choice of the key and of the cutter, the size of a chunk, and the making of chunks from bounds. It keeps one
//! cutter per key column at most, and never a list of chunks. Where bounds lie it leaves to the cutters.

use super::bound::{Bound, between, describe};
use super::column::{KeyColumn, KeyKind};
use super::integer::IntegerCutter;
use super::keyset::KeysetCutter;
use super::partition::PartitionCutter;
use super::probe::{KeyProbe, TableKey};
use super::tidb;
use super::{Chunk, ChunkOptions, DEFAULT_CHUNK_BYTES, Target};
use crate::catalog::key::Key;
use crate::catalog::table::{Table, TableKind};

/// What a row is taken for when the statistics do not tell.
const UNKNOWN_ROW_BYTES: u64 = 256;

/// What a cutter answers.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Cut {
    /// A bound, in the columns that follow the cutter's prefix.
    At { bound: Bound, rows: u64 },
    /// The rest of what the prefix holds is one chunk, or part of it.
    End { rows: u64 },
    /// One value of the next column has too many rows: cut them by the columns after it.
    Descend { value: String },
    /// Estimates are of no use here: walk from that bound.
    Walk { after: Bound },
}

#[derive(Debug)]
enum Cutter {
    Keyset(KeysetCutter),
    Integer(IntegerCutter),
}

/// A cutter and the key's first values that all its rows have.
#[derive(Debug)]
struct Frame {
    prefix: Bound,
    cutter: Cutter,
}

#[derive(Debug)]
enum Plan {
    /// Nothing is decided yet.
    Fresh,
    /// By a key. The innermost frame is the last.
    Key(Vec<Frame>),
    Regions(std::vec::IntoIter<Bound>),
    Partitions(PartitionCutter),
    Ended,
}

/// Hands out the chunks of a table.
#[derive(Debug)]
pub struct TablePlanner {
    table: Table,
    options: ChunkOptions,
    /// The key that cuts and orders the rows, if any does.
    key: Option<TableKey>,
    plan: Plan,
    lower: Option<Bound>,
    index: u64,
    rows_planned: u64,
}

impl TablePlanner {
    /// A plan for a table; nothing is asked yet.
    pub fn new(table: &Table, options: &ChunkOptions) -> Self {
        let plan = match table.kind {
            TableKind::Base => Plan::Fresh,
            TableKind::View | TableKind::Sequence => Plan::Ended,
        };
        Self {
            key: best_key(table),
            table: table.clone(),
            options: *options,
            plan,
            lower: None,
            index: 0,
            rows_planned: 0,
        }
    }

    /// The next chunk, in key order; `None` after the last. Every table of rows has at least one. When a question fails,
    /// the call may be repeated with a probe on another session.
    pub fn next<E>(&mut self, probe: &mut dyn KeyProbe<Error = E>) -> Result<Option<Chunk>, E> {
        if matches!(self.plan, Plan::Fresh) {
            self.plan = self.choose(probe)?;
            if matches!(self.plan, Plan::Ended) {
                return Ok(Some(self.whole_table()));
            }
        }
        let target = self.target();
        let (bound, rows) = match (&mut self.plan, &self.key) {
            (Plan::Key(frames), Some(key)) => next_bound(key, frames, target, probe)?,
            (Plan::Regions(bounds), _) => (bounds.next(), target.rows),
            (Plan::Partitions(cutter), _) => {
                let name = cutter.next();
                return Ok(name.map(|name| self.partition(name, target.rows)));
            }
            _ => return Ok(None),
        };
        Ok(Some(self.up_to(bound, rows)))
    }

    /// The columns of the key that cuts the table; empty if none does.
    pub fn key_columns(&self) -> Vec<String> {
        let columns = self.key.iter().flat_map(|key| &key.columns);
        columns.map(|column| column.name.clone()).collect()
    }

    fn choose<E>(&mut self, probe: &mut dyn KeyProbe<Error = E>) -> Result<Plan, E> {
        let bytes = self.table.data_length_bytes.unwrap_or(0);
        if self.options.rows.is_none() && bytes <= DEFAULT_CHUNK_BYTES / 2 * 3 {
            return Ok(Plan::Ended);
        }
        if self.options.regions {
            let primary = self.key.take();
            let Some(regions) = tidb::regions(&self.table, primary, probe)? else {
                return Ok(Plan::Ended);
            };
            self.key = Some(regions.key);
            return Ok(Plan::Regions(regions.bounds.into_iter()));
        }
        if let Some(key) = &self.key {
            return Ok(Plan::Key(vec![Frame::new(
                key,
                Bound::new(),
                self.target(),
            )]));
        }
        Ok(PartitionCutter::new(&self.table.partitions).map_or(Plan::Ended, Plan::Partitions))
    }

    /// The size of the chunk that is cut next.
    fn target(&self) -> Target {
        let rows_estimate = self.table.rows_estimate.unwrap_or(0);
        let row_bytes = self
            .table
            .data_length_bytes
            .unwrap_or(0)
            .checked_div(rows_estimate);
        let row_bytes = row_bytes
            .filter(|bytes| *bytes > 0)
            .unwrap_or(UNKNOWN_ROW_BYTES);
        let rows = self.options.rows.unwrap_or_else(|| {
            let rows = DEFAULT_CHUNK_BYTES / row_bytes;
            // Where the statistics end, the table goes on: not all of it is its tail.
            let tail = rows_estimate / 10 * 9..rows_estimate / 10 * 11;
            let finer = self.options.finer_tail && tail.contains(&self.rows_planned);
            rows / if finer { 4 } else { 1 }
        });
        Target {
            rows: rows.max(1),
            row_bytes,
        }
    }

    /// The chunk that ends with a bound, or the last one.
    fn up_to(&mut self, upper: Option<Bound>, rows: u64) -> Chunk {
        let columns = self.key.as_ref().map_or(&[][..], |key| &key.columns);
        let ends = (self.lower.as_deref(), upper.as_deref());
        let rows_between = between(
            columns,
            ends.0.unwrap_or_default(),
            ends.1.unwrap_or_default(),
        );
        let lower = self.lower.as_deref().map(describe);
        let mut chunk = self.chunk(rows);
        chunk
            .order_by
            .drain(..rows_between.fixed.min(chunk.order_by.len()));
        let chunk = Chunk {
            condition: rows_between.condition,
            lower,
            upper: upper.as_deref().map(describe),
            ..chunk
        };
        if upper.is_none() {
            self.plan = Plan::Ended;
        }
        self.lower = upper;
        chunk
    }

    fn partition(&mut self, name: String, rows: u64) -> Chunk {
        Chunk {
            partition: Some(name),
            order_by: Vec::new(),
            force_index: None,
            ..self.chunk(rows)
        }
    }

    fn whole_table(&mut self) -> Chunk {
        let chunk = self.chunk(self.table.rows_estimate.unwrap_or(0));
        let primary = self.key.as_ref().and_then(|key| key.index.as_deref()) == Some("PRIMARY");
        Chunk {
            // The rows lie in this order anyway.
            force_index: chunk.force_index.filter(|_| !primary),
            ..chunk
        }
    }

    fn chunk(&mut self, rows_estimate: u64) -> Chunk {
        let index = self.index;
        self.index += 1;
        self.rows_planned = self.rows_planned.saturating_add(rows_estimate);
        let columns = self.key.as_ref().map_or(&[][..], |key| &key.columns);
        let ordered = self.options.order_by_primary_key;
        let order_by = columns
            .iter()
            .filter(|_| ordered)
            .map(KeyColumn::order_term);
        Chunk {
            index,
            condition: None,
            partition: None,
            force_index: self.key.as_ref().and_then(|key| key.index.clone()),
            order_by: order_by.collect(),
            lower: None,
            upper: None,
            rows_estimate,
        }
    }
}

/// The next bound of the innermost cutter that has one, and how many rows lie before it; without a bound when the last
/// one has ended.
fn next_bound<E>(
    key: &TableKey,
    frames: &mut Vec<Frame>,
    target: Target,
    probe: &mut dyn KeyProbe<Error = E>,
) -> Result<(Option<Bound>, u64), E> {
    let mut rows_left = 0;
    while let Some(frame) = frames.last_mut() {
        match frame.next(key, target, probe)? {
            Cut::At { bound, rows } => {
                let bound = [frame.prefix.as_slice(), &bound].concat();
                return Ok((Some(bound), rows));
            }
            Cut::Walk { after } => frame.cutter = Cutter::Keyset(KeysetCutter::new(after)),
            Cut::Descend { value } => {
                let prefix = [frame.prefix.as_slice(), &[value]].concat();
                frames.push(Frame::new(key, prefix, target));
            }
            Cut::End { rows } => {
                let prefix = frames.pop().map(|frame| frame.prefix).unwrap_or_default();
                if !frames.is_empty() {
                    return Ok((Some(prefix), rows));
                }
                rows_left = rows;
            }
        }
    }
    Ok((None, rows_left))
}

impl Frame {
    /// The cutter for the columns after a prefix.
    fn new(key: &TableKey, prefix: Bound, target: Target) -> Self {
        let following = key.columns.get(prefix.len()..).unwrap_or_default();
        let cutter = match IntegerCutter::new(following, target) {
            Some(cutter) => Cutter::Integer(cutter),
            None => Cutter::Keyset(KeysetCutter::new(Bound::new())),
        };
        Self { prefix, cutter }
    }

    fn next<E>(
        &mut self,
        key: &TableKey,
        target: Target,
        probe: &mut dyn KeyProbe<Error = E>,
    ) -> Result<Cut, E> {
        match &mut self.cutter {
            Cutter::Keyset(cutter) => cutter.next(key, &self.prefix, target, probe),
            Cutter::Integer(cutter) => cutter.next(key, &self.prefix, target, probe),
        }
    }
}

/// The key that cuts a table best: the primary key, else one that begins with an integer, else one of few columns.
fn best_key(table: &Table) -> Option<TableKey> {
    let usable = table
        .keys
        .iter()
        .filter_map(|key| Some((key, table_key(table, key)?)));
    let best = usable.min_by_key(|(key, usable)| {
        let integer = matches!(
            usable.columns.first().map(|c| &c.kind),
            Some(KeyKind::Integer(..))
        );
        (!key.is_primary(), !integer, usable.columns.len())
    });
    best.map(|(_, key)| key)
}

/// The key with what is known of its columns; `None` if one of them cannot be compared with literals.
fn table_key(table: &Table, key: &Key) -> Option<TableKey> {
    // An index is read as well backwards, so that chunks grow with the key. Not so one of mixed directions: MySQL sorts
    // ranges that it would have to read backwards (seen on 9.7).
    let backwards = key.descending.iter().all(|descending| *descending);
    let columns = key.columns.iter().zip(&key.descending);
    let columns = columns
        .map(|(name, descending)| KeyColumn::of(table.column(name)?, *descending && !backwards));
    let columns = columns.collect::<Option<Vec<_>>>()?;
    columns.first()?.can_lead().then(|| TableKey {
        table: table.name.clone(),
        index: Some(key.name.clone()),
        columns,
    })
}
