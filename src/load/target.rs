//! What the target has already.
//!
//! Owns the questions to the target's catalog: databases, tables with their engines and triggers, and whether one object is
//! there. All are cheap, and none opens a table.

use std::collections::{HashMap, HashSet};

use crate::catalog::ident::{ObjectName, text_literal};
use crate::format::statement::ObjectKind;
use crate::server::error::ServerError;
use crate::server::flavor::Kind;
use crate::server::session::Session;

const DOING: &str = "looking what the target has already";

/// A table, view or sequence of the target.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Present {
    /// Whether it is a view.
    pub is_view: bool,
    /// Its engine; empty for a view.
    pub engine: String,
}

/// The target at one moment.
#[derive(Debug, Clone, Default)]
pub struct Survey {
    /// Databases that are there.
    pub databases: HashSet<String>,
    /// Tables, views and sequences.
    pub tables: HashMap<ObjectName, Present>,
    /// Tables that have triggers.
    pub with_triggers: HashSet<ObjectName>,
    /// Engines that know transactions.
    transactional: HashSet<String>,
    /// The longest statement it takes, in bytes.
    pub max_allowed_packet: usize,
}

impl Survey {
    /// Looks at some databases.
    pub fn make(session: &mut Session, databases: &[String]) -> Result<Self, ServerError> {
        let mut survey = Self::default();
        let row = session.first("SELECT @@global.max_allowed_packet", DOING)?;
        let limit = row.and_then(|row| row.number(0)).unwrap_or(16 << 20);
        survey.max_allowed_packet = usize::try_from(limit).unwrap_or(usize::MAX);
        let engines = session.rows(
            "SELECT ENGINE, TRANSACTIONS FROM information_schema.ENGINES",
            DOING,
        )?;
        survey.transactional = engines
            .iter()
            .filter(|row| row.text(1).as_deref() == Some("YES"))
            .filter_map(|row| row.text(0))
            .map(|engine| engine.to_lowercase())
            .collect();
        for database in databases {
            survey.look_at(session, database)?;
        }
        Ok(survey)
    }

    fn look_at(&mut self, session: &mut Session, database: &str) -> Result<(), ServerError> {
        let schema = text_literal(database);
        let sql = format!(
            "SELECT SCHEMA_NAME FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = {schema}"
        );
        if session.first(&sql, DOING)?.is_none() {
            return Ok(());
        }
        self.databases.insert(database.to_owned());
        let sql = format!(
            "SELECT TABLE_NAME, TABLE_TYPE, ENGINE FROM information_schema.TABLES WHERE TABLE_SCHEMA = {schema}"
        );
        for row in session.rows(&sql, DOING)? {
            let name = ObjectName::new(database, row.text(0).unwrap_or_default());
            let is_view = row.text(1).is_some_and(|kind| kind.contains("VIEW"));
            let engine = row.text(2).unwrap_or_default();
            self.tables.insert(name, Present { is_view, engine });
        }
        let sql = format!(
            "SELECT DISTINCT EVENT_OBJECT_TABLE FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = {schema}"
        );
        for row in session.rows(&sql, DOING)? {
            let table = row.text(0).unwrap_or_default();
            self.with_triggers.insert(ObjectName::new(database, table));
        }
        Ok(())
    }

    /// Whether what is written into the table can be rolled back. TiDB's engine is called InnoDB.
    pub fn is_transactional(&self, table: &ObjectName) -> bool {
        let present = self.tables.get(table);
        present.is_some_and(|present| self.transactional.contains(&present.engine.to_lowercase()))
    }
}

/// Whether a table has rows.
pub fn has_rows(session: &mut Session, table: &ObjectName) -> Result<bool, ServerError> {
    let sql = format!("SELECT 1 FROM {table} LIMIT 1");
    let doing = format!("looking whether {table} is empty");
    Ok(session.first(&sql, &doing)?.is_some())
}

/// Whether an object is there.
pub fn exists(
    session: &mut Session,
    kind: ObjectKind,
    name: &ObjectName,
) -> Result<bool, ServerError> {
    let (schema, object) = (text_literal(&name.database), text_literal(&name.name));
    let tables = |condition: &str| {
        format!(
            "SELECT 1 FROM information_schema.TABLES WHERE TABLE_SCHEMA = {schema} AND TABLE_NAME = {object} AND {condition}"
        )
    };
    let sql = match kind {
        ObjectKind::Database => {
            format!("SELECT 1 FROM information_schema.SCHEMATA WHERE SCHEMA_NAME = {object}")
        }
        ObjectKind::Table => tables("TABLE_TYPE <> 'VIEW'"),
        ObjectKind::Sequence if session.flavor().kind == Kind::TiDb => format!(
            "SELECT 1 FROM information_schema.SEQUENCES WHERE SEQUENCE_SCHEMA = {schema} AND SEQUENCE_NAME = {object}"
        ),
        ObjectKind::Sequence => tables("TABLE_TYPE <> 'VIEW'"),
        ObjectKind::View => tables("TABLE_TYPE = 'VIEW'"),
        ObjectKind::Procedure
        | ObjectKind::Function
        | ObjectKind::Package
        | ObjectKind::PackageBody => format!(
            "SELECT 1 FROM information_schema.ROUTINES WHERE ROUTINE_SCHEMA = {schema} AND ROUTINE_NAME = {object} AND ROUTINE_TYPE = '{}'",
            kind.keyword()
        ),
        ObjectKind::Library => format!(
            "SELECT 1 FROM information_schema.LIBRARIES WHERE LIBRARY_SCHEMA = {schema} AND LIBRARY_NAME = {object}"
        ),
        ObjectKind::Trigger => format!(
            "SELECT 1 FROM information_schema.TRIGGERS WHERE TRIGGER_SCHEMA = {schema} AND TRIGGER_NAME = {object}"
        ),
        ObjectKind::Event => format!(
            "SELECT 1 FROM information_schema.EVENTS WHERE EVENT_SCHEMA = {schema} AND EVENT_NAME = {object}"
        ),
        // Their statements say IF NOT EXISTS.
        ObjectKind::User | ObjectKind::Role => return Ok(false),
    };
    Ok(session.first(&sql, DOING)?.is_some())
}
