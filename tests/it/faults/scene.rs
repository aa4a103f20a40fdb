//! What the fault tests share: a large table that nobody changes, the files of an undisturbed dump of it, and lines to its
//! server that can be broken.

use std::collections::BTreeMap;
use std::hash::{DefaultHasher, Hasher as _};
use std::path::PathBuf;
use std::sync::OnceLock;
use std::time::Duration;

use tempfile::TempDir;

use crate::harness::{Fault, Kind, Listen, Proxy, Rdump, Run, Server, Target, TestDb, Trigger};

/// For what takes a moment, on a busy machine.
pub const SOON: Duration = Duration::from_secs(10);
/// For a whole dump.
pub const LIMIT: Duration = Duration::from_secs(120);
/// Past what the catalog takes, and in the middle of a chunk.
pub const MID_CHUNK: u64 = 3 << 20;
/// Per connection: so that all workers take their part.
const RATE: u64 = 25 << 20;
/// Chunks of 4 MB.
const CHUNK_ROWS: &str = "20000";

/// Whether every transport and server is to be taken, and ten times the data.
pub fn is_full() -> bool {
    std::env::var("RDUMP_TEST_FAULTS").is_ok_and(|value| value == "full")
}

/// How a client reaches the server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Transport {
    Tcp,
    Socket,
    Tls,
}

impl Transport {
    const ALL: [Self; 3] = [Self::Tcp, Self::Socket, Self::Tls];
}

/// One row of a table of faults: what happens, in which mode, over which line.
pub struct Case<F> {
    pub fault: F,
    pub mode: &'static str,
    pub scene: &'static Scene,
    pub transport: Transport,
}

/// Each fault in each mode: in full on every server over every transport, else taking turns.
pub fn cases<F: Copy>(faults: &[F], modes: &[&'static str]) -> Vec<Case<F>> {
    let scenes: Vec<_> = [Kind::MariaDb, Kind::MySql]
        .into_iter()
        .filter_map(Scene::of)
        .collect();
    let places: Vec<_> = scenes
        .iter()
        .flat_map(|scene| Transport::ALL.map(|transport| (*scene, transport)))
        .collect();
    let rows = faults
        .iter()
        .flat_map(|fault| modes.iter().map(move |mode| (*fault, *mode)));
    let mut cases = Vec::new();
    for (number, (fault, mode)) in rows.enumerate() {
        let taken = if is_full() {
            &places[..]
        } else {
            // Five has no common divisor with their number, so that all get their turn beside each other.
            &places[number * 5 % places.len()..][..1]
        };
        cases.extend(taken.iter().map(|&(scene, transport)| Case {
            fault,
            mode,
            scene,
            transport,
        }));
    }
    cases
}

/// A table of 50 MB (500 in full), an account of the dumps' own, and what an undisturbed dump writes.
pub struct Scene {
    pub database: TestDb,
    account: String,
    reference: OnceLock<Files>,
}

/// Data files by name, with a hash of what is in them.
type Files = BTreeMap<String, u64>;

impl Scene {
    /// The one of that kind, made once in a run; nobody may change its table. What it leaves is dropped by the next run.
    pub fn of(kind: Kind) -> Option<&'static Self> {
        static SCENES: [OnceLock<Option<Scene>>; 4] = [const { OnceLock::new() }; 4];
        let make = || Server::get(kind).map(|server| Self::new(&server, rows()));
        SCENES[kind as usize].get_or_init(make).as_ref()
    }

    /// One that a test may spoil.
    pub fn new(server: &Server, rows: u64) -> Self {
        let database = TestDb::seeded(server, "faults", "sb", Some(rows));
        // The plan depends on the statistics.
        database.exec("ALTER TABLE sbtest1 STATS_AUTO_RECALC = 0");
        database.exec("ANALYZE TABLE sbtest1");
        let account = format!("{}dumper", database.user_prefix());
        let name = format!("'{account}'@'%'");
        server.exec(&format!("CREATE USER {name} IDENTIFIED BY 'dumper'"));
        server.exec(&format!("GRANT ALL ON *.* TO {name}"));
        Self {
            database,
            account,
            reference: OnceLock::new(),
        }
    }

    pub fn server(&self) -> &Server {
        self.database.server()
    }

    pub fn account(&self) -> &str {
        &self.account
    }

    /// A dump that nothing disturbs yet, past any proxy.
    pub fn direct(&self) -> Rdump {
        self.with_selection(Rdump::dump(self.server()))
    }

    /// A dump over `line`.
    pub fn over(&self, line: &Line) -> Rdump {
        let dump = match &line.socket {
            Some(path) => Rdump::dump(self.server()).socket(path),
            None => Rdump::dump(self.server()).port(line.proxy.port()),
        };
        let mode = match line.transport {
            Transport::Tls => "REQUIRED",
            Transport::Tcp | Transport::Socket => "DISABLED",
        };
        self.with_selection(dump.args(["--ssl-mode", mode]))
    }

    /// A dump of one query, past any proxy.
    pub fn query(&self, sql: &str) -> Rdump {
        Rdump::dump(self.server())
            .account(&self.account, "dumper")
            .args(["--sql", sql])
    }

    fn with_selection(&self, dump: Rdump) -> Rdump {
        dump.database(self.database.name())
            .account(&self.account, "dumper")
            .args(["-t", "4", "-r", CHUNK_ROWS])
            .time_limit(LIMIT)
    }

    /// A line at such a rate that all four workers are busy for a while.
    pub fn line(&self, transport: Transport) -> Line {
        self.line_at(transport, RATE)
    }

    /// A line that carries so many bytes a second on each connection.
    pub fn line_at(&self, transport: Transport, rate: u64) -> Line {
        let folder = tempfile::tempdir().unwrap();
        let server = self.server();
        let (proxy, socket) = match (transport, server.socket()) {
            (Transport::Socket, Some(target)) => {
                let path = folder.path().join("proxy.sock");
                let listen = Listen::Socket(path.clone());
                let proxy = Proxy::start(&listen, Target::Socket(target.to_owned()));
                (proxy, Some(path))
            }
            _ => (Proxy::to_port(server.port()), None),
        };
        proxy.inject(Fault::Throttle(rate), Trigger::all());
        Line {
            proxy,
            socket,
            transport,
            _folder: folder,
        }
    }

    /// Byte for byte what an undisturbed dump writes, and so every row once.
    #[track_caller]
    pub fn assert_identical(&self, run: &Run) {
        run.assert_ok();
        let reference = self.reference.get_or_init(|| {
            let run = self.direct().run();
            run.assert_ok();
            data_files(&run)
        });
        assert_same_files(&data_files(run), reference, run);
    }

    /// The server's sessions of this scene's account: id, and what they do.
    pub fn sessions(&self) -> Vec<(u64, String)> {
        let sql = format!(
            "SELECT ID, IFNULL(INFO, '') FROM {} WHERE USER = '{}' ORDER BY ID",
            self.process_list(),
            self.account
        );
        let text = |cell: &Option<Vec<u8>>| String::from_utf8_lossy(cell.as_ref().unwrap()).into();
        let rows = self.server().rows(&sql);
        rows.iter()
            .map(|row| {
                let id: String = text(&row[0]);
                (id.parse().unwrap(), text(&row[1]))
            })
            .collect()
    }

    /// Sessions that read rows just now.
    pub fn reading(&self) -> Vec<u64> {
        let sessions = self.sessions().into_iter();
        let reading =
            |sql: &str| sql.starts_with("SELECT /*!40001") || sql.contains("SQL_NO_CACHE");
        sessions
            .filter(|(_, sql)| reading(sql))
            .map(|(id, _)| id)
            .collect()
    }

    /// Waits until no session of the account is there any more.
    #[track_caller]
    pub fn assert_no_session_within(&self, limit: Duration) {
        let count = format!(
            "SELECT COUNT(*) FROM {} WHERE USER = '{}'",
            self.process_list(),
            self.account
        );
        self.server()
            .await_value(&count, limit, |count| count == "0");
    }

    fn process_list(&self) -> &'static str {
        if self.server().kind().is_mariadb() {
            "information_schema.PROCESSLIST"
        } else {
            "performance_schema.processlist"
        }
    }
}

/// The data files of a run.
pub fn data_files(run: &Run) -> Files {
    let hash = |name: &str| {
        let mut hasher = DefaultHasher::new();
        hasher.write(&run.read(name));
        hasher.finish()
    };
    run.files()
        .into_iter()
        .filter(|name| !matches!(name.as_str(), "metadata" | "manifest.json"))
        .map(|name| {
            let hash = hash(&name);
            (name, hash)
        })
        .collect()
}

#[track_caller]
pub fn assert_same_files(files: &Files, reference: &Files, run: &Run) {
    let names = |files: &Files| files.keys().cloned().collect::<Vec<_>>();
    assert_eq!(names(files), names(reference), "{}", run.report());
    let unlike: Vec<_> = files
        .iter()
        .filter(|(name, hash)| reference[*name] != **hash)
        .collect();
    assert!(unlike.is_empty(), "{unlike:?} differ\n{}", run.report());
}

/// A way to the server on which things can happen.
pub struct Line {
    pub proxy: Proxy,
    socket: Option<PathBuf>,
    transport: Transport,
    _folder: TempDir,
}

impl Line {
    /// Waits until a fault has struck.
    #[track_caller]
    pub fn await_fault(&self) {
        self.proxy
            .await_counters(LIMIT, |counters| counters.faults > 0);
    }

    /// Waits until so many bytes have come from the server.
    #[track_caller]
    pub fn await_bytes(&self, bytes: u64) {
        self.proxy
            .await_counters(LIMIT, |counters| counters.bytes_to_client >= bytes);
    }
}

fn rows() -> u64 {
    if is_full() { 2_600_000 } else { 260_000 }
}
