//! The names of a run's files: which are allowed, and that each is used once.
//!
//! Owns the rule for a plain file name and the set of names taken. A name is free again when the file that claimed it
//! is given up, so that a chunk can be tried again; a committed file keeps its name to the end of the run. Names that
//! are in the place already, from somebody else, it leaves to each storage.

use std::collections::HashSet;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::StorageError;

/// The longest name that every common file system takes, in bytes (`NAME_MAX` of Linux).
pub const LONGEST_NAME_BYTES: usize = 255;

/// The names taken in one run. Clones share the set.
#[derive(Debug, Clone, Default)]
pub struct Names(Arc<Mutex<HashSet<String>>>);

/// A name taken. Dropping it gives the name back, unless it was kept.
#[derive(Debug)]
pub struct Claim {
    names: Names,
    name: String,
    kept: bool,
}

impl Names {
    /// Takes `name`. Fails when it is no plain file name, or is taken: two chunks must never share a file. `path` names
    /// the file in the message.
    pub fn claim(&self, name: &str, path: &str) -> Result<Claim, StorageError> {
        check(name)?;
        if !self.lock().insert(name.to_owned()) {
            return Err(StorageError::DuplicateName {
                path: path.to_owned(),
            });
        }
        Ok(Claim {
            names: self.clone(),
            name: name.to_owned(),
            kept: false,
        })
    }

    fn lock(&self) -> MutexGuard<'_, HashSet<String>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Claim {
    /// The name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Takes the name for good.
    pub fn keep(&mut self) {
        self.kept = true;
    }
}

impl Drop for Claim {
    fn drop(&mut self) {
        if !self.kept {
            self.names.lock().remove(&self.name);
        }
    }
}

/// Refuses a name that would leave the place, or that no file can have.
pub(super) fn check(name: &str) -> Result<(), StorageError> {
    let reason = if name.is_empty() {
        "it is empty"
    } else if name == "." || name == ".." {
        "it is a directory"
    } else if name.contains('/') {
        "it holds a path separator"
    } else if name.contains('\0') {
        "it holds a NUL byte"
    } else if name.len() > LONGEST_NAME_BYTES {
        "it is longer than 255 bytes"
    } else {
        return Ok(());
    };
    Err(StorageError::BadName {
        name: name.to_owned(),
        reason,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn names_that_are_no_plain_file_names_are_refused() {
        let too_long = "x".repeat(LONGEST_NAME_BYTES + 1);
        let bad = [
            "",
            ".",
            "..",
            "a/b",
            "/etc/passwd",
            "../a",
            "a\0b",
            &too_long,
        ];
        for name in bad {
            let error = Names::default().claim(name, name).unwrap_err();
            assert!(
                matches!(error, StorageError::BadName { .. }),
                "{name:?}: {error}"
            );
        }
        let longest = "x".repeat(LONGEST_NAME_BYTES);
        for name in ["a", "..a", ".hidden", "db.tä.000000000.sql", &longest] {
            Names::default().claim(name, name).unwrap();
        }
    }

    #[test]
    fn name_is_free_again_when_its_claim_is_dropped_but_not_when_kept() {
        let names = Names::default();
        let mut claim = names.claim("a", "/dump/a").unwrap();
        let error = names.claim("a", "/dump/a").unwrap_err();
        assert_eq!(error.to_string(), "/dump/a was created before in this run");
        claim.keep();
        drop(claim);
        names.claim("a", "/dump/a").unwrap_err();
        drop(names.claim("b", "/dump/b").unwrap());
        names.claim("b", "/dump/b").unwrap();
    }
}
