//! A dump that is made again and again: the lock, the older dumps, the link, metrics, and how a dump stays out of the way.

use std::fs;
use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

use mysql::prelude::Queryable as _;
use rustix::process::Signal;

use crate::harness::{Rdump, Running, Server, TestDb, list_files};

const LIMIT: Duration = Duration::from_secs(30);

/// A database with about 1.2 MB of rows in several chunks.
fn rows(test: &str) -> TestDb {
    let database = TestDb::new(&Server::mariadb(), test);
    database.exec("CREATE TABLE t (id INT PRIMARY KEY, v CHAR(200)) CHARSET latin1");
    database.exec("INSERT INTO t SELECT seq, RPAD(seq, 200, 'x') FROM seq_1_to_6000");
    database.exec("ANALYZE TABLE t");
    database
}

fn dump(database: &TestDb, output: impl Into<PathBuf>) -> Rdump {
    Rdump::dump(database.server())
        .database(database.name())
        .args(["-r", "1000", "-t", "2"])
        .output(output)
}

/// A dump that takes some seconds, once it reads rows.
fn slow(database: &TestDb, output: impl Into<PathBuf>, args: &[&str]) -> Running {
    let running = dump(database, output)
        .args(["--max-rate", "200KiB", "--loglevel", "debug"])
        .args(args.iter().copied())
        .spawn();
    running.await_stderr("sessions in a snapshot", LIMIT);
    running
}

/// Names are by the second, so that a second dump in one would have the first one's.
fn await_next_second() {
    let now = SystemTime::now().duration_since(UNIX_EPOCH).unwrap();
    std::thread::sleep(Duration::from_nanos(u64::from(
        1_000_000_000 - now.subsec_nanos(),
    )));
}

fn whole_dumps(folder: &Path) -> Vec<String> {
    let names = list_dirs(folder).into_iter();
    names
        .filter(|name| folder.join(name).join("manifest.json").exists())
        .collect()
}

fn list_dirs(folder: &Path) -> Vec<String> {
    let entries = fs::read_dir(folder).unwrap().map(|entry| entry.unwrap());
    let folders = entries.filter(|entry| entry.file_type().unwrap().is_dir());
    let mut names: Vec<_> = folders
        .map(|entry| entry.file_name().into_string().unwrap())
        .collect();
    names.sort();
    names
}

#[test]
fn three_dumps_are_kept_over_ten_runs_with_failures_and_kills_among_them() {
    let database = rows("keep");
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    fs::create_dir(at("other-2020-01-01T00-00-00")).unwrap();
    fs::write(at("shop.txt"), "notes").unwrap();
    let template = at("shop-{date}T{time}");
    let latest = at("latest").display().to_string();
    let keep = ["--keep", "3", "--latest-link", &latest];
    let mut made = Vec::new();
    for run in [
        "ok", "ok", "fail", "ok", "kill", "ok", "ok", "kill", "fail", "ok",
    ] {
        await_next_second();
        let before = list_dirs(folder.path());
        match run {
            "ok" => {
                dump(&database, &template).args(keep).run().assert_ok();
                let new = list_dirs(folder.path()).into_iter();
                made.extend(new.filter(|name| !before.contains(name)));
            }
            "fail" => {
                let failing = Rdump::dump(database.server()).database("no_such_database");
                failing.output(&template).args(keep).run().assert_fails(1);
            }
            _ => {
                let running = slow(&database, &template, &keep);
                running.signal(Signal::KILL);
                assert_eq!(running.wait().status.code(), None);
            }
        }
        let expected = &made[made.len().saturating_sub(3)..];
        assert_eq!(whole_dumps(folder.path()), expected, "after {run}");
        let newest = fs::canonicalize(at("latest"));
        assert_eq!(
            newest.unwrap(),
            fs::canonicalize(at(made.last().unwrap())).unwrap()
        );
    }
    let all = list_dirs(folder.path());
    assert!(all.contains(&"other-2020-01-01T00-00-00".to_owned()));
    assert!(at("shop.txt").exists());
    // What the two killed runs left is neither counted nor removed.
    assert_eq!(all.len(), 3 + 2 + 1, "{all:?}");
}

#[test]
fn two_runs_never_overlap() {
    let database = rows("lock");
    let folder = tempfile::tempdir().unwrap();
    let template = folder.path().join("{date}T{time}");
    let first = slow(&database, &template, &[]);
    let second = dump(&database, &template).run();
    let said = &second.assert_fails(75).stderr;
    assert!(said.contains("is held by another run (process "), "{said}");
    // Another job in the same folder is kept out by nothing.
    dump(&database, folder.path().join("other-{date}T{time}"))
        .run()
        .assert_ok();
    first.signal(Signal::KILL);
    first.wait();
    await_next_second();
    // A lock ends with its process.
    dump(&database, &template).run().assert_ok();
    assert!(
        list_files(folder.path())
            .iter()
            .all(|name| !name.ends_with("lock"))
    );
}

#[test]
fn two_runs_into_one_directory_do_not_mix() {
    let database = rows("same");
    let folder = tempfile::tempdir().unwrap();
    let output = folder.path().join("out");
    fs::create_dir(&output).unwrap();
    // A writer that has the directory and nothing in it yet.
    let held = fs::File::open(&output).unwrap();
    rustix::fs::flock(&held, rustix::fs::FlockOperation::LockExclusive).unwrap();
    let run = dump(&database, &output).run();
    let said = &run.assert_fails(75).stderr;
    assert!(
        said.contains("another run is writing to the output directory"),
        "{said}"
    );
    drop(held);
    dump(&database, &output).run().assert_ok();
}

fn ask(port: u16, path: &str) -> String {
    let mut client = TcpStream::connect(("127.0.0.1", port)).unwrap();
    let request = format!("GET {path} HTTP/1.1\r\nHost: localhost\r\n\r\n");
    client.write_all(request.as_bytes()).unwrap();
    let mut answer = String::new();
    client.read_to_string(&mut answer).unwrap();
    let (_, body) = answer.split_once("\r\n\r\n").unwrap();
    body.to_owned()
}

#[test]
fn a_run_can_be_watched_and_its_outcome_outlives_it() {
    let database = rows("metrics");
    let folder = tempfile::tempdir().unwrap();
    let at = |name: &str| folder.path().join(name);
    let port = {
        let free = TcpListener::bind("127.0.0.1:0").unwrap();
        free.local_addr().unwrap().port()
    };
    let metrics = at("rdump.prom").display().to_string();
    let address = format!(":{port}");
    let args = ["--metrics-file", &metrics, "--status-addr", &address];
    let running = slow(&database, at("one"), &args);
    let status: serde_json::Value = serde_json::from_str(&ask(port, "/status")).unwrap();
    assert_eq!(status["status"], "running");
    assert_eq!(status["tables_total"], 1);
    assert!(ask(port, "/metrics").contains("\nrdump_tables_total 1\n"));
    running.wait().assert_ok();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_err());

    let value = |name: &str| -> u64 {
        let text = fs::read_to_string(&metrics).unwrap();
        let name = format!("rdump_{name} ");
        let line = text.lines().find_map(|line| line.strip_prefix(&name));
        line.unwrap_or_else(|| panic!("no {name} in {text}"))
            .parse()
            .unwrap()
    };
    assert_eq!((value("success"), value("rows")), (1, 6000));
    let succeeded = value("last_success_timestamp_seconds");
    let failing = Rdump::dump(database.server()).database("no_such_database");
    failing.args(args).run().assert_fails(1);
    assert_eq!((value("success"), value("exit_code")), (0, 1));
    assert_eq!(value("last_success_timestamp_seconds"), succeeded);
    let left = fs::read_dir(folder.path()).unwrap().count();
    assert_eq!(left, 2, "the dump and the metrics");
}

#[test]
fn the_rate_is_kept() {
    let database = rows("rate");
    let folder = tempfile::tempdir().unwrap();
    let run = dump(&database, folder.path().join("out"))
        .args(["--max-rate", "400KiB", "-s", "10KB", "-F", "64KiB"])
        .run();
    let bytes = run.assert_ok().table_data(database.name(), "t").len();
    let expected = f64::from(u32::try_from(bytes).unwrap()) / f64::from(400 << 10);
    // The last block need not be waited for; connecting and finishing take their time.
    let took = run.duration.as_secs_f64();
    assert!(
        took > expected * 0.9 && took < expected * 1.1 + 0.5,
        "{took} s, not {expected}"
    );
}

#[test]
fn a_busy_server_is_left_alone_and_no_connection_is_lost() {
    let database = rows("busy");
    let mut session = database.connect();
    for n in 0..100 {
        session
            .query_drop(format!("PREPARE s{n} FROM 'SELECT 1'"))
            .unwrap();
    }
    let folder = tempfile::tempdir().unwrap();
    let running = dump(&database, folder.path().join("out"))
        .args(["--throttle", "Prepared_stmt_count>=100", "--report", "json"])
        .spawn();
    running.await_stderr("paused: Prepared_stmt_count>=100, it is 1", LIMIT);
    drop(session);
    let run = running.wait();
    assert!(
        run.assert_ok().stderr.contains("going on"),
        "{}",
        run.stderr
    );
    let report: serde_json::Value = serde_json::from_slice(&run.stdout).unwrap();
    assert_eq!(
        (&report["retries"], &report["rows"]),
        (&0.into(), &6000.into())
    );
}

#[test]
fn what_cannot_be_watched_is_refused_before_any_row_is_read() {
    let database = rows("watch");
    let folder = tempfile::tempdir().unwrap();
    for (args, sentence) in [
        (
            ["--throttle", "Nonsense>1"],
            "the server has no status variable Nonsense",
        ),
        (
            ["--max-replica-lag", "10s"],
            "--max-replica-lag needs a server that is a replica",
        ),
        (["--min-free-space", "1000TiB"], "are free at"),
    ] {
        let run = dump(&database, folder.path().join("out")).args(args).run();
        let said = &run.assert_fails(1).stderr;
        assert!(said.contains(sentence), "{said}");
        fs::remove_dir_all(folder.path().join("out")).ok();
    }
}
