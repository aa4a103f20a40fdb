//! The journey of a verification: every file of a dump, and the rows of a server beside them.
//!
//! Owns the order of the steps and the list of what differs. Each file is read once (`files.rs`), several at the same time;
//! what the manifest says of the whole is compared with what it says of the parts, and with the file `metadata`
//! (`totals.rs`), and with `--against` each chunk is read again from the server (`against.rs`). Nothing is changed, on neither side. A difference is no error: an error is what keeps us from telling.

mod against;
pub mod config;
mod files;
mod keys;
pub mod report;
mod totals;

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Instant;

use crate::cancel::CancelToken;
use crate::error::Error;
use crate::manifest::source::{DumpFile, Source, SourceError};
use crate::progress::Progress;
use crate::storage::LocalArchive;
use against::Comparison;
use config::VerifyConfig;
use files::FileCheck;
use report::VerifyReport;

/// Verifies what `config` asks for.
pub fn run(
    config: &VerifyConfig,
    progress: &Progress,
    cancel: &CancelToken,
) -> Result<VerifyReport, Error> {
    let clock = Instant::now();
    let source = Source::open(Box::new(LocalArchive::new(&config.source)))?;
    let mut differences = Vec::new();
    differences.extend(source.missing.iter().map(|name| {
        let name = name.clone();
        SourceError::Missing { name }.to_string()
    }));
    differences.extend(
        source
            .extra
            .iter()
            .map(|name| format!("file {name} does not belong to the dump")),
    );
    let mut warnings = Vec::new();
    if let Some(manifest) = &source.manifest {
        differences.extend(totals::differences(manifest, &source)?);
    } else {
        let warning = "there is no manifest.json: only what the files are and how many rows they hold is told";
        warnings.push(warning.to_owned());
        differences.extend(totals::structure(&source));
    }
    let check = FileCheck::new(&source, progress);
    differences.extend(check_files(&source, &check, config.threads, cancel)?);
    check.finish();
    let mut against = None;
    if let Some(options) = &config.against {
        let Some(manifest) = &source.manifest else {
            return Err(Error::Request {
                message: format!(
                    "{} has no manifest.json, which tells what to compare",
                    source.describe()
                ),
                hint: Some("only dumps of rdump can be compared with a server".to_owned()),
            });
        };
        let comparison = Comparison::new(options, config, &source, manifest, progress, cancel);
        differences.extend(comparison.differences()?);
        against = Some(comparison.server());
    }
    Ok(VerifyReport {
        counts: progress.counts(),
        source: source.describe(),
        against,
        differences,
        duration: clock.elapsed(),
        warnings,
    })
}

/// Reads all files, so many at the same time; what differs, by the order of the files.
fn check_files(
    source: &Source,
    check: &FileCheck<'_>,
    threads: usize,
    cancel: &CancelToken,
) -> Result<Vec<String>, Error> {
    let next = AtomicUsize::new(0);
    let found: Mutex<Vec<(usize, String)>> = Mutex::default();
    let failed: Mutex<Option<Error>> = Mutex::default();
    let work = || {
        while let Some((index, file)) = take(&next, &source.files) {
            if cancel.is_cancelled() {
                return;
            }
            match check.check(file) {
                Ok(differences) => found
                    .lock()
                    .unwrap_or_else(PoisonError::into_inner)
                    .extend(differences.into_iter().map(|text| (index, text))),
                Err(error) => {
                    let mut failed = failed.lock().unwrap_or_else(PoisonError::into_inner);
                    failed.get_or_insert(error);
                    return;
                }
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(source.files.len()) {
            scope.spawn(work);
        }
        work();
    });
    if cancel.is_cancelled() {
        return Err(Error::Interrupted);
    }
    if let Some(error) = failed.into_inner().unwrap_or_else(PoisonError::into_inner) {
        return Err(error);
    }
    let mut found = found.into_inner().unwrap_or_else(PoisonError::into_inner);
    found.sort();
    Ok(found.into_iter().map(|(_, text)| text).collect())
}

fn take<'a>(next: &AtomicUsize, files: &'a [DumpFile]) -> Option<(usize, &'a DumpFile)> {
    let index = next.fetch_add(1, Ordering::Relaxed);
    Some((index, files.get(index)?))
}
