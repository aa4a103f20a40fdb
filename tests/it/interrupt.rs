//! A dump that is stopped (by a signal, by a full disk, by its directory going away) leaves nothing that looks like one: no
//! manifest, no incomplete file under a final name, no session and no lock on the server.

use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::Signal;

use crate::harness::{
    DUMPER_PASSWORD, Fault, Kind, Proxy, Query as _, Rdump, Run, Running, Server, SmallDisk,
    TEMP_PREFIX, TestDb, Trigger, assert_no_temporary_files, list_files,
};

/// What a client's sessions may still take to go away after its end. The tests' machine is busy.
const GONE_SOON: Duration = Duration::from_secs(3);
const LIMIT: Duration = Duration::from_secs(60);

/// A table of about 8 MB, an account whose sessions can be counted, and the files of a dump that nothing disturbed.
struct Scene {
    database: TestDb,
    account: String,
    reference: Run,
}

impl Scene {
    fn new(server: &Server, test: &str) -> Self {
        let database = TestDb::seeded(server, test, "sb", Some(40_000));
        // The plan depends on the statistics.
        database.exec("ALTER TABLE sbtest1 STATS_AUTO_RECALC = 0");
        database.exec("ANALYZE TABLE sbtest1");
        let account = database.dumper();
        let reference = Rdump::dump(server)
            .database(database.name())
            .args(["-r", "1000"])
            .run();
        reference.assert_ok();
        Self {
            database,
            account,
            reference,
        }
    }

    fn server(&self) -> &Server {
        self.database.server()
    }

    fn command(&self, port: u16) -> Rdump {
        Rdump::dump(self.server())
            .port(port)
            .database(self.database.name())
            .account(&self.account, DUMPER_PASSWORD)
            .args(["-r", "1000"])
    }

    /// A dump in full course, over connections that carry 300 KB a second each.
    fn slow_dump(&self, arguments: &[&str]) -> (Proxy, Running) {
        let proxy = Proxy::to_port(self.server().port());
        proxy.inject(Fault::Throttle(300 << 10), Trigger::all());
        let running = self.command(proxy.port()).args(arguments).spawn();
        proxy.await_counters(LIMIT, |counters| counters.bytes_to_client > 2 << 20);
        (proxy, running)
    }

    /// Nothing left on the server: no session, and no lock that a writer would meet.
    #[track_caller]
    fn assert_server_is_free(&self) {
        self.server().await_no_sessions_of(&self.account, GONE_SOON);
        let mut session = self.database.connect();
        // Dumps of other tests may ask for a global lock just now; those are short.
        session.execute("SET SESSION lock_wait_timeout = 20, innodb_lock_wait_timeout = 20");
        session.execute("UPDATE sbtest1 SET k = k WHERE id = 1");
        session.execute("ALTER TABLE sbtest1 COMMENT = ''");
    }

    /// Every file that has a final name is as whole as in the undisturbed dump.
    #[track_caller]
    fn assert_final_files_are_whole(&self, folder: &Path) {
        let known = self.reference.files();
        for name in list_files(folder) {
            assert_ne!(name, "manifest.json");
            if name.starts_with(TEMP_PREFIX) {
                continue;
            }
            assert!(known.contains(&name), "a file of an unknown name: {name}");
            let content = std::fs::read(folder.join(&name)).unwrap();
            assert!(
                content == std::fs::read(self.reference.output().join(&name)).unwrap(),
                "{name} is incomplete: {} bytes",
                content.len()
            );
        }
    }
}

fn servers() -> Vec<Server> {
    let kinds = [Kind::MariaDb, Kind::MySql];
    kinds.into_iter().filter_map(Server::get).collect()
}

/// For `--consistency lock`: a MySQL on which no other test's dump asks for the global lock. Its flush of all tables would wait
/// for the locked ones, and every new reader for it.
fn servers_for_locks() -> Vec<Server> {
    let mysql = Server::private(Kind::MySql, &[]);
    [Some(Server::mariadb()), mysql]
        .into_iter()
        .flatten()
        .collect()
}

#[test]
fn signalled_dump_ends_at_once_with_the_signals_code_and_leaves_no_manifest() {
    for server in servers_for_locks() {
        let scene = Scene::new(&server, "signalled");
        for (signal, code, mode) in [
            (Signal::INT, 130, "auto"),
            (Signal::TERM, 143, "lock"),
            (Signal::HUP, 129, "snapshot"),
        ] {
            let (_proxy, running) = scene.slow_dump(&["--consistency", mode]);
            let signalled = Instant::now();
            running.signal(signal);
            let run = running.wait_within(Duration::from_secs(10));
            let took = signalled.elapsed();
            run.assert_fails(code);
            assert!(took < Duration::from_secs(3), "{took:?}\n{}", run.report());
            assert!(run.stderr.contains("stopped by SIG"), "{}", run.report());
            scene.assert_final_files_are_whole(run.output());
            assert_no_temporary_files(run.output());
            scene.assert_server_is_free();
        }
    }
}

#[test]
fn killed_dump_leaves_no_manifest_and_no_incomplete_file_under_a_final_name() {
    for server in servers() {
        let scene = Scene::new(&server, "killed");
        for megabytes in [1, 4, 7] {
            let proxy = Proxy::to_port(server.port());
            proxy.inject(Fault::Throttle(600 << 10), Trigger::all());
            let running = scene.command(proxy.port()).spawn();
            proxy.await_counters(LIMIT, |counters| counters.bytes_to_client > megabytes << 20);
            running.signal(Signal::KILL);
            let run = running.wait_within(Duration::from_secs(10));
            assert_eq!(run.status.code(), None, "{}", run.report());
            scene.assert_final_files_are_whole(run.output());
            scene.assert_server_is_free();
        }
    }
}

/// The first signal finds a server that answers nothing any more; the second does not wait for the tidying up.
#[test]
fn second_signal_ends_the_run_at_once() {
    let server = Server::mariadb();
    let scene = Scene::new(&server, "second");
    let (proxy, running) = scene.slow_dump(&[]);
    // New connections too, so that the sessions cannot be ended on the server.
    proxy.inject(Fault::BlackHole, Trigger::all());
    proxy.strike(Fault::BlackHole);
    running.signal(Signal::TERM);
    let connections = proxy.counters().connections;
    // The attempt to end them shows that the first signal was taken.
    proxy.await_counters(LIMIT, |counters| counters.connections > connections);
    let second = Instant::now();
    running.signal(Signal::INT);
    let run = running.wait_within(Duration::from_secs(10));
    let took = second.elapsed();
    assert_eq!(run.status.code(), Some(130), "{}", run.report());
    assert!(took < Duration::from_millis(700), "{took:?}");
    scene.assert_final_files_are_whole(run.output());
    drop(proxy);
    scene.assert_server_is_free();
}

#[test]
fn blocked_workers_do_not_delay_the_end() {
    for server in servers() {
        let scene = Scene::new(&server, "blocked");
        let (proxy, running) = scene.slow_dump(&[]);
        proxy.clear();
        proxy.strike(Fault::BlackHole);
        let signalled = Instant::now();
        running.signal(Signal::TERM);
        let run = running.wait_within(Duration::from_secs(10));
        let took = signalled.elapsed();
        run.assert_fails(143);
        assert!(took < Duration::from_secs(3), "{took:?}\n{}", run.report());
        assert_no_temporary_files(run.output());
        // The proxy still holds the dead connections open: only a KILL can have ended the sessions.
        scene.assert_server_is_free();
    }
}

#[test]
fn full_disk_ends_the_run_with_a_sentence_and_without_a_manifest() {
    let Some(disk) = SmallDisk::mount("3m") else {
        return;
    };
    for (number, server) in servers().into_iter().enumerate() {
        let scene = Scene::new(&server, "full_disk");
        for (shape, compression) in ["none", "gzip:1", "zstd:1"].into_iter().enumerate() {
            let output = disk.path().join(format!("{number}-{shape}"));
            let run = scene
                .command(server.port())
                .args(["-c", compression, "--min-free-space", "0"])
                .output(&output)
                .time_limit(Duration::from_secs(20))
                .run();
            // Rows of digits shrink to less than half at best, so that the disk is too small in any case.
            run.assert_fails(1);
            let says = |text: &str| run.stderr.contains(text);
            assert!(
                says("No space left") || says("no space left"),
                "{}",
                run.report()
            );
            assert!(says(&output.display().to_string()), "{}", run.report());
            assert_no_temporary_files(&output);
            if compression == "none" {
                scene.assert_final_files_are_whole(&output);
            }
            scene.assert_server_is_free();
            std::fs::remove_dir_all(&output).unwrap();
        }
    }
}

#[test]
fn moved_or_removed_output_directory_fails_the_run() {
    let server = Server::mariadb();
    let scene = Scene::new(&server, "moved");
    for remove in [false, true] {
        let (_proxy, running) = scene.slow_dump(&[]);
        let folder = running.output().to_owned();
        let elsewhere = folder.with_file_name("moved");
        std::fs::rename(&folder, &elsewhere).unwrap();
        if remove {
            std::fs::remove_dir_all(&elsewhere).unwrap();
        }
        let run = running.wait_within(LIMIT);
        run.assert_fails(1);
        assert!(
            run.stderr.contains(&folder.display().to_string()),
            "the path is not named\n{}",
            run.report()
        );
        scene.assert_final_files_are_whole(&elsewhere);
        assert!(!folder.join("metadata").exists());
        scene.assert_server_is_free();
    }
}

#[test]
fn signal_before_the_first_connection_leaves_nothing() {
    let scratch = tempfile::tempdir().unwrap();
    // A server that never says a word: the first connection waits for its greeting.
    let listener = std::net::TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let output = scratch.path().join("out");
    let running = Rdump::bare()
        .output(&output)
        .args(["-h", "127.0.0.1", "-P", &port, "-o"])
        .args([&output])
        .spawn();
    let accepted = listener.accept().unwrap();
    let signalled = Instant::now();
    running.signal(Signal::INT);
    let run = running.wait_within(Duration::from_secs(10));
    run.assert_fails(130);
    assert!(
        signalled.elapsed() < Duration::from_secs(2),
        "{}",
        run.report()
    );
    assert!(!output.exists(), "{}", run.report());
    drop(accepted);
}

/// The dead connections stay open at the proxy, so that only a KILL can have ended the sessions.
#[test]
fn connections_that_fell_silent_while_they_were_idle_are_ended_on_the_server_too() {
    for server in servers() {
        let scene = Scene::new(&server, "idle");
        let proxy = Proxy::to_port(server.port());
        let running = scene
            .command(proxy.port())
            .args(["--ssl-mode", "DISABLED", "--connect-timeout", "1s"])
            .args(["--read-timeout", "1s"])
            .spawn();
        // The sessions of the snapshot are opened one after the other; at the fourth connection three are idle.
        proxy.await_counters(LIMIT, |counters| counters.connections == 4);
        proxy.strike(Fault::BlackHole);
        let run = running.wait();
        run.assert_ok();
        // One that was struck before it had the answer to its first question, its id, cannot be ended.
        server.await_sessions_of(&scene.account, GONE_SOON, |count| {
            count <= proxy.open_below(440)
        });
    }
}

#[test]
fn signalled_dump_ends_its_sessions_though_all_connections_fall_silent_after_earlier_losses() {
    for server in servers() {
        let scene = Scene::new(&server, "losses");
        let (proxy, running) = scene.slow_dump(&["--consistency", "none"]);
        proxy.strike(Fault::Reset);
        let before = proxy.counters();
        // All workers are back, and what they gave up was ended.
        proxy.await_counters(LIMIT, |counters| {
            counters.connections > before.connections + 4
                && counters.bytes_to_client > before.bytes_to_client + (1 << 20)
        });
        proxy.strike(Fault::BlackHole);
        running.signal(Signal::TERM);
        running
            .wait_within(Duration::from_secs(10))
            .assert_fails(143);
        scene.assert_server_is_free();
    }
}
