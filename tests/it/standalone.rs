//! Every file of a dump loads alone, in whatever session it meets: the files bring their own settings.

use crate::harness::{Kind, Query as _, Rdump, Server, TestDb, assert_same_database, restore_with};

/// A client of another charset, in another time zone, that takes no doubtful value and reads quotes and backslashes its own
/// way, with checks that files loaded one by one cannot meet. The harness gives each file a session of its own.
const HOSTILE: [&str; 2] = [
    "--default-character-set=latin1",
    "--init-command=SET time_zone = '+09:30', foreign_key_checks = 1, unique_checks = 1, \
     sql_mode = 'TRADITIONAL,ANSI,NO_BACKSLASH_ESCAPES,PAD_CHAR_TO_FULL_LENGTH'",
];

/// What strictness refuses and other settings change.
const DOUBTFUL: &str = r#"
SET NAMES utf8mb4, foreign_key_checks = 0, sql_mode = 'NO_AUTO_VALUE_ON_ZERO,ALLOW_INVALID_DATES', time_zone = '+00:00';
CREATE TABLE doubtful (
  id INT NOT NULL AUTO_INCREMENT PRIMARY KEY,
  d DATE NOT NULL, dt DATETIME NOT NULL, ts TIMESTAMP NULL, y YEAR,
  e ENUM('a','ü') NOT NULL, s SET('x','ß'), c CHAR(10), v VARCHAR(50), l VARCHAR(20) CHARACTER SET latin1,
  t VARCHAR(20) DEFAULT 'grün \\ ''', g VARCHAR(60) AS (CONCAT(v, '|', l)) VIRTUAL,
  parent INT, KEY (parent), CONSTRAINT own FOREIGN KEY (parent) REFERENCES doubtful (id)
) COMMENT='größer';
INSERT INTO doubtful (id, d, dt, ts, y, e, s, c, v, l, parent) VALUES
  (0, '0000-00-00', '0000-00-00 00:00:00', '1970-01-01 00:00:01', 0, 'ü', 'x,ß', 'pad  ', 'back\\slash \' " \n\t\0€', 'é', 3),
  (1, '2024-00-10', '2024-02-31 10:00:00', '2038-01-19 03:14:07', 1901, '', '', '', '', '', 0),
  (2, '2024-03-31', '2024-03-31 02:30:00', '2024-10-27 00:30:00', 2155, 'a', NULL, NULL, '\\', 'x', NULL),
  (3, '2024-03-31', '2024-03-31 02:30:00', '2024-10-27 01:30:00', NULL, 'a', NULL, NULL, NULL, NULL, NULL);
INSERT IGNORE INTO doubtful (id, d, dt, e) VALUES (4, '2024-01-01', '2024-01-01', 'none of them');
"#;

#[test]
fn files_load_alone_in_a_hostile_session_and_give_the_same_values() {
    let kinds = [Kind::MariaDb, Kind::MySql];
    for server in kinds.into_iter().filter_map(Server::get) {
        let database = TestDb::seeded(&server, "alone", "shop", Some(300));
        database.load_text(DOUBTFUL);
        assert_eq!(
            database.value("SELECT COUNT(*) FROM doubtful WHERE e = 0"),
            "2",
            "the table is not as doubtful as it should be"
        );
        hostile_round_trip(&database, &["-r", "40"]);
        hostile_round_trip(
            &database,
            &["--escape-backslash=false", "--complete-insert"],
        );
    }
}

#[test]
fn cases_about_session_settings_load_in_a_hostile_session() {
    const CASES: [&str; 9] = [
        "timestamp-daylight-saving",
        "zero-in-auto-increment",
        "default-current-timestamp",
        "no-backslash-escapes",
        "bytes-foreign-to-charset",
        "foreign-key-cycles",
        "json-and-virtual-columns",
        "delimiters-in-routine-bodies",
        "view-with-collate",
    ];
    let kinds = [Kind::MariaDb, Kind::MySql];
    for server in kinds.into_iter().filter_map(Server::get) {
        for case in CASES {
            let database = TestDb::case(&server, case).unwrap();
            hostile_round_trip(&database, &["-r", "20"]);
        }
    }
}

fn hostile_round_trip(database: &TestDb, arguments: &[&str]) {
    let server = database.server();
    let run = Rdump::dump(server)
        .database(database.name())
        .args(arguments)
        .run();
    run.assert_ok();
    let target = Server::target(server.kind()).unwrap();
    let _restored = restore_with(run.output(), &target, &HOSTILE);
    assert_same_database((server, database.name()), (&target, database.name()));
    // The comparison's sessions are in UTC; a value must also be the same moment.
    let moments = format!("SELECT COUNT(*) FROM `{}`.doubtful", database.name());
    if server.connect().try_rows(&moments).is_ok() {
        let moments = format!(
            "SELECT GROUP_CONCAT(UNIX_TIMESTAMP(ts) ORDER BY id) FROM `{}`.doubtful",
            database.name()
        );
        assert_eq!(target.value(&moments), server.value(&moments));
    }
}
