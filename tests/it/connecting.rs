//! How rdump reaches a server: accounts of every kind, TLS in every mode, and where the password comes from.

use std::fs;
use std::io::{Read as _, Write as _};
use std::os::fd::OwnedFd;
use std::os::unix::process::ExitStatusExt as _;
use std::process::{Command, Stdio};

use rustix::pty::{OpenptFlags, grantpt, openpt, ptsname, unlockpt};
use rustix::termios::{LocalModes, tcgetattr};

use crate::harness::{Kind, Query as _, Rdump, Run, Server, TestDb};

const PASSWORD: &str = "Wort#Schatz 9";

/// A database with one account that identifies itself as `plugin` says, and may read that database.
fn with_account(server: &Server, test: &str, plugin: &str) -> (TestDb, String) {
    let database = TestDb::new(server, test);
    database.exec("CREATE TABLE t (a INT PRIMARY KEY)");
    let user = format!("{}a", database.user_prefix());
    let account = format!("'{user}'@'127.0.0.1'");
    server.exec(&format!("CREATE USER {account} {plugin}"));
    server.exec(&format!("GRANT ALL ON *.* TO {account}"));
    (database, user)
}

fn dump(database: &TestDb, user: &str, args: &[&str]) -> Run {
    Rdump::dump(database.server())
        .account(user, PASSWORD)
        .database(database.name())
        .args(["-d", "--loglevel", "debug"])
        .args(args)
        .run()
}

#[test]
fn accounts_of_every_kind_are_let_in() {
    let by_password = format!("IDENTIFIED BY '{PASSWORD}'");
    for server in Server::all() {
        let (database, user) = with_account(&server, "plain", &by_password);
        dump(&database, &user, &[]).assert_ok();
    }
    let plugins = [
        (Kind::MariaDb, "auth_ed25519", "ed25519"),
        (Kind::MariaDb11, "auth_ed25519", "ed25519"),
        (Kind::MariaDb11, "auth_parsec", "parsec"),
    ];
    for (kind, library, plugin) in plugins {
        let Some(server) = Server::get(kind) else {
            continue;
        };
        // It is there already if another test asked before.
        server
            .connect()
            .try_rows(&format!("INSTALL SONAME '{library}'"))
            .ok();
        let identified = format!("IDENTIFIED VIA {plugin} USING PASSWORD('{PASSWORD}')");
        let (database, user) = with_account(&server, plugin, &identified);
        dump(&database, &user, &[]).assert_ok();
        let mut wrong = Rdump::dump(&server).account(&user, "Irrtum");
        wrong = wrong.database(database.name());
        let run = wrong.run();
        assert!(
            run.assert_fails(1).stderr.contains("1045"),
            "{}",
            run.report()
        );
    }
}

#[test]
fn caching_sha2_works_with_and_without_tls_and_sha256_is_refused_in_words() {
    let Some(server) = Server::get(Kind::MySql) else {
        return;
    };
    let identified = format!("IDENTIFIED WITH caching_sha2_password BY '{PASSWORD}'");
    let (database, user) = with_account(&server, "sha2", &identified);
    for mode in ["DISABLED", "REQUIRED"] {
        // The server forgets whom it knows, so that the whole exchange takes place: by the server's RSA key without TLS.
        server.exec("FLUSH PRIVILEGES");
        dump(&database, &user, &["--ssl-mode", mode]).assert_ok();
    }
    let identified = format!("IDENTIFIED WITH sha256_password BY '{PASSWORD}'");
    let (database, user) = with_account(&server, "sha256", &identified);
    let run = dump(&database, &user, &[]);
    let said = &run.assert_fails(1).stderr;
    assert!(said.contains("sha256_password"), "{said}");
    assert!(
        said.contains("hint: ") && said.contains("ALTER USER"),
        "{said}"
    );
}

#[test]
fn tls_is_used_as_the_mode_says() {
    let tls_servers = || {
        Server::all()
            .into_iter()
            .filter(|server| server.ca().is_some())
    };
    for server in tls_servers() {
        let identified = format!("IDENTIFIED BY '{PASSWORD}' REQUIRE X509");
        let (database, user) = with_account(&server, "x509", &identified);
        let ca = server.ca().unwrap();
        let beside = |name: &str| ca.with_file_name(name).display().to_string();
        let ca = ca.display().to_string();
        let (cert, key) = (beside("server-cert.pem"), beside("server-key.pem"));
        let certificate = ["--ssl-cert", &cert, "--ssl-key", &key];
        for mode in ["PREFERRED", "REQUIRED", "VERIFY_CA", "VERIFY_IDENTITY"] {
            let args = [&["--ssl-ca", &ca, "--ssl-mode", mode], &certificate[..]].concat();
            dump(&database, &user, &args).assert_ok();
        }
        // The account wants a certificate, which needs TLS.
        dump(&database, &user, &["--ssl-mode=REQUIRED"]).assert_fails(1);
        dump(&database, &user, &["--ssl-mode=DISABLED"]).assert_fails(1);
        // Another authority: the server's own certificate, which signed nothing.
        for mode in ["VERIFY_CA", "VERIFY_IDENTITY"] {
            let args = [&["--ssl-ca", &cert, "--ssl-mode", mode], &certificate[..]].concat();
            let run = dump(&database, &user, &args);
            let said = &run.assert_fails(1).stderr;
            assert!(said.contains("no TLS connection"), "{said}");
        }
    }
}

#[test]
fn a_server_without_tls_is_reached_in_the_clear_only_where_that_is_allowed() {
    let Some(server) = Server::get(Kind::MySql56) else {
        return;
    };
    let identified = format!("IDENTIFIED BY '{PASSWORD}'");
    let (database, user) = with_account(&server, "notls", &identified);
    let run = dump(&database, &user, &["--ssl-mode", "PREFERRED"]);
    assert!(
        run.assert_ok().stderr.contains("offers no TLS"),
        "{}",
        run.stderr
    );
    dump(&database, &user, &["--ssl-mode", "DISABLED"]).assert_ok();
    let run = dump(&database, &user, &["--ssl-mode", "REQUIRED"]);
    let said = &run.assert_fails(1).stderr;
    assert!(said.contains("the server does not offer it"), "{said}");
}

/// A name, arguments, environment.
type Way<'a> = (&'a str, Vec<&'a str>, &'a [(&'a str, &'a str)]);

/// Runs rdump in an empty environment but for a home of its own.
fn at_home(home: &std::path::Path, args: &[&str], environment: &[(&str, &str)]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_rdump"));
    command
        .args(args)
        .env_clear()
        .env("HOME", home)
        .envs(environment.iter().copied())
        .current_dir(home)
        .stdin(Stdio::null());
    command
}

#[test]
fn url_profile_environment_and_command_all_lead_to_the_server_and_none_is_told() {
    let server = Server::mariadb();
    let identified = format!("IDENTIFIED BY '{PASSWORD}'");
    let (database, user) = with_account(&server, "ways", &identified);
    let home = tempfile::tempdir().unwrap();
    let at = |name: &str| home.path().join(name);
    let port = server.port().to_string();
    let quoted = format!("password=\"{PASSWORD}\"");
    let options = format!(
        "[client]\nhost=127.0.0.1\nuser={user}\n[rdump-night]\nport={port}\n{quoted}\nthreads=2\n\
         database={}\nno-data\n",
        database.name()
    );
    fs::write(at("my.cnf"), options).unwrap();
    fs::write(at("secret"), format!("{PASSWORD}\n")).unwrap();
    let command = format!(
        "echo run >> {0}/count; cat {0}/secret",
        home.path().display()
    );
    let encoded = PASSWORD.replace('#', "%23").replace(' ', "%20");
    let url = format!(
        "mysql://{user}:{encoded}@127.0.0.1:{port}/{}",
        database.name()
    );
    let account = ["-u", &user, "-B", database.name(), "-t", "3"];
    let debug = ["--loglevel", "debug", "--metrics-file", "metrics.prom"];
    let own_port = ["-P", &port];
    let host = [("MYSQL_HOST", "127.0.0.1"), ("MYSQL_TCP_PORT", &port)];
    let by_environment = [&host[..], &[("MYSQL_PWD", PASSWORD)]].concat();
    let ways: [Way; 4] = [
        (
            "file",
            vec!["--defaults-file=my.cnf", "--profile=night"],
            &[],
        ),
        ("environment", account.to_vec(), &by_environment),
        (
            "command",
            [&account[..], &own_port, &["--password-command", &command]].concat(),
            &[("PATH", "/usr/bin:/bin")],
        ),
        ("url", vec![&url, "-d"], &[]),
    ];
    for (name, args, environment) in ways {
        let args = [&args, &debug[..], &["-o", name]].concat();
        let mut child = at_home(home.path(), &args, environment);
        let child = child
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap();
        let command_line = fs::read(format!("/proc/{}/cmdline", child.id())).unwrap();
        let is_typed = name == "url";
        let shows = |bytes: &[u8]| {
            let text = String::from_utf8_lossy(bytes).into_owned();
            text.contains(PASSWORD) || (!is_typed && text.contains(&encoded))
        };
        assert!(!shows(&command_line), "{name}");
        let output = child.wait_with_output().unwrap();
        let told = String::from_utf8_lossy(&output.stderr);
        assert!(output.status.success(), "{name}: {told}");
        assert_eq!(
            told.contains("can be seen by everybody"),
            is_typed,
            "{name}: {told}"
        );
        assert!(
            !shows(&output.stderr) && !shows(&output.stdout),
            "{name}: {told}"
        );
        for entry in fs::read_dir(at(name)).unwrap() {
            let path = entry.unwrap().path();
            assert!(!shows(&fs::read(&path).unwrap()), "{}", path.display());
        }
        assert!(!shows(&fs::read(at("metrics.prom")).unwrap()));
    }
    // The extra connection, three workers and two spares: each asked for the password of its own moment.
    let count = fs::read_to_string(at("count")).unwrap().lines().count();
    assert!(count >= 6, "{count}");
}

#[test]
fn a_password_command_that_fails_ends_the_run_at_once() {
    let server = Server::mariadb();
    let run = Rdump::dump(&server)
        .args(["--password-command", "echo geheim; exit 3"])
        .run();
    let said = &run.assert_fails(1).stderr;
    assert!(
        said.contains("the password command failed (exit status: 3)"),
        "{said}"
    );
    assert!(
        !said.contains("geheim") && !said.contains("trying again"),
        "{said}"
    );
}

/// A terminal with rdump on it, which asks for a password.
struct Terminal {
    master: fs::File,
    slave: fs::File,
    child: std::process::Child,
    seen: String,
}

impl Terminal {
    fn asking(home: &std::path::Path, args: &[&str]) -> Self {
        let master = openpt(OpenptFlags::RDWR | OpenptFlags::NOCTTY).unwrap();
        grantpt(&master).unwrap();
        unlockpt(&master).unwrap();
        let path = ptsname(&master, Vec::new()).unwrap().into_string().unwrap();
        let slave = fs::File::options()
            .read(true)
            .write(true)
            .open(path)
            .unwrap();
        let end = || Stdio::from(OwnedFd::from(slave.try_clone().unwrap()));
        let mut command = Command::new("setsid");
        command
            .args(["--ctty", "--wait", env!("CARGO_BIN_EXE_rdump"), "-p"])
            .args(args)
            .env_clear()
            .envs([
                ("HOME", home.as_os_str()),
                ("PATH", "/usr/bin:/bin".as_ref()),
            ])
            .current_dir(home)
            .stdin(end())
            .stdout(end())
            .stderr(end());
        let child = command.spawn().expect("setsid of util-linux");
        let mut terminal = Self {
            master: fs::File::from(master),
            slave,
            child,
            seen: String::new(),
        };
        terminal.await_text("Enter password: ");
        terminal
    }

    /// Reads until the text has come; the terminal's own end ends a test that waits in vain.
    fn await_text(&mut self, text: &str) {
        let mut buffer = [0; 1024];
        while !self.seen.contains(text) {
            let length = self.master.read(&mut buffer).unwrap();
            self.seen
                .push_str(&String::from_utf8_lossy(&buffer[..length]));
        }
    }

    fn echoes(&self) -> bool {
        tcgetattr(&self.slave)
            .unwrap()
            .local_modes
            .contains(LocalModes::ECHO)
    }
}

#[test]
fn the_prompt_is_silent_and_gives_the_echo_back_even_to_an_interrupted_user() {
    let server = Server::mariadb();
    let identified = format!("IDENTIFIED BY '{PASSWORD}'");
    let (database, user) = with_account(&server, "prompt", &identified);
    let home = tempfile::tempdir().unwrap();
    let port = server.port().to_string();
    let args = [
        "-d",
        "-P",
        &port,
        "-u",
        &user,
        "-B",
        database.name(),
        "-o",
        "out",
    ];

    let mut interrupted = Terminal::asking(home.path(), &args);
    assert!(!interrupted.echoes());
    interrupted.master.write_all(b"half\x03").unwrap();
    let status = interrupted.child.wait().unwrap();
    assert_eq!(status.signal(), Some(2), "{}", interrupted.seen);
    assert!(interrupted.echoes());

    let mut answered = Terminal::asking(home.path(), &args);
    answered
        .master
        .write_all(format!("{PASSWORD}\n").as_bytes())
        .unwrap();
    let status = answered.child.wait().unwrap();
    answered.await_text("dumped 1 table");
    assert!(status.success(), "{}", answered.seen);
    assert!(answered.echoes() && !answered.seen.contains(PASSWORD));
}
