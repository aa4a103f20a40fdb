//! A dump in memory, for tests.
//!
//! Owns the map of committed files and, beside it, which of them a sync has covered, so that a test can ask what a
//! power cut would leave. Behaves as `local.rs` does wherever `conformance.rs` looks.

use std::collections::{BTreeMap, BTreeSet};
use std::io::{self, Write};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::names::{Claim, Names};
use super::{Sink, Staged, Storage, StorageError};

/// A [`Storage`] in memory. Clones share the files.
#[derive(Debug, Clone, Default)]
pub(crate) struct MemoryStorage {
    names: Names,
    state: Arc<Mutex<State>>,
}

#[derive(Debug, Default)]
struct State {
    prepared: bool,
    files: BTreeMap<String, Vec<u8>>,
    synced: BTreeSet<String>,
}

struct MemorySink {
    storage: MemoryStorage,
    claim: Claim,
    bytes: Vec<u8>,
}

impl MemoryStorage {
    /// The committed files.
    pub(crate) fn files(&self) -> BTreeMap<String, Vec<u8>> {
        self.state().files.clone()
    }

    /// The names of the files that would survive a power cut.
    pub(crate) fn durable(&self) -> BTreeSet<String> {
        self.state().synced.clone()
    }

    /// Puts a file there as another program would.
    pub(crate) fn plant(&self, name: &str, bytes: &[u8]) {
        self.state().files.insert(name.to_owned(), bytes.to_vec());
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn open(&self, name: &str) -> Result<MemorySink, StorageError> {
        if !self.state().prepared {
            return Err(StorageError::NotPrepared {
                place: self.describe(),
            });
        }
        let claim = self.names.claim(name, name)?;
        Ok(MemorySink {
            storage: self.clone(),
            claim,
            bytes: Vec::new(),
        })
    }
}

impl Storage for MemoryStorage {
    fn prepare(&self) -> Result<(), StorageError> {
        let mut state = self.state();
        if let Some(entry) = state.files.keys().next() {
            return Err(StorageError::NotEmpty {
                place: self.describe(),
                entry: entry.clone(),
            });
        }
        state.prepared = true;
        Ok(())
    }

    fn create(&self, name: &str) -> Result<Box<dyn Sink>, StorageError> {
        Ok(Box::new(self.open(name)?))
    }

    fn sync(&self) -> Result<(), StorageError> {
        let mut state = self.state();
        state.synced = state.files.keys().cloned().collect();
        Ok(())
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
        let mut sink = Box::new(self.open(name)?);
        sink.bytes.extend_from_slice(bytes);
        sink.commit()?;
        self.state().synced.insert(name.to_owned());
        Ok(())
    }

    fn clean(&self) -> Result<(), StorageError> {
        Ok(())
    }

    fn describe(&self) -> String {
        "memory".to_owned()
    }
}

impl Write for MemorySink {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.bytes.write(bytes)
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for MemorySink {
    fn finish(self: Box<Self>) -> Result<Box<dyn Staged>, StorageError> {
        Ok(self)
    }
}

impl Staged for MemorySink {
    fn commit(mut self: Box<Self>) -> Result<(), StorageError> {
        let name = self.claim.name().to_owned();
        let mut state = self.storage.state();
        if state.files.contains_key(&name) {
            return Err(StorageError::Exists { path: name });
        }
        state.files.insert(name, std::mem::take(&mut self.bytes));
        self.claim.keep();
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::storage::conformance::{self, Place};

    struct InMemory(MemoryStorage);

    impl Place for InMemory {
        fn new() -> Self {
            Self(MemoryStorage::default())
        }

        fn storage(&self) -> Box<dyn Storage> {
            Box::new(self.0.clone())
        }

        fn files(&self) -> BTreeMap<String, Vec<u8>> {
            self.0.files()
        }

        fn leftovers(&self) -> usize {
            0
        }

        fn plant(&self, name: &str, bytes: &[u8]) {
            self.0.plant(name, bytes);
        }
    }

    conformance::conformance_tests!(InMemory);

    #[test]
    fn committed_file_is_durable_after_sync_and_a_put_at_once() {
        let storage = MemoryStorage::default();
        storage.prepare().unwrap();
        let sink = storage.create("data").unwrap();
        sink.finish().unwrap().commit().unwrap();
        storage.put("metadata", b"m").unwrap();
        assert_eq!(storage.durable(), ["metadata".to_owned()].into());
        storage.sync().unwrap();
        assert_eq!(storage.durable().len(), 2);
    }
}
