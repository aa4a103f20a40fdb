//! Names: the lists of `-B`, `-T` and `--params`, and the account of `--definer`.
//!
//! Owns the splitting at commas, dots and `@` that are not quoted, and the unquoting.

use crate::catalog::ident::{ObjectName, quote};
use crate::dump::config::Definer;

/// A part of a list that is no name. Each is a clause that follows the flag and its value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum NameError {
    /// Two commas in a row, or an empty argument.
    #[error("it has an empty name")]
    Empty,
    /// A quote without its end.
    #[error("it has a {0} that is never closed")]
    Quote(char),
    /// Text beside a quoted name.
    #[error("it has `{0}`, of which only a part is quoted")]
    PartlyQuoted(String),
    /// A table without its database.
    #[error("it has `{0}`, which names no database; write db.table")]
    NoDatabase(String),
    /// A session variable without a value, or with a name that cannot be one.
    #[error("it has `{0}`, which is not of the form name=value")]
    NoValue(String),
    /// An account that cannot be written in the charset of every object.
    #[error("it names an account that is not of the form USER@HOST in printable ASCII")]
    Account,
    /// A value that cannot be quoted for every server.
    #[error("it has a value with a backslash")]
    Backslash,
}

/// Database names of a comma list.
pub fn parse_databases(list: &str) -> Result<Vec<String>, NameError> {
    let items = split(list, ',', '`')?;
    items.into_iter().map(unquoted).collect()
}

/// Table names of a comma list. An unquoted name is cut at its first dot, as Dumpling does.
pub fn parse_tables(list: &str) -> Result<Vec<ObjectName>, NameError> {
    let items = split(list, ',', '`')?;
    let parsed = items.into_iter().map(|item| {
        let parts = split(item, '.', '`')?;
        let Some((database, rest)) = parts.split_first().filter(|(_, rest)| !rest.is_empty())
        else {
            return Err(NameError::NoDatabase(item.to_owned()));
        };
        Ok(ObjectName::new(
            unquoted(database)?,
            unquoted(&rest.join("."))?,
        ))
    });
    parsed.collect()
}

/// Session variables of a comma list, the values as SQL: numbers, words that are no text and quoted texts as they are, all
/// else quoted.
pub fn parse_variables(list: &str) -> Result<Vec<(String, String)>, NameError> {
    let items = split(list, ',', '\'')?;
    let parsed = items.into_iter().map(|item| {
        let no_value = || NameError::NoValue(item.trim().to_owned());
        let (name, value) = item.split_once('=').ok_or_else(no_value)?;
        let (name, value) = (name.trim(), value.trim());
        let is_name = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '.' | '@');
        if name.is_empty() || !name.chars().all(is_name) {
            return Err(no_value());
        }
        Ok((name.to_owned(), sql_value(value)?))
    });
    parsed.collect()
}

/// What becomes of DEFINER clauses. An account without a host has `%`, as in SQL. It is printable ASCII, because it goes into
/// statements of any charset.
pub fn parse_definer(text: &str) -> Result<Definer, NameError> {
    match text.to_ascii_lowercase().as_str() {
        "keep" => return Ok(Definer::Keep),
        "skip" => return Ok(Definer::Skip),
        _ => {}
    }
    let quotes = ['\'', '"'];
    let mark = quotes.into_iter().find(|quote| text.starts_with(*quote));
    let mark = mark.unwrap_or('`');
    let parts = split(text, '@', mark)?;
    let part = |text: &str| match text.strip_prefix(mark) {
        Some(rest) => rest.strip_suffix(mark).map(str::to_owned),
        None => Some(text.to_owned()),
    };
    let (user, host) = match parts.as_slice() {
        [user] => (part(user), Some("%".to_owned())),
        [user, host] => (part(user), part(host)),
        _ => (None, None),
    };
    let fits = |name: &String| name.bytes().all(|b| b == b' ' || b.is_ascii_graphic());
    let user = user.filter(|user| fits(user) && !user.is_empty());
    let host = host.filter(|host| fits(host) && !host.is_empty());
    let (user, host) = user.zip(host).ok_or(NameError::Account)?;
    Ok(Definer::Replace(format!(
        "{}@{}",
        quote(&user),
        quote(&host)
    )))
}

fn sql_value(value: &str) -> Result<String, NameError> {
    let is_word = ["DEFAULT", "NULL"]
        .iter()
        .any(|word| value.eq_ignore_ascii_case(word));
    let is_quoted = value.len() >= 2 && value.starts_with('\'') && value.ends_with('\'');
    if value.contains('\\') {
        // Whether it escapes depends on the sql_mode, which may be what is being set.
        Err(NameError::Backslash)
    } else if is_word || is_quoted || value.parse::<f64>().is_ok_and(f64::is_finite) {
        Ok(value.to_owned())
    } else {
        Ok(format!("'{}'", value.replace('\'', "''")))
    }
}

/// The parts between separators outside quotes.
fn split(text: &str, separator: char, quote: char) -> Result<Vec<&str>, NameError> {
    let mut parts = Vec::new();
    let (mut start, mut inside) = (0, false);
    for (at, c) in text.char_indices() {
        if c == quote {
            inside = !inside;
        } else if c == separator && !inside {
            parts.push(&text[start..at]);
            start = at + c.len_utf8();
        }
    }
    if inside {
        return Err(NameError::Quote(quote));
    }
    parts.push(&text[start..]);
    Ok(parts)
}

fn unquoted(part: &str) -> Result<String, NameError> {
    let part = part.trim();
    let inner = part.strip_prefix('`').and_then(|p| p.strip_suffix('`'));
    let bare = inner.unwrap_or(part);
    if bare.replace("``", "").contains('`') || (inner.is_none() && bare.contains('`')) {
        return Err(NameError::PartlyQuoted(part.to_owned()));
    }
    let name = inner.map_or_else(|| part.to_owned(), |inner| inner.replace("``", "`"));
    if name.is_empty() {
        return Err(NameError::Empty);
    }
    Ok(name)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn databases_are_split_at_commas_outside_backticks() {
        let names = parse_databases("shop, `a,b`,`c``d`").unwrap();
        assert_eq!(names, ["shop", "a,b", "c`d"]);
        assert_eq!(parse_databases("a,,b"), Err(NameError::Empty));
        assert_eq!(parse_databases("`a"), Err(NameError::Quote('`')));
        let partly = parse_databases("a`b`");
        assert_eq!(partly, Err(NameError::PartlyQuoted("a`b`".to_owned())));
    }

    #[test]
    fn tables_have_their_database_before_the_first_dot() {
        let names = parse_tables("a.b,c.d.e,`f.g`.`h,i`").unwrap();
        let expected = [("a", "b"), ("c", "d.e"), ("f.g", "h,i")];
        assert_eq!(names, expected.map(|(d, t)| ObjectName::new(d, t)));
        let bare = parse_tables("a.b,orders");
        assert_eq!(bare, Err(NameError::NoDatabase("orders".to_owned())));
        assert_eq!(parse_tables("a."), Err(NameError::Empty));
        assert!(parse_tables("a.`b`.`c`").is_err());
        assert_eq!(parse_tables(".b"), Err(NameError::Empty));
    }

    #[test]
    fn variables_become_sql() {
        let list = "a=1,tx.b=-2.5,time_zone=+00:00,sql_mode='A,B',c=NULL,d=it's";
        assert_eq!(parse_variables(list), Err(NameError::Quote('\'')));
        let list = "a=1,tx.b=-2.5,time_zone=+00:00,sql_mode='A,B',c=NULL,d=";
        let values: Vec<_> = parse_variables(list).unwrap();
        let values: Vec<_> = values.iter().map(|(_, value)| value.as_str()).collect();
        assert_eq!(values, ["1", "-2.5", "'+00:00'", "'A,B'", "NULL", "''"]);
        let bare = parse_variables("a");
        assert_eq!(bare, Err(NameError::NoValue("a".to_owned())));
        assert!(parse_variables("a b=1").is_err());
        assert_eq!(parse_variables(r"a=\x"), Err(NameError::Backslash));
    }

    #[test]
    fn a_definer_is_a_word_or_an_account() {
        assert_eq!(parse_definer("keep"), Ok(Definer::Keep));
        assert_eq!(parse_definer("SKIP"), Ok(Definer::Skip));
        for (text, account) in [
            ("app", "`app`@`%`"),
            ("app@10.%", "`app`@`10.%`"),
            ("'keep'@'%'", "`keep`@`%`"),
            ("`a@b`@localhost", "`a@b`@`localhost`"),
        ] {
            let wanted = Definer::Replace(account.to_owned());
            assert_eq!(parse_definer(text), Ok(wanted), "{text}");
        }
        for text in ["", "@localhost", "a@b@c", "größe", "a\nb", "app@"] {
            assert_eq!(parse_definer(text), Err(NameError::Account), "{text}");
        }
    }
}
