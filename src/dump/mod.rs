//! The journey of a dump: from a server to files.
//!
//! Owns the order of the steps, which [`run`] shows. Each step is a file: the catalog is read and a plan made (`plan.rs`),
//! sessions enter one snapshot (`server/snapshot.rs`), the coordinator hands out chunks (`coordinator.rs`) to workers
//! (`pool.rs`, `worker.rs`) that write files (`pipe.rs`), and `finish.rs` says that the dump is whole.

pub mod config;
mod coordinator;
mod finish;
mod job;
mod pipe;
mod plan;
mod pool;
mod query;
pub mod report;
mod schema;
mod survey;
mod tables;
mod worker;

use std::time::Instant;

use time::OffsetDateTime;

use crate::cancel::CancelToken;
use crate::error::Error;
use crate::progress::Progress;
use crate::storage::{LocalStorage, Storage};
use config::DumpConfig;
use report::DumpReport;

/// Dumps what `config` asks for. Returns only when every file is durable, or nothing unfinished is left.
pub fn run(
    config: &DumpConfig,
    progress: &Progress,
    cancel: &CancelToken,
) -> Result<DumpReport, Error> {
    let (started, clock) = (OffsetDateTime::now_utc(), Instant::now());
    let storage = LocalStorage::new(&config.output);
    let journey = tables::Journey::new(config, progress, cancel, &storage, started);
    if config.dry_run {
        return journey.dry_run(clock);
    }
    storage.prepare()?;
    let result = match &config.query {
        Some(query) => journey.query(query, clock),
        None => journey.tables(clock),
    };
    if result.is_err()
        && let Err(error) = storage.clean()
    {
        log::error!("{error}");
    }
    result
}
