//! `--users`: accounts, roles and grants, loaded by the plain client into a fresh server.

use mysql::Conn;

use crate::harness::{Kind, Query as _, Rdump, Row, Server, TestDb, restore};

const FILE: &str = "server-schema-users.sql";
const PASSWORD: &str = "a'b\"c\\d Pw1";

/// For MariaDB and MySQL since 8. `@user@` is the prefix, `@database@` the database.
const ACCOUNTS: &str = r#"
CREATE USER '@user@o''x'@'10.%' IDENTIFIED BY 'a''b"c\\d Pw1', @user@app@'%' IDENTIFIED BY 'a''b"c\\d Pw1';
CREATE USER '@user@größe'@'localhost' IDENTIFIED BY 'x' REQUIRE SSL WITH MAX_USER_CONNECTIONS 3 PASSWORD EXPIRE INTERVAL 9 DAY ACCOUNT LOCK;
CREATE ROLE @user@reader; CREATE ROLE @user@a_role;
GRANT SELECT (id), UPDATE (id) ON `@database@`.t TO @user@reader;
GRANT EXECUTE ON PROCEDURE `@database@`.p TO @user@reader;
GRANT @user@reader TO @user@a_role;
GRANT @user@a_role TO @user@app@'%';
SET DEFAULT ROLE @user@a_role @for@ @user@app@'%';
GRANT SELECT ON `rdump\_granted`.* TO '@user@o''x'@'10.%' WITH GRANT OPTION;
GRANT PROCESS, RELOAD ON *.* TO '@user@größe'@'localhost';
"#;

/// What the server says of the test's accounts.
fn told(session: &mut Conn, prefix: &str) -> Vec<(String, Vec<Row>)> {
    session.execute("SET NAMES utf8mb4");
    let sql =
        format!("SELECT User, Host FROM mysql.user WHERE User LIKE '{prefix}%' ORDER BY 1, 2");
    let mut all = Vec::new();
    for row in session.rows(&sql) {
        let [user, host] = [0, 1].map(|i| String::from_utf8(row[i].clone().unwrap()).unwrap());
        let name = match host.as_str() {
            "" => format!("`{user}`"),
            _ => format!("`{user}`@`{host}`"),
        };
        let mut facts = session.rows(&format!("SHOW GRANTS FOR {name}"));
        if !host.is_empty() {
            facts.extend(session.rows(&format!("SHOW CREATE USER {name}")));
        }
        all.push((name, facts));
    }
    all
}

#[test]
fn accounts_roles_and_grants_come_back_with_the_plain_client() {
    for kind in [Kind::MariaDb, Kind::MySql, Kind::MariaDb11] {
        let Some(server) = Server::get(kind) else {
            continue;
        };
        let fresh = Server::private(kind, &[]).unwrap();
        let database = TestDb::new(&server, "accounts");
        database.exec("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
        database.exec("CREATE PROCEDURE p() SELECT 1");
        let word = if kind.is_mariadb() { "FOR" } else { "TO" };
        let prefix = database.user_prefix().to_owned();
        let script = ACCOUNTS.replace("@user@", &prefix).replace("@for@", word);
        database.load_text(script.replace("@database@", database.name()));
        let expected = told(&mut server.connect(), &prefix);
        assert_eq!(expected.len(), 5);

        let run = Rdump::dump(&server)
            .database(database.name())
            .args(["--users", "--loglevel", "debug"])
            .run();
        run.assert_ok();
        let _restored = restore(run.output(), &fresh);
        fresh.load_text(None, run.read(FILE));
        assert_eq!(told(&mut fresh.connect(), &prefix), expected, "{kind:?}");

        let account = format!("{prefix}app");
        let opts = fresh.opts().user(Some(&account)).pass(Some(PASSWORD));
        let mut session = Conn::new(opts).expect("the password of the source");
        let read = format!("SELECT COUNT(id) FROM `{}`.t", database.name());
        assert_eq!(session.value(&read), "0");
        assert_no_secrets(&run.stderr, &run.read(FILE));
        // Twice is as good as once: what is there stays.
        fresh.load_text(None, run.read(FILE));
    }
}

/// No hash of the file is on standard error, where the log goes.
#[track_caller]
fn assert_no_secrets(log: &str, file: &[u8]) {
    let file = String::from_utf8_lossy(file);
    let hashes: Vec<&str> = file
        .split(['\'', ' ', ';', '\n'])
        .filter(|word| word.len() > 40 && (word.starts_with('*') || word.starts_with("0x")))
        .collect();
    assert!(hashes.len() >= 3, "{file}");
    for hash in hashes {
        assert!(!log.contains(hash), "a hash in the log:\n{log}");
    }
    assert!(!log.contains("IDENTIFIED"), "{log}");
}

#[test]
fn servers_without_show_create_user_give_their_accounts_by_grants() {
    let Some(server) = Server::get(Kind::MySql56) else {
        return;
    };
    let database = TestDb::new(&server, "accounts");
    let fresh = Server::private(Kind::MySql56, &[]).unwrap();
    let user = format!("'{}o''x'@'10.%'", database.user_prefix());
    server.exec(&format!(
        "GRANT SELECT ON *.* TO {user} IDENTIFIED BY 'secret'"
    ));
    let run = Rdump::dump(&server)
        .database(database.name())
        .args(["--users"])
        .run();
    run.assert_ok();
    fresh.load_text(None, run.read(FILE));
    let grants = format!("SHOW GRANTS FOR {user}");
    assert_eq!(fresh.rows(&grants), server.rows(&grants));
}

#[test]
fn accounts_are_not_dumped_unless_asked_for_nor_without_the_right() {
    let server = Server::mariadb();
    let database = TestDb::new(&server, "accounts");
    let run = Rdump::dump(&server).database(database.name()).run();
    assert!(!run.assert_ok().files().contains(&FILE.to_owned()));
    let account = format!("{}few", database.user_prefix());
    server.exec(&format!("CREATE USER '{account}'@'%' IDENTIFIED BY 'pw'"));
    server.exec(&format!(
        "GRANT SELECT ON `{}`.* TO '{account}'@'%'",
        database.name()
    ));
    let run = Rdump::dump(&server)
        .database(database.name())
        .account(&account, "pw")
        .args(["--users", "--consistency", "none"])
        .run();
    run.assert_fails(1);
    let named = ["accounts", "SELECT", "user"];
    assert!(
        named.iter().all(|word| run.stderr.contains(word)),
        "{}",
        run.report()
    );
}
