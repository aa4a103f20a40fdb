//! The journey of a dump: from a server to files.
//!
//! Owns the beginning and the end of a run, in [`run`], and the order of the steps between, in `tables.rs`. Each step is a
//! file: what there is and what is wanted (`survey.rs`, `plan.rs`), one snapshot for all sessions (`server/snapshot.rs`), the
//! definitions (`schema.rs`), chunks handed out by the coordinator (`coordinator.rs`, `job.rs`) to workers (`pool.rs`,
//! `worker.rs`) that write files (`pipe.rs`), and the word that the dump is whole (`finish.rs`). How fast they may go `throttle.rs`
//! knows, and `sentinel.rs` looks at the server meanwhile. `--sql` is a small journey of its own (`query.rs`). What was asked for is in [`config`], what came of it in [`report`].

mod check;
pub mod config;
mod coordinator;
mod finish;
mod free_space;
mod job;
mod opening;
mod pipe;
mod plan;
mod pool;
mod query;
mod relay;
pub mod report;

mod schema;
mod sentinel;
mod survey;
mod tables;
mod throttle;
mod worker;

use std::time::Instant;

use time::OffsetDateTime;

use crate::cancel::CancelToken;
use crate::error::Error;
use crate::manifest::names::is_dump_file;
use crate::progress::Progress;
use config::DumpConfig;
use report::{CheckReport, DumpReport};

/// Dumps what `config` asks for. Returns only when every file is durable, or nothing unfinished is left.
pub fn run(
    config: &DumpConfig,
    progress: &Progress,
    cancel: &CancelToken,
) -> Result<DumpReport, Error> {
    let (started, clock) = (OffsetDateTime::now_utc(), Instant::now());
    let storage = config.output.storage(cancel, is_dump_file);
    let journey = tables::Journey::new(config, progress, cancel, &*storage, started);
    if config.dry_run {
        return journey.dry_run(clock);
    }
    let prepared = storage.prepare().map_err(Error::from);
    let result = prepared.and_then(|()| match &config.query {
        Some(query) => journey.query(query, clock),
        None => journey.tables(clock),
    });
    if result.is_err()
        && let Err(error) = storage.clean()
    {
        log::error!("{error}");
    }
    result
}

/// Looks whether a dump by `config` would run, and how. Reads no rows, writes nothing, and takes the locks of a dump for a moment.
pub fn check(
    config: &DumpConfig,
    progress: &Progress,
    cancel: &CancelToken,
) -> Result<CheckReport, Error> {
    let storage = config.output.storage(cancel, is_dump_file);
    let started = OffsetDateTime::now_utc();
    tables::Journey::new(config, progress, cancel, &*storage, started).check()
}
