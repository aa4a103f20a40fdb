//! Bounds, and the conditions between two of them.
//!
//! Owns the SQL of a chunk's condition: the expanded OR form, which all servers answer by ranges of the index (seen on
//! MariaDB 10.11 and 11.8, MySQL 5.6 and 9.7; a comparison of row constructors scans the whole index on most). Where
//! bounds lie it leaves to the cutters.

use super::column::{KeyColumn, Side};

/// The key of a place between rows, as literals of the key's first columns. It lies after all rows that begin with it.
pub(super) type Bound = Vec<String>;

/// The condition for the rows between two bounds, the upper one included; `None` for all rows.
pub(super) fn between(
    columns: &[KeyColumn],
    lower: Option<&[String]>,
    upper: Option<&[String]>,
) -> Option<String> {
    let (mut lower, mut upper) = (lower.unwrap_or_default(), upper.unwrap_or_default());
    let mut columns = columns;
    let mut terms = Vec::new();
    // What both begin with is one value of the index, not a range.
    while let ([column, rest @ ..], [low, lows @ ..], [high, highs @ ..]) = (columns, lower, upper)
    {
        if low != high || lows.is_empty() || highs.is_empty() {
            break;
        }
        terms.push(column.equals(low));
        (columns, lower, upper) = (rest, lows, highs);
    }
    terms.extend(after(columns, lower));
    terms.extend(up_to(columns, upper));
    (!terms.is_empty()).then(|| terms.join(" AND "))
}

/// The condition for the rows after a bound; `None` for an empty bound, which has all rows after it.
pub(super) fn after(columns: &[KeyColumn], bound: &[String]) -> Option<String> {
    expand(columns, bound, Side::After)
}

/// The condition for the rows up to a bound; `None` for an empty bound, which stands for the end.
fn up_to(columns: &[KeyColumn], bound: &[String]) -> Option<String> {
    expand(columns, bound, Side::Before)
}

/// The conditions for the rows that begin with `prefix`.
pub(super) fn equal(columns: &[KeyColumn], prefix: &[String]) -> Vec<String> {
    let pairs = columns.iter().zip(prefix);
    pairs.map(|(column, value)| column.equals(value)).collect()
}

fn expand(columns: &[KeyColumn], bound: &[String], side: Side) -> Option<String> {
    let (column, columns) = columns.split_first()?;
    let (value, rest) = bound.split_first()?;
    // No row lies after the largest value of an ENUM.
    let nothing = || "FALSE".to_owned();
    if rest.is_empty() {
        let condition = match side {
            Side::After => column.beyond(side, value),
            Side::Before => column.from(side, value),
        };
        return Some(condition.unwrap_or_else(nothing));
    }
    let here = column.equals(value);
    let inner = expand(columns, rest, side);
    let here = inner.map_or_else(|| here.clone(), |inner| format!("{here} AND {inner}"));
    Some(match column.beyond(side, value) {
        Some(beyond) => format!("({beyond} OR ({here}))"),
        None => format!("({here})"),
    })
}

/// A bound as text for people and the manifest.
pub(super) fn describe(bound: &[String]) -> String {
    bound.join(", ")
}
