//! Whether a directory is a whole dump, by its own manifest.
//!
//! Owns the reading of a manifest that lies in a directory. The look at every file, for the new dump, is `verify/`'s.

use std::collections::BTreeSet;
use std::fs;
use std::io;
use std::path::Path;

use time::OffsetDateTime;
use time::format_description::well_known::Rfc3339;

use crate::cancel::CancelToken;
use crate::dump::config::DumpConfig;
use crate::error::Error;
use crate::manifest::{FORMAT_VERSION, FileEntry, MANIFEST_NAME, METADATA_NAME, Manifest};
use crate::progress::Progress;
use crate::verify;
use crate::verify::config::VerifyConfig;

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

/// Reads every file of the dump again. A dump that is not what its manifest says takes its manifest back: it must not be taken
/// for one.
pub(super) fn verify(path: &Path, config: &DumpConfig, cancel: &CancelToken) -> Result<(), Error> {
    let request = VerifyConfig {
        source: config.output.clone(),
        against: None,
        database: None,
        threads: config.threads,
        retry: config.retry,
    };
    // Numbers of its own: what was dumped must not be counted twice.
    let report = verify::run(&request, &Progress::new(), cancel)?;
    let Some(problem) = report.differences.first() else {
        return Ok(());
    };
    if let Err(error) = fs::remove_file(path.join(MANIFEST_NAME))
        && error.kind() != io::ErrorKind::NotFound
    {
        let path = path.display();
        log::error!("the manifest of {path} could not be removed: {error}");
    }
    Err(Error::Request {
        message: format!(
            "the dump in {} is not whole after all: {problem}",
            path.display()
        ),
        hint: Some("look at the file system and its log; no older dump was removed".to_owned()),
    })
}
