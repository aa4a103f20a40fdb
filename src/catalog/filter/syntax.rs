//! The text of a table filter: TiDB's syntax, so that a filter written for Dumpling means the same here.
//!
//! Owns `db.tbl`, `*`, `?`, `[a-z]`, `[!a-z]`, `/regex/`, quoted names, backslash escapes, a leading `!`, `@file` and comments,
//! and says where in the text an error is. What rules mean together it leaves to `mod.rs`.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::AtomicBool;

use regex::RegexBuilder;

use super::{FilterError, Pattern, Rule};

/// A wildcard covers the whole name, whatever is in it.
const WILDCARD_START: &str = r"(?s)\A";

/// Appends the rules of one argument of the command line.
pub(super) fn read(
    argument: &str,
    case_sensitive: bool,
    rules: &mut Vec<Rule>,
) -> Result<(), FilterError> {
    Parser::new(argument, case_sensitive, Origin::Argument).argument(rules)
}

enum Origin {
    Argument,
    File { path: PathBuf, line: usize },
}

/// Reads one argument, or one line of a file.
struct Parser<'a> {
    text: &'a str,
    chars: Vec<char>,
    at: usize,
    case_sensitive: bool,
    origin: Origin,
}

impl<'a> Parser<'a> {
    fn new(text: &'a str, case_sensitive: bool, origin: Origin) -> Self {
        Self {
            text,
            chars: text.chars().collect(),
            at: 0,
            case_sensitive,
            origin,
        }
    }

    /// All rules of an argument of the command line: the only place where a comma separates and `@` reads a file.
    fn argument(&mut self, rules: &mut Vec<Rule>) -> Result<(), FilterError> {
        loop {
            self.skip_blanks();
            match self.peek() {
                None | Some('#') => return Ok(()),
                Some(',') => self.at += 1,
                Some('@') => self.file(rules)?,
                Some(_) => rules.push(self.rule()?),
            }
        }
    }

    fn file(&mut self, rules: &mut Vec<Rule>) -> Result<(), FilterError> {
        self.at += 1;
        let end = (self.at..self.chars.len())
            .find(|&at| self.chars[at] == ',')
            .unwrap_or(self.chars.len());
        let name: String = self.chars[self.at..end].iter().collect();
        self.at = end;
        let path = PathBuf::from(name.trim());
        let text = std::fs::read_to_string(&path).map_err(|source| FilterError::File {
            path: path.clone(),
            source,
        })?;
        for (index, line) in text.lines().enumerate() {
            let origin = Origin::File {
                path: path.clone(),
                line: index + 1,
            };
            let mut parser = Parser::new(line.trim_end(), self.case_sensitive, origin);
            parser.skip_blanks();
            match parser.peek() {
                None | Some('#') => {}
                // As in TiDB: it keeps a file from importing itself.
                Some('@') => return Err(parser.error("a filter file cannot read another one")),
                Some(_) => rules.push(parser.rule()?),
            }
        }
        Ok(())
    }

    fn rule(&mut self) -> Result<Rule, FilterError> {
        let start = self.at;
        let positive = self.peek() != Some('!');
        self.at += usize::from(!positive);
        let database = self.pattern("database")?;
        if self.peek() != Some('.') {
            return Err(self.error("a `.` and a table pattern are missing"));
        }
        self.at += 1;
        let table = self.pattern("table")?;
        let end = self.at;
        self.skip_blanks();
        if !self.at_end_of_rule() {
            return Err(self.unexpected("after the table pattern"));
        }
        Ok(Rule {
            text: self.chars[start..end].iter().collect(),
            database,
            table,
            positive,
            used: Arc::new(AtomicBool::new(false)),
        })
    }

    fn pattern(&mut self, part: &str) -> Result<Pattern, FilterError> {
        match self.peek() {
            Some('/') => self.regex(),
            Some(quote @ ('"' | '`')) => self.quoted(quote),
            Some('.') => Err(self.error(format!("the {part} pattern is missing"))),
            _ if self.at_end_of_rule() => Err(self.error(format!("the {part} pattern is missing"))),
            _ => self.wildcard(),
        }
    }

    fn regex(&mut self) -> Result<Pattern, FilterError> {
        let start = self.at;
        self.at += 1;
        loop {
            match self.peek() {
                None => {
                    return Err(self.error_at(start, "the regular expression has no closing `/`"));
                }
                Some('/') => break,
                Some('\\') => self.at += 2,
                Some(_) => self.at += 1,
            }
        }
        let source: String = self.chars[start + 1..self.at].iter().collect();
        self.at += 1;
        if source.is_empty() {
            return Err(self.error_at(start, "the regular expression is empty"));
        }
        self.compile(&source, start)
    }

    fn quoted(&mut self, quote: char) -> Result<Pattern, FilterError> {
        let start = self.at;
        let mut name = String::new();
        loop {
            self.at += 1;
            match self.peek() {
                None => {
                    return Err(self.error_at(start, format!("the name has no closing {quote}")));
                }
                Some(c) if c == quote => {
                    self.at += 1;
                    if self.peek() != Some(quote) {
                        break;
                    }
                    name.push(quote);
                }
                Some(c) => name.push(c),
            }
        }
        if name.is_empty() {
            return Err(self.error_at(start, "the quoted name is empty"));
        }
        Ok(self.name(&name))
    }

    /// A plain name, or one with `*`, `?` and `[…]`.
    fn wildcard(&mut self) -> Result<Pattern, FilterError> {
        let start = self.at;
        let (mut name, mut regex) = (String::new(), String::from(WILDCARD_START));
        let mut plain = true;
        while !self.at_end_of_rule() {
            let c = self.chars[self.at];
            let literal = match c {
                '.' | ' ' | '\t' => break,
                '\\' => Some(self.escaped()?),
                '*' | '?' | '[' => None,
                _ if is_name_char(c) => Some(c),
                _ => return Err(self.unexpected("in a name; quote or escape it")),
            };
            if let Some(literal) = literal {
                name.push(literal);
                regex.push_str(&class_char(literal));
            } else {
                plain = false;
                match c {
                    '*' => regex.push_str(".*"),
                    '?' => regex.push('.'),
                    _ => regex.push_str(&self.class()?),
                }
            }
            self.at += 1;
        }
        if plain {
            return Ok(self.name(&name));
        }
        if self.chars[start..self.at] == ['*'] {
            return Ok(Pattern::All);
        }
        regex.push_str(r"\z");
        self.compile(&regex, start)
    }

    /// The character behind a backslash, on which the parser then stands.
    fn escaped(&mut self) -> Result<char, FilterError> {
        let start = self.at;
        self.at += 1;
        match self.peek() {
            None => Err(self.error_at(start, r"a `\` stands at the end")),
            Some(c) if c.is_ascii_alphanumeric() => {
                Err(self.error_at(start, format!(r"`\{c}` has no meaning")))
            }
            Some(c) => Ok(c),
        }
    }

    /// A class in brackets as one of the `regex` crate; the parser then stands on the closing bracket. Like fnmatch of
    /// glibc and every shell, and unlike TiDB, `[^` negates as `[!` does.
    fn class(&mut self) -> Result<String, FilterError> {
        let start = self.at;
        self.at += 1;
        let mut class = String::from("[");
        if matches!(self.peek(), Some('!' | '^')) {
            class.push('^');
            self.at += 1;
        }
        let first = self.at;
        loop {
            let from = self.class_member(start)?;
            let Some(from) = from else { break };
            let is_range = self.peek() == Some('-') && self.chars.get(self.at + 1) != Some(&']');
            class.push_str(&class_char(from));
            if is_range {
                self.at += 1;
                let to = self.class_member(start)?;
                let Some(to) = to.filter(|to| from <= *to) else {
                    return Err(self.error_at(start, "the range in `[…]` runs backwards"));
                };
                class.push('-');
                class.push_str(&class_char(to));
            }
        }
        if self.at == first {
            return Err(self.error_at(start, "the brackets are empty"));
        }
        class.push(']');
        Ok(class)
    }

    /// The next character of a class, or `None` on the closing bracket.
    fn class_member(&mut self, start: usize) -> Result<Option<char>, FilterError> {
        let c = match self.peek() {
            None => return Err(self.error_at(start, "the `[` is never closed")),
            Some(']') => return Ok(None),
            Some('\\') => self.escaped()?,
            Some(c) => c,
        };
        self.at += 1;
        Ok(Some(c))
    }

    fn compile(&self, source: &str, start: usize) -> Result<Pattern, FilterError> {
        let built = RegexBuilder::new(source)
            .case_insensitive(!self.case_sensitive)
            .build();
        built.map(Pattern::Regex).map_err(|error| {
            // The crate draws a picture over several lines; the last one says what is wrong.
            let text = error.to_string();
            let reason = text.lines().last().unwrap_or_default();
            let reason = reason.trim_start_matches("error: ");
            self.error_at(
                start,
                format!("the pattern is no regular expression ({reason})"),
            )
        })
    }

    fn name(&self, name: &str) -> Pattern {
        Pattern::Name(if self.case_sensitive {
            name.to_owned()
        } else {
            name.to_lowercase()
        })
    }

    fn peek(&self) -> Option<char> {
        self.chars.get(self.at).copied()
    }

    fn at_end_of_rule(&self) -> bool {
        match self.peek() {
            None => true,
            Some(',') => matches!(self.origin, Origin::Argument),
            Some(_) => false,
        }
    }

    fn skip_blanks(&mut self) {
        while matches!(self.peek(), Some(' ' | '\t')) {
            self.at += 1;
        }
    }

    fn unexpected(&self, place: &str) -> FilterError {
        let c = self.peek().unwrap_or(' ');
        self.error(format!("unexpected `{c}` {place}"))
    }

    fn error(&self, problem: impl Into<String>) -> FilterError {
        self.error_at(self.at, problem)
    }

    fn error_at(&self, at: usize, problem: impl Into<String>) -> FilterError {
        FilterError::Syntax {
            origin: self.to_string(),
            problem: problem.into(),
            position: at + 1,
        }
    }
}

/// Where the text came from, as messages begin.
impl fmt::Display for Parser<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.origin {
            Origin::Argument => write!(f, "the filter `{}`", self.text),
            Origin::File { path, line } => {
                write!(f, "the filter file {}, line {line}", path.display())
            }
        }
    }
}

fn is_name_char(c: char) -> bool {
    c == '$' || c == '_' || c.is_ascii_alphanumeric() || !c.is_ascii()
}

/// A character that means itself, in a class of the `regex` crate and outside.
fn class_char(c: char) -> String {
    format!(r"\x{{{:x}}}", u32::from(c))
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::TableFilter;
    use std::io::Write;

    fn matches(rule: &str, database: &str, table: &str) -> bool {
        TableFilter::parse(&[rule], false)
            .unwrap()
            .matches(database, table)
    }

    fn error(rule: &str) -> String {
        TableFilter::parse(&[rule], false).unwrap_err().to_string()
    }

    #[test]
    fn wildcards_cover_the_whole_name() {
        assert!(matches("db[0-9].tbl[0-9a-f][!0-9]", "db7", "tblcx"));
        assert!(!matches("db[0-9].tbl[0-9a-f][!0-9]", "db7", "tblc1"));
        assert!(matches("?.a*c", "é", "abbc"));
        assert!(!matches("?.a*c", "ab", "ac"));
        assert!(!matches("a.b*", "xa", "b"));
        assert!(matches("*.*", "line\nbreak", "x"));
    }

    #[test]
    fn classes_may_hold_brackets_and_operators() {
        assert!(matches(r"a.[\]\[]", "a", "]"));
        assert!(matches("a.[a&&b]", "a", "&"));
        assert!(matches("a.[a-]", "a", "-"));
        assert!(matches("a.[^b]", "a", "c"));
        assert!(!matches("a.[^b]", "a", "b"));
        assert!(matches("a.x[ ]y", "a", "x y"));
    }

    #[test]
    fn quotes_and_backslashes_make_any_character_a_plain_one() {
        assert!(matches(
            r#""db.with.dots"."tbl\1""#,
            "db.with.dots",
            r"tbl\1"
        ));
        assert!(matches(r#""foo""bar".`foo``bar`"#, "foo\"bar", "foo`bar"));
        assert!(matches(r#"foo\"bar.foo\`bar"#, "foo\"bar", "foo`bar"));
        assert!(matches(r"a\*.b\,c", "a*", "b,c"));
        assert!(!matches("`a*`.b", "ax", "b"));
    }

    #[test]
    fn regular_expressions_match_anywhere_in_the_name() {
        assert!(matches(r"/^db\d{2,}$/./b/", "db12", "abc"));
        assert!(!matches(r"/^db\d{2,}$/./b/", "db1", "abc"));
        assert!(matches(r"/a\/b/.*", "xa/by", "t"));
    }

    #[test]
    fn commas_separate_rules_but_not_inside_quotes_and_expressions() {
        let rules = r#"a.b, "c,d".e ,/^x{1,2}$/.*,"#;
        for (database, table) in [("a", "b"), ("c,d", "e"), ("xx", "t")] {
            assert!(matches(rules, database, table), "{database}.{table}");
        }
    }

    #[test]
    fn a_file_holds_one_rule_a_line_with_comments() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        write!(file, "# all\r\n  employees.*  \n\n!*.dep*\n").unwrap();
        let rule = format!("@{}", file.path().display());
        assert!(matches(&rule, "employees", "salaries"));
        assert!(!matches(&rule, "employees", "dept"));
        assert!(matches(&format!("{rule},*.dept"), "employees", "dept"));

        writeln!(file, "a.b # no comment").unwrap();
        let message = error(&rule);
        assert!(message.contains("line 5: unexpected `#`"), "{message}");
        assert!(message.ends_with("at character 5"), "{message}");
    }

    #[test]
    fn a_file_cannot_read_another_and_a_missing_one_is_named() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        writeln!(file, "@other").unwrap();
        let message = error(&format!("@{}", file.path().display()));
        assert!(message.contains("cannot read another one"), "{message}");
        assert_eq!(error("@/no/file"), "cannot read the filter file /no/file");
    }

    #[test]
    fn errors_say_what_and_where() {
        for (rule, problem) in [
            (
                "shop",
                "a `.` and a table pattern are missing at character 5",
            ),
            ("shop.", "the table pattern is missing at character 6"),
            (".t", "the database pattern is missing at character 1"),
            ("!", "the database pattern is missing at character 2"),
            (
                "a.b.c",
                "unexpected `.` after the table pattern at character 4",
            ),
            (
                "a.b c",
                "unexpected `c` after the table pattern at character 5",
            ),
            (
                "a-b.c",
                "unexpected `-` in a name; quote or escape it at character 2",
            ),
            (
                "/a.b",
                "the regular expression has no closing `/` at character 1",
            ),
            ("//.b", "the regular expression is empty at character 1"),
            ("a.`b", "the name has no closing ` at character 3"),
            ("a.\"\"", "the quoted name is empty at character 3"),
            ("a.b[", "the `[` is never closed at character 4"),
            ("a.[]", "the brackets are empty at character 3"),
            (
                "a.[z-a]",
                "the range in `[…]` runs backwards at character 3",
            ),
            (r"a.b\n", r"`\n` has no meaning at character 4"),
            (r"a.b\", r"a `\` stands at the end at character 4"),
            (
                "a.b,/(/.x",
                "the pattern is no regular expression (unclosed group) at character 5",
            ),
        ] {
            assert_eq!(error(rule), format!("the filter `{rule}`: {problem}"));
        }
    }
}
