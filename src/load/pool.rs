//! The workers: each takes the next file of rows and loads it over a line of its own.
//!
//! Owns the queue and the life of the threads. The first error that another try would meet again ends all of them.

use std::collections::VecDeque;
use std::sync::{Mutex, PoisonError};

use super::line::Lines;
use super::rows::{RowLoader, TableRows};
use crate::error::Error;
use crate::manifest::source::DumpFile;

/// What a worker does next.
pub struct Job<'a> {
    /// The table.
    pub table: &'a TableRows<'a>,
    /// Its file; `None` for all of them, one after the other.
    pub file: Option<&'a DumpFile>,
}

/// Does all jobs, so many at the same time.
pub fn work(
    lines: &Lines<'_>,
    loader: &RowLoader<'_>,
    jobs: VecDeque<Job<'_>>,
    threads: usize,
) -> Result<(), Error> {
    let threads = threads.min(jobs.len());
    let queue = Mutex::new(jobs);
    let first_error: Mutex<Option<Error>> = Mutex::default();
    let worker = || {
        let mut line = lines.line();
        loop {
            let next = queue
                .lock()
                .unwrap_or_else(PoisonError::into_inner)
                .pop_front();
            let Some(job) = next.filter(|_| !lines.cancel.is_cancelled()) else {
                return;
            };
            let done = match job.file {
                Some(file) => loader.load_file(&mut line, job.table, file),
                None => loader.load_table(&mut line, job.table),
            };
            if let Err(error) = done {
                let mut first = first_error.lock().unwrap_or_else(PoisonError::into_inner);
                if !lines.cancel.is_cancelled() {
                    first.get_or_insert(error);
                }
                // The others are in the middle of something that must not be finished for its own sake.
                lines.cancel.cancel();
                return;
            }
        }
    };
    std::thread::scope(|scope| {
        for _ in 0..threads {
            scope.spawn(worker);
        }
    });
    let first = first_error.into_inner();
    match first.unwrap_or_else(PoisonError::into_inner) {
        Some(error) => Err(error),
        None if lines.cancel.is_cancelled() => Err(Error::Interrupted),
        None => Ok(()),
    }
}
