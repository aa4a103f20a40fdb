//! The exact cutter: a walk along the index.
//!
//! Owns the walk over the columns that follow a prefix. The next bound is the key of the row as many rows further as a
//! chunk has, found by LIMIT in the order of the key. It works for every type and every skew, and costs the reading of
//! the index once; for large integer keys [`super::integer`] is cheaper.

use super::Target;
use super::bound::Bound;
use super::planner::Cut;
use super::probe::{KeyProbe, KeyRange, TableKey};

/// A walk under way.
#[derive(Debug)]
pub(super) struct KeysetCutter {
    /// Literals of the columns after the prefix; empty at the start.
    after: Bound,
    /// The bound after the next one, when it is known already, and after how many rows it lies.
    ahead: Option<(Bound, u64)>,
    ended: bool,
}

impl KeysetCutter {
    /// A walk that begins after a bound; empty for the start.
    pub(super) fn new(after: Bound) -> Self {
        Self {
            after,
            ahead: None,
            ended: false,
        }
    }

    /// The next bound. It is handed out only after one more was looked for from there: that the server takes it back as a
    /// literal is then proven, and a small rest at the end joins the last chunk.
    pub(super) fn next<E>(
        &mut self,
        key: &TableKey,
        prefix: &[String],
        target: Target,
        probe: &mut dyn KeyProbe<Error = E>,
    ) -> Result<Cut, E> {
        let rows = target.rows;
        if self.ended {
            return Ok(Cut::End { rows });
        }
        let mut nth_after =
            |after: &[String], n| probe.nth_key(&KeyRange { key, prefix, after }, n);
        let bound = match self.ahead.take() {
            Some((bound, distance)) if distance == rows => Some(bound),
            _ => nth_after(&self.after, rows)?,
        };
        let Some(bound) = bound else {
            self.ended = true;
            return Ok(Cut::End { rows });
        };
        // The server found it after `bound`, so that an equal one means that it does not keep its own order.
        let ahead = nth_after(&bound, rows)?.filter(|ahead| *ahead != bound);
        if ahead.is_none() {
            let is_rest_small = nth_after(&bound, rows.div_ceil(2))?.is_none();
            self.ended = true;
            if is_rest_small {
                return Ok(Cut::End { rows });
            }
        }
        self.ahead = ahead.map(|ahead| (ahead, rows));
        self.after.clone_from(&bound);
        Ok(Cut::At { bound, rows })
    }
}
