//! `ServerError`: what went wrong with a server, and what that means for the work at hand.
//!
//! Owns the classes of DESIGN.md section 6. A class follows from the error's code or kind, never from its text alone (one
//! code, TiDB's 1105, needs its text too). Which table was being read, the journeys add.

use std::io;

use crate::secret::CommandError;

/// How far an error reaches.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Reach {
    /// This attempt only: a fresh connection may do better.
    Attempt,
    /// The table: it will fail again, the others will not.
    Table,
    /// The run: nothing that follows can succeed, or the dump would be torn.
    Run,
}

/// An error of a connection or of a statement on it.
#[derive(Debug, thiserror::Error)]
pub enum ServerError {
    /// No connection could be made.
    #[error("cannot connect to {server}")]
    Connect {
        /// Host and port, or socket.
        server: String,
        /// What the network said.
        #[source]
        source: io::Error,
    },
    /// The server answered the handshake with an error.
    #[error("{server} refused the connection: {message} (error {code})")]
    Refused {
        /// Host and port, or socket.
        server: String,
        /// The server's code, as 1045.
        code: u16,
        /// The server's text.
        message: String,
    },
    /// The account's way to prove itself is not one of ours, or must be allowed.
    #[error(
        "{server} wants the authentication plug-in {plugin} for the account {user}, {}",
        if plugin == "mysql_clear_password" { "which sends the password as it is" } else { "which rdump does not have" }
    )]
    Plugin {
        /// Host and port, or socket.
        server: String,
        /// The account.
        user: String,
        /// The plug-in.
        plugin: String,
    },
    /// There is no password to show to the server.
    #[error("there is no password for {server}")]
    Password {
        /// Host and port, or socket.
        server: String,
        /// Why the command printed none.
        #[source]
        source: CommandError,
    },
    /// The address leads to another server than before.
    #[error(
        "the address led to {first} before and leads to {now} now, whose rows are of another moment"
    )]
    OtherServer {
        /// The server that the first connection reached.
        first: String,
        /// The one that this connection reached.
        now: String,
    },
    /// TLS was asked for and could not be had.
    #[error("no TLS connection to {server}: {reason}")]
    Tls {
        /// Host and port, or socket.
        server: String,
        /// What the TLS library said.
        reason: String,
    },
    /// The connection ended or did not answer in time.
    #[error("the connection to the server was lost while {doing}")]
    Lost {
        /// The statement's purpose, as "reading the rows of `a`.`b`".
        doing: String,
        /// What the network said.
        #[source]
        source: io::Error,
    },
    /// The server answered a statement with an error.
    #[error("the server failed while {doing}: {message} (error {code})")]
    Statement {
        /// The statement's purpose.
        doing: String,
        /// The server's code.
        code: u16,
        /// The server's text.
        message: String,
    },
    /// The server shows that an object exists, but not its definition.
    #[error("this account may not read the definition of {object}")]
    Hidden {
        /// Kind and name, as "procedure `a`.`p`".
        object: String,
    },
    /// A statement holds bytes that the connection cannot carry.
    #[error("bytes that are no UTF-8 cannot be sent over TLS while {doing}")]
    Bytes {
        /// The statement's purpose.
        doing: String,
    },
    /// A session that was lost does not end on the server.
    #[error("connection {id} was lost, and goes on on the server")]
    Lingering {
        /// Its id.
        id: u64,
    },
    /// The server sent something that the protocol does not allow.
    #[error("the server's answer makes no sense while {doing}: {what}")]
    Protocol {
        /// The statement's purpose.
        doing: String,
        /// What was wrong with it.
        what: String,
    },
}

impl ServerError {
    /// Wraps an error of the `mysql` crate, met while `doing` something.
    pub(super) fn from_driver(doing: &str, error: mysql::Error) -> Self {
        let doing = doing.to_owned();
        match error {
            mysql::Error::MySqlError(e) => Self::Statement {
                doing,
                code: e.code,
                message: e.message,
            },
            mysql::Error::IoError(source) => Self::lost(doing, &source),
            mysql::Error::CodecError(e) => match io_cause(&e) {
                Some(source) => Self::lost(doing, source),
                None => Self::Protocol {
                    doing,
                    what: e.to_string(),
                },
            },
            other => Self::Lost {
                doing,
                source: io::Error::other(other.to_string()),
            },
        }
    }

    /// A handshake that did not come to its end.
    pub(super) fn connect(server: String, source: &io::Error) -> Self {
        let source = match source.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => io::Error::new(
                io::ErrorKind::TimedOut,
                "no answer within the connect timeout",
            ),
            kind => io::Error::new(kind, source.to_string()),
        };
        Self::Connect { server, source }
    }

    /// A connection that ended or fell silent. A time limit of the socket is told by EAGAIN, which says nothing to people.
    pub(super) fn lost(doing: String, source: &io::Error) -> Self {
        let source = match source.kind() {
            io::ErrorKind::WouldBlock | io::ErrorKind::TimedOut => io::Error::new(
                io::ErrorKind::TimedOut,
                "no bytes came within the read timeout",
            ),
            // rustls explains it with an address on the web, the driver by its own buffers.
            io::ErrorKind::UnexpectedEof | io::ErrorKind::BrokenPipe => {
                io::Error::new(source.kind(), "the server hung up")
            }
            io::ErrorKind::Other if source.to_string().contains("remaining on stream") => {
                io::Error::new(io::ErrorKind::UnexpectedEof, "the server hung up")
            }
            kind => io::Error::new(kind, source.to_string()),
        };
        Self::Lost { doing, source }
    }

    /// The same error without what a server quotes in it, which may be a value: of a statement that holds rows. Names that
    /// some errors quote, of columns and tables, are kept.
    #[must_use]
    pub fn without_values(self) -> Self {
        const QUOTE_NAMES_ONLY: [u16; 9] = [1048, 1054, 1136, 1146, 1264, 1364, 1406, 1452, 3819];
        match self {
            Self::Statement {
                doing,
                code,
                message,
            } if !QUOTE_NAMES_ONLY.contains(&code) => {
                // The value comes first and may hold quotes itself; what follows the last one is the server's again.
                let message = match (message.find('\''), message.rfind("' for ")) {
                    (Some(start), Some(end)) if start < end => {
                        format!("{}'…{}", &message[..start], &message[end..])
                    }
                    (Some(start), _) => format!("{}'…'", &message[..start]),
                    (None, _) => message,
                };
                Self::Statement {
                    doing,
                    code,
                    message,
                }
            }
            other => other,
        }
    }

    /// The server's error code, if the server sent one.
    pub fn code(&self) -> Option<u16> {
        match self {
            Self::Refused { code, .. } | Self::Statement { code, .. } => Some(*code),
            _ => None,
        }
    }

    /// How far the error reaches; DESIGN.md section 6 has the list. A code in no list is fatal for the run.
    pub fn reach(&self) -> Reach {
        match self {
            // A name that does not resolve will not resolve in ten seconds either.
            Self::Connect { source, .. } if source.kind() == io::ErrorKind::NotFound => Reach::Run,
            // A load balancer may lead the next one back to the first server.
            Self::Connect { .. }
            | Self::Lost { .. }
            | Self::Protocol { .. }
            | Self::Password { .. }
            | Self::OtherServer { .. } => Reach::Attempt,
            Self::Tls { .. }
            | Self::Plugin { .. }
            | Self::Hidden { .. }
            | Self::Bytes { .. }
            | Self::Lingering { .. } => Reach::Run,
            Self::Refused { code, message, .. } | Self::Statement { code, message, .. } => {
                reach_of(*code, message)
            }
        }
    }

    /// Whether the server could not even be tried: nobody answered at the address at all, or there is no password.
    pub fn is_unreachable(&self) -> bool {
        matches!(self, Self::Password { .. })
            || matches!(self, Self::Connect { source, .. } if matches!(
                source.kind(),
                io::ErrorKind::ConnectionRefused
                    | io::ErrorKind::NotFound
                    | io::ErrorKind::PermissionDenied
                    | io::ErrorKind::TimedOut
                    | io::ErrorKind::WouldBlock
                    | io::ErrorKind::HostUnreachable
                    | io::ErrorKind::NetworkUnreachable
            ))
    }

    /// Whether the same thing may succeed on a fresh connection.
    pub fn is_transient(&self) -> bool {
        self.reach() == Reach::Attempt
    }

    /// Whether the session must not be used again: it is dead, or out of step with the server.
    pub fn breaks_session(&self) -> bool {
        match self {
            Self::Statement { code, .. } => {
                matches!(code, 1053 | 1158..=1161 | 1927 | 2006 | 2013 | 4031)
            }
            Self::Hidden { .. } | Self::Bytes { .. } => false,
            _ => true,
        }
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        let text = match (self, self.code()) {
            (_, Some(1045)) => {
                "check user name and password; the password comes from -p, RDUMP_PASSWORD, MYSQL_PWD or ~/.my.cnf"
            }
            (_, Some(1040 | 1203 | 1226)) => {
                "lower --threads or --spare-connections, or raise max_connections on the server or the account's own limit"
            }
            (_, Some(3024 | 1969)) => {
                "a statement time limit ended the query; allow this account to set max_execution_time / max_statement_time to 0"
            }
            (_, Some(1142 | 1044)) => "rdump --dry-run lists the privileges a dump needs",
            (_, Some(8055 | 9006)) => "raise tidb_gc_life_time above the time a dump takes",
            (Self::Hidden { .. }, _) => {
                "grant SHOW_ROUTINE (MySQL 8.0.20), SHOW CREATE ROUTINE (MariaDB 11.3) or SELECT on the table mysql.proc, or \
                 leave routines out with --no-routines"
            }
            (Self::Connect { server, .. }, _) if server.starts_with('/') => {
                "check --socket, and that the server listens there"
            }
            (Self::Connect { .. }, _) => {
                "check --host and --port, and that the server listens there"
            }
            (Self::Bytes { .. }, _) => {
                "use --socket, or --ssl-mode DISABLED on a network you trust"
            }
            (Self::Lingering { .. }, _) => {
                "look at it in the process list; the same command goes on when it has ended"
            }
            (Self::OtherServer { .. }, _) => {
                "give --host the address of one server, not of a load balancer"
            }
            (Self::Plugin { plugin, .. }, _) if plugin == "mysql_clear_password" => {
                "--allow-cleartext-passwords allows it, over TLS or a unix socket"
            }
            (Self::Plugin { .. }, _) => {
                "check the account's name (MySQL answers so for one that does not exist), or let an administrator change the \
                 plug-in: ALTER USER … IDENTIFIED WITH caching_sha2_password BY … (MariaDB: mysql_native_password or ed25519)"
            }
            (Self::Password { .. }, _) => {
                "run --password-command by hand: its first line must be the password"
            }
            (Self::Tls { .. }, _) => {
                "check --ca, --cert and --key, or use --ssl-mode DISABLED on a network you trust"
            }
            _ => return None,
        };
        Some(text.to_owned())
    }
}

/// The network's error below an error of the packet codec.
pub(super) fn io_cause<'a>(error: &'a (dyn std::error::Error + 'static)) -> Option<&'a io::Error> {
    std::iter::successors(error.source(), |error| error.source())
        .find_map(|cause| cause.downcast_ref::<io::Error>())
}

/// An error with its causes, on one line, for the log.
pub fn chain(error: &dyn std::error::Error) -> String {
    let causes = std::iter::successors(Some(error), |error| error.source());
    causes
        .map(ToString::to_string)
        .collect::<Vec<_>>()
        .join(": ")
}

fn reach_of(code: u16, message: &str) -> Reach {
    match code {
        // Connections: too many (1040, 1203), shutdown, network read and write errors, killed, gone away, lost, idle.
        1040 | 1053 | 1158..=1161 | 1203 | 1317 | 1927 | 2006 | 2013 | 4031 => Reach::Attempt,
        // An account's own limit on connections, as 1203; its limits on statements an hour have the same code.
        1226 if message.contains("max_user_connections") => Reach::Attempt,
        // Lock wait, deadlock.
        1205 | 1213 => Reach::Attempt,
        // TiDB: write conflict, transaction retryable, schema expired or changed, PD and TiKV busy or away.
        8005 | 8022 | 8027 | 8028 | 9001..=9005 | 9007 => Reach::Attempt,
        1105 if message.contains("Information schema is out of date")
            || message.contains("Information schema is changed") =>
        {
            Reach::Attempt
        }
        // Changed, gone, broken MERGE, crashed or unreadable table.
        1412 | 1146 | 1168 | 144 | 145 | 1194 | 1195 => Reach::Table,
        _ => Reach::Run,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn statement(code: u16, message: &str) -> ServerError {
        ServerError::Statement {
            doing: "testing".to_owned(),
            code,
            message: message.to_owned(),
        }
    }

    #[test]
    fn a_code_decides_how_far_an_error_reaches() {
        for code in [1040, 1053, 1205, 1213, 1317, 1927, 2013, 4031, 8027, 9002] {
            assert_eq!(statement(code, "").reach(), Reach::Attempt, "{code}");
        }
        for code in [1412, 1146, 1168, 145, 1195] {
            assert_eq!(statement(code, "").reach(), Reach::Table, "{code}");
        }
        for code in [1044, 1045, 1049, 1064, 1142, 1969, 3024, 8055, 9006] {
            assert_eq!(statement(code, "").reach(), Reach::Run, "{code}");
        }
    }

    #[test]
    fn error_1226_is_transient_only_for_connections() {
        let limit = |name| {
            statement(
                1226,
                &format!("User 'u' has exceeded the '{name}' resource"),
            )
        };
        assert!(limit("max_user_connections").is_transient());
        assert!(!limit("max_queries_per_hour").is_transient());
    }

    #[test]
    fn error_1105_is_transient_only_with_its_text() {
        assert!(statement(1105, "Information schema is changed during…").is_transient());
        assert!(!statement(1105, "Unknown error").is_transient());
    }
}
