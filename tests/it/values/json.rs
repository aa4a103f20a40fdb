//! MySQL's JSON documents, which hold more types than their text can say.

use crate::harness::{Kind, Rdump, Server, TestDb, assert_round_trip};

/// Each with a value of a type that JSON's text has no form for; a decimal may also lose digits.
const BEYOND_TEXT: [&str; 8] = [
    "JSON_OBJECT('d', CAST('2020-01-01' AS DATE))",
    "JSON_ARRAY(CAST('10:11:12.5' AS TIME(3)))",
    "JSON_ARRAY(1, JSON_OBJECT('x', CAST('2020-01-01 01:01:01' AS DATETIME)))",
    "JSON_ARRAY(x'00ff')",
    "JSON_ARRAY(b'101')",
    "JSON_OBJECT('n', 1.10)",
    "JSON_OBJECT('n', 0.12345678901234567890)",
    "CAST(CAST('2020-01-01' AS DATE) AS JSON)",
];

/// Every type that text has, and strings that look like one of the others.
const PLAIN: &str = r#"('{"d": "2020-01-01", "t": "10:11:12.000000", "b": "base64:type15:AP8=", "n": [1, -2.5, 1e300, 0.1, -0.0, 18446744073709551615, true, null]}'),
    (NULL), ('"2020-01-01 00:00:00.000000"'), ('1.5'), ('null'), ('{"a": "quote \\" backslash \\\\ \\u0000 😀"}')"#;

#[test]
fn documents_whose_text_loses_types_are_named_and_no_others() {
    let Some(server) = Server::get(Kind::MySql) else {
        return;
    };
    let database = TestDb::new(&server, "json");
    database.load_text(format!(
        "SET NAMES utf8mb4; CREATE TABLE plain (j JSON, id INT AUTO_INCREMENT PRIMARY KEY); INSERT INTO plain (j) VALUES {PLAIN};"
    ));
    let run = |rows: &str| {
        let run = Rdump::dump(&server)
            .database(database.name())
            .args(["-r", rows])
            .run();
        run.assert_ok();
        run
    };
    let clean = run("2");
    assert_eq!(clean.manifest()["warnings"].to_string(), "[]");
    assert_round_trip(&clean, &database);
    for document in BEYOND_TEXT {
        database.exec("CREATE TABLE rich (id INT PRIMARY KEY, a JSON, `b``` JSON)");
        database.exec(&format!(
            "INSERT INTO rich VALUES (1, '1', NULL), (2, '2', {document}), (3, '3', {document})"
        ));
        let manifest = run("1").manifest();
        let warnings = manifest["warnings"].as_array().unwrap();
        assert_eq!(warnings.len(), 1, "{document}: {warnings:?}");
        let warning = warnings[0].as_str().unwrap();
        assert!(
            warning.starts_with("`b``` of ") && warning.contains("`rich`"),
            "{warning}"
        );
        database.exec("DROP TABLE rich");
    }
}
