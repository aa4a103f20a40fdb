//! `Location`: where a dump is or shall be, as asked for.
//!
//! Owns the choice between the kinds of place; opens nothing before it is used. What a URL means `s3/url.rs` knows.

use std::fmt;
use std::path::PathBuf;

use super::s3::{S3Options, S3Storage};
use super::{LocalStorage, Storage};
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

/// The place in words; never holds a secret.
impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Directory(path) => path.display().fmt(f),
            Self::S3(options) => options.fmt(f),
        }
    }
}
