//! The cutter for large integer keys: ranges balanced by the optimizer's estimates.
//!
//! Owns the search for the value up to which a range holds as many rows as a chunk shall. It asks for estimates, which the
//! server makes by index dives, and reads no more than a few hundred index entries per chunk, so that a table is not read
//! twice (walking the primary key of 400 MB took a fifth of the server's time for the dump: seen). Measured on InnoDB (1 M rows, all four servers): the estimate of one range of some 10 pages and more is 1.3 to
//! 3.4 times too high, that of the same range asked for as 16 spans 1.9 to 2.3 times. The factor is learned from the first
//! chunk: part of it is counted, unless its ids lie so close that the estimate alone tells. Where statistics cannot be
//! believed the cutter leaves to [`super::keyset`].

use super::Target;
use super::column::{KeyColumn, KeyKind};
use super::planner::Cut;
use super::probe::{KeyProbe, KeyRange, TableKey};

/// Below this many rows or bytes per chunk a walk along the index is cheaper than estimates.
const MIN_ROWS: u64 = 2000;
const MIN_BYTES: u64 = 1 << 20;
/// Into how many spans a range is cut to be estimated.
const SPANS: i128 = 16;
/// Index entries that are read to learn how dense the keys are in a place.
const SAMPLE_ROWS: u64 = 256;
/// A search that has not ended after so many estimates takes the best bound it has. 2 × 64 halvings end every search.
const MAX_ROUNDS: u32 = 130;
/// Parts of [`IntegerCutter::bias`] in 1.
const BIAS_UNIT: u64 = 1024;
/// What a bias over [`SPANS`] spans was measured to be, with some room on both sides.
const LEAST_BIAS: u64 = BIAS_UNIT * 3 / 2;
const MOST_BIAS: u64 = BIAS_UNIT * 5 / 2;
/// A range of so many bytes has [`SPANS`] spans of more than ten pages each: what is smaller is estimated exactly, and says
/// nothing of larger ones.
const SAMPLE_BYTES: u64 = 4 << 20;

/// Cuts by the leading column after the prefix.
#[derive(Debug)]
pub(super) struct IntegerCutter {
    least: i128,
    largest: i128,
    /// Whether values of the column are unique within the prefix.
    unique: bool,
    /// The value up to which all is cut.
    lower: Option<i128>,
    /// Estimated rows per row, times [`BIAS_UNIT`]; unknown before the first chunk.
    bias: Option<u64>,
    /// The width of the last chunk: the first guess for the next.
    width: i128,
    /// A value that has more rows than a chunk.
    heavy: Option<i128>,
    ended: bool,
}

/// A place in a search: a value, and the estimated rows from the lower bound up to it.
#[derive(Debug, Clone, Copy)]
struct Place {
    value: i128,
    rows: u64,
}

/// A range that has as many rows as a chunk shall have, or the estimate of one.
#[derive(Debug, Clone, Copy)]
struct Counted {
    first: i128,
    width: i128,
    estimate: u64,
}

/// The range that is being cut, and who is asked about it.
struct Asked<'a, E> {
    range: KeyRange<'a>,
    probe: &'a mut dyn KeyProbe<Error = E>,
}

impl IntegerCutter {
    /// A cutter for the columns that follow a prefix; `None` where a walk does better.
    pub(super) fn new(columns: &[KeyColumn], target: Target) -> Option<Self> {
        let bytes = target.rows.saturating_mul(target.row_bytes);
        let column = columns.first()?;
        let KeyKind::Integer(least, largest) = column.kind else {
            return None;
        };
        let large = target.rows >= MIN_ROWS && bytes >= MIN_BYTES;
        (large && !column.descending).then_some(Self {
            least,
            largest,
            unique: columns.len() == 1,
            lower: None,
            bias: None,
            width: 1,
            heavy: None,
            ended: false,
        })
    }

    /// The next bound.
    pub(super) fn next<E>(
        &mut self,
        key: &TableKey,
        prefix: &[String],
        target: Target,
        probe: &mut dyn KeyProbe<Error = E>,
    ) -> Result<Cut, E> {
        let after = &[];
        let range = KeyRange { key, prefix, after };
        let mut asked = Asked { range, probe };
        if self.ended || self.lower == Some(self.largest) {
            return Ok(Cut::End { rows: 0 });
        }
        if let Some(value) = self.heavy.take() {
            return Ok(self.descend(value));
        }
        match self.bias {
            Some(bias) => self.search(&mut asked, Goal::new(target, bias)),
            None => self.first_chunk(&mut asked, target),
        }
    }

    /// Learns how far the estimates are from the truth, by counting the rows of a range.
    fn first_chunk<E>(&mut self, asked: &mut Asked<'_, E>, target: Target) -> Result<Cut, E> {
        let rows = target.rows;
        let Some(first) = asked.nth_value(self.lower, 1)? else {
            return Ok(self.end(0));
        };
        if self.unique
            && let Some(cut) = self.dense_chunk(asked, first, rows)?
        {
            return Ok(cut);
        }
        let mut counted = if self.unique { rows } else { sample(target) };
        let mut last = asked.nth_value(self.lower, counted)?;
        if last == Some(first) && counted < rows {
            counted = rows;
            last = asked.nth_value(self.lower, rows)?;
        }
        let Some(last) = last else {
            return Ok(self.end(counted));
        };
        if first == last && !self.unique {
            return Ok(self.descend(first));
        }
        let estimate = asked.estimate(first, last)?;
        let range = Counted {
            first,
            width: scale(last - first + 1, rows, counted),
            estimate: estimate.saturating_mul(rows) / counted,
        };
        if estimate < counted / 2 || !self.can_grow(asked, range)? {
            return Ok(self.walk());
        }
        let bias = estimate.saturating_mul(BIAS_UNIT) / counted;
        // More is no fault of the method: the last value may have many rows beyond the counted ones.
        let bias = bias.min(MOST_BIAS);
        self.bias = Some(bias);
        self.width = range.width;
        if self.unique {
            return Ok(self.at(last, rows));
        }
        self.least = first;
        self.search(asked, Goal::new(target, bias))
    }

    /// A first chunk that need not be counted: so many unique values have no more rows, and the estimate says that they do
    /// not have many fewer. `None` where it does not say so.
    fn dense_chunk<E>(
        &mut self,
        asked: &mut Asked<'_, E>,
        first: i128,
        rows: u64,
    ) -> Result<Option<Cut>, E> {
        let width = i128::from(rows);
        let last = first + width - 1;
        if last >= self.largest {
            return Ok(None);
        }
        let estimate = asked.estimate(first, last)?;
        let range = Counted {
            first,
            width,
            estimate,
        };
        if estimate < rows / 4 * 5 || !self.can_grow(asked, range)? {
            return Ok(None);
        }
        let bias = estimate.saturating_mul(BIAS_UNIT) / rows;
        let bias = bias.clamp(LEAST_BIAS, MOST_BIAS);
        self.bias = Some(bias);
        self.least = first;
        let place = Place {
            value: last,
            rows: estimate,
        };
        let goal = Goal {
            rows: estimate,
            bias,
        };
        self.accept(asked, place, goal).map(Some)
    }

    /// Whether a range that is larger than a chunk is seen to be. A stale estimate of the table, 0 say, limits those of its
    /// ranges (InnoDB: each to half of it; the optimizer: their sum to all of it), so that a range which looks as small as
    /// any proves nothing.
    fn can_grow<E>(&self, asked: &mut Asked<'_, E>, chunk: Counted) -> Result<bool, E> {
        let twice = chunk.first.saturating_add(chunk.width.saturating_mul(2));
        let twice = asked.estimate(chunk.first, twice.min(self.largest))?;
        if twice / 5 * 4 >= chunk.estimate {
            return Ok(true);
        }
        let whole = asked.estimate_span(chunk.first, self.largest)?;
        Ok(whole / 4 >= chunk.estimate)
    }

    /// Looks for the value up to which the estimate comes close to the goal.
    fn search<E>(&mut self, asked: &mut Asked<'_, E>, goal: Goal) -> Result<Cut, E> {
        let base = self.lower.unwrap_or(self.least - 1);
        let mut search = Search {
            below: Place {
                value: base,
                rows: 0,
            },
            above: None,
        };
        let mut guess = base + self.width;
        for round in 0..MAX_ROUNDS {
            let last = search.above.map_or(self.largest, |place| place.value - 1);
            let value = guess.clamp(search.below.value + 1, last);
            let rows = asked.estimate(base + 1, value)?;
            let place = Place { value, rows };
            if goal.is_met_by(rows) {
                return self.accept(asked, place, goal);
            }
            if rows > goal.rows {
                search.above = Some(place);
            } else if value == self.largest {
                return Ok(self.end(goal.real(rows)));
            } else {
                search.below = place;
            }
            if search.is_over() {
                break;
            }
            guess = match search.guess(round, base, goal) {
                Some(guess) => guess,
                None => match self.explore(asked, &mut search, goal)? {
                    Some(guess) => guess,
                    None => return Ok(self.end(goal.real(search.below.rows))),
                },
            };
            if search.is_over() {
                break;
            }
        }
        self.settle(asked, search, goal)
    }

    /// Looks at the keys themselves: skips the gap that follows the lower place of a search, and learns how dense the keys
    /// are behind it. `None` if fewer rows follow than are missing.
    fn explore<E>(
        &self,
        asked: &mut Asked<'_, E>,
        search: &mut Search,
        goal: Goal,
    ) -> Result<Option<i128>, E> {
        let Some(next) = asked.nth_value(Some(search.below.value), 1)? else {
            return Ok(None);
        };
        let limit = search.above.map_or(self.largest, |place| place.value);
        search.below.value = search.below.value.max(next.min(limit) - 1);
        let missing = goal
            .real(goal.rows.saturating_sub(search.below.rows))
            .max(1);
        let sample = missing.min(SAMPLE_ROWS);
        let last = asked.nth_value(Some(search.below.value), sample)?;
        Ok(last.map(|last| {
            let span = (last - search.below.value).max(1);
            search.below.value + scale(span, missing, sample)
        }))
    }

    /// Takes the better one of the two places that a search has come down to.
    fn settle<E>(
        &mut self,
        asked: &mut Asked<'_, E>,
        search: Search,
        goal: Goal,
    ) -> Result<Cut, E> {
        let below = search.below;
        let Some(above) = search.above else {
            return self.accept(asked, below, goal);
        };
        let below_is_enough = below.rows >= goal.rows / 3;
        let crowded = above.rows.saturating_sub(below.rows) > goal.rows.saturating_mul(2);
        if above.value - below.value == 1 && crowded {
            if self.unique {
                // That many rows cannot be there: the estimates are nonsense.
                return Ok(self.walk());
            }
            if below_is_enough {
                self.heavy = Some(above.value);
                return Ok(self.at(below.value, goal.real(below.rows)));
            }
            // What lies before it joins its first chunk.
            return Ok(self.descend(above.value));
        }
        let place = if below_is_enough { below } else { above };
        self.accept(asked, place, goal)
    }

    /// Ends the chunk at a place; a small rest after it joins the chunk.
    fn accept<E>(&mut self, asked: &mut Asked<'_, E>, place: Place, goal: Goal) -> Result<Cut, E> {
        let rest = if place.value < self.largest {
            asked.estimate_span(place.value + 1, self.largest)?
        } else {
            0
        };
        if rest <= goal.rows / 2 {
            return Ok(self.end(goal.real(place.rows + rest)));
        }
        self.width = place.value - self.lower.unwrap_or(self.least - 1);
        Ok(self.at(place.value, goal.real(place.rows)))
    }

    fn at(&mut self, value: i128, rows: u64) -> Cut {
        self.lower = Some(value);
        let bound = vec![value.to_string()];
        Cut::At { bound, rows }
    }

    fn descend(&mut self, value: i128) -> Cut {
        self.lower = Some(value);
        let value = value.to_string();
        Cut::Descend { value }
    }

    fn walk(&self) -> Cut {
        let after = self.lower.map(|value| value.to_string());
        Cut::Walk {
            after: Vec::from_iter(after),
        }
    }

    fn end(&mut self, rows: u64) -> Cut {
        self.ended = true;
        Cut::End { rows }
    }
}

/// What a search looks for, in estimated rows.
#[derive(Debug, Clone, Copy)]
struct Goal {
    rows: u64,
    bias: u64,
}

impl Goal {
    fn new(target: Target, bias: u64) -> Self {
        Self {
            rows: target.rows.saturating_mul(bias) / BIAS_UNIT,
            bias,
        }
    }

    fn is_met_by(self, rows: u64) -> bool {
        rows >= self.rows / 5 * 4 && rows <= self.rows / 4 * 5
    }

    /// The rows that an estimate stands for.
    fn real(self, estimate: u64) -> u64 {
        estimate.saturating_mul(BIAS_UNIT) / self.bias.max(1)
    }
}

/// Where the bound may be: after `below`, and before `above` once a place with too many rows is known.
#[derive(Debug, Clone, Copy)]
struct Search {
    below: Place,
    above: Option<Place>,
}

impl Search {
    fn is_over(&self) -> bool {
        self.above
            .is_some_and(|above| above.value - self.below.value <= 1)
    }

    /// The next value to try, from what is known; `None` when it is time to look at the keys themselves.
    fn guess(&self, round: u32, base: i128, goal: Goal) -> Option<i128> {
        let below = self.below;
        match self.above {
            None if round.is_multiple_of(2) => {
                let wanted = goal.rows.min(below.rows.saturating_mul(8));
                Some(base + scale(below.value - base, wanted, below.rows))
            }
            None => None,
            Some(above) => {
                let span = above.value - below.value;
                match round % 4 {
                    0 | 1 => {
                        let wanted = goal.rows.saturating_sub(below.rows);
                        let all = above.rows.saturating_sub(below.rows);
                        Some(below.value + scale(span, wanted, all))
                    }
                    2 => None,
                    _ => Some(below.value + span / 2),
                }
            }
        }
    }
}

/// How many rows are counted to learn the bias: an eighth of a chunk, or all of a small one.
fn sample(target: Target) -> u64 {
    let large_enough = SAMPLE_BYTES / target.row_bytes.max(1);
    let sample = (target.rows / 8).max(large_enough).max(MIN_ROWS);
    sample.min(target.rows)
}

/// `span` × `part` / `whole`.
fn scale(span: i128, part: u64, whole: u64) -> i128 {
    let scaled = span.checked_mul(i128::from(part));
    scaled.map_or(i128::from(u64::MAX), |scaled| {
        scaled / i128::from(whole.max(1))
    })
}

impl<E> Asked<'_, E> {
    /// The column's value in the row number `n` after a value.
    fn nth_value(&mut self, after: Option<i128>, n: u64) -> Result<Option<i128>, E> {
        let after = Vec::from_iter(after.map(|value| value.to_string()));
        let range = KeyRange {
            after: &after,
            ..self.range
        };
        let found = self.probe.nth_key(&range, n)?;
        Ok(found.and_then(|key| key.first()?.parse().ok()))
    }

    /// An estimate with little noise.
    fn estimate(&mut self, first: i128, last: i128) -> Result<u64, E> {
        let width = last - first + 1;
        // Some spans of one value each would be guessed from the average instead: MySQL 5.6 makes no more than 9 dives into
        // single values (eq_range_index_dive_limit; seen).
        let count = SPANS.min(width / 2).max(1);
        let start = |part: i128| first + width * part / count;
        let spans: Vec<_> = (0..count)
            .map(|part| (start(part), start(part + 1) - 1))
            .collect();
        self.probe.estimate_rows(&self.range, &spans)
    }

    fn estimate_span(&mut self, first: i128, last: i128) -> Result<u64, E> {
        self.probe.estimate_rows(&self.range, &[(first, last)])
    }
}
