//! MySQL's global read lock waits for running queries and blocks all others meanwhile. It must never stall a server for longer
//! than was allowed, nor at all after rdump has given up.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

use mysql::Conn;
use mysql::prelude::Queryable as _;

use crate::harness::{Kind, Query as _, Rdump, Run, Server, TestDb};

/// For what a busy test machine adds to a statement of a millisecond. A real stall lasts as long as the long query: minutes.
const MARGIN: Duration = Duration::from_secs(4);

/// A server of its own (the lock is a global one), and a SELECT that runs until the end.
struct Scene {
    database: TestDb,
    long_query: u32,
}

impl Scene {
    fn new() -> Option<Self> {
        let server = Server::private(Kind::MySql, &[])?;
        let database = TestDb::new(&server, "guard");
        database.exec("CREATE TABLE slow (id INT PRIMARY KEY, v INT)");
        database.exec("CREATE TABLE other (id INT PRIMARY KEY, v INT)");
        database.exec("INSERT INTO slow VALUES (1, 0)");
        database.exec("INSERT INTO other VALUES (1, 0)");
        let mut session = database.connect();
        let long_query = session.connection_id();
        thread::spawn(move || session.query_drop("SELECT SLEEP(300) FROM slow").ok());
        let running = format!(
            "SELECT COUNT(*) FROM performance_schema.processlist WHERE ID = {long_query} AND INFO LIKE '%SLEEP%'"
        );
        server.await_value(&running, Duration::from_secs(20), |count| count == "1");
        Some(Self {
            database,
            long_query,
        })
    }

    fn server(&self) -> &Server {
        self.database.server()
    }

    /// Until the long query has run for so long.
    fn await_age(&self, age: Duration) {
        let seconds = format!(
            "SELECT TIME FROM performance_schema.processlist WHERE ID = {}",
            self.long_query
        );
        let old = |time: &str| time.parse::<u64>().unwrap() >= age.as_secs();
        self.server()
            .await_value(&seconds, age + Duration::from_secs(20), old);
    }

    fn dump(&self, mode: &str, guard: &str) -> Run {
        Rdump::dump(self.server())
            .database(self.database.name())
            .args(["--consistency", mode, "--long-query-guard", guard])
            .args(["--lock-wait-timeout", "1s"])
            .run()
    }
}

impl Drop for Scene {
    fn drop(&mut self) {
        let kill = format!("KILL {}", self.long_query);
        self.server().connect().try_rows(&kill).ok();
    }
}

/// A reader of a table and a writer to another one, and the longest that one of them had to wait.
struct Bystanders {
    stopping: Arc<AtomicBool>,
    threads: Vec<JoinHandle<Duration>>,
}

impl Bystanders {
    fn start(database: &TestDb, read: &str) -> Self {
        let stopping = Arc::new(AtomicBool::new(false));
        let statements = [
            format!("SELECT v FROM {read} WHERE id = 1"),
            "UPDATE other SET v = v + 1 WHERE id = 1".to_owned(),
        ];
        let spawn = |sql: String| {
            let (session, stop) = (database.connect(), Arc::clone(&stopping));
            thread::spawn(move || longest_wait(session, &sql, &stop))
        };
        let threads = statements.into_iter().map(spawn).collect();
        Self { stopping, threads }
    }

    fn finish(self) -> Duration {
        self.stopping.store(true, Ordering::SeqCst);
        let waits = self
            .threads
            .into_iter()
            .map(|thread| thread.join().unwrap());
        waits.max().unwrap()
    }
}

fn longest_wait(mut session: Conn, sql: &str, stop: &AtomicBool) -> Duration {
    let mut longest = Duration::ZERO;
    while !stop.load(Ordering::SeqCst) {
        let started = Instant::now();
        session.execute(sql);
        longest = longest.max(started.elapsed());
        thread::sleep(Duration::from_millis(5));
    }
    longest
}

#[test]
fn flush_asks_for_no_global_lock_beside_an_old_query() {
    let Some(scene) = Scene::new() else { return };
    scene.await_age(Duration::from_secs(2));
    let flushes = || {
        let mut session = scene.server().connect();
        session.rows("SHOW GLOBAL STATUS LIKE 'Com_flush'")[0][1].clone()
    };
    let before = flushes();
    let bystanders = Bystanders::start(&scene.database, "slow");
    let run = scene.dump("flush", "1s");
    let longest = bystanders.finish();
    run.assert_fails(1);
    let query = format!("connection {} of rdump", scene.long_query);
    assert!(run.stderr.contains(&query), "{}", run.report());
    assert!(longest < MARGIN, "{longest:?}");
    assert_eq!(flushes(), before, "a lock was asked for");
    assert!(run.files().is_empty(), "{}", run.report());
}

#[test]
fn auto_uses_snapshot_beside_an_old_query() {
    let Some(scene) = Scene::new() else { return };
    scene.await_age(Duration::from_secs(2));
    // The guard of a user who has no other way is not that of auto, which has one.
    let bystanders = Bystanders::start(&scene.database, "slow");
    let run = scene.dump("auto", "1h");
    let longest = bystanders.finish();
    run.assert_ok();
    assert_eq!(run.manifest()["consistency"]["mode"], "snapshot");
    assert!(run.stderr.contains("flush: "), "{}", run.report());
    assert!(longest < Duration::from_secs(1) + MARGIN, "{longest:?}");
}

#[test]
fn refused_global_lock_stalls_nobody_for_longer_than_its_bound_nor_after_it() {
    let Some(scene) = Scene::new() else { return };
    // Not the long query's own table: MySQL lets its readers wait for the end of the query once the lock was refused (seen),
    // which is why the lock is not even asked for beside a query that the guard knows of.
    let bystanders = Bystanders::start(&scene.database, "other");
    // The guard is out of the way, so that the lock is asked for and refused.
    let run = scene.dump("flush", "1h");
    let longest = bystanders.finish();
    run.assert_fails(1);
    assert!(
        longest > Duration::from_millis(500),
        "nobody waited: {longest:?}"
    );
    assert!(longest < Duration::from_secs(1) + MARGIN, "{longest:?}");
    let after = Bystanders::start(&scene.database, "other");
    let beyond = Instant::now() + Duration::from_secs(2);
    while Instant::now() < beyond {
        thread::sleep(Duration::from_millis(50));
    }
    let longest = after.finish();
    assert!(longest < MARGIN, "{longest:?} after rdump had given up");
}

/// Only one backup at a time may hold MariaDB's backup stages.
#[test]
fn refused_backup_lock_is_named_and_auto_goes_another_way() {
    let server = Server::private(Kind::MariaDb, &[]).unwrap();
    let database = TestDb::new(&server, "stages");
    database.exec("CREATE TABLE t (id INT PRIMARY KEY)");
    let mut other = server.connect();
    other.execute("BACKUP STAGE START");
    let dump = |mode| {
        Rdump::dump(&server)
            .database(database.name())
            .args(["--consistency", mode, "--lock-wait-timeout", "1s"])
            .run()
    };
    let run = dump("flush");
    run.assert_fails(1);
    assert!(run.stderr.contains("1205"), "{}", run.report());
    let run = dump("auto");
    run.assert_ok();
    assert_eq!(run.manifest()["consistency"]["mode"], "snapshot");
    other.execute("BACKUP STAGE END");
    dump("flush").assert_ok();
}
