//! Whether a directory is a whole dump, by its own manifest.
//!
//! Owns the reading of a manifest that lies in a directory, and the comparison with the files beside it.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::error::Error;
use crate::manifest::{FORMAT_VERSION, FileEntry, MANIFEST_NAME, METADATA_NAME, Manifest};

/// A manifest as far as the other dumps of a job are concerned.
pub(super) struct Contents {
    /// When its run began.
    pub started: OffsetDateTime,
    /// Its files with their stored sizes in bytes; the two that describe the dump are not among them.
    pub files: Vec<(String, u64)>,
}

/// Reads the manifest of a directory; `None` for one that is no whole dump of a version that is known.
pub(super) fn contents(path: &Path) -> Option<Contents> {
    let bytes = fs::read(path.join(MANIFEST_NAME)).ok()?;
    let manifest: Manifest = serde_json::from_slice(&bytes).ok()?;
    if manifest.format_version > FORMAT_VERSION {
        return None;
    }
    let of_tables = manifest.tables.iter().flat_map(|table| &table.files);
    let files = manifest.files.iter().chain(of_tables);
    let entry = |file: &FileEntry| (file.name.clone(), file.stored_bytes);
    Some(Contents {
        started: OffsetDateTime::parse(&manifest.started, &Rfc3339).ok()?,
        files: files.map(entry).collect(),
    })
}

impl Contents {
    /// The names of everything that belongs to the dump.
    pub fn names(&self) -> BTreeSet<&str> {
        let files = self.files.iter().map(|(name, _)| name.as_str());
        files.chain([METADATA_NAME, MANIFEST_NAME]).collect()
    }
}

/// Fails unless every file of the dump is there, as long as the manifest says. A dump that is not takes its manifest back: it
/// must not be taken for one.
pub(super) fn verify(path: &Path) -> Result<(), Error> {
    let problem = match contents(path) {
        None => Some("its manifest cannot be read".to_owned()),
        Some(contents) => {
            let mut files = contents.files.iter();
            files.find_map(|(name, bytes)| difference(&path.join(name), *bytes))
        }
    };
    let Some(problem) = problem else {
        return Ok(());
    };
    if let Err(error) = fs::remove_file(path.join(MANIFEST_NAME))
        && error.kind() != io::ErrorKind::NotFound
    {
        log::error!(
            "the manifest of {} could not be removed: {error}",
            path.display()
        );
    }
    Err(Error::Request {
        message: format!(
            "the dump in {} is not whole after all: {problem}",
            path.display()
        ),
        hint: Some("look at the file system and its log; no older dump was removed".to_owned()),
    })
}

fn difference(path: &Path, bytes: u64) -> Option<String> {
    match fs::metadata(path) {
        Ok(there) if there.len() == bytes => None,
        Ok(there) => Some(format!(
            "{} has {} bytes and not {bytes}",
            path.display(),
            there.len()
        )),
        Err(error) => Some(format!("{}: {error}", path.display())),
    }
}
