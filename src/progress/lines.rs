//! Progress as plain lines, for logs, pipes and cron.
//!
//! Owns the text of a line. When one is due, and where it goes, it leaves to `mod.rs`.

use super::Pace;
use super::counters::{ActiveTable, Counts};
use super::figures::{bytes, count, counted, duration, percent};

/// One line, without its end.
pub(super) fn line(
    counts: &Counts,
    pace: &Pace,
    active: &[ActiveTable],
    paused: Option<&str>,
) -> String {
    let mut parts = vec![summary(counts, pace), tables(counts)];
    if counts.retries > 0 {
        parts.push(format!("{} retried", counted(counts.retries, "attempt")));
    }
    let names: Vec<&str> = active.iter().map(|table| table.name.as_str()).collect();
    if !names.is_empty() {
        parts.push(format!("reading {}", names.join(" ")));
    }
    if let Some(reason) = paused {
        parts.insert(0, format!("paused ({reason})"));
    }
    format!("progress: {}", parts.join(", "))
}

/// How many tables there are, and how many of them are done once one is. Many are read side by side, the largest first, so none is
/// done for long.
pub(super) fn tables(counts: &Counts) -> String {
    match counts.tables_done {
        0 => counted(counts.tables_total, "table"),
        done => format!(
            "{} of {}",
            count(done),
            counted(counts.tables_total, "table")
        ),
    }
}

/// Rows, bytes, speed, share and time left: what a bar says too.
pub(super) fn summary(counts: &Counts, pace: &Pace) -> String {
    let mut parts = vec![
        format!("{} rows", count(counts.rows)),
        bytes(counts.raw_bytes),
        format!("{}/s", bytes(pace.bytes_per_second())),
    ];
    if let Some(percent) = percent(counts.rows, counts.rows_estimated) {
        parts.push(format!("about {percent} %"));
    }
    if let Some(remaining) = pace.remaining() {
        parts.push(format!("{} left", duration(remaining)));
    }
    parts.join(", ")
}

#[cfg(test)]
mod tests {
    use super::super::Progress;
    use super::*;
    use std::time::{Duration, Instant};

    #[test]
    fn a_line_says_how_far_how_fast_and_what_is_being_read() {
        let progress = Progress::new();
        let (orders, _) = (
            progress.table("shop.orders", 4_000),
            progress.table("shop.x", 0),
        );
        let mut pace = Pace::new(Duration::from_secs(30));
        let start = Instant::now();
        pace.note(start, progress.counts());
        let mut attempt = orders.attempt();
        attempt.add_rows(1_000, 3_000_000);
        progress.add_retry();
        pace.note(start + Duration::from_secs(30), progress.counts());
        let active = progress.active_tables(4);
        let line = line(&progress.counts(), &pace, &active, Some("busy"));
        let expected = "progress: paused (busy), 1,000 rows, 3.00 MB, 100 kB/s, about 25 %, 1m 30s left, \
                        2 tables, 1 attempt retried, reading shop.orders";
        assert_eq!(line, expected);
    }
}
