//! The questions a plan asks, and how a server answers them.
//!
//! Owns the SQL of the probes. Each reads at most as many index entries as one chunk has rows, and none locks anything.
//! What is asked when it leaves to the cutters.

use super::bound::{between, equal};
use super::column::KeyColumn;
use crate::catalog::ident::{ObjectName, quote};
use crate::server::answer::TextRow;
use crate::server::error::ServerError;
use crate::server::flavor::Kind;
use crate::server::session::Session;

/// The optimizer makes no more of a SELECT's spans than the rows it believes the table to have (seen), so that half a table
/// looks like all of it, as each span counts double: a few spans each keep the sum honest for tables of two chunks and more.
const SPANS_OF_A_SELECT: usize = 4;

/// The key that cuts a table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TableKey {
    /// The table.
    pub table: ObjectName,
    /// The index to be forced.
    pub index: Option<String>,
    /// Its columns, in index order.
    pub columns: Vec<KeyColumn>,
}

/// A part of the key's index: the rows that begin with `prefix` and lie after `after` in the columns that follow it.
#[derive(Debug, Clone, Copy)]
pub struct KeyRange<'a> {
    /// The key.
    pub key: &'a TableKey,
    /// Literals of the key's first columns; may be empty.
    pub prefix: &'a [String],
    /// Literals of the columns that follow; empty for the start.
    pub after: &'a [String],
}

/// The questions. Each is one cheap query.
pub trait KeyProbe {
    /// Why a question was not answered.
    type Error;

    /// The key of the row number `n`, from 1, of a range: literals of all columns that follow the prefix. `None` if the
    /// range has fewer rows.
    fn nth_key(&mut self, range: &KeyRange<'_>, n: u64)
    -> Result<Option<Vec<String>>, Self::Error>;

    /// How many rows the optimizer expects in spans of the integer column that follows the range's prefix, both ends
    /// included. `after` is not looked at.
    fn estimate_rows(
        &mut self,
        range: &KeyRange<'_>,
        spans: &[(i128, i128)],
    ) -> Result<u64, Self::Error>;

    /// TiDB: the keys at which the table's regions begin, in order. `None` if the table does not have these columns.
    fn region_keys(&mut self, key: &TableKey) -> Result<Option<Vec<Vec<String>>>, Self::Error>;
}

/// Asks over a session.
pub struct SessionProbe<'a> {
    session: &'a mut Session,
}

impl<'a> SessionProbe<'a> {
    /// A probe; the session needs no snapshot.
    pub fn new(session: &'a mut Session) -> Self {
        Self { session }
    }

    fn key_of(
        key: &TableKey,
        columns: &[KeyColumn],
        row: &TextRow,
    ) -> Result<Vec<String>, ServerError> {
        let literals = columns.iter().enumerate().map(|(index, column)| {
            let text = row.text(index);
            text.and_then(|text| column.literal(&text))
                .ok_or_else(|| ServerError::Protocol {
                    doing: doing(key),
                    what: format!(
                        "{} has a value that its type cannot have",
                        quote(&column.name)
                    ),
                })
        });
        literals.collect()
    }
}

impl KeyProbe for SessionProbe<'_> {
    type Error = ServerError;

    fn nth_key(
        &mut self,
        range: &KeyRange<'_>,
        n: u64,
    ) -> Result<Option<Vec<String>>, ServerError> {
        const INVALID_TEXT: u16 = 1300;
        let row = match self
            .session
            .first(&nth_key_query(range, n), &doing(range.key))
        {
            // Text that an old server let in is no literal for this one: what follows it is not cut.
            Err(error) if error.code() == Some(INVALID_TEXT) => return Ok(None),
            answered => answered?,
        };
        let columns = range.following();
        row.map(|row| Self::key_of(range.key, columns, &row))
            .transpose()
    }

    fn estimate_rows(
        &mut self,
        range: &KeyRange<'_>,
        spans: &[(i128, i128)],
    ) -> Result<u64, ServerError> {
        let query = estimate_query(range, spans, self.session.flavor().kind);
        let mut plan = self.session.stream(&query, &doing(range.key))?;
        let names = plan.columns().iter();
        let rows = names.into_iter().position(|column| column.name == b"rows");
        let mut sum = 0_u64;
        while let Some(line) = plan.next_row()? {
            // NULL if the optimizer sees that there are none.
            let cell = rows.and_then(|index| line.cell(index)).unwrap_or_default();
            let count: u64 = std::str::from_utf8(cell)
                .ok()
                .and_then(|text| text.parse().ok())
                .unwrap_or(0);
            sum = sum.saturating_add(count);
        }
        Ok(sum)
    }

    fn region_keys(&mut self, key: &TableKey) -> Result<Option<Vec<Vec<String>>>, ServerError> {
        const NO_SUCH_COLUMN: u16 = 1054;
        let rows = match self.session.rows(&region_query(key), &doing(key)) {
            Err(error) if error.code() == Some(NO_SUCH_COLUMN) => return Ok(None),
            answered => answered?,
        };
        let keys = rows.iter().map(|row| Self::key_of(key, &key.columns, row));
        keys.collect::<Result<_, _>>().map(Some)
    }
}

impl KeyRange<'_> {
    /// The columns after the prefix.
    pub fn following(&self) -> &[KeyColumn] {
        &self.key.columns[self.prefix.len().min(self.key.columns.len())..]
    }
}

fn doing(key: &TableKey) -> String {
    format!("choosing the chunks of {}", key.table)
}

fn nth_key_query(range: &KeyRange<'_>, n: u64) -> String {
    let columns = range.following();
    let rows = between(columns, range.after, &[]);
    let select: Vec<String> = columns.iter().map(KeyColumn::select_expression).collect();
    let ordered = columns.iter().skip(rows.fixed);
    let order: Vec<String> = ordered.map(KeyColumn::order_term).collect();
    let mut conditions = equal(&range.key.columns, range.prefix);
    conditions.extend(rows.condition);
    let filter = if conditions.is_empty() {
        String::new()
    } else {
        format!(" WHERE {}", conditions.join(" AND "))
    };
    format!(
        "SELECT {} FROM {}{}{filter} ORDER BY {} LIMIT {}, 1",
        select.join(", "),
        range.key.table,
        index_hint(range.key, "FORCE"),
        order.join(", "),
        n.saturating_sub(1),
    )
}

fn estimate_query(range: &KeyRange<'_>, spans: &[(i128, i128)], kind: Kind) -> String {
    let name = range
        .following()
        .first()
        .map(|column| quote(&column.name))
        .unwrap_or_default();
    // Not by `=`: the optimizer could take the rows of the prefix by reference and tell their average number (seen on 5.6).
    let prefix = range.key.columns.iter().zip(range.prefix);
    let prefix: Vec<String> = prefix
        .map(|(column, value)| {
            let name = quote(&column.name);
            format!("{name} >= {value} AND {name} <= {value}")
        })
        .collect();
    // MySQL makes no index dives under FORCE INDEX and answers with a guess (seen on 9.7); its default format is a tree.
    let (format, hint) = match kind {
        Kind::MySql => ("FORMAT=TRADITIONAL ", "USE"),
        _ => ("", "FORCE"),
    };
    let selects = spans.chunks(SPANS_OF_A_SELECT).map(|spans| {
        let spans = spans
            .iter()
            .map(|(first, last)| format!("{name} >= {first} AND {name} <= {last}"));
        let spans = spans.collect::<Vec<_>>().join(" OR ");
        let conditions = [prefix.as_slice(), &[format!("({spans})")]].concat();
        format!(
            "SELECT {name} FROM {}{} WHERE {}",
            range.key.table,
            index_hint(range.key, hint),
            conditions.join(" AND "),
        )
    });
    let selects = selects.collect::<Vec<_>>().join(" UNION ALL ");
    format!("EXPLAIN {format}{selects}")
}

fn region_query(key: &TableKey) -> String {
    let select: Vec<String> = key
        .columns
        .iter()
        .map(KeyColumn::select_expression)
        .collect();
    let order: Vec<String> = key.columns.iter().map(KeyColumn::order_term).collect();
    format!(
        "SELECT {} FROM {} TABLESAMPLE REGIONS() ORDER BY {}",
        select.join(", "),
        key.table,
        order.join(", "),
    )
}

fn index_hint(key: &TableKey, verb: &str) -> String {
    let hint = key
        .index
        .as_ref()
        .map(|index| format!(" {verb} INDEX ({})", quote(index)));
    hint.unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::super::column::KeyKind;
    use super::*;

    fn key(index: Option<&str>) -> TableKey {
        let column = |name: &str, kind| KeyColumn {
            name: name.to_owned(),
            kind,
            descending: false,
        };
        TableKey {
            table: ObjectName::new("d", "t"),
            index: index.map(str::to_owned),
            columns: vec![
                column("a", KeyKind::Integer(0, 255)),
                column("b", KeyKind::Text("latin1".to_owned())),
                column("e", KeyKind::Member(2)),
            ],
        }
    }

    #[test]
    fn a_bound_is_asked_for_in_the_order_of_the_key() {
        let key = key(Some("k`"));
        let (prefix, after) = (
            ["7".to_owned()],
            ["_latin1 x'ff'".to_owned(), "2".to_owned()],
        );
        let range = KeyRange {
            key: &key,
            prefix: &prefix,
            after: &after,
        };
        assert_eq!(
            nth_key_query(&range, 100),
            "SELECT HEX(`b`), `e`+0 FROM `d`.`t` FORCE INDEX (`k```) \
             WHERE `a` = 7 AND (`b` > _latin1 x'ff' OR (`b` = _latin1 x'ff' AND FALSE)) ORDER BY `b`, `e` LIMIT 99, 1"
        );
    }

    #[test]
    fn an_estimate_is_made_by_index_dives_on_every_server() {
        let key = key(Some("PRIMARY"));
        let range = KeyRange {
            key: &key,
            prefix: &[],
            after: &[],
        };
        assert_eq!(
            estimate_query(&range, &[(-5, 1), (2, 9)], Kind::MySql),
            "EXPLAIN FORMAT=TRADITIONAL SELECT `a` FROM `d`.`t` USE INDEX (`PRIMARY`) \
             WHERE (`a` >= -5 AND `a` <= 1 OR `a` >= 2 AND `a` <= 9)"
        );
        let spans: Vec<_> = (0..5).map(|n| (n, n)).collect();
        let asked = estimate_query(&range, &spans, Kind::MariaDb);
        assert!(
            asked.ends_with(
                " UNION ALL SELECT `a` FROM `d`.`t` FORCE INDEX (`PRIMARY`) WHERE (`a` >= 4 AND `a` <= 4)"
            ),
            "{asked}"
        );
    }

    #[test]
    fn regions_are_asked_for_in_order() {
        assert_eq!(
            region_query(&key(None)),
            "SELECT `a`, HEX(`b`), `e`+0 FROM `d`.`t` TABLESAMPLE REGIONS() ORDER BY `a`, `b`, `e`"
        );
    }
}
