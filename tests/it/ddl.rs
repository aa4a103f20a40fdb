//! Definitions that come back as they were, beyond the cases of `tests/fixtures/sql/cases`; and changes of a table that no
//! error tells of.

use std::fs;
use std::path::Path;
use std::thread;
use std::time::Duration;

use rdump::cancel::CancelToken;
use rdump::catalog::ident::ObjectName;
use rdump::catalog::identity::{self, Identity};
use rdump::secret::{Secret, SecretSource};
use rdump::server::connector::Connector;
use rdump::server::session::{Purpose, Session};
use rdump::server::{ConnectOptions, TlsMode, TlsOptions};

use crate::harness::{Kind, Rdump, Server, TestDb, assert_round_trip, identifier};

fn fixture(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/fixtures/sql/ddl");
    fs::read(folder.join(name)).unwrap()
}

fn comes_back(database: &TestDb, name: &str) {
    database.load_text(fixture(name));
    let run = Rdump::dump(database.server())
        .database(&identifier(database.name()))
        .run();
    run.assert_ok();
    assert_round_trip(&run, database);
}

#[test]
fn stored_objects_keep_the_settings_they_were_made_with() {
    for server in Server::all() {
        let database = TestDb::with_options(&server, "stored", "CHARACTER SET latin1");
        comes_back(&database, "stored-objects.sql");
    }
}

#[test]
fn triggers_of_one_event_keep_their_order() {
    for server in Server::all() {
        if server.kind() == Kind::MySql56 {
            continue;
        }
        let database = TestDb::new(&server, "order");
        comes_back(&database, "trigger-order.sql");
    }
}

#[test]
fn objects_written_in_other_charsets_come_back_byte_for_byte() {
    for server in Server::all() {
        comes_back(&TestDb::new(&server, "charsets"), "client-charsets.sql");
    }
}

#[test]
fn definitions_that_need_escaping_come_back() {
    for server in Server::all() {
        comes_back(&TestDb::new(&server, "definitions"), "definitions.sql");
    }
}

#[test]
fn names_that_files_and_clients_stumble_over_come_back() {
    for server in Server::all() {
        comes_back(&TestDb::new(&server, "names"), "names.sql");
        comes_back(&TestDb::new(&server, "n.a/m`e\n%d\\'\".."), "names.sql");
    }
}

/// MySQL 5.6 shows a `?` for them, which must not go unsaid.
#[test]
fn partitions_by_bytes_come_back_or_are_named() {
    for server in Server::all() {
        let database = TestDb::new(&server, "bytes");
        if server.kind() != Kind::MySql56 {
            comes_back(&database, "byte-partitions.sql");
            continue;
        }
        database.load_text(fixture("byte-partitions.sql"));
        let run = Rdump::dump(&server).database(database.name()).run();
        let warnings = run.manifest()["warnings"].to_string();
        assert!(warnings.contains("`bytes_list`"), "{}", run.report());
    }
}

#[test]
fn objects_of_mariadb_alone_come_back() {
    for server in Server::all() {
        if server.kind().is_mariadb() {
            let comment = r"CHARACTER SET utf8mb4 COMMENT 'it''s a \\ comment'";
            let database = TestDb::with_options(&server, "mariadb", comment);
            comes_back(&database, "mariadb.sql");
        }
    }
}

fn session(server: &Server) -> Session {
    let limit = Duration::from_secs(60);
    let options = ConnectOptions {
        host: server.host().to_owned(),
        port: server.port(),
        socket: None,
        user: server.user().to_owned(),
        password: Some(SecretSource::Known(Secret::new(server.password()))),
        cleartext_passwords: false,
        tls: TlsOptions {
            mode: TlsMode::Preferred,
            ca: None,
            cert: None,
            key: None,
        },
        connect_timeout: limit,
        read_timeout: limit,
        first_row_timeout: limit,
        session_variables: Vec::new(),
    };
    let connector = Connector::new(options, CancelToken::default());
    connector.open(Purpose::Metadata).unwrap()
}

const PLAIN: &str = "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT)";
const PARTITIONED: &str = "CREATE TABLE t (id INT PRIMARY KEY AUTO_INCREMENT, a INT) PARTITION BY RANGE (id) \
    (PARTITION p0 VALUES LESS THAN (10), PARTITION p1 VALUES LESS THAN (1000))";

/// The table, what is done to it, and whether it is another one then.
const CHANGES: [(&str, &str, bool); 9] = [
    (PLAIN, "INSERT INTO t (a) SELECT a FROM t", false),
    (PLAIN, "ANALYZE TABLE t", false),
    (PLAIN, "TRUNCATE t", true),
    (PLAIN, "RENAME TABLE t TO old, u TO t", true),
    (PLAIN, "ALTER TABLE t CHANGE a b INT", true),
    (PLAIN, "ALTER TABLE t ADD c INT", true),
    (PARTITIONED, "ALTER TABLE t TRUNCATE PARTITION p0", true),
    (PARTITIONED, "ALTER TABLE t DROP PARTITION p0", true),
    (
        PARTITIONED,
        "ALTER TABLE t EXCHANGE PARTITION p0 WITH TABLE u",
        true,
    ),
];

#[test]
fn identity_sees_what_an_old_snapshot_reads_wrong_without_error() {
    for server in Server::all() {
        let mut session = session(&server);
        let databases: Vec<TestDb> = CHANGES
            .iter()
            .map(|(table, ..)| {
                let database = TestDb::new(&server, "identity");
                database.exec(&PLAIN.replace("TABLE t", "TABLE u"));
                database.exec(table);
                database.exec("INSERT INTO t (a) VALUES (1), (2)");
                database
            })
            .collect();
        let names: Vec<ObjectName> = databases
            .iter()
            .map(|database| ObjectName::new(database.name(), "t"))
            .collect();
        let wanted: Vec<(&ObjectName, Option<u128>)> =
            names.iter().map(|name| (name, None)).collect();
        let mut all =
            || -> Vec<Option<Identity>> { identity::read(&mut session, &wanted).unwrap() };
        let before = all();
        // CREATE_TIME counts seconds.
        thread::sleep(Duration::from_millis(1100));
        for (database, (_, change, _)) in databases.iter().zip(CHANGES) {
            database.exec(change);
        }
        let after = all();
        for (index, (_, change, is_seen)) in CHANGES.into_iter().enumerate() {
            let (before, after) = (before[index].as_ref(), after[index].as_ref());
            let difference = before.unwrap().differs(after.unwrap());
            assert_eq!(difference.is_some(), is_seen, "{change}: {difference:?}");
        }
    }
}
