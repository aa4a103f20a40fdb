//! Settings of a server that bite: whatever an administrator has set for every session, the dump is the same.
//!
//! The account is a plain one with the five rights that a dump needs, since `init_connect` leaves administrators alone.

use crate::harness::{Kind, Query as _, Rdump, Server, TestDb, assert_same_database, restore};
use crate::values::every_type;

/// On both kinds of server.
const EVERYWHERE: [(&str, &str); 14] = [
    (
        "sql_mode",
        "'ANSI_QUOTES,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH,PIPES_AS_CONCAT,TRADITIONAL'",
    ),
    ("sql_quote_show_create", "0"),
    ("sql_safe_updates", "1"),
    ("sql_select_limit", "2"),
    ("max_join_size", "3"),
    ("group_concat_max_len", "4"),
    ("time_zone", "'-09:30'"),
    ("character_set_server", "latin1"),
    ("character_set_client", "latin1"),
    ("character_set_results", "latin1"),
    ("autocommit", "0"),
    ("completion_type", "2"),
    ("div_precision_increment", "0"),
    (
        "init_connect",
        "'SET NAMES latin1, sql_mode = \\'ANSI\\', time_zone = \\'+11:00\\', autocommit = 0, sql_select_limit = 1'",
    ),
];

const MARIADB: [(&str, &str); 3] = [
    ("tx_isolation", "'READ-COMMITTED'"),
    ("read_only", "1"),
    ("system_versioning_asof", "'2000-01-01 00:00:00'"),
];

const MYSQL: [(&str, &str); 3] = [
    ("transaction_isolation", "'READ-COMMITTED'"),
    ("super_read_only", "1"),
    ("show_gipk_in_create_table_and_information_schema", "0"),
];

/// Sets the variables for all new sessions, has `work` done, and puts them back.
fn with_globals<T>(server: &Server, kind: Kind, work: impl FnOnce() -> T) -> T {
    let own = if kind.is_mariadb() { MARIADB } else { MYSQL };
    let variables = [&EVERYWHERE[..], &own].concat();
    let mut session = server.connect();
    session.execute("SET NAMES utf8mb4");
    let quoted = |name: &&str| format!("QUOTE(@@global.{name})");
    let names: Vec<&str> = variables.iter().map(|(name, _)| *name).collect();
    let columns: Vec<String> = names.iter().map(quoted).collect();
    let before = session.rows(&format!("SELECT {}", columns.join(", ")));
    for (name, value) in &variables {
        session.execute(&format!("SET GLOBAL {name} = {value}"));
    }
    let done = work();
    for (name, value) in names.iter().zip(&before[0]) {
        let value = String::from_utf8(value.clone().unwrap()).unwrap();
        let number = value.trim_matches('\'').parse::<u64>();
        let value = match number {
            Ok(number) => number.to_string(),
            Err(_) if value == "'DEFAULT'" => "DEFAULT".to_owned(),
            Err(_) => value,
        };
        session.execute(&format!("SET GLOBAL {name} = {value}"));
    }
    done
}

#[test]
fn dump_is_the_same_whatever_the_server_sets_for_every_session() {
    for kind in [Kind::MariaDb, Kind::MySql] {
        let (Some(server), Some(target)) = (Server::private(kind, &[]), Server::target(kind))
        else {
            continue;
        };
        let database = every_type(&server, "settings");
        let account = format!("{}plain", database.user_prefix());
        server.exec(&format!("CREATE USER '{account}'@'%' IDENTIFIED BY 'pw'"));
        server.exec(&format!(
            "GRANT SELECT, SHOW VIEW, TRIGGER, EVENT, LOCK TABLES ON *.* TO '{account}'@'%'"
        ));
        database.load_text(
            "CREATE VIEW v AS SELECT id, 'back\\\\slash' AS \"b\" FROM integers WHERE id < 3;
             CREATE TRIGGER tr BEFORE INSERT ON integers FOR EACH ROW SET NEW.i = 1;
             CREATE PROCEDURE p() SELECT \"text\", 'a\\'b';
             CREATE EVENT e ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 'x';",
        );
        for (user, password, mode) in [
            (account.as_str(), "pw", "auto"),
            (account.as_str(), "pw", "lock"),
            (server.user(), server.password(), "flush"),
        ] {
            let dump = Rdump::dump(&server)
                .database(database.name())
                .account(user, password)
                .args(["--consistency", mode, "-r", "50"]);
            let run = with_globals(&server, kind, || dump.run());
            run.assert_ok();
            let _restored = restore(run.output(), &target);
            assert_same_database((&server, database.name()), (&target, database.name()));
        }
    }
}

/// MySQL keeps this setting from the day its data was made, so MariaDB alone is asked.
#[test]
fn names_are_found_in_any_case_where_the_server_ignores_it() {
    let server = Server::private(Kind::MariaDb, &["--lower-case-table-names=1"]).unwrap();
    let target = Server::private(Kind::MariaDb, &["--lower-case-table-names=1"]).unwrap();
    let database = TestDb::new(&server, "case");
    database.exec("CREATE TABLE Mixed_Case (Id INT PRIMARY KEY, `GROẞ` INT)");
    database.exec("CREATE TABLE `ÄÖ` (id INT PRIMARY KEY)");
    database.exec("INSERT INTO MIXED_case VALUES (1, 2)");
    database.exec("INSERT INTO `äö` VALUES (1)");
    database.exec("CREATE VIEW Seen AS SELECT m.Id FROM Mixed_CASE m");
    database.exec("CREATE TRIGGER Tr BEFORE INSERT ON MIXED_CASE FOR EACH ROW SET NEW.Id = 1");
    let upper = database.name().to_uppercase();
    let names = |arguments: &[&str]| {
        let run = Rdump::dump(&server).args(arguments).run();
        run.assert_ok();
        let manifest = run.manifest();
        let tables = manifest["tables"].as_array().unwrap().clone();
        let names = tables
            .iter()
            .map(|table| table["name"].as_str().unwrap().to_owned());
        (names.collect::<Vec<_>>(), run)
    };
    let (all, run) = names(&["-B", &upper]);
    assert_eq!(all, ["mixed_case", "seen", "äö"]);
    let _restored = restore(run.output(), &target);
    assert_same_database((&server, database.name()), (&target, database.name()));
    let (one, _) = names(&["-T", &format!("{upper}.MIXED_CASE")]);
    assert_eq!(one, ["mixed_case"]);
    let (one, _) = names(&["-f", &format!("{upper}.MIXED*")]);
    assert_eq!(one, ["mixed_case"]);
}
