//! The harness's servers.

use std::time::Duration;

use crate::harness::{Kind, Query as _, Server, TestDb, announce};

#[test]
fn servers_covered() {
    announce("servers covered:");
    for kind in Kind::ALL {
        let line = match Server::availability(kind) {
            Ok(server) => server.version(),
            Err(reason) => format!("NOT COVERED: {reason}"),
        };
        announce(&format!("  {:<10} {line}", kind.word()));
    }
    assert!(
        Server::all()
            .iter()
            .any(|server| server.kind() == Kind::MariaDb)
    );
}

#[test]
fn every_server_answers_on_its_port_and_socket() {
    for server in Server::all() {
        assert_eq!(server.value("SELECT 1 + 1"), "2", "{:?}", server.kind());
        assert_eq!(
            server.rows("SELECT NULL, x'00FF'"),
            [[None, Some(vec![0, 255])]]
        );
        if let Some(socket) = server.socket() {
            let opts = server.opts().socket(socket.to_str()).prefer_socket(true);
            assert_eq!(
                mysql::Conn::new(opts).unwrap().value("SELECT @@port"),
                server.port().to_string()
            );
        }
    }
}

#[test]
fn every_server_with_an_authority_speaks_tls() {
    for server in Server::all() {
        let Some(ca) = server.ca() else {
            continue;
        };
        let tls = mysql::SslOpts::default().with_root_cert_path(Some(ca.to_owned()));
        let mut session = mysql::Conn::new(server.opts().ssl_opts(tls)).unwrap();
        let cipher = session.rows("SHOW STATUS LIKE 'Ssl_cipher'");
        assert_ne!(
            cipher[0][1].as_deref(),
            Some(&b""[..]),
            "{:?}",
            server.kind()
        );
    }
}

#[test]
fn private_server_keeps_data_and_options_through_restart_and_kill() {
    for kind in Kind::ALL {
        let Some(server) = Server::private(kind, &["--max-connections=77"]) else {
            continue;
        };
        server.exec("CREATE DATABASE kept");
        let (pid, port) = (server.pid(), server.port());
        server.restart();
        assert_ne!(server.pid(), pid);
        server.kill();
        mysql::Conn::new(server.opts()).unwrap_err();
        server.start();
        assert_eq!(server.port(), port);
        assert_eq!(server.value("SHOW DATABASES LIKE 'kept'"), "kept");
        assert_eq!(server.value("SELECT @@max_connections"), "77");
    }
}

#[test]
fn database_of_a_test_is_dropped_with_it() {
    let server = Server::mariadb();
    let database = TestDb::new(&server, "dropped");
    let name = database.name().to_owned();
    database.load_text("CREATE TABLE `t` (a INT); INSERT INTO t VALUES (5);");
    assert_eq!(database.value("SELECT a FROM t"), "5");
    drop(database);
    assert!(
        server
            .rows(&format!("SHOW DATABASES LIKE '{name}'"))
            .is_empty()
    );
}

#[test]
fn value_is_awaited() {
    let server = Server::mariadb();
    server.await_value("SELECT 1", Duration::from_secs(1), |value| value == "1");
}
