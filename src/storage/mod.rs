//! Where a dump lives.
//!
//! Owns the contract of a place for files: nothing has its final name before it is whole, and every error of a close, flush,
//! rename or sync comes back to the caller. Knows bytes and names; what is in a file, and which files a dump has, it leaves
//! to `dump/` and `manifest/`. `local.rs` is a directory, `memory.rs` and `faulty.rs` serve tests.

pub mod error;
pub mod local;

use std::io::Write;

pub use error::StorageError;

/// A place for the files of one dump. Names are plain file names; a name with a path separator is refused.
pub trait Storage: Send + Sync {
    /// Makes the place if it is not there and proves that it can be written to. Refuses one that holds anything.
    fn prepare(&self) -> Result<(), StorageError>;

    /// Opens a file that nobody can see under its name yet. A name that was created before in this run is refused: two
    /// chunks must never share a file (tidb#68611).
    fn create(&self, name: &str) -> Result<Box<dyn Sink>, StorageError>;

    /// Makes everything committed so far survive a power cut.
    fn sync(&self) -> Result<(), StorageError>;

    /// Writes a small file whole and durably: it has its name only when it and its directory are synced.
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StorageError>;

    /// Removes what a failed run left unfinished. Returns the first error, but tries everything.
    fn clean(&self) -> Result<(), StorageError>;

    /// The place in words, for messages. Never holds a secret.
    fn describe(&self) -> String;
}

/// A file being written. Dropping it, or the [`Staged`] it turns into, removes it.
pub trait Sink: Write + Send {
    /// Flushes and closes the file, which still has no name.
    fn finish(self: Box<Self>) -> Result<Box<dyn Staged>, StorageError>;
}

/// A whole file that waits for its name.
pub trait Staged: Send {
    /// Gives the file its name. Durable only after [`Storage::sync`].
    fn commit(self: Box<Self>) -> Result<(), StorageError>;
}
