//! Memory does not grow with the data, and time grows no faster than it.
//!
//! The sizes are small enough for every run and large enough to break the bounds if a table were held in memory.
//! `RDUMP_TEST_ROWS=3000000` and `RDUMP_TEST_TABLES=5000` are the full sizes.

use std::time::Duration;

use crate::harness::{Rdump, Run, Server, TestDb, announce, number_of_environment};

const MIB: u64 = 1 << 20;

fn dump(database: &TestDb) -> Run {
    let run = Rdump::dump(database.server())
        .database(database.name())
        .args(["-t", "4"])
        .time_limit(Duration::from_secs(600))
        .run();
    run.assert_ok();
    run
}

fn data_bytes(run: &Run) -> u64 {
    let files = run.files();
    let sizes = files
        .iter()
        .map(|name| run.output().join(name).metadata().unwrap().len());
    sizes.sum()
}

#[test]
fn large_table_needs_little_memory_and_linear_time() {
    const LIMIT: u64 = 64 * MIB;
    // Of the machine's moods only the good ones count.
    const TRIES: u32 = 3;
    let server = Server::mariadb();
    let rows = number_of_environment("RDUMP_TEST_ROWS", 600_000);
    let small = TestDb::seeded(&server, "li_small", "li", Some(rows / 10));
    let large = TestDb::seeded(&server, "li_large", "li", Some(rows));
    let mut best = (Duration::MAX, Duration::MAX);
    for _ in 0..TRIES {
        best.0 = best.0.min(dump(&small).duration);
        let run = dump(&large);
        best.1 = best.1.min(run.duration);
        let (bytes, peak) = (data_bytes(&run), run.peak_rss_bytes);
        let ratio = best.1.as_secs_f64() / best.0.as_secs_f64();
        announce(&format!(
            "{rows} rows, {} MiB of SQL: {:?}, peak {} MiB, time ratio {ratio:.1}",
            bytes / MIB,
            run.duration,
            peak / MIB
        ));
        assert!(bytes > LIMIT, "too little data to prove anything: {bytes}");
        assert!(peak < LIMIT, "{} MiB\n{}", peak / MIB, run.report());
        if ratio < 11.0 {
            return;
        }
    }
    panic!("ten times the rows took {best:?}");
}

#[test]
fn many_tables_need_little_memory() {
    const LIMIT: u64 = 128 * MIB;
    const PROMISED: u64 = 5000;
    let server = Server::mariadb();
    let tables = number_of_environment("RDUMP_TEST_TABLES", 1200);
    let few = TestDb::seeded(&server, "few_tables", "many", Some(tables / 6));
    let many = TestDb::seeded(&server, "many_tables", "many", Some(tables));
    let (base, run) = (dump(&few), dump(&many));
    let growth = run.peak_rss_bytes.saturating_sub(base.peak_rss_bytes);
    // By what the added tables took, the promised number would take this.
    let expected = base.peak_rss_bytes + growth * PROMISED / (tables - tables / 6);
    announce(&format!(
        "{tables} tables: {:?}, peak {} KiB; {PROMISED} would take {} KiB",
        run.duration,
        run.peak_rss_bytes >> 10,
        expected >> 10
    ));
    assert!(run.peak_rss_bytes < LIMIT, "{}", run.peak_rss_bytes);
    assert!(expected < LIMIT, "{expected}");
    let data = run
        .files()
        .iter()
        .filter(|name| name.ends_with("000000000.sql"))
        .count();
    assert_eq!(data as u64, tables, "data files");
}
