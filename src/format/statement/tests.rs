//! The statements that dumpers write, and some that they do not.

use super::*;

fn read(sql: &str) -> Statement {
    Statement::read(sql.as_bytes())
}

fn created(sql: &str) -> Option<(ObjectKind, Option<String>, String)> {
    match read(sql) {
        Statement::Create { kind, name } => Some((kind, name.database, name.object)),
        _ => None,
    }
}

#[test]
fn a_create_tells_kind_and_name() {
    for (sql, kind, name) in [
        ("CREATE TABLE `a``b` (x int)", ObjectKind::Table, "a`b"),
        (
            "CREATE DATABASE /*!32312 IF NOT EXISTS*/ `shop` /*!40100 DEFAULT CHARACTER SET latin1 */",
            ObjectKind::Database,
            "shop",
        ),
        (
            "/*!50001 CREATE ALGORITHM=UNDEFINED */ /*!50013 DEFINER=`table`@`%` SQL SECURITY DEFINER */ /*!50001 VIEW `v` AS select 1*/",
            ObjectKind::View,
            "v",
        ),
        (
            "CREATE DEFINER=`x`@`%` PACKAGE BODY p AS",
            ObjectKind::PackageBody,
            "p",
        ),
        ("CREATE EVENT IF NOT EXISTS e ON", ObjectKind::Event, "e"),
    ] {
        assert_eq!(created(sql), Some((kind, None, name.to_owned())), "{sql}");
    }
    let other = created("CREATE TABLE `mysql`.`user` (x int)").unwrap();
    assert_eq!(other.1.as_deref(), Some("mysql"));
    assert_eq!(created("CREATE TEMPORARY TABLE t (x int)"), None);
}

#[test]
fn an_insert_tells_its_table_and_where_its_rows_are() {
    let sql = r"INSERT INTO `t` (`a`,`b)`) VALUES
(1,'a)\'('),
(CONVERT('x' USING UTF8MB4),'y''),(');";
    let Statement::Insert { table, rows_at } = read(sql) else {
        panic!("no INSERT");
    };
    assert_eq!((table.database, table.object.as_str()), (None, "t"));
    let rows: Vec<_> = Rows::new(sql.as_bytes(), rows_at, true)
        .map(|place| &sql[place])
        .collect();
    let expected = [r"(1,'a)\'(')", "(CONVERT('x' USING UTF8MB4),'y''),(')"];
    assert_eq!(rows, expected);
    for other in ["INSERT INTO t SELECT * FROM u", "INSERT INTO t SET a=1"] {
        assert_eq!(read(other), Statement::Other("INSERT".to_owned()));
    }
}

#[test]
fn settings_are_told_by_name() {
    let names = |sql: &str| match read(sql) {
        Statement::Set(settings) => settings.into_iter().map(|s| s.variable).collect(),
        other => vec![format!("{other:?}")],
    };
    assert_eq!(names("/*!40101 SET NAMES binary*/"), ["names"]);
    assert_eq!(
        names("SET SESSION a=1, @@session.b='x', @@c := 2"),
        ["a", "b", "c"]
    );
    assert_eq!(names("SET @PREV_X=@@CHARACTER_SET_CLIENT"), ["@PREV_X"]);
    for other in ["SET GLOBAL x=1", "SET @@global.x=1", "SET a=(SELECT 1)"] {
        assert_eq!(read(other), Statement::Other("SET".to_owned()), "{other}");
    }
}

#[test]
fn what_is_small_is_read_whole() {
    assert_eq!(
        read("ALTER DATABASE COLLATE utf8mb4_bin"),
        Statement::AlterDatabase
    );
    assert!(matches!(
        read("DROP VIEW IF EXISTS `v`"),
        Statement::Drop { .. }
    ));
    assert!(matches!(
        read("SELECT SETVAL(`s`,-5,0,1)"),
        Statement::SetSequence(_)
    ));
    for other in [
        "DROP TABLE IF EXISTS a, b",
        "DROP TABLE a",
        "ALTER DATABASE mysql COLLATE x",
        "SELECT SETVAL(`s`,(SELECT 1))",
        "SELECT SLEEP(5)",
    ] {
        assert!(matches!(read(other), Statement::Other(_)), "{other}");
    }
}
