//! The rooms of the crate and what each may import: DESIGN.md section 2 as a test.
//!
//! Owns the tables. A rule is a function from sources to violations, each a line that names file and line. That every rule
//! can fail `examples.rs` shows. How a source is read `source.rs` knows. Needs no server.

mod examples;
mod source;

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::LazyLock;

use source::Source;

/// What a room may name besides itself: a room, or a part of one. Verbs come first, then nouns; an import goes down.
const IMPORTS: &[(&str, &[&str])] = &[
    ("lib", &[]),
    (
        "main",
        &[
            "cli", "backup", "dump", "load", "verify", "error", "cancel", "progress",
        ],
    ),
    (
        "cli",
        &[
            "backup", "dump", "load", "verify", "catalog", "compress", "format", "server",
            "storage", "progress", "retry", "cancel", "secret",
        ],
    ),
    // A journey over those of a dump and of its verification; it reads what dumps say of themselves.
    (
        "backup",
        &[
            "dump", "verify", "manifest", "error", "progress", "retry", "cancel",
        ],
    ),
    (
        "dump",
        &[
            "error", "manifest", "format", "chunk", "catalog", "server", "storage", "compress",
            "progress", "retry", "cancel",
        ],
    ),
    (
        "load",
        &[
            "error", "manifest", "format", "catalog", "server", "storage", "compress", "progress",
            "retry", "cancel",
        ],
    ),
    (
        "verify",
        &[
            "error", "manifest", "format", "catalog", "server", "storage", "compress", "progress",
            "retry", "cancel",
        ],
    ),
    ("error", &["server", "storage", "manifest"]),
    // The manifest says where in the server's history the dump stands; a dump is opened by it.
    (
        "manifest",
        &[
            "catalog::ident",
            "format::CsvBinary",
            "format::CsvOptions",
            "format::Format",
            "server::position",
            "storage",
            "compress",
        ],
    ),
    ("format", &["catalog", "server::rows"]),
    ("chunk", &["catalog"]),
    ("catalog", &["server"]),
    // Names in SQL are quoted in one place; `catalog/ident.rs` imports nothing, so no circle can come of it.
    ("server", &["catalog::ident", "retry", "cancel", "secret"]),
    // Waits for an object store end with the run, and keys to one are secrets.
    ("storage", &["cancel", "retry", "secret"]),
    ("compress", &[]),
    ("progress", &[]),
    ("retry", &[]),
    ("cancel", &[]),
    ("secret", &[]),
];

/// What a single file may name beyond its room.
const EXCEPTIONS: &[(&str, &[&str])] = &[("chunk/probe.rs", &["server"])];

/// Files that import nothing, because rooms below theirs name them.
const LEAVES: &[&str] = &["catalog/ident.rs"];

/// By which files a foreign crate enters.
const DOORS: &[(&str, &[&str])] = &[
    ("aws_config", &["storage/s3"]),
    ("aws_sdk_s3", &["storage/s3"]),
    ("aws_smithy_http_client", &["storage/s3"]),
    ("bytes", &["storage/s3"]),
    ("clap", &["cli/"]),
    ("clap_complete", &["cli/shell.rs"]),
    ("clap_mangen", &["cli/shell.rs"]),
    ("crossbeam_channel", &["dump/"]),
    ("csv", &["format/csv"]),
    ("flate2", &["compress"]),
    ("indicatif", &["progress/bars.rs"]),
    ("mysql", &["server/"]),
    ("rayon", &["dump/pool.rs"]),
    ("regex", &["catalog/filter"]),
    ("tokio", &["storage/s3"]),
    ("zstd", &["compress"]),
];

const UNSAFE: &[&str] = &["server/socket.rs"];
const MAX_LINES: usize = 500;
/// Names of drawers: what is in one has no better place, or nobody looked for it.
const DRAWERS: &[&str] = &[
    "common", "context", "contexts", "helper", "helpers", "manager", "managers", "util", "utils",
];

/// What may stand at the top of the repository.
const TOP: &[&str] = &[
    ".ci",
    ".clippy.toml",
    ".gitignore",
    "CHANGELOG.md",
    "Cargo.lock",
    "Cargo.toml",
    "LICENSE",
    "Makefile",
    "README.md",
    "scripts",
    "src",
    "tests",
];

type Rule = fn(&Source) -> Vec<String>;

fn imports(source: &Source) -> Vec<String> {
    let room = source.room();
    let granted = |table: &'static [(&str, &[&str])], key| {
        table
            .iter()
            .find(|(name, _)| *name == key)
            .map_or(&[][..], |(_, list)| list)
    };
    let allowed = [granted(IMPORTS, room), granted(EXCEPTIONS, &source.path)].concat();
    let may = |path: &str| {
        let below = |part: &&&str| {
            path.strip_prefix(**part)
                .is_some_and(|rest| rest.is_empty() || rest.starts_with("::"))
        };
        allowed.iter().any(|part| below(&part))
    };
    let module = source.module();
    let is_own = |path: &[String]| {
        if LEAVES.contains(&&*source.path) {
            path.starts_with(&module)
        } else {
            path[0] == room
        }
    };
    let paths = source.crate_paths().into_iter().filter(|path| {
        let path = &path.segments;
        !path.is_empty() && !is_own(path) && !may(&path.join("::"))
    });
    paths
        .map(|path| {
            let (file, line, target) = (&source.path, path.line, path.segments.join("::"));
            format!("{file}:{line}: {room} may not import {target}")
        })
        .collect()
}

fn places(source: &Source) -> Vec<String> {
    let (path, room) = (&source.path, source.room());
    if IMPORTS.iter().any(|(known, _)| *known == room) {
        return Vec::new();
    }
    vec![format!(
        "{path}:1: the room `{room}` is not in the table IMPORTS"
    )]
}

fn doors(source: &Source) -> Vec<String> {
    let declares = |name: &str| !source.find(&["mod", name]).is_empty();
    let mut found = Vec::new();
    for token in source.roots() {
        let Some((name, files)) = DOORS.iter().find(|(name, _)| *name == token.text) else {
            continue;
        };
        // A file may have a module of the crate's name, as `format/mod.rs` has `csv`.
        if !files.iter().any(|door| source.path.starts_with(door)) && !declares(name) {
            let doors = files.join(", ");
            found.push(format!(
                "{}:{}: the crate {name} enters by {doors} only",
                source.path, token.line
            ));
        }
    }
    found
}

fn unsafe_code(source: &Source) -> Vec<String> {
    let words = ["unsafe", "unsafe_code"];
    let uses = words.iter().flat_map(|word| source.find(&[word]));
    uses.filter(|_| !UNSAFE.contains(&&*source.path))
        .map(|token| {
            format!(
                "{}:{}: {} outside of {}",
                source.path,
                token.line,
                token.text,
                UNSAFE.join(", ")
            )
        })
        .collect()
}

fn module_doc(source: &Source) -> Vec<String> {
    if source.text.starts_with("//! ") {
        return Vec::new();
    }
    vec![format!(
        "{}:1: a file begins with `//!` and what it is",
        source.path
    )]
}

fn length(source: &Source) -> Vec<String> {
    match source.text.lines().count() {
        ..=MAX_LINES => Vec::new(),
        lines => vec![format!(
            "{}:{lines}: a file has at most {MAX_LINES} lines",
            source.path
        )],
    }
}

fn unfinished(source: &Source) -> Vec<String> {
    let words = ["todo", "unimplemented"];
    let uses = words.iter().flat_map(|word| source.find(&[word, "!"]));
    uses.map(|token| {
        format!(
            "{}:{}: {}! is not finished",
            source.path, token.line, token.text
        )
    })
    .collect()
}

fn panics(source: &Source) -> Vec<String> {
    let words = ["unwrap", "expect"];
    let uses = words.iter().flat_map(|word| source.find(&[".", word, "("]));
    uses.filter(|token| !token.in_test)
        .map(|token| {
            format!(
                "{}:{}: unwrap or expect outside of tests",
                source.path, token.line
            )
        })
        .collect()
}

fn drawers(source: &Source) -> Vec<String> {
    let module = source.module();
    let named = |name: &str| {
        let declared = source.find(&["mod", name]).into_iter();
        let own = module.iter().any(|part| part == name).then_some(1);
        own.into_iter().chain(declared.map(|token| token.line))
    };
    let all = DRAWERS
        .iter()
        .flat_map(|name| named(name).map(move |line| (line, name)));
    all.map(|(line, name)| {
        format!(
            "{}:{line}: a module called `{name}` says nothing",
            source.path
        )
    })
    .collect()
}

#[track_caller]
fn hold(rule: Rule) {
    static SOURCES: LazyLock<Vec<Source>> = LazyLock::new(Source::all);
    let sources = &*SOURCES;
    assert!(sources.len() > 50, "src/ was not found");
    let found: Vec<_> = sources
        .iter()
        .flat_map(rule)
        .map(|line| format!("  src/{line}"))
        .collect();
    assert!(found.is_empty(), "a rule is broken:\n{}", found.join("\n"));
}

#[test]
fn imports_go_down_and_never_back() {
    hold(imports);
}

#[test]
fn every_room_is_in_the_table() {
    hold(places);
}

#[test]
fn a_foreign_crate_enters_by_one_door() {
    hold(doors);
}

#[test]
fn unsafe_code_is_in_one_file() {
    hold(unsafe_code);
}

#[test]
fn every_file_says_what_it_is() {
    hold(module_doc);
}

#[test]
fn no_file_is_longer_than_a_person_reads() {
    hold(length);
}

#[test]
fn nothing_is_left_to_do() {
    hold(unfinished);
}

#[test]
fn only_tests_unwrap() {
    hold(panics);
}

#[test]
fn no_module_is_a_drawer() {
    hold(drawers);
}

/// What git knows; a checkout without git has nothing that could have been added.
#[test]
fn the_top_of_the_repository_is_bare() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let listed = Command::new("git")
        .args(["ls-files", "-z"])
        .current_dir(root)
        .output();
    let Some(listed) = listed.ok().filter(|listed| listed.status.success()) else {
        return;
    };
    let names = String::from_utf8(listed.stdout).unwrap();
    for path in names.split('\0').filter(|path| !path.is_empty()) {
        let top = path.split('/').next().unwrap();
        assert!(
            TOP.contains(&top),
            "{path}: `{top}` is not among the files that DESIGN.md names"
        );
    }
}

/// The table must not outlive what it speaks of.
#[test]
fn the_files_of_the_tables_exist() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let manifest = fs::read_to_string(root.join("Cargo.toml")).unwrap();
    for (name, files) in DOORS {
        let is_dependency = manifest
            .lines()
            .any(|line| line.split('=').next().unwrap().trim().replace('-', "_") == *name);
        for door in files.iter().filter(|_| is_dependency) {
            let file = root.join("src").join(door);
            let exists = file.exists() || file.with_extension("rs").exists();
            assert!(exists, "the door {door} of {name} is not there");
        }
    }
    for file in EXCEPTIONS
        .iter()
        .map(|(file, _)| file)
        .chain(UNSAFE)
        .chain(LEAVES)
    {
        assert!(root.join("src").join(file).exists(), "{file} is not there");
    }
}
