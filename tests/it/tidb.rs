//! TiDB, by its documentation: no real one is at hand, so a scripted server stands in and the statements are looked at.
//!
//! Sources: TiDB docs "Read Historical Data Using the System Variable tidb_snapshot", "TABLESAMPLE REGIONS()", "SHOW MASTER
//! STATUS".

use crate::harness::{Answer, INTEGER, Rdump, Run, ScriptedServer, TEXT};

const TSO: &str = "449800000000000001";

/// A TiDB with one table `d`.`t` of three regions and one row in each.
fn tidb() -> ScriptedServer {
    ScriptedServer::start(answer)
}

fn answer(sql: &str) -> Option<Answer> {
    let has = |word: &str| sql.contains(word);
    Some(if has("@@version") {
        Answer::row([
            "7",
            "8.0.11-TiDB-v7.5.1",
            "TiDB Server (Apache License 2.0)",
        ])
    } else if has("@@lower_case_table_names") {
        Answer::row(["2"])
    } else if has("@@max_allowed_packet") {
        Answer::row(["67108864"])
    } else if has("information_schema.SCHEMATA") {
        Answer::row(["d", "utf8mb4", "utf8mb4_bin"])
    } else if has("TABLE_TYPE FROM information_schema.TABLES") {
        Answer::row(["d", "t", "BASE TABLE"])
    } else if has("ENGINE, TABLE_ROWS") {
        Answer::row(["d", "t", "InnoDB", "300", "30000", ""])
    } else if has("information_schema.COLUMNS") {
        Answer::row([
            "d",
            "t",
            "1",
            "v",
            "varchar",
            "varchar(9)",
            "utf8mb4",
            "YES",
            "",
            "utf8mb4_bin",
        ])
    } else if has("SHOW CREATE TABLE") {
        Answer::row(["t", "CREATE TABLE `t` (\n  `v` varchar(9)\n)"])
    } else if has("SHOW CREATE DATABASE") {
        Answer::row(["d", "CREATE DATABASE `d`"])
    } else if has("SHOW MASTER STATUS") {
        let columns = [
            "File",
            "Position",
            "Binlog_Do_DB",
            "Binlog_Ignore_DB",
            "Executed_Gtid_Set",
        ];
        let cells = ["tidb-binlog", TSO, "", "", ""];
        Answer::Rows(
            columns.map(|name| (name, TEXT)).to_vec(),
            vec![cells.map(|cell| Some(cell.to_owned())).to_vec()],
        )
    } else if has("TABLESAMPLE REGIONS()") {
        let rows = ["1", "30001", "60001"].map(|id| vec![Some(id.to_owned())]);
        Answer::Rows(vec![("_tidb_rowid", INTEGER)], rows.to_vec())
    } else if has("SQL_NO_CACHE") {
        Answer::Rows(vec![("v", TEXT)], vec![vec![Some("x".to_owned())]])
    } else {
        return None;
    })
}

fn dump(server: &ScriptedServer, more: &[&str]) -> Run {
    Rdump::bare()
        .args(["-h", "127.0.0.1", "-P", &server.port().to_string()])
        .args(["-u", "root", "-B", "d", "-r", "100", "-t", "2"])
        .args(["-o", "out"])
        .args(more)
        .run()
}

fn is_read(sql: &str) -> bool {
    sql.contains("SQL_NO_CACHE")
}

#[test]
fn tidb_is_read_at_one_tso_that_metadata_names_and_without_any_lock() {
    let server = tidb();
    let run = dump(&server, &[]);
    run.assert_ok();
    let metadata = String::from_utf8(run.read("metadata")).unwrap();
    assert!(
        metadata.contains(&format!("\tLog: tidb-binlog\n\tPos: {TSO}\n")),
        "{metadata}"
    );

    let connections = server.statements();
    let enter = format!("SET SESSION tidb_snapshot=_utf8mb4 x'{}'", hex(TSO));
    for statements in &connections {
        if let Some(first_read) = statements.iter().position(|sql| is_read(sql)) {
            let entered = statements.iter().position(|sql| *sql == enter);
            assert!(entered.is_some_and(|at| at < first_read), "{statements:#?}");
        }
        for sql in statements {
            let locks = ["LOCK ", "FLUSH ", "BACKUP ", "START TRANSACTION"];
            assert!(!locks.iter().any(|word| sql.starts_with(word)), "{sql}");
        }
    }
    assert_eq!(run.manifest()["consistency"]["mode"], "snapshot");
}

#[test]
fn tidb_tables_are_cut_at_their_regions_by_the_hidden_row_id() {
    let server = tidb();
    let run = dump(&server, &[]);
    run.assert_ok();
    let mut reads: Vec<String> = server
        .statements()
        .concat()
        .into_iter()
        .filter(|sql| is_read(sql))
        .collect();
    reads.sort();
    assert!(reads.len() >= 3, "{reads:#?}");
    assert!(
        reads.iter().all(|sql| sql.contains("_tidb_rowid")),
        "{reads:#?}"
    );
    let unbounded_below = reads.iter().filter(|sql| !sql.contains('>')).count();
    let unbounded_above = reads.iter().filter(|sql| !sql.contains('<')).count();
    assert_eq!((unbounded_below, unbounded_above), (1, 1), "{reads:#?}");
}

#[test]
fn the_snapshot_a_user_names_is_the_one_that_is_read() {
    let server = tidb();
    let run = dump(
        &server,
        &[
            "--consistency",
            "snapshot",
            "--snapshot",
            "2026-01-02 03:04:05",
        ],
    );
    run.assert_ok();
    let entered = server.statements().concat();
    let enter = format!(
        "SET SESSION tidb_snapshot=_utf8mb4 x'{}'",
        hex("2026-01-02 03:04:05")
    );
    assert!(entered.contains(&enter), "{entered:#?}");
}

#[test]
fn a_snapshot_that_garbage_collection_took_ends_the_run_with_a_hint() {
    let server = ScriptedServer::start(|sql| {
        if is_read(sql) {
            let text = "GC life time is shorter than transaction duration";
            return Some(Answer::Error(9006, text));
        }
        answer(sql)
    });
    let run = dump(&server, &[]);
    run.assert_fails(1);
    // Several workers may meet it, but no chunk is read twice: the rows are gone for good.
    let mut reads = server.statements().concat();
    reads.retain(|sql| is_read(sql));
    let sent = reads.len();
    reads.sort();
    reads.dedup();
    assert!(sent > 0);
    assert_eq!(sent, reads.len(), "{reads:#?}");
    assert!(
        run.report().contains("tidb_gc_life_time"),
        "{}",
        run.report()
    );
}

fn hex(text: &str) -> String {
    rdump::catalog::ident::hex(text.as_bytes())
}
