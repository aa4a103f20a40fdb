//! Bounds, and the conditions between two of them.
//!
//! Owns the SQL of a chunk's condition: the expanded OR form, which all servers answer by ranges of the index (seen on
//! MariaDB 10.11 and 11.8, MySQL 5.6 and 9.7; a comparison of row constructors scans the whole index on most). Where
//! bounds lie it leaves to the cutters.

use super::column::{KeyColumn, Side};

/// The key of a place between rows, as literals of the key's first columns. It lies after all rows that begin with it.
pub(super) type Bound = Vec<String>;

/// The rows between two bounds, as SQL.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Between {
    /// The condition; `None` for all rows.
    pub(super) condition: Option<String>,
    /// How many columns have one value in all the rows. They must not be in ORDER BY: some servers take such a column for a
    /// constant there but not in the index, and sort (seen: ENUM and text of a ci collation, MariaDB 10.11 and MySQL).
    pub(super) fixed: usize,
}

/// The rows after one bound up to and including another; an empty one stands for the start or the end.
pub(super) fn between(columns: &[KeyColumn], lower: &[String], upper: &[String]) -> Between {
    let (mut following, mut lower, mut upper) = (columns, lower, upper);
    let mut terms = Vec::new();
    while let [column, rest @ ..] = following {
        let Some(value) = fixed_value(column, lower, upper) else {
            break;
        };
        terms.push(column.equals(value));
        following = rest;
        lower = lower.get(1..).unwrap_or_default();
        upper = upper.get(1..).unwrap_or_default();
    }
    terms.extend(expand(following, lower, Side::After));
    terms.extend(expand(following, upper, Side::Before));
    Between {
        condition: (!terms.is_empty()).then(|| terms.join(" AND ")),
        fixed: columns.len() - following.len(),
    }
}

/// The one value that a column has between two bounds, where others cannot be there.
fn fixed_value<'a>(
    column: &KeyColumn,
    lower: &'a [String],
    upper: &'a [String],
) -> Option<&'a String> {
    match (lower, upper) {
        ([low, _, ..], [high, _, ..]) if low == high => Some(low),
        ([low, _, ..], []) if column.beyond(Side::After, low).is_none() => Some(low),
        ([], [high, _, ..]) if column.beyond(Side::Before, high).is_none() => Some(high),
        _ => None,
    }
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

#[cfg(test)]
mod tests {
    use super::super::column::KeyKind;
    use super::*;

    fn columns(kinds: [KeyKind; 2]) -> Vec<KeyColumn> {
        let names = ["a", "b"].into_iter();
        let column = |(name, kind): (&str, KeyKind)| KeyColumn {
            name: name.to_owned(),
            kind,
            descending: name == "b",
        };
        names.zip(kinds).map(column).collect()
    }

    fn sql(columns: &[KeyColumn], lower: &[&str], upper: &[&str]) -> (String, usize) {
        let bound = |values: &[&str]| -> Bound { values.iter().map(ToString::to_string).collect() };
        let rows = between(columns, &bound(lower), &bound(upper));
        (rows.condition.unwrap_or_default(), rows.fixed)
    }

    #[test]
    fn a_bound_is_expanded_in_the_direction_of_each_column() {
        let columns = columns([KeyKind::Binary, KeyKind::Number]);
        let (condition, fixed) = sql(&columns, &["x'01'", "5"], &["x'02'"]);
        assert_eq!(
            condition,
            "(`a` > x'01' OR (`a` = x'01' AND `b` < 5)) AND `a` <= x'02'"
        );
        assert_eq!(fixed, 0);
        assert_eq!(sql(&columns, &[], &[]), (String::new(), 0));
    }

    #[test]
    fn a_value_that_both_bounds_begin_with_is_one_condition() {
        let columns = columns([KeyKind::Number, KeyKind::Number]);
        let expected = "`a` = 1 AND `b` < 9 AND `b` >= 5".to_owned();
        assert_eq!(sql(&columns, &["1", "9"], &["1", "5"]), (expected, 1));
    }

    #[test]
    fn a_column_that_can_go_no_further_is_fixed() {
        let columns = columns([KeyKind::Member(3), KeyKind::Number]);
        assert_eq!(
            sql(&columns, &["3", "9"], &[]),
            ("`a` = 3 AND `b` < 9".to_owned(), 1)
        );
        assert_eq!(
            sql(&columns, &[], &["0", "9"]),
            ("`a` = 0 AND `b` >= 9".to_owned(), 1)
        );
        assert_eq!(
            sql(&columns, &["1", "9"], &["2", "9"]).0,
            "(`a` IN (2,3) OR (`a` = 1 AND `b` < 9)) AND (`a` IN (0,1) OR (`a` = 2 AND `b` >= 9))"
        );
        assert_eq!(sql(&columns, &["3"], &[]), ("FALSE".to_owned(), 0));
    }
}
