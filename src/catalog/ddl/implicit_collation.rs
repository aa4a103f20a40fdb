//! Collations that a column has from its table.
//!
//! Owns one rewriting of SHOW CREATE TABLE. MySQL 8 prints `COLLATE c` for a column that only inherits the table's
//! collation, if that is not its charset's default; loaded as it is, the column counts as explicit and prints `CHARACTER SET x
//! COLLATE c` ever after (seen on 9.7). So a COLLATE without a CHARACTER SET is left out where it says what the table's own
//! does. Everything else is passed on unread.

/// `create` without the COLLATE of columns that inherit theirs.
pub(super) fn leave_out(create: &[u8]) -> Vec<u8> {
    rewrite(create).unwrap_or_else(|| create.to_vec())
}

/// `None` if there is nothing to leave out, or the text has another shape than SHOW CREATE TABLE gives it.
fn rewrite(create: &[u8]) -> Option<Vec<u8>> {
    let open = end_of_quotes(create, create.iter().position(|byte| *byte == b'`')?)?;
    let list = open + create.get(open..)?.iter().position(|byte| *byte == b'(')?;
    let (columns, end) = columns(create, list + 1)?;
    let inherited = [b" COLLATE ", table_collation(&create[end..])?].concat();
    let mut out = Vec::with_capacity(create.len());
    let mut copied = 0;
    for type_end in columns {
        let after = &create[type_end..];
        let is_whole_word = after
            .get(inherited.len())
            .is_some_and(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
        if after.starts_with(&inherited) && is_whole_word {
            out.extend_from_slice(&create[copied..type_end]);
            copied = type_end + inherited.len();
        }
    }
    out.extend_from_slice(&create[copied..]);
    Some(out)
}

/// For each column of the list that begins at `start` the place after its type; and the place after the list.
fn columns(text: &[u8], start: usize) -> Option<(Vec<usize>, usize)> {
    let mut ends = Vec::new();
    let mut at = start;
    loop {
        at += text
            .get(at..)?
            .iter()
            .position(|byte| !byte.is_ascii_whitespace())?;
        if text[at] == b'`' {
            let name_end = end_of_quotes(text, at)?;
            ends.push(end_of_type(text, name_end)?);
        }
        let end = end_of_entry(text, at)?;
        if text[end] == b')' {
            return Some((ends, end + 1));
        }
        at = end + 1;
    }
}

/// The place after ` word` or ` word(…)` at `start`.
fn end_of_type(text: &[u8], start: usize) -> Option<usize> {
    let word = text.get(start + 1..)?;
    let length = word.iter().position(|byte| !byte.is_ascii_alphanumeric())?;
    let end = start + 1 + length;
    if text[end] == b'(' {
        end_of_brackets(text, end)
    } else {
        Some(end)
    }
}

/// The place of the comma or closing bracket that ends what begins at `start`.
fn end_of_entry(text: &[u8], start: usize) -> Option<usize> {
    let mut at = start;
    loop {
        at = match *text.get(at)? {
            b'`' | b'\'' | b'"' => end_of_quotes(text, at)?,
            b'(' => end_of_brackets(text, at)?,
            b',' | b')' => return Some(at),
            _ => at + 1,
        };
    }
}

/// The place after the bracket that closes the one at `open`.
fn end_of_brackets(text: &[u8], open: usize) -> Option<usize> {
    let (mut at, mut depth) = (open, 0_usize);
    loop {
        match *text.get(at)? {
            b'`' | b'\'' | b'"' => {
                at = end_of_quotes(text, at)?;
                continue;
            }
            b'(' => depth += 1,
            b')' if depth == 1 => return Some(at + 1),
            b')' => depth -= 1,
            _ => {}
        }
        at += 1;
    }
}

/// The place after the quoted text that begins at `start`. A doubled quote reads as two texts in a row, which is as good.
fn end_of_quotes(text: &[u8], start: usize) -> Option<usize> {
    let quote = *text.get(start)?;
    let mut at = start + 1;
    loop {
        let byte = *text.get(at)?;
        if byte == b'\\' && quote != b'`' {
            at += 1;
        } else if byte == quote {
            if text.get(at + 1) != Some(&quote) {
                return Some(at + 1);
            }
            at += 1;
        }
        at += 1;
    }
}

/// The collation among the options that follow the list; `None` if it is the charset's default, which is not printed.
fn table_collation(options: &[u8]) -> Option<&[u8]> {
    const WORD: &[u8] = b" COLLATE=";
    let mut at = 0;
    while at < options.len() {
        if matches!(options[at], b'`' | b'\'' | b'"') {
            at = end_of_quotes(options, at)?;
        } else if options[at..].starts_with(WORD) {
            let value = &options[at + WORD.len()..];
            let end = value
                .iter()
                .position(|byte| !byte.is_ascii_alphanumeric() && *byte != b'_');
            return Some(&value[..end.unwrap_or(value.len())]);
        } else {
            at += 1;
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn left_out(create: &str) -> String {
        String::from_utf8(leave_out(create.as_bytes())).unwrap()
    }

    #[test]
    fn an_inherited_collation_is_left_out() {
        let create = "CREATE TABLE `t` (\n  `a``(,` varchar(4) COLLATE utf8mb4_bin DEFAULT NULL,\n  \
            `e` enum('x,)','it''s \\' COLLATE utf8mb4_bin') COLLATE utf8mb4_bin NOT NULL,\n  \
            `b` text COLLATE utf8mb4_bin,\n  `c` text COLLATE utf8mb4_bin\n\
            ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='COLLATE=x'";
        let expected = "CREATE TABLE `t` (\n  `a``(,` varchar(4) DEFAULT NULL,\n  \
            `e` enum('x,)','it''s \\' COLLATE utf8mb4_bin') NOT NULL,\n  \
            `b` text,\n  `c` text\n\
            ) ENGINE=InnoDB DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin COMMENT='COLLATE=x'";
        assert_eq!(left_out(create), expected);
    }

    #[test]
    fn everything_else_stays() {
        for create in [
            // Explicit: with its charset.
            "CREATE TABLE `t` (\n  `a` varchar(4) CHARACTER SET utf8mb4 COLLATE utf8mb4_bin\n) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
            // Another than the table's.
            "CREATE TABLE `t` (\n  `a` varchar(4) COLLATE utf8mb4_bin_x\n) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
            // Inside an expression.
            "CREATE TABLE `t` (\n  `a` int DEFAULT NULL,\n  `g` int GENERATED ALWAYS AS ((`a` COLLATE utf8mb4_bin)) VIRTUAL,\n  KEY `k` (`a`)\n) DEFAULT CHARSET=utf8mb4 COLLATE=utf8mb4_bin",
            // The table's is its charset's default, or only spoken of.
            "CREATE TABLE `t` (\n  `a` varchar(4) COLLATE utf8mb4_bin\n) DEFAULT CHARSET=utf8mb4 COMMENT=' COLLATE=utf8mb4_bin'",
            // No such shape.
            "CREATE TABLE `t` LIKE x",
            "CREATE TABLE `t",
            "",
        ] {
            assert_eq!(left_out(create), create);
        }
    }
}
