//! Dumps that want more than to be loaded.

use std::fs;
use std::io::Write as _;
use std::path::Path;

use super::load;
use crate::harness::Server;

/// A directory in Dumpling's layout.
fn directory(files: &[(&str, &str)]) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    for (name, text) in files {
        fs::write(folder.path().join(name), text).unwrap();
    }
    folder
}

#[track_caller]
fn refused(dump: &Path, arguments: &[&str], sentence: &str) {
    let server = Server::mariadb();
    let run = load(&server, dump).args(arguments.iter().copied()).run();
    run.assert_ends(1);
    assert!(run.stderr.contains(sentence), "{}", run.report());
    assert!(
        run.peak_rss_bytes < 128 << 20,
        "{} bytes",
        run.peak_rss_bytes
    );
}

const TABLE: (&str, &str) = ("rdt_hostile.t-schema.sql", "CREATE TABLE `t` (`a` INT);");

fn drop_it(database: &str) {
    Server::mariadb().exec(&format!("DROP DATABASE IF EXISTS {database}"));
}

#[test]
fn a_statement_that_leaves_its_file_s_object_is_not_run() {
    drop_it("rdt_hostile");
    for (name, text) in [
        ("rdt_hostile-schema-create.sql", "CREATE DATABASE other;"),
        (
            "rdt_hostile.u-schema.sql",
            "CREATE TABLE `mysql`.`u` (a INT);",
        ),
        ("rdt_hostile.u-schema.sql", "GRANT ALL ON *.* TO x;"),
        (
            "rdt_hostile.t.000000000.sql",
            "INSERT INTO `mysql`.`t` VALUES (1);",
        ),
        ("rdt_hostile.t.000000000.sql", "INSERT INTO t SELECT 1;"),
        (
            "rdt_hostile.t.000000000.sql",
            "INSERT INTO t VALUES ((SELECT 1));",
        ),
        (
            "rdt_hostile.t.000000000.sql",
            "SET GLOBAL max_connections=1;",
        ),
        (
            "rdt_hostile.t.000000000.sql",
            "/*!50000 DROP DATABASE mysql */;",
        ),
    ] {
        let dump = directory(&[TABLE, (name, text)]);
        refused(
            dump.path(),
            &["--restart", "--existing", "drop"],
            "which is not run",
        );
    }
    drop_it("rdt_hostile");
}

#[test]
fn a_manifest_is_trusted_for_nothing() {
    let entry = |name: &str| serde_json::json!({"name": name, "raw_bytes": 1, "stored_bytes": 1, "hash": "0"});
    let manifest = |files: serde_json::Value| {
        serde_json::json!({
            "format_version": 1, "tool": "x", "server": "x", "started": "", "finished": "",
            "consistency": {"mode": "none", "position": {"state": "binlog_off"}},
            "format": "sql", "compression": "none", "files": files, "tables": [], "warnings": [],
        })
        .to_string()
    };
    let path = manifest(serde_json::json!([entry("../../etc/passwd")]));
    let dump = directory(&[("manifest.json", &path)]);
    refused(dump.path(), &[], "../../etc/passwd is missing");
    let twice = manifest(serde_json::json!([
        entry("a-schema-create.sql"),
        entry("a-schema-create.sql")
    ]));
    let dump = directory(&[("manifest.json", &twice), ("a-schema-create.sql", "x")]);
    refused(dump.path(), &[], "twice in the manifest");
    let dump = directory(&[("manifest.json", "{")]);
    refused(dump.path(), &[], "the dump cannot be used");
}

/// A file of a few kilobytes that is gigabytes once it is decompressed: one statement without an end.
#[test]
fn a_statement_without_end_is_bounded_also_when_it_is_compressed() {
    drop_it("rdt_bomb");
    let dump = directory(&[("rdt_bomb.t-schema.sql", TABLE.1)]);
    let file = fs::File::create(dump.path().join("rdt_bomb.t.000000000.sql.gz")).unwrap();
    let mut gzip = flate2::write::GzEncoder::new(file, flate2::Compression::best());
    gzip.write_all(b"INSERT INTO `t` VALUES (1)").unwrap();
    let blanks = vec![b' '; 1 << 20];
    for _ in 0..300 {
        gzip.write_all(&blanks).unwrap();
    }
    gzip.finish().unwrap();
    let limit = Server::mariadb().value("SELECT @@global.max_allowed_packet");
    if limit.parse::<u64>().unwrap() < 64 << 20 {
        refused(dump.path(), &[], "statement 1 is longer than");
    }
    drop_it("rdt_bomb");
}
