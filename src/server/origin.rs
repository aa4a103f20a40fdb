//! `Origin`: which server a session has reached.
//!
//! Owns how one server is told from another behind the same address. A load balancer may lead each connection elsewhere, and a
//! failover the next one: snapshots of two servers are no one point in time, a lock on one binds nobody on the other, and a
//! connection id means another client there.

use std::fmt;

use super::error::ServerError;
use super::session::Session;

/// What a server calls itself, by variable; MySQL has a uuid, MariaDB since 10.10 a uid, and all the rest. Two servers made by
/// one recipe may share everything but those (seen).
const NAMES: [&str; 5] = ["hostname", "port", "server_id", "server_uuid", "server_uid"];

/// One server, as it calls itself. A restart leaves it as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin(Vec<String>);

impl Origin {
    /// Asks the server.
    pub(super) fn of(session: &mut Session) -> Result<Self, ServerError> {
        let names = NAMES.map(|name| format!("'{name}'")).join(", ");
        let rows = session.rows(
            &format!("SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})"),
            "asking which server this is",
        )?;
        let value = |name: &str| {
            let is_it = |found: String| found.eq_ignore_ascii_case(name);
            let row = rows.iter().find(|row| row.text(0).is_some_and(is_it));
            row.and_then(|row| row.text(1)).unwrap_or_default()
        };
        Ok(Self(NAMES.map(value).to_vec()))
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let known = NAMES.iter().zip(&self.0);
        let words: Vec<_> = known
            .filter(|(_, value)| !value.is_empty())
            .map(|(name, value)| format!("{name} {value}"))
            .collect();
        f.write_str(&words.join(", "))
    }
}
