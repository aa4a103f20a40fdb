//! The reports of `load` and `verify`.
//!
//! Owns their words and their JSON. The numbers come from [`LoadReport`] and [`VerifyReport`].

use serde::Serialize;

use super::{Outlet, told};
use crate::cli::exit::Exit;
use crate::cli::output::OUTCOME;
use crate::load::report::LoadReport;
use crate::progress::Counts;
use crate::progress::figures::{bytes, count, counted, duration};
use crate::verify::report::VerifyReport;

/// The object of `--report json`.
#[derive(Serialize)]
struct Outcome<'a> {
    status: &'static str,
    source: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    resumed: Option<bool>,
    #[serde(skip_serializing_if = "Option::is_none")]
    differences: Option<&'a [String]>,
    tables: u64,
    rows: u64,
    bytes_raw: u64,
    bytes_stored: u64,
    files: u64,
    retries: u64,
    duration_seconds: f64,
    warnings: &'a [String],
}

/// Prints the report of a load that succeeded.
pub fn loaded(report: &LoadReport, outlet: &Outlet) -> Exit {
    let counts = &report.counts;
    let tables = counted(counts.tables_done, "table");
    let mut lines = vec![format!(
        "loaded {tables} from {} into {}",
        report.source, report.target
    )];
    lines.extend(figures(counts, report.duration));
    if report.resumed {
        lines.push("  resumed   what an interrupted load had done was not done again".to_owned());
    }
    log::info!(target: OUTCOME, "done: {} rows loaded from {}", count(counts.rows), report.source);
    let outcome = Outcome {
        status: "loaded",
        source: &report.source,
        target: Some(&report.target),
        resumed: Some(report.resumed),
        differences: None,
        tables: counts.tables_done,
        rows: counts.rows,
        bytes_raw: counts.raw_bytes,
        bytes_stored: counts.stored_bytes,
        files: counts.files,
        retries: counts.retries,
        duration_seconds: report.duration.as_secs_f64(),
        warnings: &report.warnings,
    };
    let text = lines.join("\n") + "\n";
    outlet.conclude(
        &text,
        &told("warning", &report.warnings),
        &outcome,
        Exit::WHOLE,
    )
}

/// Prints what a verification found; differences are told even when quiet.
pub fn verified(report: &VerifyReport, outlet: &Outlet) -> Exit {
    let counts = &report.counts;
    let is_equal = report.differences.is_empty();
    let mut notes = told("warning", &report.warnings);
    notes.extend(told("difference", &report.differences));
    let verdict = match (&report.against, is_equal) {
        (None, true) => format!("{} is whole", report.source),
        (None, false) => format!("{} is not whole", report.source),
        (Some(server), true) => format!("{} is whole and equal to {server}", report.source),
        (Some(server), false) => format!("{} differs from {server} or is not whole", report.source),
    };
    log::info!(target: OUTCOME, "{verdict}");
    let mut lines = vec![verdict];
    lines.extend(figures(counts, report.duration));
    if !is_equal {
        let differences = counted(report.differences.len() as u64, "difference");
        lines.push(format!("  found     {differences}"));
    }
    let outcome = Outcome {
        status: if is_equal { "equal" } else { "different" },
        source: &report.source,
        target: report.against.as_deref(),
        resumed: None,
        differences: Some(&report.differences),
        tables: counts.tables_done,
        rows: counts.rows,
        bytes_raw: counts.raw_bytes,
        bytes_stored: counts.stored_bytes,
        files: counts.files,
        retries: counts.retries,
        duration_seconds: report.duration.as_secs_f64(),
        warnings: &report.warnings,
    };
    let exit = if is_equal {
        Exit::WHOLE
    } else {
        Exit::DIFFERENT
    };
    outlet.conclude(&(lines.join("\n") + "\n"), &notes, &outcome, exit)
}

fn figures(counts: &Counts, took: std::time::Duration) -> Vec<String> {
    let millis = took.as_millis().max(1);
    let speed = u128::from(counts.raw_bytes) * 1000 / millis;
    let mut lines = vec![
        format!("  rows      {}", count(counts.rows)),
        format!("  size      {}", bytes(counts.raw_bytes)),
        format!("  files     {}", count(counts.files)),
        format!(
            "  time      {}, {}/s",
            duration(took),
            bytes(u64::try_from(speed).unwrap_or(u64::MAX))
        ),
    ];
    if counts.retries > 0 {
        lines.push(format!(
            "  retried   {}",
            counted(counts.retries, "attempt")
        ));
    }
    lines
}
