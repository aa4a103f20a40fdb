//! `Progress`: what has been done so far, as counters that everybody may read and the workers write.
//!
//! Owns the only book-keeping of a run: the bars, the plain lines and the final report all read these numbers. A worker
//! counts through an [`Attempt`], which takes its numbers back unless it is kept, so that a chunk that is tried twice is
//! counted once. Drawing it leaves to `bars.rs` and `lines.rs`.

use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

#[derive(Debug, Default)]
struct Shared {
    rows: AtomicU64,
    raw_bytes: AtomicU64,
    stored_bytes: AtomicU64,
    files: AtomicU64,
    chunks: AtomicU64,
    retries: AtomicU64,
    tables_done: AtomicU64,
    tables_total: AtomicU64,
    rows_estimated: AtomicU64,
    active: Mutex<Vec<TableProgress>>,
    paused: Mutex<Option<String>>,
}

/// The counters of a run. All clones are the same counters.
#[derive(Debug, Clone, Default)]
pub struct Progress(Arc<Shared>);

/// The counters at one moment.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Counts {
    /// Rows read and encoded.
    pub rows: u64,
    /// Bytes of all files before compression.
    pub raw_bytes: u64,
    /// Bytes of all files as they are stored.
    pub stored_bytes: u64,
    /// Files written.
    pub files: u64,
    /// Chunks finished.
    pub chunks: u64,
    /// Attempts that failed and were made again.
    pub retries: u64,
    /// Tables finished.
    pub tables_done: u64,
    /// Tables known so far.
    pub tables_total: u64,
    /// Rows that the server believes those tables have.
    pub rows_estimated: u64,
}

/// A table that is being read, at one moment.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ActiveTable {
    /// Its name for people.
    pub name: String,
    /// Rows read so far.
    pub rows: u64,
    /// Rows that the server believes it has.
    pub rows_estimated: u64,
}

impl Progress {
    /// Counters at zero.
    pub fn new() -> Self {
        Self::default()
    }

    /// Announces a table that will be read. The more tables are announced before the first row, the better the estimates.
    pub fn table(&self, name: impl Into<String>, rows_estimated: u64) -> TableProgress {
        add(&self.0.tables_total, 1);
        add(&self.0.rows_estimated, rows_estimated);
        TableProgress(Arc::new(TableShared {
            name: name.into(),
            rows_estimated,
            rows: AtomicU64::new(0),
            listed: AtomicBool::new(false),
            progress: self.clone(),
        }))
    }

    /// Counts a file that belongs to no chunk: schemas, views, metadata.
    pub fn add_file(&self, raw_bytes: u64, stored_bytes: u64) {
        add(&self.0.files, 1);
        add(&self.0.raw_bytes, raw_bytes);
        add(&self.0.stored_bytes, stored_bytes);
    }

    /// Counts an attempt that failed and is made again.
    pub fn add_retry(&self) {
        add(&self.0.retries, 1);
    }

    /// Says why the run does nothing at the moment, or that it goes on.
    pub fn set_paused(&self, reason: Option<String>) {
        *self.lock_paused() = reason;
    }

    /// Why the run does nothing at the moment.
    pub fn paused(&self) -> Option<String> {
        self.lock_paused().clone()
    }

    /// All counters now.
    pub fn counts(&self) -> Counts {
        let read = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        Counts {
            rows: read(&self.0.rows),
            raw_bytes: read(&self.0.raw_bytes),
            stored_bytes: read(&self.0.stored_bytes),
            files: read(&self.0.files),
            chunks: read(&self.0.chunks),
            retries: read(&self.0.retries),
            tables_done: read(&self.0.tables_done),
            tables_total: read(&self.0.tables_total),
            rows_estimated: read(&self.0.rows_estimated),
        }
    }

    /// At most `limit` tables that are being read, longest first.
    pub fn active_tables(&self, limit: usize) -> Vec<ActiveTable> {
        let active = self.lock_active();
        let views = active.iter().take(limit).map(|table| ActiveTable {
            name: table.0.name.clone(),
            rows: table.0.rows.load(Ordering::Relaxed),
            rows_estimated: table.0.rows_estimated,
        });
        views.collect()
    }

    fn lock_paused(&self) -> MutexGuard<'_, Option<String>> {
        // A text is whole whatever a panicking holder did.
        self.0.paused.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn lock_active(&self) -> MutexGuard<'_, Vec<TableProgress>> {
        // The list stays valid whatever a panicking holder did: it only pushes and removes.
        self.0.active.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

#[derive(Debug)]
struct TableShared {
    name: String,
    rows_estimated: u64,
    rows: AtomicU64,
    listed: AtomicBool,
    progress: Progress,
}

/// The counters of one table. All clones are the same counters.
#[derive(Debug, Clone)]
pub struct TableProgress(Arc<TableShared>);

impl TableProgress {
    /// Begins an attempt at one of the table's chunks, and puts the table among the active ones.
    pub fn attempt(&self) -> Attempt {
        if !self.0.listed.swap(true, Ordering::Relaxed) {
            self.0.progress.lock_active().push(self.clone());
        }
        Attempt {
            table: self.clone(),
            rows: 0,
            raw_bytes: 0,
            stored_bytes: 0,
            files: 0,
        }
    }

    /// Counts the table as done; no attempt may follow.
    pub fn finish(&self) {
        self.give_up();
        add(&self.0.progress.0.tables_done, 1);
    }

    /// Takes the table off the active ones without counting it as done.
    pub fn give_up(&self) {
        let mut active = self.0.progress.lock_active();
        active.retain(|other| !Arc::ptr_eq(&self.0, &other.0));
    }
}

/// One try at one chunk. Dropped without [`Attempt::keep`], it takes back everything it counted.
#[derive(Debug)]
pub struct Attempt {
    table: TableProgress,
    rows: u64,
    raw_bytes: u64,
    stored_bytes: u64,
    files: u64,
}

impl Attempt {
    /// Counts rows and their encoded bytes. To be called once for a buffer, not for each row.
    pub fn add_rows(&mut self, rows: u64, raw_bytes: u64) {
        self.rows += rows;
        self.raw_bytes += raw_bytes;
        add(&self.table.0.rows, rows);
        add(&self.totals().rows, rows);
        add(&self.totals().raw_bytes, raw_bytes);
    }

    /// Counts a data file that is whole.
    pub fn add_file(&mut self, stored_bytes: u64) {
        self.files += 1;
        self.stored_bytes += stored_bytes;
        add(&self.totals().files, 1);
        add(&self.totals().stored_bytes, stored_bytes);
    }

    /// Makes what was counted final: the chunk is done.
    pub fn keep(mut self) {
        add(&self.totals().chunks, 1);
        (self.rows, self.raw_bytes, self.stored_bytes, self.files) = (0, 0, 0, 0);
    }

    fn totals(&self) -> &Shared {
        &self.table.0.progress.0
    }
}

impl Drop for Attempt {
    fn drop(&mut self) {
        let subtract = |counter: &AtomicU64, n| counter.fetch_sub(n, Ordering::Relaxed);
        subtract(&self.table.0.rows, self.rows);
        subtract(&self.totals().rows, self.rows);
        subtract(&self.totals().raw_bytes, self.raw_bytes);
        subtract(&self.totals().stored_bytes, self.stored_bytes);
        subtract(&self.totals().files, self.files);
    }
}

fn add(counter: &AtomicU64, n: u64) {
    counter.fetch_add(n, Ordering::Relaxed);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_chunk_that_is_tried_twice_is_counted_once() {
        let progress = Progress::new();
        let table = progress.table("shop.orders", 100);
        let mut failed = table.attempt();
        failed.add_rows(10, 1_000);
        failed.add_file(400);
        assert_eq!(progress.counts().rows, 10);
        drop(failed);
        progress.add_retry();
        let mut second = table.attempt();
        second.add_rows(12, 1_200);
        second.add_file(500);
        second.keep();
        table.finish();
        progress.add_file(30, 20);
        let expected = Counts {
            rows: 12,
            raw_bytes: 1_230,
            stored_bytes: 520,
            files: 2,
            chunks: 1,
            retries: 1,
            tables_done: 1,
            tables_total: 1,
            rows_estimated: 100,
        };
        assert_eq!(progress.counts(), expected);
    }

    #[test]
    fn a_table_is_active_from_its_first_attempt_until_it_is_finished() {
        let progress = Progress::new();
        let tables = ["a", "b", "c"].map(|name| progress.table(name, 5));
        assert!(progress.active_tables(9).is_empty());
        for table in &tables {
            let mut attempt = table.attempt();
            attempt.add_rows(2, 20);
            attempt.keep();
            table.attempt().keep();
        }
        let names = |limit| {
            let active = progress.active_tables(limit);
            active.into_iter().map(|t| t.name).collect::<Vec<_>>()
        };
        assert_eq!(names(2), ["a", "b"]);
        tables[0].finish();
        assert_eq!(names(9), ["b", "c"]);
        assert_eq!(progress.active_tables(1)[0].rows, 2);
    }
}
