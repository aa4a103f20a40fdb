//! Which tables a dump has.

use crate::harness::{Kind, Rdump, Run, Server, TestDb};

fn tables(run: &Run) -> Vec<String> {
    run.assert_ok();
    let manifest = run.manifest();
    let tables = manifest["tables"].as_array().unwrap();
    let name = |table: &serde_json::Value| table["name"].as_str().unwrap().to_owned();
    tables.iter().map(name).collect()
}

fn servers() -> impl Iterator<Item = Server> {
    let kinds = [Kind::MariaDb, Kind::MySql];
    kinds.into_iter().filter_map(Server::get)
}

#[test]
fn names_that_differ_in_case_are_told_apart_when_asked() {
    for server in servers() {
        let database = TestDb::case(&server, "names-in-two-cases").unwrap();
        let name = database.name();
        let run = |arguments: &[&str]| Rdump::dump(&server).args(arguments).run();
        let exact = run(&["-T", &format!("{name}.MY_BASE")]);
        assert_eq!(tables(&exact), ["MY_BASE"]);
        let filtered = run(&["--case-sensitive", "-f", &format!("{name}.my_*")]);
        assert_eq!(tables(&filtered), ["my_base"]);
        let both = run(&["-f", &format!("{name}.my_*")]);
        assert_eq!(tables(&both).len(), 2);
    }
}

#[test]
fn rule_that_matches_nothing_is_a_warning() {
    for server in servers() {
        let database = TestDb::case(&server, "names-in-two-cases").unwrap();
        let rules = [format!("{}.*", database.name()), "no_such.rule".to_owned()];
        let run = Rdump::dump(&server)
            .args(["-f", &rules[0], "-f", &rules[1]])
            .run();
        assert_eq!(tables(&run).len(), 2);
        assert!(run.stderr.contains("no_such.rule"), "{}", run.report());
        assert!(
            run.manifest()["warnings"]
                .to_string()
                .contains("no_such.rule")
        );
    }
}

/// On a server of its own, where a system view is broken: whoever touches it, hears of it.
#[test]
fn system_schemas_are_neither_dumped_nor_opened() {
    let kinds = [Kind::MariaDb, Kind::MySql];
    for server in kinds
        .into_iter()
        .filter_map(|kind| Server::private(kind, &[]))
    {
        let database = TestDb::new(&server, "own");
        database.exec("CREATE TABLE t (id INT PRIMARY KEY)");
        server.exec("DROP USER IF EXISTS 'mysql.sys'@localhost");
        server.exec("DROP USER IF EXISTS 'mariadb.sys'@localhost");
        server.exec("CREATE DATABASE empty_one");
        let run = Rdump::dump(&server).run();
        assert_eq!(tables(&run), ["t"]);
        assert!(
            run.files()
                .contains(&"empty_one-schema-create.sql".to_owned())
        );
        let warned = run.stderr.contains("WARN");
        assert!(!warned, "{}", run.report());
        let system: Vec<_> = run
            .files()
            .into_iter()
            .filter(|file| {
                ["mysql", "sys", "performance_schema", "information_schema"]
                    .iter()
                    .any(|schema| {
                        file.starts_with(&format!("{schema}."))
                            || file.starts_with(&format!("{schema}-"))
                    })
            })
            .collect();
        assert!(system.is_empty(), "{system:?}");
    }
}
