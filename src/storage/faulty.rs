//! A storage that fails on command, for tests.
//!
//! Owns the queues of words that say what the next calls do; what works goes to the storage inside. Each `create` takes
//! one word for the whole life of its file, each `put` and each `sync` takes one. With an empty queue everything works.

use std::collections::VecDeque;
use std::io::{self, ErrorKind, Write};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::{Sink, Staged, Storage, StorageError};

/// What a call does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Word {
    /// Works.
    Pass,
    /// `create` or `put` is refused.
    Reject,
    /// The file takes so many bytes, then the disk is full.
    FailAfterWrite(usize),
    /// The file cannot be closed.
    FailClose,
    /// The file does not get its name.
    FailCommit,
    /// `sync` fails, or the sync of a `put`.
    FailSync,
}

/// A [`Storage`] around another one.
#[derive(Debug)]
pub(crate) struct FaultyStorage<S> {
    inner: S,
    queues: Mutex<Queues>,
}

#[derive(Debug, Default)]
struct Queues {
    creates: VecDeque<Word>,
    puts: VecDeque<Word>,
    syncs: VecDeque<Word>,
    sync_failed: bool,
}

struct FaultySink {
    inner: Box<dyn Sink>,
    path: String,
    word: Word,
    written: usize,
}

struct FaultyStaged {
    inner: Box<dyn Staged>,
    path: String,
    word: Word,
}

impl<S: Storage> FaultyStorage<S> {
    /// Everything works until words are queued.
    pub(crate) fn new(inner: S) -> Self {
        Self {
            inner,
            queues: Mutex::default(),
        }
    }

    /// Queues words for files to be created.
    pub(crate) fn on_create(self, words: impl IntoIterator<Item = Word>) -> Self {
        self.queues().creates.extend(words);
        self
    }

    /// Queues words for puts: [`Word::Reject`] or [`Word::FailSync`].
    pub(crate) fn on_put(self, words: impl IntoIterator<Item = Word>) -> Self {
        self.queues().puts.extend(words);
        self
    }

    /// Queues words for syncs: [`Word::FailSync`].
    pub(crate) fn on_sync(self, words: impl IntoIterator<Item = Word>) -> Self {
        self.queues().syncs.extend(words);
        self
    }

    /// The storage inside.
    pub(crate) fn inner(&self) -> &S {
        &self.inner
    }

    fn queues(&self) -> MutexGuard<'_, Queues> {
        self.queues.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn check_syncs(&self, word: Word, path: &str) -> Result<(), StorageError> {
        let mut queues = self.queues();
        if queues.sync_failed {
            return Err(StorageError::SyncLost {
                place: self.inner.describe(),
            });
        }
        queues.sync_failed = word == Word::FailSync;
        if queues.sync_failed {
            return Err(StorageError::Sync {
                path: path.to_owned(),
                source: injected(),
            });
        }
        Ok(())
    }
}

impl<S: Storage> Storage for FaultyStorage<S> {
    fn prepare(&self) -> Result<(), StorageError> {
        self.inner.prepare()
    }

    fn create(&self, name: &str) -> Result<Box<dyn Sink>, StorageError> {
        let word = next(&mut self.queues().creates);
        let path = name.to_owned();
        if word == Word::Reject {
            let source = injected();
            return Err(StorageError::Create { path, source });
        }
        Ok(Box::new(FaultySink {
            inner: self.inner.create(name)?,
            path,
            word,
            written: 0,
        }))
    }

    fn sync(&self) -> Result<(), StorageError> {
        let word = next(&mut self.queues().syncs);
        self.check_syncs(word, &self.inner.describe())?;
        self.inner.sync()
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
        let word = next(&mut self.queues().puts);
        if word == Word::Reject {
            return Err(StorageError::Create {
                path: name.to_owned(),
                source: injected(),
            });
        }
        self.check_syncs(word, name)?;
        self.inner.put(name, bytes)
    }

    fn clean(&self) -> Result<(), StorageError> {
        self.inner.clean()
    }

    fn describe(&self) -> String {
        self.inner.describe()
    }
}

impl Write for FaultySink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let room = match self.word {
            Word::FailAfterWrite(limit) => limit - self.written,
            _ => bytes.len(),
        };
        if room == 0 && !bytes.is_empty() {
            let path = self.path.clone();
            let source = ErrorKind::StorageFull.into();
            return Err(StorageError::Write { path, source }.into());
        }
        let written = self.inner.write(&bytes[..room.min(bytes.len())])?;
        self.written += written;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.inner.flush()
    }
}

impl Sink for FaultySink {
    fn finish(self: Box<Self>) -> Result<Box<dyn Staged>, StorageError> {
        let Self {
            inner, path, word, ..
        } = *self;
        if word == Word::FailClose {
            let source = injected();
            return Err(StorageError::Close { path, source });
        }
        let inner = inner.finish()?;
        Ok(Box::new(FaultyStaged { inner, path, word }))
    }
}

impl Staged for FaultyStaged {
    fn commit(self: Box<Self>) -> Result<(), StorageError> {
        if self.word == Word::FailCommit {
            return Err(StorageError::Rename {
                path: self.path,
                source: injected(),
            });
        }
        self.inner.commit()
    }
}

fn next(words: &mut VecDeque<Word>) -> Word {
    words.pop_front().unwrap_or(Word::Pass)
}

fn injected() -> io::Error {
    io::Error::other("injected by the test")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::storage::memory::MemoryStorage;

    fn faulty() -> FaultyStorage<MemoryStorage> {
        let storage = FaultyStorage::new(MemoryStorage::default());
        storage.prepare().unwrap();
        storage
    }

    fn write(storage: &impl Storage, name: &str) -> Result<(), StorageError> {
        let mut sink = storage.create(name)?;
        sink.write_all(b"0123456789")
            .map_err(|error| StorageError::from_write(error, name))?;
        sink.finish()?.commit()
    }

    #[test]
    fn each_created_file_fails_where_its_word_says_and_leaves_nothing() {
        let storage = faulty().on_create([
            Word::Reject,
            Word::FailAfterWrite(4),
            Word::FailClose,
            Word::FailCommit,
            Word::Pass,
        ]);
        let first = write(&storage, "a").unwrap_err();
        assert!(matches!(first, StorageError::Create { .. }), "{first}");
        let second = write(&storage, "a").unwrap_err();
        assert!(matches!(second, StorageError::Write { .. }) && second.is_disk_full());
        let third = write(&storage, "a").unwrap_err();
        assert!(matches!(third, StorageError::Close { .. }), "{third}");
        let fourth = write(&storage, "a").unwrap_err();
        assert!(matches!(fourth, StorageError::Rename { .. }), "{fourth}");
        assert!(storage.inner().files().is_empty());
        write(&storage, "a").unwrap();
        write(&storage, "b").unwrap();
        assert_eq!(storage.inner().files().len(), 2);
    }

    #[test]
    fn file_takes_the_bytes_before_the_fault() {
        let storage = faulty().on_create([Word::FailAfterWrite(4)]);
        let mut sink = storage.create("a").unwrap();
        assert_eq!(sink.write(b"0123456789").unwrap(), 4);
        sink.write(b"456789").unwrap_err();
    }

    #[test]
    fn failed_sync_spoils_every_later_sync_and_put() {
        let storage = faulty().on_sync([Word::Pass, Word::FailSync]);
        storage.sync().unwrap();
        let error = storage.sync().unwrap_err();
        assert!(matches!(error, StorageError::Sync { .. }), "{error}");
        let error = storage.put("manifest.json", b"{}").unwrap_err();
        assert!(matches!(error, StorageError::SyncLost { .. }), "{error}");
    }

    #[test]
    fn put_is_rejected_or_fails_to_sync_and_is_not_there() {
        let storage = faulty().on_put([Word::Reject, Word::FailSync]);
        storage.put("metadata", b"m").unwrap_err();
        storage.put("metadata", b"m").unwrap_err();
        assert!(storage.inner().files().is_empty());
    }
}
