//! `Origin`: which server a session has reached.
//!
//! Owns how one server is told from another behind the same address. A load balancer may lead each connection elsewhere, and a
//! failover the next one: snapshots of two servers are no one point in time, a lock on one binds nobody on the other, and a
//! connection id means another client there.

use std::fmt;

use super::session::TextRow;

/// One server, as it calls itself. A restart leaves it as it is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Origin {
    host: String,
    port: String,
    server_id: String,
}

impl Origin {
    /// The columns that tell it, for a SELECT.
    pub(super) const COLUMNS: &str = "@@hostname, @@port, @@server_id";

    /// From a row that holds [`Origin::COLUMNS`] from column `first` on.
    pub(super) fn of(row: &TextRow, first: usize) -> Self {
        let text = |index| row.text(first + index).unwrap_or_default();
        Self {
            host: text(0),
            port: text(1),
            server_id: text(2),
        }
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(
            f,
            "{}:{} (server_id {})",
            self.host, self.port, self.server_id
        )
    }
}
