//! What a statement of a dump's file is about, by its first words.
//!
//! Owns a reading of statements that is just deep enough to tell what would be run on which object, and where the rows of an
//! INSERT are. Version comments count as what is in them. Nothing here is a parser of SQL: what is not recognised is
//! [`Statement::Other`]. Where a statement ends `lexer.rs` knows.

mod hexed;
mod literals;
mod rows;
mod setting;
#[cfg(test)]
mod tests;
mod words;

pub use hexed::with_hex_texts;
pub use literals::first_foreign;
pub use rows::Rows;
pub use setting::Setting;
pub use words::{Word, Words};

/// What a CREATE makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectKind {
    /// A database.
    Database,
    /// A table.
    Table,
    /// A view.
    View,
    /// A sequence.
    Sequence,
    /// A procedure.
    Procedure,
    /// A function.
    Function,
    /// The outside of a package.
    Package,
    /// Its inside.
    PackageBody,
    /// A library.
    Library,
    /// A trigger.
    Trigger,
    /// An event.
    Event,
    /// An account.
    User,
    /// A role.
    Role,
}

/// The words of SQL for them. `PACKAGE BODY` is told by its second word.
const KINDS: [(&str, ObjectKind); 13] = [
    ("DATABASE", ObjectKind::Database),
    ("SCHEMA", ObjectKind::Database),
    ("TABLE", ObjectKind::Table),
    ("VIEW", ObjectKind::View),
    ("SEQUENCE", ObjectKind::Sequence),
    ("PROCEDURE", ObjectKind::Procedure),
    ("FUNCTION", ObjectKind::Function),
    ("PACKAGE", ObjectKind::Package),
    ("LIBRARY", ObjectKind::Library),
    ("TRIGGER", ObjectKind::Trigger),
    ("EVENT", ObjectKind::Event),
    ("USER", ObjectKind::User),
    ("ROLE", ObjectKind::Role),
];

impl ObjectKind {
    /// The words of SQL.
    pub fn keyword(self) -> &'static str {
        match self {
            Self::PackageBody => "PACKAGE BODY",
            _ => KINDS
                .iter()
                .find(|(_, kind)| *kind == self)
                .map_or("", |(word, _)| word),
        }
    }
}

/// A name as it stands in a statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Name {
    /// The database, where it is named.
    pub database: Option<String>,
    /// The object.
    pub object: String,
    /// Where the name begins and ends in the statement.
    pub place: (usize, usize),
}

/// A statement.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Statement {
    /// Sets session variables, or something worse.
    Set(Vec<Setting>),
    /// Inserts rows that are written out.
    Insert {
        /// The table.
        table: Name,
        /// Where the first row begins.
        rows_at: usize,
    },
    /// Makes an object.
    Create {
        /// What.
        kind: ObjectKind,
        /// Which.
        name: Name,
    },
    /// `DROP … IF EXISTS`.
    Drop {
        /// What.
        kind: ObjectKind,
        /// Which.
        name: Name,
    },
    /// `ALTER DATABASE COLLATE …`, of the selected database.
    AlterDatabase,
    /// Puts a sequence where it was: `SELECT SETVAL(…)`, `ALTER SEQUENCE … RESTART`.
    SetSequence(Name),
    /// `GRANT`, `ALTER USER` and the like.
    Account,
    /// Anything else; its first word.
    Other(String),
}

impl Statement {
    /// Reads the head of a statement.
    pub fn read(sql: &[u8]) -> Self {
        let mut words = Words::new(sql);
        let first = words.keyword();
        let read = match first.as_deref() {
            Some("SET") => setting::read(&mut words).map(Self::Set),
            Some("INSERT") => insert(&mut words),
            Some("CREATE") => create(&mut words),
            Some("DROP") => drop_if_exists(&mut words),
            Some("ALTER") => alter(&mut words),
            Some("SELECT") => setval(&mut words),
            Some("GRANT") => Some(Self::Account),
            _ => None,
        };
        read.unwrap_or_else(|| Self::Other(first.unwrap_or_default()))
    }
}

fn insert(words: &mut Words<'_>) -> Option<Statement> {
    words.must_be("INTO")?;
    let table = words.name()?;
    if words.peek()? == Word::Symbol(b'(') {
        words.skip_brackets()?;
    }
    words.must_be("VALUES")?;
    Some(Statement::Insert {
        table,
        rows_at: words.place(),
    })
}

fn create(words: &mut Words<'_>) -> Option<Statement> {
    // `OR REPLACE`, `ALGORITHM=…`, `DEFINER=…`, `SQL SECURITY …`, `AGGREGATE` may stand between.
    const MOST_WORDS: usize = 24;
    for _ in 0..MOST_WORDS {
        let Word::Bare(word) = words.next()? else {
            continue;
        };
        if word.eq_ignore_ascii_case("TEMPORARY") {
            return None;
        }
        let Some((_, kind)) = KINDS
            .iter()
            .find(|(name, _)| name.eq_ignore_ascii_case(&word))
        else {
            continue;
        };
        let mut kind = *kind;
        if kind == ObjectKind::Package && words.peek_is("BODY") {
            words.next();
            kind = ObjectKind::PackageBody;
        }
        if words.peek_is("IF") {
            words.next();
            words.must_be("NOT")?;
            words.must_be("EXISTS")?;
        }
        let name = words.name()?;
        return Some(Statement::Create { kind, name });
    }
    None
}

fn drop_if_exists(words: &mut Words<'_>) -> Option<Statement> {
    let word = words.keyword()?;
    let (_, kind) = KINDS.iter().find(|(name, _)| *name == word)?;
    words.must_be("IF")?;
    words.must_be("EXISTS")?;
    let name = words.name()?;
    words
        .next()
        .is_none()
        .then_some(Statement::Drop { kind: *kind, name })
}

fn alter(words: &mut Words<'_>) -> Option<Statement> {
    match words.keyword()?.as_str() {
        "DATABASE" => {
            words.must_be("COLLATE")?;
            words.next()?;
            words.next().is_none().then_some(Statement::AlterDatabase)
        }
        "SEQUENCE" => {
            let name = words.name()?;
            words.must_be("RESTART")?;
            Some(Statement::SetSequence(name))
        }
        "USER" => Some(Statement::Account),
        _ => None,
    }
}

fn setval(words: &mut Words<'_>) -> Option<Statement> {
    words.must_be("SETVAL")?;
    if words.next()? != Word::Symbol(b'(') {
        return None;
    }
    let name = words.name()?;
    // Numbers only: no query can hide in there.
    for word in words.by_ref() {
        match word {
            Word::Symbol(b',' | b'-' | b')') | Word::Number => {}
            _ => return None,
        }
    }
    Some(Statement::SetSequence(name))
}
