//! The counters as text for Prometheus, and as JSON for scripts.
//!
//! Owns the names, which are a contract: alerts are built on them. Who asks for them, and where they go, it leaves to `status.rs` and to
//! the command line.

use std::fmt::Write as _;
use std::time::Duration;

use serde_json::{Value, json};

use super::counters::{Counts, Progress};

/// One number: its name behind `rdump_`, its type, what it is.
type Metric = (&'static str, &'static str, &'static str, f64);

/// How a run ended, for the metrics of the whole run.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct LastRun {
    /// The exit code.
    pub exit_code: u8,
    /// When it ended, in seconds since 1970.
    pub ended: u64,
    /// When the last dump that is whole ended, in seconds since 1970; `None` if none is known of.
    pub last_success: Option<u64>,
    /// How long it took.
    pub duration: Duration,
}

/// The text of the run so far.
pub fn of_running(progress: &Progress, since_start: Duration) -> String {
    let paused = f64::from(u8::from(progress.paused().is_some()));
    let mut metrics = vec![
        (
            "running_seconds",
            "gauge",
            "How long the run has taken so far.",
            since_start.as_secs_f64(),
        ),
        (
            "paused",
            "gauge",
            "Whether the run waits for the server's load to fall.",
            paused,
        ),
    ];
    metrics.extend(of_counts(&progress.counts()));
    text(&metrics)
}

/// The text of a run that has ended.
pub fn of_ended(counts: &Counts, run: &LastRun) -> String {
    let success = f64::from(u8::from(run.exit_code == 0));
    let mut metrics = vec![
        (
            "success",
            "gauge",
            "Whether the last run made a whole dump.",
            success,
        ),
        (
            "exit_code",
            "gauge",
            "The exit code of the last run.",
            f64::from(run.exit_code),
        ),
        (
            "duration_seconds",
            "gauge",
            "How long the last run took.",
            run.duration.as_secs_f64(),
        ),
        (
            LAST_RUN,
            "gauge",
            "When the last run ended.",
            number(run.ended),
        ),
    ];
    let last_success = run.last_success.map(number);
    metrics.extend(last_success.map(|at| {
        (
            LAST_SUCCESS,
            "gauge",
            "When the last run that made a whole dump ended.",
            at,
        )
    }));
    metrics.extend(of_counts(counts));
    text(&metrics)
}

const LAST_RUN: &str = "last_run_timestamp_seconds";
const LAST_SUCCESS: &str = "last_success_timestamp_seconds";

/// When the last success was, by a text of [`of_ended`].
pub fn last_success(text: &str) -> Option<u64> {
    let name = format!("rdump_{LAST_SUCCESS} ");
    let value = text.lines().find_map(|line| line.strip_prefix(&name))?;
    value.trim().parse().ok()
}

/// The run so far as an object.
pub fn status(progress: &Progress, since_start: Duration) -> Value {
    let counts = progress.counts();
    let active = progress.active_tables(usize::MAX).into_iter();
    let tables: Vec<Value> = active
        .map(|table| {
            json!({"name": table.name, "rows": table.rows, "rows_estimated": table.rows_estimated})
        })
        .collect();
    json!({
        "status": "running",
        "running_seconds": since_start.as_secs_f64(),
        "paused": progress.paused(),
        "rows": counts.rows,
        "rows_estimated": counts.rows_estimated,
        "bytes_raw": counts.raw_bytes,
        "bytes_stored": counts.stored_bytes,
        "files": counts.files,
        "chunks": counts.chunks,
        "retries": counts.retries,
        "tables_done": counts.tables_done,
        "tables_total": counts.tables_total,
        "reading": tables,
    })
}

fn of_counts(counts: &Counts) -> [Metric; 8] {
    let metric = |name, help, value| (name, "gauge", help, number(value));
    [
        metric("rows", "Rows dumped.", counts.rows),
        metric(
            "raw_bytes",
            "Bytes of all files before compression.",
            counts.raw_bytes,
        ),
        metric(
            "stored_bytes",
            "Bytes of all files as they are stored.",
            counts.stored_bytes,
        ),
        metric("files", "Files written.", counts.files),
        metric("chunks", "Chunks finished.", counts.chunks),
        metric(
            "retries",
            "Attempts at a chunk that failed and were made again.",
            counts.retries,
        ),
        metric("tables_done", "Tables finished.", counts.tables_done),
        metric("tables_total", "Tables to be dumped.", counts.tables_total),
    ]
}

/// Prometheus knows floating point only.
#[allow(clippy::cast_precision_loss)]
fn number(n: u64) -> f64 {
    n as f64
}

fn text(metrics: &[Metric]) -> String {
    let mut text = String::new();
    for (name, kind, help, value) in metrics {
        // Writing to a string cannot fail.
        write!(
            text,
            "# HELP rdump_{name} {help}\n# TYPE rdump_{name} {kind}\nrdump_{name} {value}\n"
        )
        .unwrap_or_default();
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_success_outlives_a_failure() {
        let failed = LastRun {
            exit_code: 1,
            ended: 1_800_000_000,
            last_success: Some(1_700_000_000),
            duration: Duration::from_millis(1_500),
        };
        let text = of_ended(&Counts::default(), &failed);
        assert_eq!(last_success(&text), Some(1_700_000_000));
        assert!(text.contains("\nrdump_success 0\n"), "{text}");
        assert!(text.contains("\nrdump_duration_seconds 1.5\n"), "{text}");
        for line in text.lines() {
            let is_sample = line.split(' ').count() == 2 && line.starts_with("rdump_");
            assert!(is_sample || line.starts_with("# "), "{line}");
        }
        let never = LastRun {
            last_success: None,
            ..failed
        };
        assert_eq!(last_success(&of_ended(&Counts::default(), &never)), None);
    }

    #[test]
    fn a_pause_is_told_with_its_reason() {
        let progress = Progress::new();
        progress.set_paused(Some("busy".to_owned()));
        let second = Duration::from_secs(1);
        assert_eq!(status(&progress, second)["paused"], "busy");
        assert!(of_running(&progress, second).contains("\nrdump_paused 1\n"));
    }
}
