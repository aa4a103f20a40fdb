//! The source's binlog from a dump's recorded position to its end, replayed on another server.

use std::process::Command;

use super::database::TestDb;
use super::dev_server::Kind;
use super::dump::Run;
use super::server::{Server, announce};

/// Debian 12's mariadb-binlog refuses a server it does not know: 11.8.
pub fn binlog_can_be_read(server: &Server) -> bool {
    let known = server.kind() != Kind::MariaDb11;
    if !known {
        announce("NOT COVERED: the binlog of mariadb11: no program here reads it");
    }
    known
}

/// Replays what was written to `database` since the dump on its copy at `target`.
#[track_caller]
pub fn replay_binlog(run: &Run, database: &TestDb, target: &Server) {
    let manifest = run.manifest();
    let position = &manifest["consistency"]["position"];
    assert_eq!(position["state"], "known", "{}", run.report());
    let server = database.server();
    let output = program(server)
        .args([
            "--no-defaults",
            "--read-from-remote-server",
            "--to-last-log",
        ])
        .arg(format!("--host={}", server.host()))
        .arg(format!("--port={}", server.port()))
        .arg(format!("--user={}", server.user()))
        .arg(format!("--database={}", database.name()))
        .arg(format!("--start-position={}", position["offset"]))
        .args(if server.kind().is_mariadb() {
            None
        } else {
            // The target gives the transactions names of its own.
            Some("--skip-gtids")
        })
        .arg(position["file"].as_str().unwrap())
        .env("MYSQL_PWD", server.password())
        .output()
        .expect("a program that reads binlogs");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    target.load_text(Some(database.name()), output.stdout);
}

/// MySQL's binlogs need MySQL's own reader. It lies beside the server's program, and is started as that was: with the loader
/// and the libraries of its tree.
fn program(server: &Server) -> Command {
    const SERVER: &str = "/usr/sbin/mysqld";
    if server.kind().is_mariadb() {
        return Command::new("mariadb-binlog");
    }
    let pid = std::fs::read_to_string(server.value("SELECT @@pid_file")).unwrap();
    let command_line = std::fs::read_to_string(format!("/proc/{}/cmdline", pid.trim())).unwrap();
    let words: Vec<&str> = command_line.split('\0').collect();
    let at = words
        .iter()
        .position(|word| word.ends_with(SERVER))
        .unwrap();
    let reader = words[at].replace(SERVER, "/usr/bin/mysqlbinlog");
    let mut words = words[..at]
        .iter()
        .map(|word| (*word).to_owned())
        .chain([reader]);
    let mut command = Command::new(words.next().unwrap());
    command.args(words);
    command
}
