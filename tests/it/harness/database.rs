//! A database of a test's own.

use std::sync::atomic::{AtomicU32, Ordering};

use mysql::Conn;

use super::query::{Query, Row, identifier};
use super::server::Server;

/// Created empty under a name of its own, dropped at the end of the test.
pub struct TestDb {
    server: Server,
    name: String,
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
        let name = format!("t_{test}_{}_{count}", std::process::id());
        assert!(
            name.len() <= 64,
            "a database name has at most 64 characters: {name}"
        );
        server.exec(&format!("CREATE DATABASE {} {options}", identifier(&name)));
        Self {
            server: server.clone(),
            name,
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
            let drop = format!("DROP DATABASE IF EXISTS {}", identifier(&self.name));
            session.try_rows(&drop).ok();
        }
    }
}
