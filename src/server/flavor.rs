//! `Flavor`: which server this is, and what follows from that.
//!
//! Owns every decision that depends on kind or version, each as a question with a name. Versions are those a real server
//! was seen to accept (5.6, 9.7, MariaDB 10.11, 11.8) or the manual states; TiDB follows its documentation.

use std::fmt;

/// The three dialects.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Oracle MySQL, Percona Server and their relatives.
    MySql,
    /// MariaDB.
    MariaDb,
    /// TiDB.
    TiDb,
}

/// Kind and version of a server.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Flavor {
    /// Which dialect it speaks.
    pub kind: Kind,
    /// Major, minor, patch; TiDB's own, not the MySQL version it claims.
    pub version: (u16, u16, u16),
    /// `@@version` as the server says it.
    pub text: String,
}

impl Flavor {
    /// Reads `@@version` and `@@version_comment`. Odd strings of forks and clouds are common, so everything that is not
    /// recognised is taken for MySQL and every optional statement tolerates refusal.
    pub fn parse(version: &str, comment: &str) -> Self {
        let lower = format!("{version} {comment}").to_lowercase();
        let kind = if lower.contains("tidb") {
            Kind::TiDb
        } else if lower.contains("mariadb") {
            Kind::MariaDb
        } else {
            Kind::MySql
        };
        let digits = match kind {
            // "8.0.11-TiDB-v7.5.1"
            Kind::TiDb => version
                .rsplit_once("-v")
                .map_or(version, |(_, after)| after),
            // Old replication prefix: "5.5.5-10.11.19-MariaDB"
            Kind::MariaDb => version.strip_prefix("5.5.5-").unwrap_or(version),
            Kind::MySql => version,
        };
        Self {
            kind,
            version: numbers(digits),
            text: version.to_owned(),
        }
    }

    /// Whether this is MariaDB of at least that version.
    fn mariadb(&self, major: u16, minor: u16) -> bool {
        self.kind == Kind::MariaDb && self.version >= (major, minor, 0)
    }

    /// Whether this is MySQL of at least that version.
    fn mysql(&self, version: (u16, u16, u16)) -> bool {
        self.kind == Kind::MySql && self.version >= version
    }

    /// BACKUP STAGE: a global lock that does not wait for SELECTs (MariaDB 10.5: BACKUP_ADMIN by RELOAD).
    pub fn has_backup_stage(&self) -> bool {
        self.mariadb(10, 5)
    }

    /// LOCK INSTANCE FOR BACKUP (MySQL 8.0).
    pub fn has_instance_backup_lock(&self) -> bool {
        self.mysql((8, 0, 0))
    }

    /// FLUSH TABLES WITH READ LOCK waits for running SELECTs and blocks their tables meanwhile (seen on MySQL; not on
    /// MariaDB).
    pub fn global_lock_waits_for_queries(&self) -> bool {
        self.kind == Kind::MySql
    }

    /// LOCK TABLES … READ waits for open transactions. MySQL before 5.7 grants it over them, so that it proves nothing (seen).
    pub fn table_locks_wait_for_transactions(&self) -> bool {
        self.kind == Kind::MariaDb || self.mysql((5, 7, 0))
    }

    /// The status variables `Binlog_snapshot_file` and `_position` tell the binlog position of a session's own snapshot.
    pub fn has_binlog_snapshot(&self) -> bool {
        self.kind == Kind::MariaDb
    }

    /// `information_schema.COLUMNS` has GENERATION_EXPRESSION (not on MySQL 5.6: error 1054).
    pub fn has_generated_columns(&self) -> bool {
        self.kind != Kind::MySql || self.mysql((5, 7, 6))
    }

    /// JSON is a type of its own that holds more than JSON's text can say: dates, decimals, bytes (MySQL 5.7.8).
    pub fn has_binary_json(&self) -> bool {
        self.mysql((5, 7, 8))
    }

    /// Past versions of rows can be inserted (MariaDB 10.11, `system_versioning_insert_history`).
    pub fn takes_past_versions(&self) -> bool {
        self.mariadb(10, 11)
    }

    /// SHOW CREATE USER (MySQL 5.7, MariaDB 10.2, TiDB); before, SHOW GRANTS told everything of an account.
    pub fn shows_accounts(&self) -> bool {
        self.kind == Kind::TiDb || self.mariadb(10, 2) || self.mysql((5, 7, 6))
    }

    /// SHOW CREATE USER prints hashes as hex when told to (`print_identified_with_as_hex`, MySQL 8.0.17).
    pub fn shows_hashes_as_hex(&self) -> bool {
        self.mysql((8, 0, 17))
    }

    /// The values of partitions are read in the charset of the session that opens the table.
    pub fn misreads_partitions_in_binary(&self) -> bool {
        self.kind == Kind::MySql
    }

    /// The expressions of a table are read under the `sql_mode` of whoever opens it, though they are kept with backslashes
    /// as escapes, so that NO_BACKSLASH_ESCAPES makes a table with such an expression fail (MySQL: seen on 9.7, error 1064).
    pub fn misreads_backslashes_in_expressions(&self) -> bool {
        self.mysql((5, 7, 6))
    }

    /// `mysql.role_edges` tells which accounts are granted to others as roles (MySQL 8.0, TiDB).
    pub fn has_role_edges(&self) -> bool {
        self.kind == Kind::TiDb || self.mysql((8, 0, 0))
    }

    /// Sequences are objects of their own.
    pub fn has_sequences(&self) -> bool {
        self.kind != Kind::MySql
    }

    /// Stored packages (MariaDB 10.3, Oracle mode).
    pub fn has_packages(&self) -> bool {
        self.mariadb(10, 3)
    }

    /// Libraries of JavaScript code (MySQL 9.2, `information_schema.LIBRARIES`).
    pub fn has_libraries(&self) -> bool {
        self.mysql((9, 2, 0))
    }

    /// An expression over `information_schema.STATISTICS` that is 1 for an index the optimizer must not use, so that FORCE
    /// INDEX fails (MySQL 8.0 INVISIBLE, MariaDB 10.6 IGNORED; unknown before, error 1054).
    pub fn hidden_index_condition(&self) -> &'static str {
        match self.kind {
            Kind::MariaDb if self.mariadb(10, 6) => "IGNORED = 'YES'",
            Kind::MySql if self.mysql((8, 0, 0)) => "IS_VISIBLE = 'NO'",
            Kind::TiDb => "IS_VISIBLE = 'NO'",
            _ => "0",
        }
    }

    /// The server remembers whether a column's collation was written out, and prints another SHOW CREATE TABLE then: `COLLATE
    /// c` for one that was not, `CHARACTER SET x COLLATE c` for one that was (MySQL 8.0: seen on 9.7).
    pub fn marks_explicit_collations(&self) -> bool {
        self.mysql((8, 0, 0))
    }

    /// Which view of `information_schema` has the ids of InnoDB's tables (MySQL 8.0.3 renamed it).
    pub fn innodb_tables_view(&self) -> Option<&'static str> {
        match self.kind {
            Kind::MySql if self.mysql((8, 0, 3)) => Some("INNODB_TABLES"),
            Kind::TiDb => None,
            _ => Some("INNODB_SYS_TABLES"),
        }
    }

    /// MySQL's JSON type refuses text of the binary charset (error 3144); MariaDB's JSON is LONGTEXT.
    pub fn has_json_type(&self) -> bool {
        self.kind == Kind::TiDb || self.mysql((5, 7, 8))
    }

    /// Session variables that a dump sets if the server knows them; a refusal is no error.
    pub fn optional_settings(&self) -> &'static [&'static str] {
        match self.kind {
            // Without the second, tables are read as they were at a moment of the past.
            Kind::MariaDb => &["max_statement_time=0", "system_versioning_asof=DEFAULT"],
            Kind::MySql => &[
                "max_execution_time=0",
                "information_schema_stats_expiry=0",
                "show_gipk_in_create_table_and_information_schema=ON",
            ],
            Kind::TiDb => &["max_execution_time=0", "tidb_enable_paging=1"],
        }
    }

    /// As [`Flavor::optional_settings`], for sessions that read rows. MariaDB with a binlog gives a transaction's tables back
    /// at ROLLBACK TO SAVEPOINT only if the session does not write to it (seen).
    pub fn optional_row_settings(&self) -> &'static [&'static str] {
        match self.kind {
            Kind::MariaDb => &["sql_log_bin=0"],
            _ => &[],
        }
    }

    /// How to ask for the binlog position, best first; a server that does not know one answers 1064 (seen).
    pub fn binlog_status_statements(&self) -> &'static [&'static str] {
        match self.kind {
            Kind::MySql if self.version >= (8, 2, 0) => {
                &["SHOW BINARY LOG STATUS", "SHOW MASTER STATUS"]
            }
            Kind::TiDb => &["SHOW MASTER STATUS"],
            _ => &["SHOW MASTER STATUS", "SHOW BINARY LOG STATUS"],
        }
    }

    /// How to ask for the state of replication, best first.
    pub fn replica_status_statements(&self) -> &'static [&'static str] {
        match self.kind {
            Kind::MariaDb => &["SHOW ALL SLAVES STATUS"],
            Kind::MySql if self.version >= (8, 0, 22) => {
                &["SHOW REPLICA STATUS", "SHOW SLAVE STATUS"]
            }
            _ => &["SHOW SLAVE STATUS", "SHOW REPLICA STATUS"],
        }
    }
}

impl fmt::Display for Flavor {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match self.kind {
            Kind::MySql => "MySQL",
            Kind::MariaDb => "MariaDB",
            Kind::TiDb => "TiDB",
        };
        write!(f, "{name} {}", self.text)
    }
}

/// The first three numbers of a version text; missing ones are 0.
fn numbers(text: &str) -> (u16, u16, u16) {
    let mut parts = text
        .split(|c: char| !c.is_ascii_digit())
        .map(|part| part.parse().unwrap_or(0));
    let mut next = || parts.next().unwrap_or(0);
    (next(), next(), next())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn versions_of_real_servers_are_read() {
        let cases = [
            (
                "10.11.19-MariaDB-0+deb12u1-log",
                "Debian 12",
                Kind::MariaDb,
                (10, 11, 19),
            ),
            ("5.5.5-10.4.1-MariaDB", "", Kind::MariaDb, (10, 4, 1)),
            ("9.7.4", "(Debian)", Kind::MySql, (9, 7, 4)),
            (
                "5.6.24-log",
                "MySQL Community Server (GPL)",
                Kind::MySql,
                (5, 6, 24),
            ),
            ("8.0.11-TiDB-v7.5.1", "TiDB Server", Kind::TiDb, (7, 5, 1)),
            ("5.7.25-TiDB-v6.1.0-alpha", "", Kind::TiDb, (6, 1, 0)),
            (
                "8.0.mysql_aurora.3.04.0",
                "Source distribution",
                Kind::MySql,
                (8, 0, 0),
            ),
        ];
        for (version, comment, kind, numbers) in cases {
            let flavor = Flavor::parse(version, comment);
            assert_eq!((flavor.kind, flavor.version), (kind, numbers), "{version}");
        }
    }

    #[test]
    fn table_locks_are_no_proof_on_old_mysql() {
        assert!(!Flavor::parse("5.6.24", "").table_locks_wait_for_transactions());
        assert!(Flavor::parse("9.7.4", "").table_locks_wait_for_transactions());
        assert!(Flavor::parse("10.11.19-MariaDB", "").table_locks_wait_for_transactions());
    }
}
