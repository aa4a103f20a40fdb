//! Where a dump lives.
//!
//! Owns the contract of a place for files: nothing has its final name before it is whole, and every error of a close,
//! flush, rename or sync comes back to the caller. Knows bytes and names; what is in a file, and which files a dump
//! has, it leaves to `dump/` and `manifest/`. `local.rs` is a directory, `s3.rs` a bucket, `archive.rs` a directory that is
//! read, `location.rs` the choice, `names.rs` the rule for names. `memory.rs` and
//! `faulty.rs` serve the tests of this and other rooms; `conformance.rs` is what every storage must pass.

pub mod archive;
#[cfg(test)]
pub(crate) mod conformance;
pub mod error;
#[cfg(test)]
pub(crate) mod faulty;
pub mod local;
pub mod location;
#[cfg(test)]
pub(crate) mod memory;
pub(crate) mod names;
pub mod s3;

use std::io::Write;

pub use archive::LocalArchive;
pub use error::StorageError;
pub use local::LocalStorage;
pub use location::Location;

/// A place for the files of one dump. Names are plain file names; a name with a path separator is refused.
pub trait Storage: Send + Sync {
    /// Makes the place if it is not there and proves that it can be written to. Refuses one that holds anything.
    fn prepare(&self) -> Result<(), StorageError>;

    /// Opens a file that nobody can see under its name yet. A name that is being written or was committed in this run
    /// is refused: two chunks must never share a file (tidb#68611). The name of a file that was dropped is free again.
    fn create(&self, name: &str) -> Result<Box<dyn Sink>, StorageError>;

    /// Makes everything committed so far survive a power cut. After a failure every later sync and put fails too.
    fn sync(&self) -> Result<(), StorageError>;

    /// Writes a small file whole and durably: when this returns without an error it survives a power cut, and after an
    /// error it is not there. What was committed before is made durable by [`Storage::sync`] alone.
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StorageError>;

    /// Removes what a failed run left unfinished, and the place itself if [`Storage::prepare`] made it and it is empty.
    /// Committed files stay. Returns the first error, but tries everything.
    fn clean(&self) -> Result<(), StorageError>;

    /// Bytes that can still be written there; `None` where nobody knows.
    fn free_bytes(&self) -> Option<u64> {
        None
    }

    /// The place in words, for messages. Never holds a secret.
    fn describe(&self) -> String;
}

/// A file being written. Dropping it, or the [`Staged`] it turns into, removes it. It need not buffer: callers write
/// large blocks. The errors of its [`Write`] hold a [`StorageError`] (see [`StorageError::from_write`]).
pub trait Sink: Write + Send {
    /// Flushes and closes the file, which still has no name.
    fn finish(self: Box<Self>) -> Result<Box<dyn Staged>, StorageError>;
}

/// A whole file that waits for its name.
pub trait Staged: Send {
    /// Gives the file its name, if nobody else has taken it; nothing is overwritten. Durable only after
    /// [`Storage::sync`].
    fn commit(self: Box<Self>) -> Result<(), StorageError>;
}

/// A file that lies in a dump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredFile {
    /// Its plain name.
    pub name: String,
    /// Bytes as stored.
    pub bytes: u64,
}

/// A dump that is there, to be read. Nothing is changed.
pub trait Archive: Send + Sync {
    /// All files, by name. Fails when the place is not there.
    fn list(&self) -> Result<Vec<StoredFile>, StorageError>;

    /// Opens a file for reading from its start. The errors of its [`std::io::Read`] hold a [`StorageError`].
    fn open(&self, name: &str) -> Result<Box<dyn std::io::Read + Send>, StorageError>;

    /// The place in words, for messages. Never holds a secret.
    fn describe(&self) -> String;
}
