//! The journey of a load: from files to a server.
//!
//! Owns the beginning and the end of a run, and the order between: databases, sequences, tables, rows, routines and events,
//! views, triggers. What is to be done is in `plan.rs`; what a file may hold in `rules.rs`; what the target has already in
//! `target.rs`. A statement is sent over a line that outlives its connections (`line.rs`), and what was done is kept in the
//! target itself (`checkpoint.rs`), so that neither a lost connection nor a killed process loads a row twice. Definitions are
//! `definitions.rs`, rows `pool.rs`, `rows.rs` and `csv_rows.rs`.

mod check;
mod checkpoint;
pub mod config;
mod conflicts;
mod csv_rows;
mod definitions;
mod finish;
mod indexes;
mod journey;
mod line;
mod plan;
mod pool;
pub mod report;
mod rows;
mod rules;
mod script;
mod target;

use std::time::Instant;

use crate::cancel::CancelToken;
use crate::error::Error;
use crate::manifest::source::Source;
use crate::progress::Progress;
use crate::storage::LocalArchive;
use config::LoadConfig;
use journey::Journey;
use plan::Plan;
use report::LoadReport;

/// Loads what `config` asks for. Nothing is connected to before every file has been looked at.
pub fn run(
    config: &LoadConfig,
    progress: &Progress,
    cancel: &CancelToken,
) -> Result<LoadReport, Error> {
    let clock = Instant::now();
    let archive = LocalArchive::new(&config.source);
    let source = Source::open(Box::new(archive))?;
    let plan = Plan::make(config, &source)?;
    check::files(&source, &plan, config.threads, config.trust, cancel)?;
    if config.set_gtid {
        finish::gtid_of(source.manifest.as_ref())?;
    }
    let journey = Journey::new(config, &source, progress, cancel);
    let (resumed, warnings) = journey.load(&plan)?;
    Ok(LoadReport {
        counts: progress.counts(),
        source: source.describe(),
        target: journey.target(),
        resumed,
        duration: clock.elapsed(),
        warnings,
    })
}
