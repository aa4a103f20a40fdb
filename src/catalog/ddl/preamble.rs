//! What SHOW CREATE prints before the body of a stored object.
//!
//! Owns two corrections, without which it does not load as it was (mysqldump makes neither). A server prints body and
//! parameters in the charset of whoever wrote them, but comments, RETURNS and, on MySQL, names in utf8 (seen on all four
//! servers). And it prints backslashes in a comment doubled, also for an object whose `sql_mode` takes them for plain
//! characters. Everything is asked in a session whose results are not converted.

use super::super::RoutineKind;
use super::super::ident::{ObjectName, hex, text_literal};
use crate::server::error::ServerError;
use crate::server::session::Session;

/// Where `information_schema` has the body of an object.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum BodyOf {
    Routine(RoutineKind),
    Trigger,
    Event,
}

/// A stored object whose statement may need correction.
pub(super) struct Preamble<'a> {
    pub of: BodyOf,
    pub name: &'a ObjectName,
    pub charset: &'a str,
    pub sql_mode: &'a str,
}

impl Preamble<'_> {
    /// The statement as it has to be sent, and what cannot be kept.
    pub(super) fn correct(
        &self,
        session: &mut Session,
        statement: &[u8],
    ) -> Result<(Vec<u8>, Option<String>), ServerError> {
        let other_charset = !self.charset.starts_with("utf8") && !statement.is_ascii();
        let plain_backslashes =
            self.sql_mode.contains("NO_BACKSLASH_ESCAPES") && statement.contains(&b'\\');
        if !other_charset && !plain_backslashes {
            return Ok((statement.to_vec(), None));
        }
        let body = self.body(session)?;
        let Some(before) = statement
            .strip_suffix(body.as_slice())
            .filter(|_| !body.is_empty())
        else {
            // Not seen; and a comment that reads a little different is better than no routine.
            return Ok((statement.to_vec(), None));
        };
        let mut before = before.to_vec();
        if plain_backslashes {
            before = with_plain_backslashes(&before);
        }
        let mut warning = None;
        if other_charset {
            let mut lossy = false;
            before = self.in_own_charset(session, &before, &mut lossy)?;
            warning = lossy.then(|| {
                format!(
                    "The name, comment or type of {} has characters that its charset {} lacks",
                    self.name, self.charset
                )
            });
        }
        before.extend_from_slice(&body);
        Ok((before, warning))
    }

    fn body(&self, session: &mut Session) -> Result<Vec<u8>, ServerError> {
        let (view, column, schema, name) = match self.of {
            BodyOf::Routine(_) => (
                "ROUTINES",
                "ROUTINE_DEFINITION",
                "ROUTINE_SCHEMA",
                "ROUTINE_NAME",
            ),
            BodyOf::Trigger => (
                "TRIGGERS",
                "ACTION_STATEMENT",
                "TRIGGER_SCHEMA",
                "TRIGGER_NAME",
            ),
            BodyOf::Event => ("EVENTS", "EVENT_DEFINITION", "EVENT_SCHEMA", "EVENT_NAME"),
        };
        let kind = match self.of {
            BodyOf::Routine(kind) => format!(" AND ROUTINE_TYPE = '{}'", kind.keyword()),
            _ => String::new(),
        };
        let sql = format!(
            "SELECT CONVERT({column} USING {}) FROM information_schema.{view} WHERE {schema} = {} AND {name} = {}{kind}",
            self.charset,
            text_literal(&self.name.database),
            text_literal(&self.name.name),
        );
        let row = session.first(&sql, &format!("reading the body of {}", self.name))?;
        Ok(row
            .and_then(|row| row.bytes(0).map(<[u8]>::to_vec))
            .unwrap_or_default())
    }

    /// Turns what is utf8 into the object's charset. What is in that charset already, parameters and on MariaDB names, is
    /// hardly ever valid utf8.
    fn in_own_charset(
        &self,
        session: &mut Session,
        text: &[u8],
        lossy: &mut bool,
    ) -> Result<Vec<u8>, ServerError> {
        let mut out = Vec::with_capacity(text.len());
        for run in text.chunk_by(|a, b| a.is_ascii() == b.is_ascii()) {
            if run.is_ascii() || std::str::from_utf8(run).is_err() {
                out.extend_from_slice(run);
                continue;
            }
            let literal = format!("_utf8mb4 x'{}'", hex(run));
            let charset = self.charset;
            let sql = format!(
                "SELECT CONVERT({literal} USING {charset}), CONVERT(CONVERT({literal} USING {charset}) USING utf8mb4)"
            );
            let row =
                session.first(&sql, &format!("converting the definition of {}", self.name))?;
            let cell = |index| row.as_ref().and_then(|row| row.bytes(index));
            *lossy |= cell(1) != Some(run);
            out.extend_from_slice(cell(0).unwrap_or(run));
        }
        Ok(out)
    }
}

/// Undoes the escapes of the COMMENT that ends `before`, for a session in which backslashes are plain characters.
fn with_plain_backslashes(before: &[u8]) -> Vec<u8> {
    const WORD: &[u8] = b" COMMENT '";
    let Some(start) = memchr::memmem::find(before, WORD).map(|at| at + WORD.len()) else {
        return before.to_vec();
    };
    let mut out = before[..start].to_vec();
    let mut bytes = before[start..].iter();
    while let Some(&byte) = bytes.next() {
        let plain = match (byte, bytes.as_slice().first()) {
            (b'\\', Some(b'n')) => b'\n',
            (b'\\', Some(b'r')) => b'\r',
            (b'\\', Some(b'0')) => b'\0',
            (b'\\', Some(b'Z')) => 0x1a,
            (b'\\', Some(next)) => *next,
            _ => {
                out.push(byte);
                continue;
            }
        };
        bytes.next();
        out.push(plain);
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_comment_loses_its_escapes() {
        let before = br"CREATE PROCEDURE `a\n`(x int)
    COMMENT 'it''s \\ \n x'
";
        let plain = b"CREATE PROCEDURE `a\\n`(x int)\n    COMMENT 'it''s \\ \n x'\n";
        assert_eq!(with_plain_backslashes(before), plain);
        assert_eq!(with_plain_backslashes(b"no \\n comment"), b"no \\n comment");
    }
}
