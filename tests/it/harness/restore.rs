//! A dump put back with the plain client alone, each file in a session of its own, in the order of README.

use std::path::Path;

use mysql::Conn;

use super::files::{list_files, read_decompressed};
use super::query::{Query, identifier};
use super::server::Server;

/// Name endings in loading order; what has none of them is data and comes at `DATA`.
const SCHEMA_ENDINGS: [(&str, Stage); 7] = [
    ("-schema-create.sql", Stage::Database),
    ("-schema-sequence.sql", Stage::Sequence),
    ("-schema.sql", Stage::Table),
    ("-schema-post.sql", Stage::Post),
    ("-schema-view.sql", Stage::View),
    ("-schema-trigger.sql", Stage::Trigger),
    ("-schema-users.sql", Stage::Users),
];

#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Stage {
    Database,
    Sequence,
    Table,
    Data,
    Post,
    View,
    Trigger,
    Users,
}

/// Databases that were loaded into a server; dropped with this.
pub struct Restored {
    server: Server,
    databases: Vec<String>,
}

impl Restored {
    pub fn databases(&self) -> &[String] {
        &self.databases
    }
}

impl Drop for Restored {
    fn drop(&mut self) {
        if let Ok(mut session) = Conn::new(self.server.opts()) {
            for name in &self.databases {
                session
                    .try_rows(&format!("DROP DATABASE IF EXISTS {}", identifier(name)))
                    .ok();
            }
        }
    }
}

/// Loads a dump under its own database names.
#[track_caller]
pub fn restore(dump: &Path, target: &Server) -> Restored {
    load(dump, target, None, &[])
}

/// Loads a dump in sessions that are not as the files might hope: `arguments` go to the client.
#[track_caller]
pub fn restore_with(dump: &Path, target: &Server, arguments: &[&str]) -> Restored {
    load(dump, target, None, arguments)
}

/// Loads a dump of one database under another name.
#[track_caller]
pub fn restore_as(dump: &Path, target: &Server, name: &str) -> Restored {
    load(dump, target, Some(name), &[])
}

#[track_caller]
fn load(dump: &Path, target: &Server, new_name: Option<&str>, arguments: &[&str]) -> Restored {
    let mut restored = Restored {
        server: target.clone(),
        databases: Vec::new(),
    };
    for (stage, file) in in_loading_order(dump) {
        let database = database_of(&file);
        let name = new_name.unwrap_or(&database);
        let mut sql = read_decompressed(&dump.join(&file));
        if stage != Stage::Data && name != database {
            sql = replace(&sql, &identifier(&database), &identifier(name));
        }
        let of_server = stage == Stage::Users;
        if !of_server && !restored.databases.iter().any(|known| known == name) {
            restored.databases.push(name.to_owned());
        }
        let selected = (stage != Stage::Database && !of_server).then_some(name);
        if let Err(complaint) = target.try_load_with(selected, &sql, arguments) {
            panic!("the mariadb client on {file}: {complaint}");
        }
    }
    restored
}

#[track_caller]
fn in_loading_order(dump: &Path) -> Vec<(Stage, String)> {
    let mut files: Vec<(Stage, String)> = list_files(dump)
        .into_iter()
        .filter(|name| !matches!(name.as_str(), "metadata" | "manifest.json"))
        .map(|name| {
            let plain = name.trim_end_matches(".gz").trim_end_matches(".zst");
            assert!(
                Path::new(plain).extension() == Some("sql".as_ref()),
                "not a file that the client loads: {name}"
            );
            let known = SCHEMA_ENDINGS
                .iter()
                .find(|(ending, _)| plain.ends_with(ending));
            (known.map_or(Stage::Data, |(_, stage)| *stage), name)
        })
        .collect();
    files.sort();
    files
}

/// The database that a file's name begins with. A dot or `-schema` inside the name itself is percent-encoded.
fn database_of(file: &str) -> String {
    let end = ["-schema-create.sql", "-schema-post.sql", "."]
        .iter()
        .filter_map(|mark| file.find(mark))
        .min();
    percent_decoded(&file[..end.unwrap_or(file.len())])
}

#[track_caller]
fn percent_decoded(text: &str) -> String {
    let mut decoded = Vec::new();
    let mut rest = text.as_bytes();
    while let [first, after @ ..] = rest {
        rest = after;
        if *first == b'%' {
            let (digits, after) = after
                .split_at_checked(2)
                .unwrap_or_else(|| panic!("a lone % in {text}"));
            let digits = str::from_utf8(digits).unwrap();
            decoded.push(
                u8::from_str_radix(digits, 16).unwrap_or_else(|error| panic!("{error} in {text}")),
            );
            rest = after;
        } else {
            decoded.push(*first);
        }
    }
    String::from_utf8(decoded).unwrap()
}

fn replace(text: &[u8], from: &str, to: &str) -> Vec<u8> {
    let mut replaced = Vec::with_capacity(text.len());
    let mut start = 0;
    for found in memchr::memmem::find_iter(text, from) {
        replaced.extend_from_slice(&text[start..found]);
        replaced.extend_from_slice(to.as_bytes());
        start = found + from.len();
    }
    replaced.extend_from_slice(&text[start..]);
    replaced
}
