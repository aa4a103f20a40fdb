//! The journey of a backup: a dump among its older ones.
//!
//! Owns what comes around a dump that is made again and again: the lock, so that two runs never overlap (`lock.rs`), the names
//! of the series (`series.rs`), the look whether the new dump is whole, the link to it (`latest.rs`), and the removal of older ones
//! (`retention.rs`). Each step is taken only when the one before it has succeeded. The dump itself is `dump/`'s.

pub mod lock;
pub mod retention;
pub mod series;

mod latest;
mod whole;

use std::path::PathBuf;

use crate::cancel::CancelToken;
use crate::dump;
use crate::dump::config::DumpConfig;
use crate::dump::report::DumpReport;
use crate::error::Error;
use crate::progress::Progress;
use lock::RunLock;
use retention::Keep;
use series::Series;

/// What comes around the dump.
#[derive(Debug, Clone, Default)]
pub struct BackupConfig {
    /// The lock that is held from before the first connection to the end; none for none.
    pub lock: Option<PathBuf>,
    /// Which directories beside the output are dumps of the same job.
    pub series: Option<Series>,
    /// A symbolic link that leads to the newest dump.
    pub latest_link: Option<PathBuf>,
    /// Which dumps of the series stay.
    pub keep: Option<Keep>,
}

/// Dumps, and then does what was asked for with the older dumps. Once the dump is whole, what fails is a warning: the dump is
/// there, and nothing was removed.
pub fn run(
    backup: &BackupConfig,
    config: &DumpConfig,
    progress: &Progress,
    cancel: &CancelToken,
) -> Result<DumpReport, Error> {
    let lock = backup.lock.as_deref().map(RunLock::take).transpose()?;
    let mut report = dump::run(config, progress, cancel)?;
    let wanted = backup.latest_link.is_some() || backup.keep.is_some();
    if report.plan.is_none() && wanted {
        let warnings = conclude(backup, config, cancel)?;
        for warning in &warnings {
            log::warn!("{warning}");
        }
        report.warnings.extend(warnings);
    }
    drop(lock);
    Ok(report)
}

/// Link and removals; returns what the user ought to know. A dump that is not what its manifest says is a failure.
fn conclude(
    backup: &BackupConfig,
    config: &DumpConfig,
    cancel: &CancelToken,
) -> Result<Vec<String>, Error> {
    // Links and removals are for directories; the command line refuses them elsewhere.
    let Some(directory) = config.output.directory() else {
        return Ok(Vec::new());
    };
    let mut warnings = Vec::new();
    match whole::verify(directory, config, cancel) {
        Ok(()) => {}
        // The dump was whole before the signal came, and nobody else is hurt.
        Err(Error::Interrupted) => {
            let sentence = "stopped before the dump was verified: no older dump was removed";
            return Ok(vec![sentence.to_owned()]);
        }
        Err(error) => return Err(error),
    }
    if let Some(link) = &backup.latest_link
        && let Err(error) = latest::point(link, directory)
    {
        let link = link.display();
        warnings.push(format!("the link {link} could not be set: {error}"));
    }
    if let (Some(keep), Some(series)) = (backup.keep, &backup.series)
        && !cancel.is_cancelled()
    {
        warnings.extend(retention::apply(keep, series, directory));
    }
    Ok(warnings)
}
