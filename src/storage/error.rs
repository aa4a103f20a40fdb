//! `StorageError`: what a place for files could not do, in one sentence that names the file or the place.
//!
//! Owns the sentences, the hints and the question whether an error is the end of the run. The cause is always a
//! [`source`](std::error::Error::source), never part of the sentence. Whether to try again it leaves to the journeys.

use std::io::{self, ErrorKind};

use super::s3::error::{Patience, S3Error};
use super::s3::is_s3_url;

/// An error of a [`Storage`](super::Storage) or of a file in it. Paths are written as they were given; they hold no
/// secret.
#[derive(Debug, thiserror::Error)]
pub enum StorageError {
    /// The place holds something already. A dump never mixes with other files.
    #[error("the output {place} is not empty: it holds {entry}")]
    NotEmpty {
        /// The place.
        place: String,
        /// One of the things in it.
        entry: String,
    },
    /// Another run writes there.
    #[error("another run is writing to the output directory {place}")]
    Locked {
        /// The place.
        place: String,
    },
    /// Something else than a directory has the place's name.
    #[error("the output path {place} is not a directory")]
    NotADirectory {
        /// The path.
        place: String,
    },
    /// A file was asked for before [`prepare`](super::Storage::prepare) had succeeded.
    #[error("the output {place} was not prepared")]
    NotPrepared {
        /// The place.
        place: String,
    },
    /// The place could not be made or opened.
    #[error("cannot open the output directory {place}")]
    Open {
        /// The place.
        place: String,
        /// Why.
        source: io::Error,
    },
    /// The place could be opened, but a file could not be written there.
    #[error("cannot write to the output directory {place}")]
    NotWritable {
        /// The place.
        place: String,
        /// Why.
        source: io::Error,
    },
    /// The place could not be looked at.
    #[error("cannot read the output directory {place}")]
    Read {
        /// The place.
        place: String,
        /// Why.
        source: io::Error,
    },
    /// The place's name leads somewhere else than when it was prepared, or nowhere.
    #[error("the output directory {place} was moved, removed or replaced while the dump ran")]
    Moved {
        /// The place.
        place: String,
    },
    /// A file could not be created.
    #[error("cannot create {path}")]
    Create {
        /// The file's final path.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Bytes could not be written.
    #[error("cannot write {path}")]
    Write {
        /// The file's final path.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Closing failed: what was written before may be lost.
    #[error("cannot close {path}")]
    Close {
        /// The file's final path.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// A whole file did not get its name.
    #[error("cannot give {path} its name")]
    Rename {
        /// The file's final path.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Somebody else's file has the name. It was left as it is.
    #[error("{path} appeared while the dump ran and was not overwritten")]
    Exists {
        /// The file's final path.
        path: String,
    },
    /// A file or a directory could not be made to survive a power cut.
    #[error("cannot sync {path}")]
    Sync {
        /// The file or directory.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// An earlier sync failed. The kernel reports a lost write once, so a later sync that succeeds proves nothing.
    #[error("files in {place} may be lost since an earlier sync failed")]
    SyncLost {
        /// The place.
        place: String,
    },
    /// A name is being written or was committed in this run.
    #[error("{path} was created before in this run")]
    DuplicateName {
        /// The file's final path.
        path: String,
    },
    /// A name that is no plain file name.
    #[error("{name:?} cannot be a file name: {reason}")]
    BadName {
        /// The name.
        name: String,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// A dump that is to be read is not there, or cannot be looked at.
    #[error("cannot read the dump {place}")]
    Unreadable {
        /// The place.
        place: String,
        /// Why.
        source: io::Error,
    },
    /// A file of a dump could not be read.
    #[error("cannot read {path}")]
    ReadFile {
        /// The file's path.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// Something unfinished could not be removed.
    #[error("cannot remove {path}")]
    Remove {
        /// The file or directory.
        path: String,
        /// Why.
        source: io::Error,
    },
    /// An object store did not do what was asked.
    #[error("cannot {action} {object}")]
    Remote {
        /// What was asked, as "complete the upload of".
        action: &'static str,
        /// The URL of the bucket and key.
        object: String,
        /// What it answered, if it did.
        source: Box<S3Error>,
    },
    /// The run was cancelled while an object store was waited for.
    #[error("the run was cancelled before it could {action} {object}")]
    Interrupted {
        /// What was asked.
        action: &'static str,
        /// The URL of the bucket and key.
        object: String,
    },
    /// An object is not what was written or read before.
    #[error("{path} is not what it was: {problem}")]
    Altered {
        /// The object's URL.
        path: String,
        /// The difference.
        problem: String,
    },
    /// An object has more parts than a store takes.
    #[error("{path} grew too large for an object, at {bytes} bytes")]
    TooLarge {
        /// The object's URL.
        path: String,
        /// How far it came.
        bytes: u64,
    },
    /// Unfinished uploads could not be aborted in time.
    #[error("unfinished uploads may be left under {place}")]
    Unclean {
        /// The place.
        place: String,
    },
}

impl StorageError {
    /// The storage error behind an error of writing to a [`Sink`](super::Sink), also through a compressor. Any other
    /// error (a compressor's own) becomes [`StorageError::Write`] on `path`.
    pub fn from_write(error: io::Error, path: &str) -> Self {
        error
            .downcast::<Self>()
            .unwrap_or_else(|source| Self::Write {
                path: path.to_owned(),
                source,
            })
    }

    /// The same for an error of reading from an [`Archive`](super::Archive), also through a decompressor, whose own errors
    /// become [`StorageError::ReadFile`] on `path`.
    pub fn from_read(error: io::Error, path: &str) -> Self {
        error
            .downcast::<Self>()
            .unwrap_or_else(|source| Self::ReadFile {
                path: path.to_owned(),
                source,
            })
    }

    /// Whether the same call may succeed when it is made again, and nothing else was lost. Never for a local file
    /// system: what a disk refuses is fatal for the run. An object store was asked for long enough before it failed.
    pub fn is_transient(&self) -> bool {
        matches!(self, Self::Remote { source, .. } if source.patience() != Patience::None)
    }

    /// Whether the place has no room: the disk (ENOSPC) or the quota (EDQUOT).
    pub fn is_disk_full(&self) -> bool {
        matches!(
            self.kind(),
            Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded)
        )
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        let hint = match (self, self.kind()) {
            (Self::Remote { source, .. }, _) => return source.hint(),
            (Self::NotEmpty { place, .. }, _) if is_s3_url(place) => {
                "name a prefix under which nothing lies yet"
            }
            (Self::Exists { path }, _) if is_s3_url(path) => {
                "another program writes under this prefix; leave it alone until the dump has ended"
            }
            (Self::TooLarge { .. }, _) => {
                "-F makes files smaller, a larger --s3.part-size takes larger ones"
            }
            (Self::Unclean { .. }, _) => {
                "the next dump to this prefix aborts them when they are older than --abort-incomplete-age"
            }
            (Self::NotEmpty { .. } | Self::NotADirectory { .. }, _) => {
                "name a directory that is empty or does not exist yet"
            }
            (Self::Moved { .. }, _) => "leave the output directory alone until the dump has ended",
            (Self::Exists { .. }, _) => {
                "another program writes to the output directory, or its file system takes names that differ in case only \
                 for the same"
            }
            (_, Some(ErrorKind::StorageFull | ErrorKind::QuotaExceeded)) => {
                "make room or raise the quota; --compress zstd makes a dump several times smaller"
            }
            (_, Some(ErrorKind::PermissionDenied)) => {
                "run rdump as a user that may read and write there, or name another output directory"
            }
            (_, Some(ErrorKind::ReadOnlyFilesystem)) => {
                "the file system is mounted read-only; name another output directory"
            }
            _ => return None,
        };
        Some(hint.to_owned())
    }

    /// What kind of error the operating system gave, where it gave one.
    fn kind(&self) -> Option<ErrorKind> {
        match self {
            Self::Open { source, .. }
            | Self::NotWritable { source, .. }
            | Self::Read { source, .. }
            | Self::Create { source, .. }
            | Self::Write { source, .. }
            | Self::Close { source, .. }
            | Self::Rename { source, .. }
            | Self::Sync { source, .. }
            | Self::Unreadable { source, .. }
            | Self::ReadFile { source, .. }
            | Self::Remove { source, .. } => Some(source.kind()),
            Self::NotEmpty { .. }
            | Self::Locked { .. }
            | Self::NotADirectory { .. }
            | Self::NotPrepared { .. }
            | Self::Moved { .. }
            | Self::Exists { .. }
            | Self::SyncLost { .. }
            | Self::DuplicateName { .. }
            | Self::BadName { .. }
            | Self::Remote { .. }
            | Self::Interrupted { .. }
            | Self::Altered { .. }
            | Self::TooLarge { .. }
            | Self::Unclean { .. } => None,
        }
    }
}

/// For [`Write`](std::io::Write) on a sink, which has only `io::Error` to speak through. [`StorageError::from_write`]
/// is the way back.
impl From<StorageError> for io::Error {
    fn from(error: StorageError) -> Self {
        Self::new(error.kind().unwrap_or(ErrorKind::Other), error)
    }
}

#[cfg(test)]
mod tests {
    use std::error::Error as _;

    use super::*;

    fn write_error(kind: ErrorKind) -> StorageError {
        StorageError::Write {
            path: "/dump/a.b.000000000.sql".to_owned(),
            source: kind.into(),
        }
    }

    #[test]
    fn error_is_a_sentence_and_its_cause_stands_apart() {
        let error = write_error(ErrorKind::StorageFull);
        assert_eq!(error.to_string(), "cannot write /dump/a.b.000000000.sql");
        assert!(error.source().is_some());
    }

    #[test]
    fn full_disk_and_used_up_quota_are_disk_full_and_hint_at_room() {
        for kind in [ErrorKind::StorageFull, ErrorKind::QuotaExceeded] {
            let error = write_error(kind);
            assert!(error.is_disk_full() && !error.is_transient());
            assert!(error.hint().is_some_and(|hint| hint.contains("room")));
        }
        let error = write_error(ErrorKind::TimedOut);
        assert!(!error.is_disk_full());
        assert_eq!(error.hint(), None);
    }

    #[test]
    fn storage_error_comes_back_whole_from_an_io_error() {
        let through_io = io::Error::from(write_error(ErrorKind::QuotaExceeded));
        assert_eq!(through_io.kind(), ErrorKind::QuotaExceeded);
        let back = StorageError::from_write(through_io, "another path");
        assert!(back.is_disk_full());
        assert_eq!(back.to_string(), "cannot write /dump/a.b.000000000.sql");
    }

    #[test]
    fn foreign_io_error_becomes_a_write_error_on_the_path() {
        let error = StorageError::from_write(io::Error::other("corrupt stream"), "/dump/x");
        assert_eq!(error.to_string(), "cannot write /dump/x");
    }
}
