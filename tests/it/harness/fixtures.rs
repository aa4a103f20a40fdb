//! Databases out of `tests/fixtures/sql`.

use std::fs;
use std::path::{Path, PathBuf};

use super::database::TestDb;
use super::dev_server::Kind;
use super::server::Server;

impl TestDb {
    /// A case of `tests/fixtures/sql/cases`, by its name; None when it is not for this kind of server.
    #[track_caller]
    pub fn case(server: &Server, case: &str) -> Option<Self> {
        if !suits(case, server.kind()) {
            return None;
        }
        // The count and the process id that follow take their share of the 64 characters.
        let database = Self::new(server, &case.replace('-', "_")[..case.len().min(40)]);
        let text = read(&format!("cases/{case}.sql"));
        let text = text.replace("@database@", database.name());
        database.load_text(text.replace("@user@", database.user_prefix()));
        Some(database)
    }

    /// MySQL's sample database.
    #[track_caller]
    pub fn sakila(server: &Server, test: &str) -> Self {
        let database = Self::new(server, test);
        for file in ["sakila-schema.sql", "sakila-data.sql"] {
            let script = read(file).replace("sakila.", &format!("{}.", database.name()));
            let makes_its_own = |line: &str| {
                let words = ["DROP SCHEMA", "CREATE SCHEMA", "USE "];
                words.iter().any(|word| line.starts_with(word))
            };
            let lines: Vec<&str> = script.lines().filter(|line| !makes_its_own(line)).collect();
            database.load_text(lines.join("\n"));
        }
        database
    }
}

/// The names of all cases.
pub fn cases() -> Vec<String> {
    let entries = fs::read_dir(folder().join("cases")).unwrap();
    let names = entries.map(|entry| entry.unwrap().file_name().into_string().unwrap());
    let mut names: Vec<String> = names
        .filter_map(|name| Some(name.strip_suffix(".sql")?.to_owned()))
        .collect();
    names.sort();
    names
}

fn suits(case: &str, kind: Kind) -> bool {
    match case {
        _ if kind == Kind::MySql56 => false,
        "vector-columns" => kind != Kind::MariaDb,
        "sequences" | "uca1400-collations" => kind.is_mariadb(),
        "generated-invisible-primary-key" => kind == Kind::MySql,
        _ => true,
    }
}

fn read(file: &str) -> String {
    let path = folder().join(file);
    fs::read_to_string(&path).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn folder() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sql")
}
