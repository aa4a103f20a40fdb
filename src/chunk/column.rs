//! A key's column: how its values are read, and compared with a bound.
//!
//! Owns what each type needs so that a value read by one query and compared in another, in any session of rdump, means the
//! same key: hex literals in the column's charset, integers for ENUM, SET and BIT, all digits of FLOAT. Which columns are
//! compared with what it leaves to `bound.rs`.

use crate::catalog::column::Column;
use crate::catalog::ident::quote;

/// ENUM and SET columns are compared by lists of values, which stay short up to here.
const MAX_LISTED_VALUE: u64 = 1023;

/// How the values of a column are written as literals.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum KeyKind {
    /// Integers, with the least and the largest value of the type.
    Integer(i128, i128),
    /// Other numbers that the server prints exactly: DECIMAL, YEAR.
    Number,
    /// BIT, read as an integer.
    Bit,
    /// FLOAT and DOUBLE, read with all digits.
    Float,
    /// ENUM and SET, read as integers, with the largest one. Their ranges compare as text, not in index order, and use no
    /// index (seen), so that they are written as lists of values.
    Member(u64),
    /// Text in a charset.
    Text(String),
    /// BINARY and VARBINARY.
    Binary,
    /// Dates, times, UUID, INET4, INET6: quoted, they mean the same everywhere.
    Quoted,
}

/// A column of a key.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KeyColumn {
    /// The name.
    pub name: String,
    /// How its values are written.
    pub kind: KeyKind,
    /// Whether the walk goes from large to small in this column.
    pub descending: bool,
}

/// A side of a value in the order of the key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Side {
    Before,
    After,
}

impl KeyColumn {
    /// `None` for a type whose order no literal is known to keep.
    pub fn of(column: &Column, descending: bool) -> Option<Self> {
        Some(Self {
            name: column.name.clone(),
            kind: KeyKind::of(column)?,
            descending,
        })
    }

    /// Whether a range of the column alone finds its rows by the index, so that a key can begin with it.
    pub fn can_lead(&self) -> bool {
        !matches!(self.kind, KeyKind::Member(largest) if largest > MAX_LISTED_VALUE)
    }

    /// The expression that reads a value as text for [`Self::literal`].
    pub fn select_expression(&self) -> String {
        let name = quote(&self.name);
        match self.kind {
            KeyKind::Integer(..) | KeyKind::Number | KeyKind::Quoted => name,
            KeyKind::Bit | KeyKind::Member(_) => format!("{name}+0"),
            KeyKind::Float => format!("{name}*1e0"),
            KeyKind::Text(_) | KeyKind::Binary => format!("HEX({name})"),
        }
    }

    /// What was read, as a literal. `None` if it is not what the type can give.
    pub fn literal(&self, text: &str) -> Option<String> {
        let all = |allowed: fn(&char) -> bool| text.chars().all(|c| allowed(&c));
        match &self.kind {
            KeyKind::Integer(..) | KeyKind::Number | KeyKind::Bit | KeyKind::Member(_) => {
                let digits = |c: &char| c.is_ascii_digit() || matches!(c, '-' | '.');
                (all(digits) && !text.is_empty()).then(|| text.to_owned())
            }
            KeyKind::Float => {
                let digits = |c: &char| c.is_ascii_digit() || matches!(c, '-' | '+' | '.' | 'e');
                let exponent = if text.contains('e') { "" } else { "e0" };
                (all(digits) && !text.is_empty()).then(|| format!("{text}{exponent}"))
            }
            // No charset allows an empty hex literal to mean anything but ''.
            KeyKind::Text(_) | KeyKind::Binary if text.is_empty() => Some("''".to_owned()),
            KeyKind::Text(charset) => all(char::is_ascii_hexdigit)
                .then(|| format!("_{charset} x'{}'", text.to_ascii_lowercase())),
            KeyKind::Binary => {
                all(char::is_ascii_hexdigit).then(|| format!("x'{}'", text.to_ascii_lowercase()))
            }
            KeyKind::Quoted => {
                let plain = |c: &char| c.is_ascii_alphanumeric() || " :.-".contains(*c);
                all(plain).then(|| format!("'{text}'"))
            }
        }
    }

    /// The condition that holds for values on one side of a literal; `None` if no value can be there.
    pub(super) fn beyond(&self, side: Side, literal: &str) -> Option<String> {
        self.compare(side, literal, false)
    }

    /// The condition that holds for values on one side of a literal and for the literal itself.
    pub(super) fn from(&self, side: Side, literal: &str) -> Option<String> {
        self.compare(side, literal, true)
    }

    /// The condition that holds for one value.
    pub(super) fn equals(&self, literal: &str) -> String {
        format!("{} = {literal}", quote(&self.name))
    }

    /// The column as a term of ORDER BY.
    pub(super) fn order_term(&self) -> String {
        let direction = if self.descending { " DESC" } else { "" };
        quote(&self.name) + direction
    }

    fn compare(&self, side: Side, literal: &str, inclusive: bool) -> Option<String> {
        let name = quote(&self.name);
        let larger = (side == Side::After) != self.descending;
        let equal = if inclusive { "=" } else { "" };
        let sign = if larger { '>' } else { '<' };
        let KeyKind::Member(largest) = self.kind else {
            return Some(format!("{name} {sign}{equal} {literal}"));
        };
        if largest > MAX_LISTED_VALUE {
            // Uses no index, but the columns before it do.
            return Some(format!("{name}+0 {sign}{equal} {literal}"));
        }
        let value: u64 = literal.parse().ok()?;
        let (first, last) = match (larger, inclusive) {
            (true, true) => (value, largest),
            (true, false) => (value.checked_add(1)?, largest),
            // 0 is the empty SET and the ENUM value of failed inserts, which prints as ''.
            (false, true) => (0, value),
            (false, false) => (0, value.checked_sub(1)?),
        };
        let values: Vec<String> = (first..=last).map(|value| value.to_string()).collect();
        (!values.is_empty()).then(|| format!("{name} IN ({})", values.join(",")))
    }
}

impl KeyKind {
    fn of(column: &Column) -> Option<Self> {
        if column.misordered {
            return None;
        }
        let unsigned = column.column_type.contains("unsigned");
        let integer = |bits: u32| {
            let values = 1_i128 << bits;
            let least = if unsigned { 0 } else { -values / 2 };
            Self::Integer(least, least + values - 1)
        };
        Some(match column.data_type.as_str() {
            "tinyint" => integer(8),
            "smallint" => integer(16),
            "mediumint" => integer(24),
            "int" => integer(32),
            "bigint" => integer(64),
            "decimal" | "year" => Self::Number,
            "bit" => Self::Bit,
            "float" | "double" => Self::Float,
            "enum" => Self::Member(members(&column.column_type)),
            "set" => {
                let members = u32::try_from(members(&column.column_type)).ok()?;
                Self::Member(1_u64.checked_shl(members).map_or(u64::MAX, |n| n - 1))
            }
            "char" | "varchar" => Self::Text(column.charset.clone()?),
            "binary" | "varbinary" => Self::Binary,
            "date" | "datetime" | "timestamp" | "time" | "uuid" | "inet4" | "inet6" => Self::Quoted,
            _ => return None,
        })
    }
}

/// How many members the type text of an ENUM or SET lists, as `enum('a','it''s')`.
fn members(column_type: &str) -> u64 {
    let mut quoted = false;
    let mut count = 1;
    for c in column_type.chars() {
        match c {
            // A doubled quote closes and opens again.
            '\'' => quoted = !quoted,
            ',' if !quoted => count += 1,
            _ => {}
        }
    }
    count
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn of(column_type: &str, charset: Option<&str>) -> KeyColumn {
        let word = column_type.split(['(', ' ']).next().unwrap_or_default();
        let column = Column {
            name: "c".to_owned(),
            data_type: word.to_owned(),
            column_type: column_type.to_owned(),
            charset: charset.map(str::to_owned),
            misordered: false,
            nullable: false,
            generated: false,
            invisible: false,
        };
        KeyColumn::of(&column, false).unwrap()
    }

    #[test]
    fn a_value_becomes_a_literal_that_means_the_same_anywhere() {
        let most = "18446744073709551615";
        let cases = [
            (of("bigint(20) unsigned", None), "`c`", most, most),
            (
                of("varchar(9)", Some("ucs2")),
                "HEX(`c`)",
                "00E4",
                "_ucs2 x'00e4'",
            ),
            (of("varchar(9)", Some("gbk")), "HEX(`c`)", "", "''"),
            (of("binary(2)", None), "HEX(`c`)", "5C27", "x'5c27'"),
            (of("bit(64)", None), "`c`+0", most, most),
            (
                of("float", None),
                "`c`*1e0",
                "0.10000000149011612",
                "0.10000000149011612e0",
            ),
            (of("double", None), "`c`*1e0", "-1.5e-300", "-1.5e-300"),
            (
                of("time(2)", None),
                "`c`",
                "-838:59:59.00",
                "'-838:59:59.00'",
            ),
            (of("enum('a','b')", Some("utf8")), "`c`+0", "0", "0"),
        ];
        for (column, select, text, literal) in cases {
            assert_eq!(column.select_expression(), select);
            assert_eq!(column.literal(text).as_deref(), Some(literal));
        }
    }

    #[test]
    fn what_a_type_cannot_give_is_no_literal() {
        assert_eq!(of("int(11)", None).literal("1 OR 1"), None);
        assert_eq!(of("varchar(9)", Some("latin1")).literal("zz"), None);
        assert_eq!(of("date", None).literal("2020-01-01' OR '"), None);
    }

    #[test]
    fn members_are_counted_past_quotes_and_commas() {
        let odd = of("enum('a','it\'\'s','c,d','\'\',\'\'','')", None);
        assert_eq!(odd.kind, KeyKind::Member(5));
        assert_eq!(of("set('a','b','c')", None).kind, KeyKind::Member(7));
        let all = (0..64).map(|n| format!("'{n}'")).collect::<Vec<_>>();
        let largest = of(&format!("set({})", all.join(",")), None);
        assert_eq!(largest.kind, KeyKind::Member(u64::MAX));
        assert!(!largest.can_lead());
    }

    #[test]
    fn integers_know_their_ends() {
        assert_eq!(of("tinyint(4)", None).kind, KeyKind::Integer(-128, 127));
        assert_eq!(
            of("mediumint(8) unsigned", None).kind,
            KeyKind::Integer(0, 16_777_215)
        );
        let most = KeyKind::Integer(i64::MIN.into(), i64::MAX.into());
        assert_eq!(of("bigint(20)", None).kind, most);
    }
}
