//! `--definer`: whose the views and stored objects of a dump are.

use crate::harness::{Query as _, Rdump, Server, TestDb, restore};

/// Of each kind one, whose body speaks of a definer too.
const OBJECTS: &str = r"
CREATE TABLE t (id INT PRIMARY KEY, v VARCHAR(99));
CREATE ALGORITHM=MERGE DEFINER='@user@owner'@'10.%' SQL SECURITY INVOKER VIEW w AS SELECT id, 'DEFINER=`x`@`y` ' AS d FROM t;
CREATE DEFINER='@user@owner'@'10.%' TRIGGER tr BEFORE INSERT ON t FOR EACH ROW SET NEW.v = 'DEFINER=`x`@`y` ';
CREATE DEFINER='@user@owner'@'10.%' PROCEDURE p() SELECT 'CREATE DEFINER=`x`@`y` ';
CREATE DEFINER='@user@owner'@'10.%' FUNCTION f() RETURNS INT DETERMINISTIC RETURN 1;
CREATE DEFINER='@user@owner'@'10.%' EVENT e ON SCHEDULE EVERY 1 DAY DISABLE DO SELECT 'DEFINER=`x`@`y` ';
";

/// What the server says of each object, but its definer; and the definers.
fn objects(server: &Server, database: &str) -> (Vec<String>, Vec<String>) {
    let mut session = server.connect();
    session.execute(&format!("USE `{database}`"));
    let mut texts = Vec::new();
    let mut definers = Vec::new();
    for (view, name, schema, text) in [
        (
            "VIEWS",
            "TABLE_NAME",
            "TABLE_SCHEMA",
            "CONCAT(VIEW_DEFINITION, SECURITY_TYPE)",
        ),
        (
            "TRIGGERS",
            "TRIGGER_NAME",
            "TRIGGER_SCHEMA",
            "ACTION_STATEMENT",
        ),
        (
            "ROUTINES",
            "ROUTINE_NAME",
            "ROUTINE_SCHEMA",
            "CONCAT(ROUTINE_DEFINITION, SECURITY_TYPE)",
        ),
        ("EVENTS", "EVENT_NAME", "EVENT_SCHEMA", "EVENT_DEFINITION"),
    ] {
        let sql = format!(
            "SELECT {name}, {text}, DEFINER FROM information_schema.{view} WHERE {schema} = DATABASE() ORDER BY 1"
        );
        for row in session.rows(&sql) {
            let cell = |index: usize| String::from_utf8(row[index].clone().unwrap()).unwrap();
            texts.push(format!("{} {}", cell(0), cell(1)));
            definers.push(cell(2));
        }
    }
    (texts, definers)
}

#[test]
fn definers_are_kept_dropped_or_replaced_and_bodies_untouched() {
    for server in Server::all() {
        let Some(target) = Server::target(server.kind()) else {
            continue;
        };
        let database = TestDb::new(&server, "definer");
        let prefix = database.user_prefix().to_owned();
        database.load_text(OBJECTS.replace("@user@", &prefix));
        let (texts, definers) = objects(&server, database.name());
        let owner = format!("{prefix}owner@10.%");
        assert_eq!((texts.len(), &definers), (5, &vec![owner.clone(); 5]));
        let loader = target.value("SELECT CURRENT_USER()");
        for (wanted, expected) in [
            ("keep", owner),
            ("skip", loader),
            ("o'x@localhost", "o'x@localhost".to_owned()),
            ("app", "app@%".to_owned()),
        ] {
            let run = Rdump::dump(&server)
                .database(database.name())
                .args(["--definer", wanted])
                .run();
            run.assert_ok();
            let restored = restore(run.output(), &target);
            let (copies, definers) = objects(&target, &restored.databases()[0]);
            assert_eq!(copies, texts, "--definer {wanted}");
            assert_eq!(definers, vec![expected; 5], "--definer {wanted}");
        }
    }
}
