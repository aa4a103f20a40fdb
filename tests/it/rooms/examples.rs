//! Small sources that break each rule, and some that look as if they did.
//!
//! Owns the proof that a rule can fail, and that it does so at the right line.

use super::source::Source;
use super::{
    MAX_LINES, Rule, doors, drawers, imports, length, module_doc, panics, places, unfinished,
    unsafe_code,
};

const DOC: &str = "//! What this file is.\n";

/// Rule, file, its text below [`DOC`], line and message.
const BROKEN: &[(Rule, &str, &str, &str)] = &[
    (
        imports,
        "format/sql.rs",
        "use crate::dump::config;",
        "2: format may not import dump::config",
    ),
    (
        imports,
        "format/sql.rs",
        "use crate::{catalog, server::session};",
        "2: format may not import server::session",
    ),
    (
        imports,
        "chunk/keyset.rs",
        "\nfn f(s: &crate::server::Session) {}",
        "3: chunk may not import server::Session",
    ),
    (
        imports,
        "retry.rs",
        "mod tests { use super::super::cli::Exit; }",
        "2: retry may not import cli::Exit",
    ),
    (
        imports,
        "server/lock.rs",
        "use super::super::catalog::{ident, table};",
        "2: server may not import catalog::table",
    ),
    (
        imports,
        "catalog/ident.rs",
        "use super::table::Table;",
        "2: catalog may not import catalog::table::Table",
    ),
    (
        imports,
        "cli/mod.rs",
        "use crate::main as x;",
        "2: cli may not import main",
    ),
    (
        places,
        "cloud/mod.rs",
        "",
        "1: the room `cloud` is not in the table IMPORTS",
    ),
    (
        doors,
        "dump/worker.rs",
        "use mysql::Conn;",
        "2: the crate mysql enters by server/ only",
    ),
    (
        doors,
        "dump/worker.rs",
        "use rayon as r;",
        "2: the crate rayon enters by dump/pool.rs only",
    ),
    (
        doors,
        "storage/local.rs",
        "fn f() { zstd::encode() }",
        "2: the crate zstd enters by compress only",
    ),
    (
        unsafe_code,
        "cancel.rs",
        "fn f() { unsafe { g() } }",
        "2: unsafe outside of server/socket.rs",
    ),
    (
        unsafe_code,
        "cancel.rs",
        "#![allow(unsafe_code)]",
        "2: unsafe_code outside of server/socket.rs",
    ),
    (
        unfinished,
        "retry.rs",
        "fn f() { todo!() }",
        "2: todo! is not finished",
    ),
    (
        panics,
        "retry.rs",
        "fn f() { a()\n.unwrap() }",
        "3: unwrap or expect outside of tests",
    ),
    (
        panics,
        "retry.rs",
        "#[cfg(not(test))]\nfn f() { a().expect(\"b\") }",
        "3: unwrap or expect outside of tests",
    ),
    (
        drawers,
        "server/mod.rs",
        "mod util;",
        "2: a module called `util` says nothing",
    ),
    (
        drawers,
        "server/helpers.rs",
        "",
        "1: a module called `helpers` says nothing",
    ),
];

#[test]
fn every_rule_can_fail() {
    for (rule, path, text, message) in BROKEN {
        let found = rule(&Source::new(path, &format!("{DOC}{text}")));
        assert_eq!(found, [format!("{path}:{message}")], "{text}");
    }
    assert_eq!(
        module_doc(&Source::new("retry.rs", "use std::io;\n")).len(),
        1
    );
    let long = DOC.repeat(MAX_LINES + 1);
    assert_eq!(length(&Source::new("retry.rs", &long)).len(), 1);
}

#[test]
fn what_is_allowed_is_no_violation() {
    let cases: &[(Rule, &str, &str)] = &[
        (
            imports,
            "format/csv/tests.rs",
            "use crate::catalog::{ident::{quote as q, ObjectName}, column}; use super::super::sql;",
        ),
        (
            imports,
            "chunk/probe.rs",
            "use crate::server::session::Session;",
        ),
        (
            imports,
            "server/lock.rs",
            "use crate::catalog::ident::ObjectName; use super::session; fn f<T: crate::cancel::Interrupt>() {}",
        ),
        (
            imports,
            "format/sql.rs",
            "// use crate::dump;\nconst A: &str = \"crate::dump\"; const B: &[u8] = br#\"crate::\"dump\"#; // crate::cli\n/* crate::cli /* */ crate::cli */",
        ),
        (
            imports,
            "format/mod.rs",
            "mod tests { use super::sql; use super::super::catalog::column; }",
        ),
        (doors, "format/mod.rs", "pub mod csv; use csv::CsvOptions;"),
        (
            doors,
            "cli/dump.rs",
            "use super::mysql::X; fn f(mysql: u8) -> u8 { mysql }",
        ),
        (
            unsafe_code,
            "cancel.rs",
            "// nothing unsafe\nconst A: char = '\"'; const B: &str = \"unsafe\"; fn f<'unsafe_a>() {}",
        ),
        (
            panics,
            "retry.rs",
            "#[cfg(test)]\n#[allow(x)]\nmod tests { fn f() { a().unwrap() } }\nfn g() { a().unwrap_or(1); expect(2) }",
        ),
    ];
    for (rule, path, text) in cases {
        let found = rule(&Source::new(path, text));
        assert_eq!(found, [""; 0], "{text}");
    }
}
