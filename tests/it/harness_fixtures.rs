//! The fixtures load on the servers they are for.

use crate::harness::{Server, TestDb, cases};

#[test]
fn every_case_loads() {
    let cases = cases();
    assert!(cases.len() > 50, "{}", cases.len());
    for server in Server::all() {
        for case in &cases {
            // Loading is the test.
            TestDb::case(&server, case);
        }
    }
}

#[test]
fn sakila_loads() {
    for server in Server::all() {
        let database = TestDb::sakila(&server, "sakila");
        assert_eq!(
            database.value("SELECT COUNT(*) FROM rental"),
            "16044",
            "{:?}",
            server.kind()
        );
        assert_eq!(
            database.value("SELECT COUNT(*) FROM film_list WHERE title LIKE 'A%'"),
            "46"
        );
    }
}

#[test]
fn accounts_of_a_case_go_with_its_database() {
    for server in Server::all() {
        let Some(database) = TestDb::case(&server, "users-and-roles") else {
            continue;
        };
        let accounts = format!(
            "SELECT COUNT(*) FROM mysql.user WHERE user LIKE '{}%'",
            database.user_prefix()
        );
        assert_eq!(server.value(&accounts), "3");
        drop(database);
        assert_eq!(server.value(&accounts), "0");
    }
}
