//! A database of a test's own.

use std::path::Path;
use std::sync::atomic::{AtomicU32, Ordering};

use mysql::Conn;

use super::query::{Query, Row, identifier};
use super::server::Server;

/// Of [`TestDb::dumper`].
pub const DUMPER_PASSWORD: &str = "dumper";

/// Created empty under a name of its own, dropped at the end of the test.
pub struct TestDb {
    server: Server,
    name: String,
    user_prefix: String,
}

impl TestDb {
    pub fn new(server: &Server, test: &str) -> Self {
        Self::with_options(server, test, "CHARACTER SET utf8mb4")
    }

    /// `options` follow the name in CREATE DATABASE.
    #[track_caller]
    pub fn with_options(server: &Server, test: &str, options: &str) -> Self {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let pid = std::process::id();
        let name = format!("t_{test}_{pid}_{count}");
        assert!(
            name.len() <= 64,
            "a database name has at most 64 characters: {name}"
        );
        server.exec(&format!("CREATE DATABASE {} {options}", identifier(&name)));
        Self {
            server: server.clone(),
            name,
            user_prefix: format!("u{pid}_{count}_"),
        }
    }

    /// With a schema of `scripts/seed` in it.
    #[track_caller]
    pub fn seeded(server: &Server, test: &str, schema: &str, rows: Option<u64>) -> Self {
        let database = Self::new(server, test);
        server.seed(&database.name, schema, rows);
        database
    }

    pub fn name(&self) -> &str {
        &self.name
    }

    /// What the names of accounts of this test begin with; such accounts are dropped with the database.
    pub fn user_prefix(&self) -> &str {
        &self.user_prefix
    }

    /// An account of this test's own with all rights, so that a dump's sessions can be told from others.
    #[track_caller]
    pub fn dumper(&self) -> String {
        let user = format!("{}dumper", self.user_prefix);
        for host in ["127.0.0.1", "localhost"] {
            let account = format!("'{user}'@'{host}'");
            self.server.exec(&format!(
                "CREATE USER {account} IDENTIFIED BY '{DUMPER_PASSWORD}'"
            ));
            self.server.exec(&format!("GRANT ALL ON *.* TO {account}"));
        }
        user
    }

    pub fn server(&self) -> &Server {
        &self.server
    }

    /// A session with this database selected.
    #[track_caller]
    pub fn connect(&self) -> Conn {
        let opts = self.server.opts().db_name(Some(&self.name));
        Conn::new(opts).unwrap_or_else(|error| panic!("{}: {error}", self.name))
    }

    #[track_caller]
    pub fn exec(&self, sql: &str) {
        self.connect().execute(sql);
    }

    #[track_caller]
    pub fn rows(&self, sql: &str) -> Vec<Row> {
        self.connect().rows(sql)
    }

    #[track_caller]
    pub fn value(&self, sql: &str) -> String {
        self.connect().value(sql)
    }

    /// Through the plain client, so DELIMITER and invalid bytes are fine.
    #[track_caller]
    pub fn load_text(&self, sql: impl AsRef<[u8]>) {
        self.server.load_text(Some(&self.name), sql);
    }
}

impl Drop for TestDb {
    fn drop(&mut self) {
        // The server may have been killed by the test itself; a private one goes with its data.
        if let Ok(mut session) = Conn::new(self.server.opts()) {
            drop_databases(&mut session, |name| self.owns(name));
            drop_accounts(&mut session, &self.user_prefix);
        }
    }
}

impl TestDb {
    /// Its own name, and what a fixture makes beside it: the name with something after it.
    fn owns(&self, name: &str) -> bool {
        let rest = name.strip_prefix(&self.name);
        rest.is_some_and(|rest| !rest.starts_with(|first: char| first.is_ascii_digit()))
    }
}

/// Drops what test processes left behind that were killed before they could clean up.
pub fn drop_orphans(server: &Server) {
    drop_databases(&mut server.connect(), |name| {
        let mut parts = name.rsplit('_').skip(1);
        let pid = parts.next().and_then(|part| part.parse::<u32>().ok());
        name.starts_with("t_")
            && pid.is_some_and(|pid| !Path::new(&format!("/proc/{pid}")).exists())
    });
}

fn drop_databases(session: &mut Conn, condition: impl Fn(&str) -> bool) {
    for row in session.try_rows("SHOW DATABASES").unwrap_or_default() {
        let name = String::from_utf8(row[0].clone().unwrap()).unwrap();
        if condition(&name) {
            // Another process may have dropped it in the meantime.
            session
                .try_rows(&format!("DROP DATABASE IF EXISTS {}", identifier(&name)))
                .ok();
        }
    }
}

fn drop_accounts(session: &mut Conn, prefix: &str) {
    let pattern = prefix.replace('_', "\\_");
    let accounts =
        format!("SELECT QUOTE(user), QUOTE(host) FROM mysql.user WHERE user LIKE '{pattern}%'");
    for row in session.try_rows(&accounts).unwrap_or_default() {
        let [user, host] =
            [0, 1].map(|column| String::from_utf8(row[column].clone().unwrap()).unwrap());
        // MariaDB keeps roles in the same table, without a host.
        let drop = if host == "''" {
            format!("DROP ROLE {user}")
        } else {
            format!("DROP USER {user}@{host}")
        };
        session.try_rows(&drop).ok();
    }
}
