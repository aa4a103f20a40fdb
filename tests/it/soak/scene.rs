//! Where a seed plays: servers of the soak's own, a database with a writer's tables and one that nobody touches, an account
//! for the dump alone, and the way through the proxy.

use std::path::PathBuf;

use mysql::Conn;
use tempfile::TempDir;

use super::schedule::{Link, Schedule};
use crate::harness::{
    DUMPER_PASSWORD, Fault, Kind, Listen, Proxy, Rdump, Server, Target, TestDb, Trigger,
};

/// What the server sends for a whole dump, about.
pub const DUMP_BYTES: u64 = 4_600_000;
/// The writer's tables.
pub const WRITTEN: [&str; 2] = ["account", "ledger"];
/// The table that nobody writes to.
pub const UNTOUCHED: &str = "padding";

/// Private ones: they are restarted, and nobody else's sessions stand in their locks' way.
pub struct Servers(Vec<Server>);

impl Servers {
    pub fn start() -> Self {
        let kinds = [Kind::MariaDb, Kind::MySql].into_iter();
        Self(
            kinds
                .filter_map(|kind| Server::private(kind, &[]))
                .collect(),
        )
    }

    pub fn kinds(&self) -> Vec<Kind> {
        self.0.iter().map(Server::kind).collect()
    }

    pub fn of(&self, kind: Kind) -> &Server {
        let mut servers = self.0.iter();
        servers.find(|server| server.kind() == kind).unwrap()
    }
}

pub struct Scene {
    pub database: TestDb,
    pub account: String,
    folder: TempDir,
}

impl Scene {
    pub fn new(server: &Server) -> Self {
        let database = TestDb::seeded(server, "soak", "invariant", Some(2500));
        database.exec(&format!(
            "CREATE TABLE {UNTOUCHED} (id INT NOT NULL PRIMARY KEY, text TEXT NOT NULL, bytes VARBINARY(32) NOT NULL)"
        ));
        database.exec(&format!(
            "INSERT INTO {UNTOUCHED} SELECT id, REPEAT(SHA2(id, 256), 33), UNHEX(SHA2(-id, 256)) FROM ledger WHERE id <= 2000"
        ));
        let account = database.dumper();
        // MySQL's first login of an account takes more words than the later ones.
        let opts = server.opts().user(Some(&account));
        Conn::new(opts.pass(Some(DUMPER_PASSWORD))).unwrap();
        Self {
            database,
            account,
            folder: tempfile::tempdir().unwrap(),
        }
    }

    pub fn server(&self) -> &Server {
        self.database.server()
    }

    /// With the schedule's faults in wait.
    pub fn proxy(&self, schedule: &Schedule) -> Proxy {
        let proxy = match (schedule.link, self.server().socket()) {
            (Link::Socket, Some(socket)) => Proxy::start(
                &Listen::Socket(self.socket()),
                Target::Socket(socket.to_owned()),
            ),
            _ => Proxy::to_port(self.server().port()),
        };
        for (fault, trigger) in &schedule.faults {
            proxy.inject(*fault, *trigger);
        }
        if let Some(rate) = schedule.rate {
            proxy.inject(Fault::Throttle(rate), Trigger::all());
        }
        proxy
    }

    fn socket(&self) -> PathBuf {
        self.folder.path().join("proxy.sock")
    }

    pub fn command(&self, schedule: &Schedule, proxy: &Proxy) -> Rdump {
        let mut command = Rdump::dump(self.server())
            .database(self.database.name())
            .account(&self.account, DUMPER_PASSWORD)
            .args(["--consistency", schedule.mode, "-c", schedule.compression])
            .args(["--loglevel", "debug"]);
        command = match schedule.link {
            Link::Tcp => command.port(proxy.port()).args(["--ssl-mode", "DISABLED"]),
            Link::Tls => command.port(proxy.port()).args(["--ssl-mode", "REQUIRED"]),
            Link::Socket => command.socket(&self.socket()),
        };
        let seconds = schedule.read_timeout.map(|seconds| format!("{seconds}s"));
        for (flag, value) in [
            ("--threads", Some(schedule.threads.to_string())),
            ("--rows", Some(schedule.rows.to_string())),
            ("--spare-connections", Some(schedule.spares.to_string())),
            ("--retries", schedule.retries.map(|tries| tries.to_string())),
            ("--read-timeout", seconds.clone()),
            ("--connect-timeout", seconds),
        ] {
            if let Some(value) = value {
                command = command.args([flag, &value]);
            }
        }
        command
    }
}
