//! The report of `check`.
//!
//! Owns its words and its JSON. What was found [`CheckReport`] says.

use serde::Serialize;
use serde_json::{Map, Value};

use super::{Outlet, told};
use crate::cli::exit::Exit;
use crate::dump::report::CheckReport;

/// The object of `--report json`.
#[derive(Serialize)]
struct Outcome<'a> {
    status: &'static str,
    findings: Map<String, Value>,
    grants: Vec<&'a str>,
    problems: &'a [String],
    warnings: &'a [String],
}

/// Prints what a dump would do; exit 1 if it would fail.
pub fn checked(report: &CheckReport, outlet: &Outlet) -> Exit {
    let would_run = report.problems.is_empty();
    let outcome = Outcome {
        status: if would_run { "ready" } else { "not_ready" },
        findings: report
            .findings
            .iter()
            .map(|(word, text)| ((*word).to_owned(), Value::from(text.as_str())))
            .collect(),
        grants: report
            .missing
            .iter()
            .map(|right| right.grant.as_str())
            .collect(),
        problems: &report.problems,
        warnings: &report.warnings,
    };
    let exit = if would_run { Exit::WHOLE } else { Exit::FAILED };
    // What was found is the answer, which `quiet` in an option file for nightly dumps must not swallow.
    let outlet = Outlet {
        quiet: false,
        ..outlet.clone()
    };
    let notes = told("warning", &report.warnings);
    outlet.conclude(&text(report), &notes, &outcome, exit)
}

fn text(report: &CheckReport) -> String {
    let mut lines: Vec<String> = report
        .findings
        .iter()
        .map(|(word, text)| format!("  {word:<9} {text}"))
        .collect();
    for right in &report.missing {
        lines.push(format!("  missing   {}: {}", right.right, right.otherwise));
        lines.push(format!("            {}", right.grant));
    }
    lines.extend(
        report
            .problems
            .iter()
            .map(|problem| format!("  problem   {problem}")),
    );
    let verdict = if report.problems.is_empty() {
        "a dump would run"
    } else {
        "a dump would not run"
    };
    format!("{verdict}\n{}\n", lines.join("\n"))
}
