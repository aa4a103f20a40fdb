//! Views.
//!
//! Owns a view's two files: the table that stands in for it, and the view itself. Because all stand-ins are there before the
//! first view is made, views that use each other load in any order, also across databases.

use super::super::ident::{ObjectName, quote, text_literal};
use super::{
    Definer, SchemaFile, client_charset, doing, show, stand_in, statement_of, unconverted,
};
use crate::server::error::ServerError;
use crate::server::session::Session;

/// "View references invalid table(s) or column(s) or function(s) or definer/invoker of view lack rights".
const INVALID_VIEW: u64 = 1356;

/// A view's files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ViewFiles {
    /// `{db}.{view}-schema.sql`; none for an invalid view, whose columns nobody knows.
    pub stand_in: Option<SchemaFile>,
    /// `{db}.{view}-schema-view.sql`.
    pub view: SchemaFile,
}

/// Both files of a view.
pub fn view(
    session: &mut Session,
    name: &ObjectName,
    definer: &Definer,
) -> Result<ViewFiles, ServerError> {
    let what = format!("view {name}");
    // With the database selected, the server leaves its name out of the text, so that the view can go to another one.
    session.execute(&format!("USE {}", quote(&name.database)), &doing(&what))?;
    let shown = unconverted(session, &what, |session| {
        let row = show(session, &format!("SHOW CREATE VIEW {name}"), &what)?;
        // At once: the next statement forgets the warnings.
        Ok((row, complaint(session, &what)?))
    });
    let (row, complaint) = match shown {
        Err(error @ ServerError::Statement { .. }) if is_about_the_view(&error) => {
            return invalid_from_catalog(session, name, &error);
        }
        other => other?,
    };
    let create = &definer.apply(statement_of(&row, 1, &what)?);
    if let Some(reason) = complaint {
        return Ok(invalid(name, create, &reason));
    }
    let mut file = SchemaFile::new();
    let quoted = quote(&name.name);
    file.statement(format!("DROP TABLE IF EXISTS {quoted}"));
    file.statement(format!("DROP VIEW IF EXISTS {quoted}"));
    let charset = row.text(2).unwrap_or_else(|| "utf8mb4".to_owned());
    let collation = row.text(3);
    set_charset(&mut file, &charset, collation.as_deref());
    let lexer = client_charset::lexer_command(&charset, create);
    file.bytes.extend_from_slice(lexer.before.as_bytes());
    file.statement(create);
    file.bytes.extend_from_slice(lexer.after.as_bytes());
    restore_charset(&mut file);
    let stand_in = stand_in::create(session, name)?.map(|statement| {
        let mut file = SchemaFile::new();
        file.statement(statement);
        file
    });
    Ok(ViewFiles {
        stand_in,
        view: file,
    })
}

/// Dumpling's own six statements.
fn set_charset(file: &mut SchemaFile, charset: &str, collation: Option<&str>) {
    for name in [
        "CHARACTER_SET_CLIENT",
        "CHARACTER_SET_RESULTS",
        "COLLATION_CONNECTION",
    ] {
        file.statement(format!("SET @PREV_{name}=@@{name}"));
    }
    file.statement(format!("SET character_set_client = {charset}"));
    file.statement(format!("SET character_set_results = {charset}"));
    if let Some(collation) = collation {
        file.statement(format!("SET collation_connection = {collation}"));
    }
}

fn restore_charset(file: &mut SchemaFile) {
    for name in [
        "character_set_client",
        "character_set_results",
        "collation_connection",
    ] {
        let saved = name.to_uppercase();
        file.statement(format!("SET {name} = @PREV_{saved}"));
    }
}

/// Errors that a view's own state causes, not the connection and not this account's rights: no such table, column, function,
/// definer, or a recursion (seen on MariaDB and MySQL).
fn is_about_the_view(error: &ServerError) -> bool {
    matches!(error.code(), Some(1054 | 1146 | 1305 | 1356 | 1449 | 1462))
}

/// What the server thinks of a view it has just shown.
fn complaint(session: &mut Session, what: &str) -> Result<Option<String>, ServerError> {
    let rows = session.rows("SHOW WARNINGS", &doing(what))?;
    let invalid = rows.iter().find(|row| row.number(1) == Some(INVALID_VIEW));
    Ok(invalid.map(|row| row.text(2).unwrap_or_default()))
}

/// A view that SHOW CREATE VIEW refuses, from the text in `information_schema`.
fn invalid_from_catalog(
    session: &mut Session,
    name: &ObjectName,
    error: &ServerError,
) -> Result<ViewFiles, ServerError> {
    let sql = format!(
        "SELECT VIEW_DEFINITION FROM information_schema.VIEWS WHERE TABLE_SCHEMA = {} AND TABLE_NAME = {}",
        text_literal(&name.database),
        text_literal(&name.name)
    );
    let row = session.first(&sql, &doing(&format!("view {name}")))?;
    let body = row
        .and_then(|row| row.bytes(0).map(<[u8]>::to_vec))
        .unwrap_or_default();
    let create = [
        format!("CREATE VIEW {} AS ", quote(&name.name)).as_bytes(),
        &body,
    ]
    .concat();
    Ok(invalid(name, &create, &error.to_string()))
}

/// The file of a view that no server would create: its text, kept as a comment.
fn invalid(name: &ObjectName, create: &[u8], reason: &str) -> ViewFiles {
    let mut file = SchemaFile::new();
    let comment = format!("The view is invalid, so this statement would fail: {reason}\n");
    let text = [comment.as_bytes(), create].concat();
    for line in text.split(|byte| *byte == b'\n') {
        file.bytes.extend_from_slice(b"-- ");
        file.bytes.extend_from_slice(line);
        file.bytes.push(b'\n');
    }
    file.warnings.push(format!(
        "The view {name} is invalid and is kept as a comment only: {reason}"
    ));
    ViewFiles {
        stand_in: None,
        view: file,
    }
}
