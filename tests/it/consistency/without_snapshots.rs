//! Tables whose engine has no snapshots, beside others: read under the lock, or refused before any lock, or taken as they are
//! with a note in the manifest.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;

use super::servers;
use crate::harness::{
    Kind, Query as _, Rdump, Server, TestDb, binlog_can_be_read, checksums, replay_binlog, restore,
};

/// An InnoDB and a MyISAM table of some hundred KB each.
fn pair(server: &Server, test: &str) -> TestDb {
    let database = TestDb::new(server, test);
    for (table, engine) in [("safe", "InnoDB"), ("unsafe", "MyISAM")] {
        database.exec(&format!(
            "CREATE TABLE {table} (id INT NOT NULL AUTO_INCREMENT PRIMARY KEY, pad VARCHAR(200)) ENGINE={engine}"
        ));
        database.exec(&format!(
            "INSERT INTO {table} (pad) VALUES (REPEAT('x', 200))"
        ));
        for _ in 0..11 {
            database.exec(&format!(
                "INSERT INTO {table} (pad) SELECT pad FROM {table}"
            ));
        }
    }
    database
}

/// Writes to both tables until it is dropped.
struct PairWriter {
    stopping: Arc<AtomicBool>,
    thread: Option<thread::JoinHandle<u32>>,
}

impl PairWriter {
    fn start(database: &TestDb) -> Self {
        let stopping = Arc::new(AtomicBool::new(false));
        let stop = Arc::clone(&stopping);
        let mut session = database.connect();
        let thread = thread::spawn(move || {
            let mut writes = 0;
            while !stop.load(Ordering::SeqCst) {
                session.execute("INSERT INTO safe (pad) VALUES ('written meanwhile')");
                session.execute("INSERT INTO `unsafe` (pad) VALUES ('written meanwhile')");
                writes += 1;
            }
            writes
        });
        Self {
            stopping,
            thread: Some(thread),
        }
    }

    fn finish(mut self) -> u32 {
        self.stopping.store(true, Ordering::SeqCst);
        self.thread.take().unwrap().join().unwrap()
    }
}

impl Drop for PairWriter {
    fn drop(&mut self) {
        self.stopping.store(true, Ordering::SeqCst);
    }
}

#[test]
fn myisam_beside_innodb_is_dumped_at_one_point_in_time() {
    for server in servers().into_iter().filter(binlog_can_be_read) {
        let target = Server::target(server.kind()).unwrap();
        for mode in ["auto", "flush", "snapshot", "lock"] {
            let database = pair(&server, "pair");
            let writer = PairWriter::start(&database);
            let run = Rdump::dump(&server)
                .database(database.name())
                .args(["--consistency", mode, "-r", "200"])
                .run();
            run.assert_ok();
            assert!(writer.finish() > 0);
            // Something to replay in any case.
            database.exec("INSERT INTO safe (pad) VALUES ('last')");
            database.exec("INSERT INTO `unsafe` (pad) VALUES ('last')");
            let _restored = restore(run.output(), &target);
            replay_binlog(&run, &database, &target);
            let tables = ["safe", "unsafe"];
            assert_eq!(
                checksums(&target, database.name(), &tables),
                checksums(&server, database.name(), &tables),
                "--consistency {mode} on {:?}\n{}",
                server.kind(),
                run.report()
            );
            let noted = &run.manifest()["consistency"]["inconsistent_tables"];
            assert!(noted.is_null(), "{noted}");
        }
    }
}

#[test]
fn too_much_data_without_snapshots_is_refused_before_any_lock() {
    // Its own server, since it counts the statements of all sessions.
    let server = Server::private(Kind::MariaDb, &[]).unwrap();
    let database = pair(&server, "refused");
    let locks = || {
        let rows = server.rows(
            "SHOW GLOBAL STATUS WHERE Variable_name IN \
             ('Com_flush', 'Com_lock_tables', 'Com_backup', 'Com_backup_lock')",
        );
        assert!(rows.len() >= 3, "{rows:?}");
        rows
    };
    let before = locks();
    for mode in ["auto", "flush", "snapshot"] {
        let run = Rdump::dump(&server)
            .database(database.name())
            .args(["--consistency", mode, "--locked-data-limit", "100KB"])
            .run();
        run.assert_fails(1);
        for part in [
            "unsafe",
            "MyISAM",
            "--inconsistent-tables",
            "--locked-data-limit",
        ] {
            assert!(run.stderr.contains(part), "no {part}\n{}", run.report());
        }
        assert!(!run.stderr.contains("safe` (InnoDB"), "{}", run.report());
        assert!(run.files().is_empty(), "{}", run.report());
    }
    assert_eq!(locks(), before, "a lock was asked for");
}

#[test]
fn tables_that_may_be_inconsistent_are_noted_in_the_manifest() {
    for server in servers() {
        let database = pair(&server, "noted");
        let run = Rdump::dump(&server)
            .database(database.name())
            .args(["--locked-data-limit", "0", "--inconsistent-tables"])
            .run();
        run.assert_ok();
        let noted = run.manifest()["consistency"]["inconsistent_tables"].to_string();
        assert!(
            noted.contains("unsafe") && !noted.contains("`safe`"),
            "{noted}"
        );
        let rows = |table: &str| {
            String::from_utf8_lossy(&run.table_data(database.name(), table))
                .lines()
                .count()
        };
        assert!(rows("unsafe") >= 2048);
    }
}

/// Under BACKUP STAGE a writer that holds an Aria table's lock waits for the dump, and the dump for the writer (seen).
#[test]
fn writers_of_an_aria_table_and_the_dump_do_not_wait_for_each_other() {
    let server = Server::mariadb();
    let database = TestDb::new(&server, "aria");
    database.exec("CREATE TABLE a (id INT PRIMARY KEY, n INT) ENGINE=Aria TRANSACTIONAL=1");
    database.exec("INSERT INTO a SELECT seq, 0 FROM seq_1_to_20000");
    let stopping = Arc::new(AtomicBool::new(false));
    let write = |_| {
        let (mut session, stop) = (database.connect(), Arc::clone(&stopping));
        thread::spawn(move || {
            let mut writes = 0_u32;
            while !stop.load(Ordering::SeqCst) {
                session.execute("UPDATE a SET n = n + 1");
                writes += 1;
            }
            writes
        })
    };
    let writers: Vec<_> = (0..3).map(write).collect();
    let run = Rdump::dump(&server)
        .database(database.name())
        .args(["-t", "2", "-r", "1000", "--lock-wait-timeout", "30s"])
        .time_limit(std::time::Duration::from_secs(60))
        .run();
    stopping.store(true, Ordering::SeqCst);
    let updates: u32 = writers.into_iter().map(|w| w.join().unwrap()).sum();
    run.assert_ok();
    assert!(updates > 0);
    // One statement writes all rows, so they are all alike at any one point in time.
    let data = String::from_utf8(run.table_data(database.name(), "a")).unwrap();
    let values: std::collections::BTreeSet<&str> = data
        .lines()
        .filter(|line| line.starts_with('('))
        .map(|line| line.split([',', ')']).nth(1).unwrap())
        .collect();
    assert_eq!(values.len(), 1, "{values:?}");
}

/// What the binlog leaves out is not proven by a place in it: table locks do it instead.
#[test]
fn filtered_binlog_is_no_proof_that_snapshots_are_equal() {
    let option = ["--binlog-ignore-db=unlogged"];
    let server = Server::private(Kind::MariaDb, &option).unwrap();
    let database = TestDb::new(&server, "filtered");
    database.exec("CREATE TABLE t (id INT PRIMARY KEY)");
    database.exec("SET GLOBAL log_output = 'TABLE'");
    database.exec("SET GLOBAL general_log = 1");
    let run = Rdump::dump(&server)
        .database(database.name())
        .args(["--consistency", "snapshot"])
        .run();
    run.assert_ok();
    let locks = "SELECT COUNT(*) FROM mysql.general_log WHERE argument LIKE 'LOCK TABLES%READ'";
    assert_eq!(server.value(locks), "1", "{}", run.report());
}
