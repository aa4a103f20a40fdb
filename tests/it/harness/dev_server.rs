//! The way to `scripts/dev-server`, and the kinds it knows.

use std::collections::HashMap;
use std::path::{Path, PathBuf};
use std::process::Command;

/// What the script tells about an instance: port, socket, pid, ca and so on.
pub type Facts = HashMap<String, String>;

/// The servers that rdump is tested on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// 10.11, of the machine's own packages. Required.
    MariaDb,
    /// Oracle's 9.7.
    MySql,
    /// 11.8.
    MariaDb11,
    /// Oracle's 5.6: the oldest dialect, without TLS.
    MySql56,
}

impl Kind {
    pub const ALL: [Self; 4] = [Self::MariaDb, Self::MySql, Self::MariaDb11, Self::MySql56];

    /// The word that `scripts/dev-server` knows it by.
    pub fn word(self) -> &'static str {
        match self {
            Self::MariaDb => "mariadb",
            Self::MySql => "mysql",
            Self::MariaDb11 => "mariadb11",
            Self::MySql56 => "mysql56",
        }
    }

    pub fn is_mariadb(self) -> bool {
        matches!(self, Self::MariaDb | Self::MariaDb11)
    }
}

/// `scripts/dev-server` for a database server.
pub fn dev_server(
    kind: Kind,
    action: &str,
    name: &str,
    options: &str,
    arguments: &[&str],
) -> Result<Facts, String> {
    dev_server_of(kind.word(), action, name, options, arguments)
}

/// `scripts/dev-server`: the facts it prints, or why the kind is not to be had. Every other failure panics.
pub fn dev_server_of(
    kind: &str,
    action: &str,
    name: &str,
    options: &str,
    arguments: &[&str],
) -> Result<Facts, String> {
    const EXIT_UNAVAILABLE: i32 = 69;
    let output = Command::new(script("dev-server"))
        .args([kind, action, "--name", name])
        .args(arguments)
        .env("DEV_SERVER_OPTIONS", options)
        .output()
        .expect("scripts/dev-server");
    let complaint = String::from_utf8_lossy(&output.stderr);
    match output.status.code() {
        Some(0) => {}
        Some(EXIT_UNAVAILABLE) => {
            return Err(complaint.lines().last().unwrap_or_default().to_owned());
        }
        _ => panic!("scripts/dev-server {kind} {action}: {complaint}"),
    }
    let stdout = String::from_utf8(output.stdout).unwrap();
    let facts = stdout.lines().filter_map(|line| line.split_once('='));
    Ok(facts
        .map(|(key, value)| (key.to_owned(), value.to_owned()))
        .collect())
}

pub fn script(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR"))
        .join("scripts")
        .join(name)
}
