//! `TableFilter`: which tables are wanted, in TiDB's table-filter language.
//!
//! Owns the rules and that the last match decides, the memory of which rules were of use, and the list of system schemas,
//! which no pattern can open. How a rule is written it leaves to `syntax.rs`, which databases and tables exist to
//! `catalog/mod.rs`. This directory is the only place that knows the `regex` crate.

mod syntax;

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use regex::Regex;

/// Schemas that belong to the server or its tools, in lower case; they are matched in any case (B129).
const SYSTEM_DATABASES: [&str; 9] = [
    "information_schema",
    "inspection_schema",
    "lightning_metadata",
    "lightning_task_info",
    "metrics_schema",
    "mysql",
    "ndbinfo",
    "performance_schema",
    "sys",
];

/// Whether the schema belongs to the server or its tools, and so is opened only when it is named.
pub fn is_system_database(name: &str) -> bool {
    SYSTEM_DATABASES.contains(&name.to_lowercase().as_str())
}

/// Why a filter could not be read.
#[derive(Debug, thiserror::Error)]
pub enum FilterError {
    /// The text breaks the grammar.
    #[error("{origin}: {problem} at character {position}")]
    Syntax {
        /// The filter as typed, or the file and its line.
        origin: String,
        /// What is wrong, as a phrase.
        problem: String,
        /// Where, counted in characters from 1.
        position: usize,
    },
    /// A file named by `@` could not be read.
    #[error("cannot read the filter file {}", path.display())]
    File {
        /// The file.
        path: PathBuf,
        /// Why.
        source: std::io::Error,
    },
}

/// Decides which tables are wanted. Clones share the memory of which rules were of use.
#[derive(Debug, Clone)]
pub struct TableFilter {
    rules: Vec<Rule>,
    case_sensitive: bool,
    opened: Vec<String>,
}

#[derive(Debug, Clone)]
struct Rule {
    text: String,
    database: Pattern,
    table: Pattern,
    positive: bool,
    used: Arc<AtomicBool>,
}

#[derive(Debug, Clone)]
enum Pattern {
    All,
    Name(String),
    Regex(Regex),
}

impl TableFilter {
    /// Reads rules as typed. An argument may hold several, separated by commas; `@file` reads a file with one per line.
    pub fn parse<S: AsRef<str>>(
        arguments: &[S],
        case_sensitive: bool,
    ) -> Result<Self, FilterError> {
        let mut rules = Vec::new();
        for argument in arguments {
            syntax::read(argument.as_ref(), case_sensitive, &mut rules)?;
        }
        Ok(Self {
            rules,
            case_sensitive,
            opened: Vec::new(),
        })
    }

    /// The default: everything but the system schemas.
    pub fn all_but_system() -> Self {
        let everything = Rule {
            text: "*.*".to_owned(),
            database: Pattern::All,
            table: Pattern::All,
            positive: true,
            // On an empty server nothing matches, and that is no mistake of the user's.
            used: Arc::new(AtomicBool::new(true)),
        };
        Self {
            rules: vec![everything],
            case_sensitive: false,
            opened: Vec::new(),
        }
    }

    /// Whether the user gave rules; else everything but the system schemas is wanted.
    pub fn is_custom(&self) -> bool {
        !matches!(
            &self.rules[..],
            [Rule {
                database: Pattern::All,
                table: Pattern::All,
                positive: true,
                ..
            }]
        )
    }

    /// The same filter for a user who named these databases: a system schema among them is then as good as any other.
    #[must_use]
    pub fn opening<S: AsRef<str>>(mut self, databases: &[S]) -> Self {
        self.opened
            .extend(databases.iter().map(|name| name.as_ref().to_lowercase()));
        self
    }

    /// Whether the table is wanted: the last rule that matches it decides; without one it is not.
    pub fn matches(&self, database: &str, table: &str) -> bool {
        if self.is_closed(database) {
            return false;
        }
        let (database, table) = (self.fold(database), self.fold(table));
        let mut wanted = false;
        // No early end: a rule that another one overrules was of use all the same.
        for rule in &self.rules {
            if rule.database.matches(&database) && rule.table.matches(&table) {
                rule.used.store(true, Ordering::Relaxed);
                wanted = rule.positive;
            }
        }
        wanted
    }

    /// Whether the database may hold a table that is wanted, so that it has to be opened at all.
    pub fn may_match_database(&self, database: &str) -> bool {
        let closed = self.is_closed(database);
        let database = self.fold(database);
        let rules = || {
            let rules = self.rules.iter().rev();
            rules.filter(|rule| rule.database.matches(&database))
        };
        let opened = !closed
            && rules()
                .find(|rule| rule.positive || matches!(rule.table, Pattern::All))
                .is_some_and(|rule| rule.positive);
        if !opened {
            // Their tables will not be looked at, so this is all that such a rule can be of use.
            for rule in rules().filter(|rule| !rule.positive) {
                rule.used.store(true, Ordering::Relaxed);
            }
        }
        opened
    }

    /// The rules, as typed, that have matched no table so far. Worth a warning at the end: most are misspelt.
    pub fn unused_rules(&self) -> Vec<&str> {
        let unused = self
            .rules
            .iter()
            .filter(|rule| !rule.used.load(Ordering::Relaxed));
        unused.map(|rule| rule.text.as_str()).collect()
    }

    fn is_closed(&self, database: &str) -> bool {
        is_system_database(database) && !self.opened.contains(&database.to_lowercase())
    }

    fn fold(&self, name: &str) -> String {
        if self.case_sensitive {
            name.to_owned()
        } else {
            name.to_lowercase()
        }
    }
}

impl Pattern {
    fn matches(&self, name: &str) -> bool {
        match self {
            Self::All => true,
            Self::Name(wanted) => wanted == name,
            Self::Regex(regex) => regex.is_match(name),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn filter(rules: &[&str]) -> TableFilter {
        TableFilter::parse(rules, false).unwrap()
    }

    #[test]
    fn the_last_matching_rule_decides_and_no_match_is_no() {
        let rules = filter(&["employees.*", "!*.dep*", "*.departments"]);
        for (name, wanted) in [
            ("irrelevant.table", false),
            ("employees.employees", true),
            ("employees.dept_emp", false),
            ("employees.departments", true),
            ("else.departments", true),
        ] {
            let (database, table) = name.split_once('.').unwrap();
            assert_eq!(rules.matches(database, table), wanted, "{name}");
        }
        assert!(!filter(&["!*.Password"]).matches("a", "b"));
    }

    #[test]
    fn case_counts_only_when_asked_to() {
        assert!(filter(&["Shop.ORDERS", "/^É/.*"]).matches("sHOP", "orders"));
        assert!(filter(&["É*.t[A-C]"]).matches("été", "Tb"));
        let strict = TableFilter::parse(&["db.MY_BASE", "/x/.*"], true).unwrap();
        assert!(strict.matches("db", "MY_BASE"));
        assert!(!strict.matches("db", "my_base"));
        assert!(!strict.matches("X", "t"));
    }

    #[test]
    fn system_schemas_are_closed_in_any_case_unless_named() {
        let all = TableFilter::all_but_system();
        for name in ["mysql", "MySQL", "SYS", "INFORMATION_SCHEMA", "ndbinfo"] {
            assert!(!all.matches(name, "t") && !all.may_match_database(name));
            assert!(!filter(&["*.*", "mysql.*"]).matches(name, "t"));
        }
        let named = all.opening(&["MYSQL"]);
        assert!(named.matches("mysql", "user") && named.may_match_database("mysql"));
        assert!(!named.matches("sys", "version"));
    }

    #[test]
    fn a_database_is_opened_only_if_a_table_in_it_can_match() {
        let rules = filter(&["a.*", "b.x", "!c.*", "!a.y"]);
        let open = ["a", "b", "c", "d"].map(|name| rules.may_match_database(name));
        assert_eq!(open, [true, true, false, false]);
        assert!(!filter(&["*.*", "!logs.*"]).may_match_database("logs"));
        assert!(filter(&["*.*", "!logs.*", "logs.keep"]).may_match_database("logs"));
    }

    #[test]
    fn a_rule_that_matched_nothing_is_named_as_typed() {
        let rules = filter(&["shop.*,shpo.*", "!`shop`.old"]);
        let clone = rules.clone();
        assert!(clone.matches("shop", "orders"));
        assert_eq!(rules.unused_rules(), ["shpo.*", "!`shop`.old"]);
        assert!(TableFilter::all_but_system().unused_rules().is_empty());
    }

    #[test]
    fn an_overruled_rule_was_of_use() {
        let rules = filter(&["a.*", "a.b"]);
        assert!(rules.matches("a", "b"));
        assert!(rules.unused_rules().is_empty());
    }
}
