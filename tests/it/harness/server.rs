//! Database servers, started by `scripts/dev-server`.
//!
//! Shared servers outlive the test process, so that the next `cargo test` finds them running; `make test` stops what it
//! started. A private server ends with its test. `RDUMP_TEST_URL` puts a person's own server in the place of MariaDB;
//! `RDUMP_TEST_SERVERS=mariadb,mysql` restricts a run to some kinds.

use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::{Duration, Instant};

use mysql::{Conn, Opts, OptsBuilder};

use super::database::drop_orphans;
use super::dev_server::{Facts, Kind, dev_server, script};
use super::query::{Query, Row};

/// A running server; clones share it.
#[derive(Clone)]
pub struct Server(Arc<Instance>);

struct Instance {
    kind: Kind,
    /// None for a person's own server.
    name: Option<String>,
    options: String,
    private: bool,
    facts: Facts,
}

/// A server, or why there is none.
type Availability = Result<Server, String>;

static SHARED: [OnceLock<Availability>; 4] = [const { OnceLock::new() }; 4];
static TARGETS: [OnceLock<Availability>; 4] = [const { OnceLock::new() }; 4];

impl Server {
    /// The required one.
    pub fn mariadb() -> Self {
        Self::get(Kind::MariaDb).expect("MariaDB is required")
    }

    /// The shared server of a kind; None when this machine's package sources do not have it, which is said once.
    pub fn get(kind: Kind) -> Option<Self> {
        Self::availability(kind).as_ref().ok().cloned()
    }

    /// The servers of all kinds that are to be had here.
    pub fn all() -> Vec<Self> {
        Kind::ALL.into_iter().filter_map(Self::get).collect()
    }

    /// A second shared server of a kind, into which dumps are loaded under their own database names.
    pub fn target(kind: Kind) -> Option<Self> {
        TARGETS[kind as usize]
            .get_or_init(|| {
                Self::availability(kind).clone()?;
                shared(kind, "-target")
            })
            .as_ref()
            .ok()
            .cloned()
    }

    /// A server of the test's own, to restart, kill or set globals on; removed when its last clone is dropped.
    pub fn private(kind: Kind, options: &[&str]) -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        Self::availability(kind).as_ref().ok()?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let name = format!("private-{}-{count}", std::process::id());
        let options = options.join(" ");
        match start(kind, &name, &options, true) {
            Ok(server) => Some(server),
            Err(reason) => panic!("{} is available but did not start: {reason}", kind.word()),
        }
    }

    /// Why a kind is covered or not.
    pub fn availability(kind: Kind) -> &'static Availability {
        SHARED[kind as usize].get_or_init(|| {
            let availability = match std::env::var("RDUMP_TEST_URL") {
                Ok(url) if kind == Kind::MariaDb => Ok(own_server(&url)),
                _ if !is_wanted(kind) => Err("left out by RDUMP_TEST_SERVERS".to_owned()),
                _ => shared(kind, ""),
            };
            if let Err(reason) = &availability {
                assert!(kind != Kind::MariaDb, "MariaDB is required: {reason}");
                announce(&format!("NOT COVERED: {}: {reason}", kind.word()));
            }
            availability
        })
    }

    pub fn kind(&self) -> Kind {
        self.0.kind
    }

    pub fn host(&self) -> &str {
        self.fact("host").unwrap_or("127.0.0.1")
    }

    pub fn port(&self) -> u16 {
        self.fact("port").unwrap().parse().unwrap()
    }

    pub fn user(&self) -> &str {
        self.fact("user").unwrap()
    }

    pub fn password(&self) -> &str {
        self.fact("password").unwrap()
    }

    /// None for a person's own server.
    pub fn socket(&self) -> Option<&Path> {
        self.fact("socket").map(Path::new)
    }

    /// The authority that signed the server's certificate; None where TLS is off.
    pub fn ca(&self) -> Option<&Path> {
        self.fact("ca").map(Path::new)
    }

    pub fn url(&self) -> String {
        let (user, password) = (self.user(), self.password());
        format!("mysql://{user}:{password}@{}:{}", self.host(), self.port())
    }

    pub fn version(&self) -> String {
        self.value("SELECT VERSION()")
    }

    fn fact(&self, key: &str) -> Option<&str> {
        let value = self.0.facts.get(key)?;
        (!value.is_empty()).then_some(value)
    }

    /// Connection options to build on: TCP, never the unix socket behind the test's back.
    pub fn opts(&self) -> OptsBuilder {
        OptsBuilder::new()
            .ip_or_hostname(Some(self.host()))
            .tcp_port(self.port())
            .user(Some(self.user()))
            .pass(Some(self.password()))
            .prefer_socket(false)
            .max_allowed_packet(Some(1 << 30))
            .read_timeout(Some(Duration::from_secs(300)))
    }

    #[track_caller]
    pub fn connect(&self) -> Conn {
        Conn::new(self.opts()).unwrap_or_else(|error| panic!("{}: {error}", self.url()))
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

    /// Asks until the value satisfies `condition`; for what a server tells by being asked only (process list, status).
    #[track_caller]
    pub fn await_value(&self, sql: &str, limit: Duration, condition: impl Fn(&str) -> bool) {
        let deadline = Instant::now() + limit;
        let mut session = self.connect();
        loop {
            let value = session.value(sql);
            if condition(&value) {
                return;
            }
            assert!(
                Instant::now() < deadline,
                "still {value} after {limit:?}: {sql}"
            );
            std::thread::sleep(Duration::from_millis(20));
        }
    }

    /// Ids of an account's sessions.
    #[track_caller]
    pub fn sessions_of(&self, account: &str) -> Vec<u64> {
        let id = |row: &Row| String::from_utf8(row[0].clone().unwrap()).unwrap();
        let rows = self.rows(&self.sessions_query("ID", account));
        let mut ids: Vec<u64> = rows.iter().map(|row| id(row).parse().unwrap()).collect();
        ids.sort_unstable();
        ids
    }

    #[track_caller]
    pub fn await_no_sessions_of(&self, account: &str, limit: Duration) {
        self.await_sessions_of(account, limit, |count| count == 0);
    }

    /// Waits until the account has so many sessions.
    #[track_caller]
    pub fn await_sessions_of(
        &self,
        account: &str,
        limit: Duration,
        condition: impl Fn(usize) -> bool,
    ) {
        // The ids and what they do stand in the message when the wait is in vain.
        let list = self.sessions_query(
            "CONCAT(COUNT(*), COALESCE(GROUP_CONCAT(' ', ID, ' ', COMMAND, ' ', COALESCE(STATE, ''), ' ', COALESCE(INFO, '')), ''))",
            account,
        );
        self.await_value(&list, limit, |list| {
            let count = list.split(' ').next().unwrap_or_default();
            condition(count.parse().unwrap())
        });
    }

    fn sessions_query(&self, what: &str, account: &str) -> String {
        let list = if self.kind().is_mariadb() {
            "information_schema.PROCESSLIST"
        } else {
            "performance_schema.processlist"
        };
        format!("SELECT {what} FROM {list} WHERE USER = '{account}'")
    }

    /// The plain command line client, as README tells people to load a dump.
    pub fn client(&self, database: Option<&str>) -> Command {
        let mut command = Command::new("mariadb");
        command
            .args([
                "--no-defaults",
                "--protocol=tcp",
                "--comments",
                "--binary-mode",
            ])
            .args(["--default-character-set=utf8mb4", "--max-allowed-packet=1G"])
            .arg(format!("--host={}", self.host()))
            .arg(format!("--port={}", self.port()))
            .arg(format!("--user={}", self.user()))
            .env("MYSQL_PWD", self.password());
        if let Some(name) = database {
            command.arg(format!("--database={name}"));
        }
        command
    }

    /// Feeds SQL to the plain client; its complaint on failure.
    pub fn try_load(&self, database: Option<&str>, sql: &[u8]) -> Result<(), String> {
        self.try_load_with(database, sql, &[])
    }

    /// With more arguments for the client.
    pub fn try_load_with(
        &self,
        database: Option<&str>,
        sql: &[u8],
        arguments: &[&str],
    ) -> Result<(), String> {
        let mut child = self
            .client(database)
            .args(arguments)
            .stdin(Stdio::piped())
            .stdout(Stdio::null())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the mariadb client (scripts/setup installs it)");
        // A client that stops at an error closes its input: the complaint then says more than the broken pipe.
        let written = child.stdin.take().unwrap().write_all(sql);
        let output = child.wait_with_output().unwrap();
        if output.status.success() {
            return written.map_err(|error| error.to_string());
        }
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }

    #[track_caller]
    pub fn load_text(&self, database: Option<&str>, sql: impl AsRef<[u8]>) {
        if let Err(complaint) = self.try_load(database, sql.as_ref()) {
            panic!("the mariadb client: {complaint}");
        }
    }

    /// Makes a schema of `scripts/seed` in `database`.
    #[track_caller]
    pub fn seed(&self, database: &str, schema: &str, rows: Option<u64>) {
        let mut command = Command::new(script("seed"));
        command
            .arg(format!("{}/{database}", self.url()))
            .arg(schema);
        if let Some(rows) = rows {
            command.arg("--rows").arg(rows.to_string());
        }
        let output = command.output().expect("scripts/seed");
        let complaint = String::from_utf8_lossy(&output.stderr);
        assert!(
            output.status.success(),
            "scripts/seed {schema}: {complaint}"
        );
    }

    /// Process id of the server, for a private one.
    pub fn pid(&self) -> u32 {
        let facts = self.control("status").expect("a running server");
        facts["pid"].parse().unwrap()
    }

    /// A clean end and a new start on the same data and port.
    pub fn restart(&self) {
        self.start_again("restart");
    }

    /// SIGKILL; `start` brings it back.
    pub fn kill(&self) {
        self.control("kill").unwrap();
    }

    pub fn start(&self) {
        self.start_again("start");
    }

    fn start_again(&self, action: &str) {
        let facts = self.control(action).unwrap();
        assert_eq!(
            facts.get("port"),
            self.0.facts.get("port"),
            "another program took the port"
        );
    }

    fn control(&self, action: &str) -> Result<Facts, String> {
        assert!(
            self.0.private,
            "only a private server may be restarted or killed"
        );
        let name = self.0.name.as_deref().unwrap();
        dev_server(self.0.kind, action, name, &self.0.options, &[])
    }

    /// The end of the server's log, for reports.
    pub fn log_tail(&self) -> String {
        let Some(path) = self.fact("log") else {
            return "(no log at hand)".to_owned();
        };
        let log = std::fs::read(path).unwrap_or_default();
        let log = String::from_utf8_lossy(&log);
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(15)..].join("\n")
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        if let (true, Some(name)) = (self.private, &self.name) {
            // A failed removal is made good by the next start, which sweeps the instances of ended processes.
            dev_server(self.kind, "remove", name, "", &[]).ok();
        }
    }
}

/// A shared instance; `RDUMP_TEST_INSTANCES` lets `make test` have its own.
fn shared(kind: Kind, suffix: &str) -> Availability {
    let prefix = std::env::var("RDUMP_TEST_INSTANCES").unwrap_or_default();
    let name = format!("{prefix}{}{suffix}", kind.word());
    let server = start(kind, &name, "", false)?;
    drop_orphans(&server);
    Ok(server)
}

fn start(kind: Kind, name: &str, options: &str, private: bool) -> Availability {
    let owner = std::process::id().to_string();
    let arguments: &[&str] = if private { &["--owner", &owner] } else { &[] };
    let facts = dev_server(kind, "start", name, options, arguments)?;
    let (name, options) = (Some(name.to_owned()), options.to_owned());
    Ok(Server(Arc::new(Instance {
        kind,
        name,
        options,
        private,
        facts,
    })))
}

fn own_server(url: &str) -> Server {
    let opts = Opts::from_url(url).unwrap_or_else(|error| panic!("RDUMP_TEST_URL: {error}"));
    let facts = [
        ("host", opts.get_ip_or_hostname().into_owned()),
        ("port", opts.get_tcp_port().to_string()),
        ("user", opts.get_user().unwrap_or("root").to_owned()),
        ("password", opts.get_pass().unwrap_or_default().to_owned()),
    ];
    let facts = facts.map(|(key, value)| (key.to_owned(), value)).into();
    let kind = Kind::MariaDb;
    Server(Arc::new(Instance {
        kind,
        name: None,
        options: String::new(),
        private: false,
        facts,
    }))
}

fn is_wanted(kind: Kind) -> bool {
    kind == Kind::MariaDb || is_named(kind.word())
}

/// Whether `RDUMP_TEST_SERVERS` lets a kind in.
pub fn is_named(kind: &str) -> bool {
    match std::env::var("RDUMP_TEST_SERVERS") {
        Ok(words) => words.split(',').any(|word| word.trim() == kind),
        Err(_) => true,
    }
}

/// Past the capture of test output, which would hide it in a passing run.
pub fn announce(line: &str) {
    writeln!(std::io::stderr(), "rdump tests: {line}").ok();
}
