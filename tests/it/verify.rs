//! `rdump verify`: whatever happened to a dump is found and named.

use std::fs;
use std::path::Path;

use crate::harness::{Kind, Rdump, Run, Server, TestDb};

#[track_caller]
fn verify(dump: &Path) -> Run {
    Rdump::bare().args(["verify"]).args([dump]).run()
}

fn dump(database: &TestDb, shape: &[&str]) -> Run {
    let dump = Rdump::dump(database.server()).database(database.name());
    let run = dump.args(shape).run();
    run.assert_ok();
    run
}

#[track_caller]
fn finds(run: &Run, what: &[&str]) {
    let found = verify(run.output());
    found.assert_ends(4);
    for text in what {
        assert!(found.stderr.contains(text), "{text}: {}", found.report());
    }
}

#[test]
fn a_whole_dump_is_whole_in_every_shape() {
    let server = Server::mariadb();
    let database = TestDb::sakila(&server, "verify_sakila");
    for shape in [
        &["-r", "500", "-F", "64KiB"][..],
        &["-c", "zstd", "--escape-backslash=false"],
        &["-c", "gzip", "--filetype", "csv"],
    ] {
        let run = dump(&database, shape);
        let report = verify(run.output());
        report.assert_ends(0);
        assert!(report.stderr.contains("is whole"), "{}", report.report());
    }
}

#[test]
fn every_damage_is_found_and_named() {
    let server = Server::mariadb();
    let database = TestDb::seeded(&server, "verify_damage", "sb", Some(5000));
    let shape = ["-r", "1000", "-c", "gzip"];
    let file = |n: u32| format!("{}.sbtest1.{n:09}.sql.gz", database.name());
    // A bit.
    let run = dump(&database, &shape);
    let path = run.output().join(file(1));
    let mut bytes = fs::read(&path).unwrap();
    let middle = bytes.len() / 2;
    bytes[middle] ^= 4;
    fs::write(&path, &bytes).unwrap();
    finds(&run, &[&file(1)]);
    // Cut off.
    fs::write(&path, &bytes[..middle]).unwrap();
    finds(&run, &[&file(1), "bytes instead of"]);
    // Gone, and one too many.
    fs::remove_file(&path).unwrap();
    fs::write(run.output().join("stranger.sql"), "x").unwrap();
    let missing = format!("file {} is missing", file(1));
    finds(&run, &[&missing, "stranger.sql does not belong"]);
    // Swapped.
    let run = dump(&database, &["-r", "1000"]);
    let plain = |n: u32| run.output().join(file(n).replace(".gz", ""));
    let (one, two) = (fs::read(plain(1)).unwrap(), fs::read(plain(2)).unwrap());
    fs::write(plain(1), &two).unwrap();
    fs::write(plain(2), &one).unwrap();
    finds(
        &run,
        &[&file(1).replace(".gz", ""), &file(2).replace(".gz", "")],
    );
    // Another position.
    fs::write(plain(1), &one).unwrap();
    fs::write(plain(2), &two).unwrap();
    verify(run.output()).assert_ends(0);
    let metadata = run.output().join("metadata");
    let text = fs::read_to_string(&metadata).unwrap();
    fs::write(&metadata, text.replace("\tPos: ", "\tPos: 9")).unwrap();
    finds(&run, &["metadata does not have"]);
}

/// Compares with the server, too.
#[track_caller]
fn against(dump: &Path, server: &Server) -> Run {
    let port = server.port().to_string();
    Rdump::bare()
        .args(["verify".as_ref(), dump.as_os_str()])
        .args(["--against", "-h", server.host(), "-P", &port])
        .args(["-u", server.user()])
        .env("RDUMP_PASSWORD", server.password())
        .run()
}

#[test]
fn rows_that_changed_on_the_server_are_named_by_their_keys() {
    for server in [Kind::MariaDb, Kind::MySql]
        .into_iter()
        .filter_map(Server::get)
    {
        let database = TestDb::seeded(&server, "verify_against", "shop", Some(300));
        database.exec("CREATE TABLE keyed (id INT PRIMARY KEY, f FLOAT, b VARBINARY(9))");
        database.exec("INSERT INTO keyed VALUES (10,1.1,'a'),(20,-0,NULL),(30,3e30,x'00ff')");
        database.exec("CREATE TABLE keyless (v INT)");
        database.exec("INSERT INTO keyless VALUES (1),(1),(2)");
        for shape in [&["-r", "100"][..], &["--filetype", "csv", "-r", "100"]] {
            let run = dump(&database, shape);
            against(run.output(), &server).assert_ends(0);
            database.exec("UPDATE keyed SET f = 1.2 WHERE id = 10");
            // Where no chunk is: the first row of all, and one for another.
            database.exec("INSERT INTO keyed VALUES (5,0,'')");
            database.exec("UPDATE keyless SET v = 2 LIMIT 1");
            let found = against(run.output(), &server);
            found.assert_ends(4);
            for text in ["`keyed` differs", "the key (10)", "`keyless` differs"] {
                assert!(found.stderr.contains(text), "{text}: {}", found.report());
            }
            database.exec("UPDATE keyed SET f = 1.1 WHERE id = 10");
            database.exec("DELETE FROM keyed WHERE id = 5");
            database.exec("DELETE FROM keyless");
            database.exec("INSERT INTO keyless VALUES (1),(1),(2)");
        }
    }
}

/// A row that is gone from a file whose hash somebody has put right.
#[test]
fn rows_are_counted_whatever_the_hash_says() {
    let server = Server::mariadb();
    let database = TestDb::new(&server, "verify_rows");
    database.exec("CREATE TABLE t (id INT PRIMARY KEY, s TEXT)");
    database.exec("INSERT INTO t VALUES (1,'a(),''),('),(2,'b')");
    let run = dump(&database, &[]);
    let mut manifest = run.manifest();
    let rows = &mut manifest["tables"][0]["files"][1]["data"]["rows"];
    assert_eq!(*rows, 2);
    *rows = 3.into();
    fs::write(run.output().join("manifest.json"), manifest.to_string()).unwrap();
    finds(
        &run,
        &["holds 2 rows instead of 3", "hold 3 rows instead of 2"],
    );
}
