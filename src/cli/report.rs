//! What the user is told at the end: the report of a dump, the answer to a question, an error.
//!
//! Owns the words and the JSON of `--report json`, whose field names are a contract. A reader that went away is no reason to
//! complain: a failed write only makes the exit code 1. The numbers come from [`DumpReport`].

use std::error::Error;
use std::io::{self, Write};

use serde::Serialize;

mod check;
mod journeys;

pub use check::checked;
pub use journeys::{loaded, verified};

use super::exit::Exit;
use super::output::{OUTCOME, ReportFormat, causes, error_text};
use super::usage::UsageError;
use crate::dump::config::ConsistencyMode;
use crate::dump::report::{DryRun, DumpReport};
use crate::progress::Screen;
use crate::progress::figures::{bytes, count, counted, duration};

/// Prints what `--help` or `--version` asked for.
pub fn answer(text: &str) -> Exit {
    written(io::stdout().lock().write_all(text.as_bytes()), Exit::WHOLE)
}

/// Prints why nothing was tried.
pub fn usage_error(error: &UsageError, json: bool) -> Exit {
    let outlet = Outlet {
        screen: Screen::new(),
        format: if json {
            ReportFormat::Json
        } else {
            ReportFormat::Text
        },
        quiet: false,
    };
    failure(error, error.hint(), Exit::USAGE, &outlet)
}

/// Where a report goes, and how it looks.
#[derive(Debug, Clone)]
pub struct Outlet {
    /// Standard error.
    pub screen: Screen,
    /// How the report looks.
    pub format: ReportFormat,
    /// Whether only warnings and errors are told.
    pub quiet: bool,
}

impl Outlet {
    /// Tells of a run that came to its end: the summary unless quiet, the notes, which are whole lines, and the object where
    /// it is wanted.
    fn conclude(
        &self,
        summary: &str,
        notes: &[String],
        outcome: &impl Serialize,
        exit: Exit,
    ) -> Exit {
        let mut text = String::new();
        if !self.quiet {
            text.push_str(summary);
        }
        for note in notes {
            text.push_str(&[note, "\n"].concat());
        }
        if let Err(error) = self.screen.write(&text) {
            // What was done is done; that nobody reads standard error does not change it.
            log::debug!("the report could not be written: {error}");
        }
        let json = match self.format {
            ReportFormat::Text => Ok(()),
            ReportFormat::Json => print_json(outcome),
        };
        written(json, exit)
    }
}

/// Prints the report of a dump that succeeded.
pub fn dumped(report: &DumpReport, outlet: &Outlet) -> Exit {
    let text = report.plan.as_ref().map_or_else(|| summary(report), plan);
    let (rows, output) = (count(report.counts.rows), &report.output);
    log::info!(target: OUTCOME, "done: {rows} rows in {output}");
    let notes = told("warning", &report.warnings);
    outlet.conclude(&text, &notes, &Outcome::of(report), Exit::WHOLE)
}

/// Sentences as lines that say what they are.
fn told(what: &str, sentences: &[String]) -> Vec<String> {
    let line = |sentence| format!("{what}: {sentence}");
    sentences.iter().map(line).collect()
}

/// Prints the error that ended a run.
pub fn failure(error: &dyn Error, hint: Option<&str>, exit: Exit, outlet: &Outlet) -> Exit {
    let causes = causes(error);
    let chain = [&[error.to_string()], causes.as_slice()].concat();
    log::error!(target: OUTCOME, "{}", chain.join(": "));
    let told = outlet.screen.write(&error_text(error, hint));
    let json = match outlet.format {
        ReportFormat::Text => Ok(()),
        ReportFormat::Json => print_json(&Outcome::Failed {
            exit: exit.code(),
            error: error.to_string(),
            causes,
            hint,
        }),
    };
    written(told.and(json), exit)
}

/// The exit code, unless the reader went away.
fn written(result: io::Result<()>, exit: Exit) -> Exit {
    match (result, exit) {
        (Err(_), Exit::WHOLE) => Exit::FAILED,
        (_, exit) => exit,
    }
}

fn print_json(outcome: &impl Serialize) -> io::Result<()> {
    let mut stdout = io::stdout().lock();
    serde_json::to_writer(&mut stdout, outcome)?;
    stdout.write_all(b"\n")?;
    stdout.flush()
}

fn summary(report: &DumpReport) -> String {
    let counts = &report.counts;
    let views = match report.views {
        0 => String::new(),
        views => format!(" and {}", counted(views, "view")),
    };
    let stored = if counts.stored_bytes == counts.raw_bytes {
        String::new()
    } else {
        format!(", stored as {}", bytes(counts.stored_bytes))
    };
    let millis = report.duration.as_millis().max(1);
    let speed = u128::from(counts.raw_bytes) * 1000 / millis;
    let mut lines = vec![
        format!(
            "dumped {}{views} to {}",
            counted(counts.tables_done, "table"),
            report.output
        ),
        format!("  rows      {}", count(counts.rows)),
        format!("  size      {}{stored}", bytes(counts.raw_bytes)),
        format!("  files     {}", count(counts.files)),
        format!(
            "  time      {}, {}/s",
            duration(report.duration),
            bytes(u64::try_from(speed).unwrap_or(u64::MAX))
        ),
        format!("  mode      {}", mode_name(report.consistency)),
    ];
    lines.extend(
        report
            .position
            .as_ref()
            .map(|position| format!("  position  {position}")),
    );
    if counts.retries > 0 {
        lines.push(format!(
            "  retried   {}",
            counted(counts.retries, "attempt")
        ));
    }
    lines.join("\n") + "\n"
}

fn plan(plan: &DryRun) -> String {
    let mut lines = Vec::new();
    for table in &plan.tables {
        let key = match table.key.as_slice() {
            [] => "no key".to_owned(),
            columns => format!("key {}", columns.join(", ")),
        };
        lines.push(format!(
            "{}: about {}, {key}, {}",
            table.name,
            counted(table.rows_estimated, "row"),
            counted(table.chunks.len() as u64, "chunk")
        ));
        let conditions = table.chunks.iter().filter(|chunk| !chunk.is_empty());
        lines.extend(conditions.map(|condition| format!("  WHERE {condition}")));
    }
    lines.push(format!("needed privileges: {}", plan.privileges.join(", ")));
    lines.join("\n") + "\n"
}

fn mode_name(mode: ConsistencyMode) -> &'static str {
    match mode {
        ConsistencyMode::Auto => "auto",
        ConsistencyMode::Flush => "flush",
        ConsistencyMode::Snapshot => "snapshot",
        ConsistencyMode::Lock => "lock",
        ConsistencyMode::None => "none",
    }
}

/// The object of `--report json`.
#[derive(Serialize)]
#[serde(tag = "status", rename_all = "snake_case")]
enum Outcome<'a> {
    Whole {
        output: &'a str,
        tables: u64,
        views: u64,
        rows: u64,
        bytes_raw: u64,
        bytes_stored: u64,
        files: u64,
        chunks: u64,
        retries: u64,
        duration_seconds: f64,
        consistency: &'static str,
        position: Option<&'a str>,
        warnings: &'a [String],
    },
    Planned {
        tables: Vec<PlannedTable<'a>>,
        privileges: &'a [String],
        warnings: &'a [String],
    },
    Failed {
        exit: u8,
        error: String,
        causes: Vec<String>,
        hint: Option<&'a str>,
    },
}

#[derive(Serialize)]
struct PlannedTable<'a> {
    name: &'a str,
    key: &'a [String],
    rows_estimated: u64,
    chunks: &'a [String],
}

impl<'a> Outcome<'a> {
    fn of(report: &'a DumpReport) -> Self {
        if let Some(plan) = &report.plan {
            let tables = plan.tables.iter().map(|table| PlannedTable {
                name: &table.name,
                key: &table.key,
                rows_estimated: table.rows_estimated,
                chunks: &table.chunks,
            });
            return Self::Planned {
                tables: tables.collect(),
                privileges: &plan.privileges,
                warnings: &report.warnings,
            };
        }
        let counts = &report.counts;
        Self::Whole {
            output: &report.output,
            tables: counts.tables_done,
            views: report.views,
            rows: counts.rows,
            bytes_raw: counts.raw_bytes,
            bytes_stored: counts.stored_bytes,
            files: counts.files,
            chunks: counts.chunks,
            retries: counts.retries,
            duration_seconds: report.duration.as_secs_f64(),
            consistency: mode_name(report.consistency),
            position: report.position.as_deref(),
            warnings: &report.warnings,
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::dump::report;
    use crate::progress::Counts;
    use std::time::Duration;

    fn dumped() -> DumpReport {
        DumpReport {
            counts: Counts {
                rows: 1_234_567,
                raw_bytes: 388_000_000,
                stored_bytes: 97_000_000,
                files: 57,
                chunks: 40,
                retries: 1,
                tables_done: 12,
                tables_total: 12,
                rows_estimated: 1_200_000,
            },
            views: 1,
            output: "./export".to_owned(),
            consistency: ConsistencyMode::Flush,
            position: Some("bin.000007:4711".to_owned()),
            duration: Duration::from_secs(10),
            warnings: Vec::new(),
            plan: None,
        }
    }

    #[test]
    fn the_summary_says_everything_in_a_few_lines() {
        let expected = "\
dumped 12 tables and 1 view to ./export
  rows      1,234,567
  size      388 MB, stored as 97.0 MB
  files     57
  time      10 s, 38.8 MB/s
  mode      flush
  position  bin.000007:4711
  retried   1 attempt
";
        assert_eq!(summary(&dumped()), expected);
    }

    #[test]
    fn the_json_has_the_same_in_plain_numbers() {
        let dumped = dumped();
        let json = serde_json::to_value(Outcome::of(&dumped)).unwrap();
        let expected = serde_json::json!({
            "status": "whole", "output": "./export", "tables": 12, "views": 1,
            "rows": 1_234_567, "bytes_raw": 388_000_000, "bytes_stored": 97_000_000,
            "files": 57, "chunks": 40, "retries": 1, "duration_seconds": 10.0,
            "consistency": "flush", "position": "bin.000007:4711", "warnings": [],
        });
        assert_eq!(json, expected);
    }

    #[test]
    fn a_plan_lists_tables_keys_conditions_and_privileges() {
        let table = |name: &str, key: &[&str], chunks: &[&str]| report::PlannedTable {
            name: name.to_owned(),
            key: key.iter().map(ToString::to_string).collect(),
            rows_estimated: 20,
            chunks: chunks.iter().map(ToString::to_string).collect(),
        };
        let found = DryRun {
            tables: vec![
                table("shop.orders", &["id"], &["`id`<10", "`id`>=10"]),
                table("shop.log", &[], &[""]),
            ],
            privileges: vec!["SELECT".to_owned(), "RELOAD".to_owned()],
        };
        let expected = "\
shop.orders: about 20 rows, key id, 2 chunks
  WHERE `id`<10
  WHERE `id`>=10
shop.log: about 20 rows, no key, 1 chunk
needed privileges: SELECT, RELOAD
";
        assert_eq!(plan(&found), expected);
    }
}
