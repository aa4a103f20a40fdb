//! What only a server can refuse: one clear sentence, the right exit code, no panic, no hang, nothing written.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use crate::harness::{Kind, Rdump, Run, Server, TestDb};

/// Fails with this code, says each part, names the object in its first line and leaves nothing behind.
#[track_caller]
fn assert_refused(run: &Run, code: i32, parts: &[&str]) {
    run.assert_fails(code);
    for part in parts {
        assert!(run.stderr.contains(part), "no {part:?}\n{}", run.report());
    }
    let errors = run
        .stderr
        .lines()
        .filter(|line| line.starts_with("error: "));
    assert_eq!(errors.count(), 1, "{}", run.report());
    assert_eq!(run.stdout, b"", "{}", run.report());
    assert!(
        !run.output().exists(),
        "something was written\n{}",
        run.report()
    );
}

fn servers() -> impl Iterator<Item = Server> {
    let kinds = [Kind::MariaDb, Kind::MySql];
    kinds.into_iter().filter_map(Server::get)
}

fn one_table(server: &Server, test: &str) -> TestDb {
    let database = TestDb::new(server, test);
    database.exec("CREATE TABLE t (id INT PRIMARY KEY)");
    database.exec("INSERT INTO t VALUES (1)");
    database
}

#[test]
fn unknown_databases_and_tables_are_named() {
    for server in servers() {
        let database = one_table(&server, "unknown");
        let table = |name: &str| format!("{}.{name}", database.name());
        let run = |flag: &str, value: &str| Rdump::dump(&server).args([flag, value]).run();
        assert_refused(&run("-B", "no_such_database"), 1, &["no_such_database"]);
        let both = format!("{},no_such_database", database.name());
        assert_refused(&run("-B", &both), 1, &["no_such_database"]);
        assert_refused(&run("-T", &table("no_such_table")), 1, &["no_such_table"]);
        let both = format!("{},{}", table("t"), table("no_such_table"));
        assert_refused(&run("-T", &both), 1, &["no_such_table"]);
        assert_refused(&run("-T", "no_such_database.t"), 1, &["no_such_database"]);
    }
}

#[test]
fn wrong_password_is_told_without_showing_it() {
    for server in servers() {
        let run = Rdump::dump(&server)
            .account(server.user(), "s3cret-guess")
            .run();
        assert_refused(&run, 1, &["Access denied", server.user(), "1045"]);
        assert!(!run.stderr.contains("s3cret"), "{}", run.report());
        let run = Rdump::dump(&server).account("no_such_account", "").run();
        assert_refused(&run, 1, &["no_such_account"]);
    }
}

#[test]
fn past_that_only_tidb_keeps_is_refused() {
    for server in servers() {
        let database = one_table(&server, "past");
        let run = Rdump::dump(&server)
            .database(database.name())
            .args([
                "--consistency",
                "snapshot",
                "--snapshot",
                "2020-01-01 00:00:00",
            ])
            .run();
        assert_refused(&run, 1, &["--snapshot", "TiDB"]);
    }
}

#[test]
fn server_that_cannot_be_reached_is_named_with_its_port() {
    let closed = TcpListener::bind("127.0.0.1:0")
        .unwrap()
        .local_addr()
        .unwrap()
        .port();
    let bare = |arguments: &[&str]| {
        let started = Instant::now();
        let run = Rdump::bare().args(["-o", "out"]).args(arguments).run();
        (run, started.elapsed())
    };
    let (run, took) = bare(&["-h", "127.0.0.1", "-P", &closed.to_string()]);
    assert_refused(&run, 1, &[&format!("127.0.0.1:{closed}"), "refused"]);
    assert!(took < Duration::from_secs(10), "{took:?}");

    let (run, took) = bare(&["-h", "no-such-host.invalid"]);
    assert_refused(&run, 1, &["no-such-host.invalid"]);
    assert!(took < Duration::from_secs(30), "{took:?}");

    let (run, _) = bare(&["-S", "/no/such/socket"]);
    assert_refused(&run, 1, &["/no/such/socket"]);
}

/// Accepts and says nothing, as a server behind a broken balancer does.
#[test]
fn server_that_stays_silent_is_given_up_after_the_connect_timeout() {
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    let started = Instant::now();
    let run = Rdump::bare()
        .args(["-h", "127.0.0.1", "-P", &port, "-o", "out"])
        .args(["--connect-timeout", "1s", "--retries", "2"])
        .run();
    assert_refused(&run, 1, &[&port]);
    let took = started.elapsed();
    assert!(took >= Duration::from_secs(1), "{took:?}");
    assert!(took < Duration::from_secs(15), "{took:?}");
}

/// Speaks, but not MySQL.
#[test]
fn port_of_another_protocol_is_refused() {
    use std::io::Write as _;
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = listener.local_addr().unwrap().port().to_string();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            stream.unwrap().write_all(b"SSH-2.0-OpenSSH_9.2\r\n").ok();
        }
    });
    let run = Rdump::bare()
        .args([
            "-h",
            "127.0.0.1",
            "-P",
            &port,
            "-o",
            "out",
            "--retries",
            "2",
        ])
        .run();
    assert_refused(&run, 1, &[&port]);
}

#[test]
fn certificates_that_cannot_be_read_or_do_not_fit_are_named() {
    for server in servers() {
        let Some(ca) = server.ca() else { continue };
        let database = one_table(&server, "tls");
        let run = |arguments: &[&str]| {
            Rdump::dump(&server)
                .database(database.name())
                .args(arguments)
                .run()
        };
        // The right one, so that the others are refused for what they are.
        run(&["--ca", ca.to_str().unwrap()]).assert_ok();
        assert_refused(&run(&["--ca", "/no/such/ca.pem"]), 2, &["/no/such/ca.pem"]);
        let scratch = tempfile::tempdir().unwrap();
        let text = scratch.path().join("text.pem");
        std::fs::write(&text, "no certificate\n").unwrap();
        let refused = run(&["--ca", text.to_str().unwrap()]);
        let code = refused.status.code().unwrap();
        assert!(code == 1 || code == 2, "{}", refused.report());
        assert_refused(&refused, code, &[]);
        let other = scratch.path().join("other.pem");
        let made = std::process::Command::new("openssl")
            .args([
                "req",
                "-x509",
                "-newkey",
                "ec",
                "-pkeyopt",
                "ec_paramgen_curve:prime256v1",
            ])
            .args(["-nodes", "-days", "2", "-subj", "/CN=other", "-keyout"])
            .args([
                &scratch.path().join("key.pem"),
                std::path::Path::new("-out"),
                &other,
            ])
            .output()
            .expect("openssl (scripts/setup installs it)");
        assert!(made.status.success());
        assert_refused(&run(&["--ca", other.to_str().unwrap()]), 1, &["TLS"]);
    }
}

#[test]
fn conditions_and_variables_that_the_server_refuses_are_told() {
    for server in servers() {
        let database = one_table(&server, "refuses");
        let run = |arguments: &[&str]| {
            let run = Rdump::dump(&server)
                .database(database.name())
                .args(arguments)
                .run();
            run.assert_fails(1);
            run
        };
        let run_where = run(&["--where", "no_such_column = 1"]);
        for part in ["no_such_column", "`t`"] {
            assert!(run_where.stderr.contains(part), "{}", run_where.report());
        }
        let run_params = run(&["--params", "no_such_variable=1"]);
        assert_refused(&run_params, 1, &["no_such_variable"]);
    }
}

#[test]
fn output_that_cannot_be_used_is_left_as_it_is() {
    let server = Server::mariadb();
    let database = one_table(&server, "output");
    let scratch = tempfile::tempdir().unwrap();
    let full = scratch.path().join("full");
    std::fs::create_dir(&full).unwrap();
    std::fs::write(full.join("precious"), "kept").unwrap();
    let file = scratch.path().join("file");
    std::fs::write(&file, "kept").unwrap();
    for (output, code, parts) in [
        (full.clone(), 2, ["full", "is not empty"]),
        (file.clone(), 2, ["file", "a file"]),
        (file.join("below"), 2, ["below", "a file"]),
        // Nobody may make a directory here, not even root.
        ("/proc/rdump-out".into(), 1, ["/proc/rdump-out", "error: "]),
        ("/sys/kernel".into(), 2, ["/sys/kernel", "is not empty"]),
    ] {
        let run = Rdump::dump(&server)
            .database(database.name())
            .output(&output)
            .run();
        run.assert_fails(code);
        for part in parts {
            assert!(run.stderr.contains(part), "no {part:?}\n{}", run.report());
        }
    }
    assert_eq!(
        std::fs::read_to_string(full.join("precious")).unwrap(),
        "kept"
    );
    assert_eq!(std::fs::read_dir(&full).unwrap().count(), 1);
    assert_eq!(std::fs::read_to_string(&file).unwrap(), "kept");
}
