//! A dump in a directory of the local file system.
//!
//! Owns the temporary files: each is in the output directory under a short name of its own, gets its final name when it
//! is whole, and is removed when it is given up. Nothing that is already there is overwritten. Every error of a close,
//! rename or sync is returned, and a directory that is moved or replaced is noticed before a file gets its name and
//! after every sync. The system calls it leaves to `directory.rs`, the rule for names to `names.rs`; it buffers
//! nothing, so callers write large blocks.

mod directory;

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{self, ErrorKind, Write};
use std::panic::resume_unwind;
use std::path::PathBuf;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::thread;

use directory::Directory;

use super::names::{Claim, Names};
use super::{Sink, Staged, Storage, StorageError};

/// How many files are synced at once. A journal writes the syncs that wait together as one: 10,000 small files take 1.1
/// s with 8 threads and 14 s with one (ext4, measured).
const SYNC_THREADS: usize = 8;

/// A [`Storage`] in a directory.
#[derive(Debug)]
pub struct LocalStorage {
    path: PathBuf,
    run: OnceLock<Arc<Run>>,
}

/// What the storage and its open files share.
#[derive(Debug)]
struct Run {
    directory: Directory,
    names: Names,
    next_temp: AtomicU64,
    books: Mutex<Books>,
}

/// What has happened so far, and which files need something yet.
#[derive(Debug, Default)]
struct Books {
    /// Whether the directory passed the checks of [`Storage::prepare`].
    prepared: bool,
    /// Temporary files that exist.
    temps: BTreeSet<String>,
    /// Files with their final names that no sync has covered.
    unsynced: Vec<String>,
    /// Whether a sync failed. What it lost is not reported again.
    sync_failed: bool,
}

/// A temporary file's name and what becomes of it. Dropped before [`TempFile::commit`], it removes the file.
#[derive(Debug)]
struct TempFile {
    run: Arc<Run>,
    temp_name: String,
    claim: Claim,
    committed: bool,
}

struct LocalSink {
    file: File,
    temp: TempFile,
}

struct LocalStaged {
    temp: TempFile,
}

impl LocalStorage {
    /// A storage in the directory `path`, which is touched by [`Storage::prepare`] only.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self {
            path: path.into(),
            run: OnceLock::new(),
        }
    }

    fn run(&self) -> Result<&Arc<Run>, StorageError> {
        let run = self.run.get().filter(|run| run.books().prepared);
        run.ok_or_else(|| StorageError::NotPrepared {
            place: self.describe(),
        })
    }
}

impl Storage for LocalStorage {
    fn prepare(&self) -> Result<(), StorageError> {
        let directory = Directory::open_or_make(&self.path)?;
        // Before the checks, so that `clean` knows of a directory that was made and failed them.
        let run = self.run.get_or_init(|| Arc::new(Run::new(directory)));
        run.directory.check_place()?;
        run.directory.lock()?;
        run.directory.refuse_content()?;
        run.directory.prove_writable(&run.temp_name())?;
        run.books().prepared = true;
        Ok(())
    }

    fn create(&self, name: &str) -> Result<Box<dyn Sink>, StorageError> {
        Ok(Box::new(Run::create(self.run()?, name)?))
    }

    fn sync(&self) -> Result<(), StorageError> {
        let run = self.run()?;
        run.remember_failure(run.sync())
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
        let run = self.run()?;
        run.check_syncs()?;
        let LocalSink { mut file, temp } = Run::create(run, name)?;
        let path = temp.path();
        file.write_all(bytes)
            .map_err(|source| StorageError::Write {
                path: path.clone(),
                source,
            })?;
        run.remember_failure(file.sync_all().map_err(|source| StorageError::Sync {
            path: path.clone(),
            source,
        }))?;
        temp.close(file)?.commit()?;
        let kept = run
            .directory
            .sync()
            .and_then(|()| run.directory.check_place());
        if kept.is_err() {
            // A manifest whose put failed must not make the rest look like a dump. The first error is the one that
            // counts.
            run.directory.remove_file(name).ok();
        }
        run.remember_failure(kept)
    }

    fn clean(&self) -> Result<(), StorageError> {
        self.run.get().map_or(Ok(()), |run| run.clean())
    }

    /// For whoever is not root: a part of the disk may be kept back.
    fn free_bytes(&self) -> Option<u64> {
        let existing = self.path.ancestors().find(|path| path.exists());
        let path = existing.unwrap_or(std::path::Path::new("."));
        let stat = rustix::fs::statvfs(path).ok()?;
        Some(stat.f_bavail.saturating_mul(stat.f_frsize))
    }

    fn describe(&self) -> String {
        self.path.display().to_string()
    }
}

impl Run {
    fn new(directory: Directory) -> Self {
        Self {
            directory,
            names: Names::default(),
            next_temp: AtomicU64::new(0),
            books: Mutex::default(),
        }
    }

    /// A name for a temporary file: short, since the final name may be as long as the file system allows.
    fn temp_name(&self) -> String {
        let n = self.next_temp.fetch_add(1, Ordering::Relaxed);
        format!(".rdump-tmp-{}-{n}", std::process::id())
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn create(run: &Arc<Self>, name: &str) -> Result<LocalSink, StorageError> {
        let path = run.directory.path_of(name);
        let claim = run.names.claim(name, &path)?;
        let temp_name = run.temp_name();
        let file = run
            .directory
            .create_file(&temp_name)
            .map_err(|source| StorageError::Create { path, source })?;
        run.books().temps.insert(temp_name.clone());
        let temp = TempFile {
            run: Arc::clone(run),
            temp_name,
            claim,
            committed: false,
        };
        Ok(LocalSink { file, temp })
    }

    fn check_syncs(&self) -> Result<(), StorageError> {
        if self.books().sync_failed {
            return Err(StorageError::SyncLost {
                place: self.directory.place(),
            });
        }
        Ok(())
    }

    fn remember_failure(&self, result: Result<(), StorageError>) -> Result<(), StorageError> {
        if result.is_err() {
            self.books().sync_failed = true;
        }
        result
    }

    fn sync(&self) -> Result<(), StorageError> {
        self.check_syncs()?;
        // Taken out, so that workers can commit while the disk works.
        let names = std::mem::take(&mut self.books().unsynced);
        self.sync_files(&names)?;
        self.directory.sync()?;
        self.directory.check_place()
    }

    /// Syncs the files, several at a time. Returns the first error of one of the threads.
    fn sync_files(&self, names: &[String]) -> Result<(), StorageError> {
        let next = AtomicUsize::new(0);
        let sync_some = || -> Result<(), StorageError> {
            while let Some(name) = names.get(next.fetch_add(1, Ordering::Relaxed)) {
                self.directory.sync_file(name)?;
            }
            Ok(())
        };
        thread::scope(|scope| {
            // Where no more threads can be had, fewer do.
            let helpers: Vec<_> = (1..SYNC_THREADS.min(names.len()))
                .map_while(|_| thread::Builder::new().spawn_scoped(scope, sync_some).ok())
                .collect();
            helpers.into_iter().fold(sync_some(), |result, helper| {
                result.and(helper.join().unwrap_or_else(|panic| resume_unwind(panic)))
            })
        })
    }

    fn clean(&self) -> Result<(), StorageError> {
        let mut first_error = Ok(());
        let temps = self.books().temps.clone();
        for temp in temps {
            match self.directory.remove_file(&temp) {
                Ok(()) => {
                    self.books().temps.remove(&temp);
                }
                Err(source) => {
                    let path = self.directory.path_of(&temp);
                    first_error = first_error.and(Err(StorageError::Remove { path, source }));
                }
            }
        }
        first_error.and(self.directory.remove_if_made_and_empty())
    }
}

impl TempFile {
    /// The final path, for messages.
    fn path(&self) -> String {
        self.run.directory.path_of(self.claim.name())
    }

    fn close(self, file: File) -> Result<Self, StorageError> {
        directory::close(file).map_err(|source| StorageError::Close {
            path: self.path(),
            source,
        })?;
        Ok(self)
    }

    /// Gives the file its final name, which is durable only when the directory is synced.
    fn commit(mut self) -> Result<(), StorageError> {
        self.run.directory.check_place()?;
        let renamed = self
            .run
            .directory
            .rename(&self.temp_name, self.claim.name());
        renamed.map_err(|source| match source.kind() {
            ErrorKind::AlreadyExists => StorageError::Exists { path: self.path() },
            _ => StorageError::Rename {
                path: self.path(),
                source,
            },
        })?;
        self.committed = true;
        self.claim.keep();
        self.run.books().temps.remove(&self.temp_name);
        Ok(())
    }
}

impl Drop for TempFile {
    fn drop(&mut self) {
        // A file that cannot be removed now stays in the books; `clean` tries again and reports.
        if !self.committed && self.run.directory.remove_file(&self.temp_name).is_ok() {
            self.run.books().temps.remove(&self.temp_name);
        }
    }
}

impl Write for LocalSink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.file.write(bytes).map_err(|source| {
            // Passed on bare: `write_all` knows by the kind that it must call again.
            if source.kind() == ErrorKind::Interrupted {
                return source;
            }
            let path = self.temp.path();
            StorageError::Write { path, source }.into()
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for LocalSink {
    fn finish(self: Box<Self>) -> Result<Box<dyn Staged>, StorageError> {
        let Self { file, temp } = *self;
        let temp = temp.close(file)?;
        Ok(Box::new(LocalStaged { temp }))
    }
}

impl Staged for LocalStaged {
    fn commit(self: Box<Self>) -> Result<(), StorageError> {
        let run = Arc::clone(&self.temp.run);
        let name = self.temp.claim.name().to_owned();
        self.temp.commit()?;
        run.books().unsynced.push(name);
        Ok(())
    }
}

#[cfg(test)]
mod tests;
