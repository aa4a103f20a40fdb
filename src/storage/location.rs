//! `Location`: where a dump is or shall be, as asked for.
//!
//! Owns the choice between the kinds of place; opens nothing before it is used. What a URL means `s3/url.rs` knows.

use std::fmt;
use std::path::{Path, PathBuf};

use super::s3::{S3Archive, S3Options, S3Storage};
use super::{Archive, LocalArchive, LocalStorage, Storage, StorageError};
use crate::cancel::CancelToken;

/// A place for one dump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Location {
    /// A directory of the local file system.
    Directory(PathBuf),
    /// A bucket and a prefix in an object store.
    S3(Box<S3Options>),
}

impl Location {
    /// A storage there, to be written by one run. `cancel` ends every wait in it; `is_ours` tells by a file's name whether
    /// a dump may have begun it, so that what a killed run left half-uploaded is known.
    pub fn storage(&self, cancel: &CancelToken, is_ours: fn(&str) -> bool) -> Box<dyn Storage> {
        match self {
            Self::Directory(path) => Box::new(LocalStorage::new(path)),
            Self::S3(options) => {
                Box::new(S3Storage::new(options.as_ref().clone(), cancel, is_ours))
            }
        }
    }
}

impl Location {
    /// The dump that lies there, to be read. `cancel` ends every wait in it.
    pub fn archive(&self, cancel: &CancelToken) -> Result<Box<dyn Archive>, StorageError> {
        Ok(match self {
            Self::Directory(path) => Box::new(LocalArchive::new(path)),
            Self::S3(options) => Box::new(S3Archive::new(options.as_ref().clone(), cancel)?),
        })
    }

    /// The directory, if it is one.
    pub fn directory(&self) -> Option<&Path> {
        match self {
            Self::Directory(path) => Some(path),
            Self::S3(_) => None,
        }
    }
}

/// The place in words; never holds a secret.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => path.display().fmt(f),
            Self::S3(options) => options.fmt(f),
        }
    }
}
