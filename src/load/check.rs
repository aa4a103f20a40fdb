//! The look at every file before anything is connected to: a damaged dump must not cost the target a table.
//!
//! Owns that each file is read once, several at the same time. Without a manifest nothing is known of files of rows, and they
//! are not read.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Mutex, PoisonError};

use super::plan::Plan;
use super::script::Script;
use crate::cancel::CancelToken;
use crate::error::Error;
use crate::manifest::source::{DumpFile, Source};

/// Checks all files of the plan.
pub fn files(
    source: &Source,
    plan: &Plan,
    threads: usize,
    trust: bool,
    cancel: &CancelToken,
) -> Result<(), Error> {
    let files: Vec<&DumpFile> = plan.files().collect();
    let next = AtomicUsize::new(0);
    let first_error: Mutex<Option<Error>> = Mutex::default();
    let work = || {
        while let Some(file) = files.get(next.fetch_add(1, Ordering::Relaxed)) {
            if cancel.is_cancelled() {
                return;
            }
            if let Err(error) = check(source, file, trust) {
                // The others need not go on.
                next.store(files.len(), Ordering::Relaxed);
                let mut first = first_error.lock().unwrap_or_else(PoisonError::into_inner);
                first.get_or_insert(error);
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 1..threads.min(files.len()) {
            scope.spawn(work);
        }
        work();
    });
    if cancel.is_cancelled() {
        return Err(Error::Interrupted);
    }
    let error = first_error.into_inner();
    error
        .unwrap_or_else(PoisonError::into_inner)
        .map_or(Ok(()), Err)
}

fn check(source: &Source, file: &DumpFile, trust: bool) -> Result<(), Error> {
    if !file.role.is_data() {
        Script::read(source, file, trust)?;
    } else if file.expected.is_some() {
        source.check(file)?;
    }
    Ok(())
}
