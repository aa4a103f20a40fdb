//! The account a view or stored object belongs to.
//!
//! Owns the DEFINER clause at the head of a CREATE statement: kept, left out, or another account's. The rest of the statement,
//! and above all the body, is not touched.

/// What becomes of DEFINER clauses.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum Definer {
    /// They stay.
    #[default]
    Keep,
    /// They are left out: who loads the dump is the definer.
    Skip,
    /// This account, as in SQL.
    Replace(String),
}

impl Definer {
    /// The statement with the clause as wanted.
    pub(super) fn apply(&self, statement: &[u8]) -> Vec<u8> {
        let Some((start, end)) = clause(statement).filter(|_| *self != Self::Keep) else {
            return statement.to_vec();
        };
        let mut out = statement[..start].to_vec();
        if let Self::Replace(account) = self {
            out.extend_from_slice(b"DEFINER=");
            out.extend_from_slice(account.as_bytes());
            out.push(b' ');
        }
        out.extend_from_slice(&statement[end..]);
        out
    }
}

/// The place of `DEFINER=… ` and its space, which only ALGORITHM precedes.
fn clause(statement: &[u8]) -> Option<(usize, usize)> {
    const WORD: &[u8] = b"DEFINER=";
    let mut start = b"CREATE ".len();
    statement.strip_prefix(b"CREATE ")?;
    if statement[start..].starts_with(b"ALGORITHM=") {
        start += 1 + statement[start..].iter().position(|byte| *byte == b' ')?;
    }
    statement[start..].strip_prefix(WORD)?;
    // An account, or a role of MariaDB, which has no host.
    let mut end = end_of_name(statement, start + WORD.len())?;
    if statement.get(end) == Some(&b'@') {
        end = end_of_name(statement, end + 1)?;
    }
    (statement.get(end) == Some(&b' ')).then_some((start, end + 1))
}

/// The place after the quoted name that begins at `start`. The server quotes by `"` for objects made under ANSI_QUOTES.
fn end_of_name(statement: &[u8], start: usize) -> Option<usize> {
    let quote = *statement.get(start).filter(|byte| b"`\"'".contains(byte))?;
    let mut at = start + 1;
    loop {
        if *statement.get(at)? != quote {
            at += 1;
        } else if statement.get(at + 1) == Some(&quote) {
            at += 2;
        } else {
            return Some(at + 1);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn apply(definer: &Definer, statement: &str) -> String {
        String::from_utf8(definer.apply(statement.as_bytes())).unwrap()
    }

    #[test]
    fn the_clause_goes_or_changes_and_the_rest_stays() {
        let other = Definer::Replace("`app`@`%`".to_owned());
        for (head, tail) in [
            (
                "CREATE DEFINER=`ro``ot`@`local host` ",
                "TRIGGER `t` BEGIN /* DEFINER=`x`@`y` */ END",
            ),
            (
                "CREATE ALGORITHM=MERGE DEFINER=`a b`@`%` ",
                "SQL SECURITY DEFINER VIEW `v` AS SELECT 'DEFINER='",
            ),
            (
                "CREATE DEFINER=\"o'x\"@\"10.%\" ",
                "PROCEDURE \"p\"() SELECT 1",
            ),
            ("CREATE DEFINER=`role` ", "EVENT `e` DO SELECT 1"),
        ] {
            let statement = format!("{head}{tail}");
            let before = head.split("DEFINER").next().unwrap();
            assert_eq!(apply(&Definer::Keep, &statement), statement);
            assert_eq!(apply(&Definer::Skip, &statement), format!("{before}{tail}"));
            let replaced = format!("{before}DEFINER=`app`@`%` {tail}");
            assert_eq!(apply(&other, &statement), replaced);
        }
    }

    #[test]
    fn a_statement_without_the_clause_stays() {
        for statement in [
            "CREATE VIEW `DEFINER=``` AS SELECT 'CREATE DEFINER=`x`@`y` '",
            "CREATE LIBRARY `l` LANGUAGE JAVASCRIPT",
            "CREATE DEFINER=`cut",
            "",
        ] {
            assert_eq!(apply(&Definer::Skip, statement), statement);
        }
    }
}
