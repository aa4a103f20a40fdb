//! `rdump check`: what it says of accounts and servers, and that the dump then does so.

use crate::harness::{Kind, Query as _, Rdump, Run, Server, TestDb};

const PASSWORD: &str = "check";

/// An account of the test's own with these rights on everything.
fn account(database: &TestDb, rights: &str) -> String {
    let user = format!("{}c", database.user_prefix());
    let account = format!("'{user}'@'127.0.0.1'");
    let server = database.server();
    server.exec(&format!("CREATE USER {account} IDENTIFIED BY '{PASSWORD}'"));
    server.exec(&format!("GRANT {rights} ON *.* TO {account}"));
    user
}

fn run(database: &TestDb, user: &str, command: &[&str]) -> Run {
    // The word for the command comes first.
    Rdump::bare()
        .args(command.iter().copied())
        .args(["-h", "127.0.0.1", "-u", user])
        .args(["-P", &database.server().port().to_string()])
        .args(["-B", database.name(), "--report", "json"])
        .env("RDUMP_PASSWORD", PASSWORD)
        .run()
}

fn shop(server: &Server, test: &str) -> TestDb {
    let database = TestDb::new(server, test);
    database.exec("CREATE TABLE t (id INT PRIMARY KEY, v INT)");
    database.exec("INSERT INTO t VALUES (1, 1), (2, 2)");
    database
}

/// What `check` says, after which the dump has the mode that was promised.
fn promised(database: &TestDb, user: &str) -> (serde_json::Value, String) {
    let checked = run(database, user, &["check"]);
    checked.assert_ok();
    let said: serde_json::Value = serde_json::from_slice(&checked.stdout).unwrap();
    let dumped = run(database, user, &["-o", "out"]);
    dumped.assert_ok();
    let report: serde_json::Value = serde_json::from_slice(&dumped.stdout).unwrap();
    let mode = report["consistency"].as_str().unwrap().to_owned();
    let promise = said["findings"]["mode"].as_str().unwrap();
    assert!(
        promise.contains(&format!("takes {mode}:")),
        "{promise}, not {mode}"
    );
    (said, mode)
}

#[test]
fn advice_is_by_what_the_account_may_and_the_dump_does_as_said() {
    for server in [Server::get(Kind::MariaDb), Server::get(Kind::MySql)]
        .into_iter()
        .flatten()
    {
        let database = shop(&server, "check");
        let everything = account(&database, "ALL PRIVILEGES");
        let (said, mode) = promised(&database, &everything);
        assert_eq!(mode, "flush");
        assert_eq!(said["status"], "ready");
        assert_eq!(said["grants"], serde_json::json!([]), "{said}");

        let without_reload = shop(&server, "noreload");
        let user = account(&without_reload, "SELECT, LOCK TABLES");
        let (said, mode) = promised(&without_reload, &user);
        assert_eq!(mode, "snapshot");
        let grants = said["grants"].to_string();
        assert!(grants.contains("GRANT RELOAD ON *.* TO"), "{grants}");
        // The statements are run as they were printed.
        for grant in said["grants"].as_array().unwrap() {
            server.exec(grant.as_str().unwrap().trim_end_matches(';'));
        }
        assert_eq!(promised(&without_reload, &user).1, "flush");
    }
}

#[test]
fn a_view_that_may_not_be_read_is_told_before_the_dump_fails() {
    let server = Server::mariadb();
    let database = shop(&server, "noview");
    database.exec("CREATE VIEW v AS SELECT * FROM t");
    let user = account(&database, "SELECT, LOCK TABLES, RELOAD");
    let checked = run(&database, &user, &["check"]);
    checked.assert_fails(1);
    let said: serde_json::Value = serde_json::from_slice(&checked.stdout).unwrap();
    assert!(said["problems"].to_string().contains("SHOW VIEW"), "{said}");
    run(&database, &user, &["-o", "out"]).assert_fails(1);
}

#[test]
fn a_long_query_on_mysql_makes_auto_take_the_other_way() {
    let Some(server) = Server::get(Kind::MySql) else {
        return;
    };
    let database = shop(&server, "long");
    let user = account(&database, "ALL PRIVILEGES");
    let mut busy = database.connect();
    let query = std::thread::spawn(move || busy.try_rows("SELECT SLEEP(30) /* long */").is_ok());
    let running = "SELECT COUNT(*) FROM performance_schema.processlist \
                   WHERE INFO LIKE 'SELECT SLEEP(30) /* long */' AND TIME >= 2";
    server.await_value(running, std::time::Duration::from_secs(20), |count| {
        count == "1"
    });
    let (said, mode) = promised(&database, &user);
    let id = "SELECT ID FROM performance_schema.processlist WHERE INFO LIKE 'SELECT SLEEP(30) /* long */'";
    server.exec(&format!("KILL QUERY {}", server.value(id)));
    assert!(query.join().is_ok());
    assert_eq!(mode, "snapshot");
    let why = said["findings"]["not"].as_str().unwrap();
    assert!(why.starts_with("flush: "), "{why}");
}
