//! Which dumps of a series stay, and the removal of the others.
//!
//! Owns the rule that nothing is removed but whole dumps of the same series: directories beside the new one, with a name of the
//! template and a manifest that can be read, and with no file in them that the manifest does not know. A dump on its way out is renamed
//! first, so that no half of it is ever taken for a dump; what a killed run left of one is removed by the next.

use std::fs;
use std::io;
use std::path::{Path, PathBuf};
use std::time::Duration;

use time::OffsetDateTime;

use super::series::Series;
use super::whole::{Contents, contents};
use crate::manifest::MANIFEST_NAME;

/// What the name of a dump on its way out ends in.
const LEAVING: &str = ".rdump-removing";

/// Which dumps stay. The newest one always does.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Keep {
    /// So many, the new one included.
    Count(usize),
    /// Those whose run began no longer ago.
    Age(Duration),
}

/// Removes the dumps of the series that `keep` does not cover, but never `newest`. Returns what could not be done.
pub(super) fn apply(keep: Keep, series: &Series, newest: &Path) -> Vec<String> {
    let mut warnings = Vec::new();
    let entries = match names(series.parent()) {
        Ok(entries) => entries,
        Err(error) => {
            let parent = series.parent().display();
            return vec![format!(
                "old dumps in {parent} could not be looked at: {error}"
            )];
        }
    };
    let mut dumps = Vec::new();
    for name in entries {
        let path = series.parent().join(&name);
        let left = name.strip_prefix('.').and_then(|n| n.strip_suffix(LEAVING));
        if left.is_some_and(|name| series.matches(name)) && is_folder(&path) {
            warnings.extend(told(&path, empty(&path)));
        } else if series.matches(&name) && is_folder(&path) {
            match contents(&path) {
                Some(contents) => dumps.push((contents.started, name, contents)),
                None => log::info!("{} is no whole dump and is left alone", path.display()),
            }
        }
    }
    // Of two that began in one second the later name is the newer.
    dumps.sort_by(|a, b| (b.0, &b.1).cmp(&(a.0, &a.1)));
    let now = OffsetDateTime::now_utc();
    for (place, (started, name, contents)) in dumps.iter().enumerate() {
        let stays = match keep {
            Keep::Count(count) => place < count,
            Keep::Age(age) => now - *started <= age,
        };
        let path = series.parent().join(name);
        let is_newest = newest.file_name() == path.file_name();
        if stays || is_newest || place == 0 {
            continue;
        }
        match remove(series.parent(), name, contents) {
            Ok(()) => log::info!("removed the old dump {}", path.display()),
            Err(error) => warnings.extend(told(&path, Err(error))),
        }
    }
    warnings
}

fn told(path: &Path, result: io::Result<()>) -> Option<String> {
    let error = result.err()?;
    let path = path.display();
    Some(format!("the old dump {path} could not be removed: {error}"))
}

fn names(folder: &Path) -> io::Result<Vec<String>> {
    let mut names = Vec::new();
    for entry in fs::read_dir(folder)? {
        // A name that is no text is none of ours.
        names.extend(entry?.file_name().into_string());
    }
    names.sort();
    Ok(names)
}

/// A directory itself, not a link to one.
fn is_folder(path: &Path) -> bool {
    fs::symlink_metadata(path).is_ok_and(|metadata| metadata.is_dir())
}

fn remove(parent: &Path, name: &str, contents: &Contents) -> io::Result<()> {
    let path = parent.join(name);
    refuse_strangers(&path, contents)?;
    let leaving = parent.join(format!(".{name}{LEAVING}"));
    fs::rename(&path, &leaving)?;
    empty(&leaving)
}

/// Somebody's notes in a dump are not ours to remove.
fn refuse_strangers(path: &Path, contents: &Contents) -> io::Result<()> {
    let known = contents.names();
    let strangers = names(path)?
        .into_iter()
        .find(|name| !known.contains(name.as_str()));
    match strangers {
        Some(name) => Err(io::Error::other(format!(
            "it holds {name}, which is not part of the dump"
        ))),
        None => Ok(()),
    }
}

/// Removes a dump on its way out: its files, its manifest last, then the directory.
fn empty(path: &Path) -> io::Result<()> {
    if let Some(contents) = contents(path) {
        refuse_strangers(path, &contents)?;
        let mut files: Vec<PathBuf> = Vec::new();
        files.extend(contents.names().iter().map(|name| path.join(name)));
        // The manifest knows what is left; it goes when nothing is.
        files.sort_by_key(|file| file.ends_with(MANIFEST_NAME));
        for file in files {
            match fs::remove_file(&file) {
                Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error),
                _ => {}
            }
        }
    }
    fs::remove_dir(path)
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;
    use crate::manifest::{Consistency, FORMAT_VERSION, Manifest, PositionEntry};
    use tempfile::TempDir;

    fn manifest(started: &str) -> Vec<u8> {
        let file = |name: &str| crate::manifest::FileEntry {
            name: name.to_owned(),
            raw_bytes: 1,
            stored_bytes: 1,
            hash: String::new(),
            data: None,
        };
        let manifest = Manifest {
            format_version: FORMAT_VERSION,
            tool: String::new(),
            server: String::new(),
            started: started.to_owned(),
            finished: started.to_owned(),
            consistency: Consistency {
                mode: "flush".to_owned(),
                position: PositionEntry::BinlogOff,
                inconsistent_tables: Vec::new(),
            },
            format: "sql".to_owned(),
            compression: "none".to_owned(),
            dialect: None,
            where_clause: None,
            files: vec![file("shop-schema-create.sql")],
            tables: Vec::new(),
            warnings: Vec::new(),
        };
        serde_json::to_vec(&manifest).unwrap()
    }

    /// Dumps of seven days, and everything around them that must not be touched.
    fn folder() -> (TempDir, Series) {
        let folder = tempfile::tempdir().unwrap();
        for day in 1..=7 {
            let path = folder.path().join(format!("shop-2026-01-0{day}"));
            fs::create_dir(&path).unwrap();
            fs::write(path.join("shop-schema-create.sql"), "x").unwrap();
            fs::write(path.join("metadata"), "x").unwrap();
            let bytes = manifest(&format!("2026-01-0{day}T00:00:00Z"));
            fs::write(path.join("manifest.json"), bytes).unwrap();
        }
        let series = Series::parse(&folder.path().join("shop-{date}"))
            .unwrap()
            .unwrap();
        (folder, series)
    }

    fn left(folder: &TempDir) -> String {
        names(folder.path()).unwrap().join(" ")
    }

    #[test]
    fn the_newest_whole_dumps_stay_and_nothing_else_is_touched() {
        let (folder, series) = folder();
        let at = |name: &str| folder.path().join(name);
        fs::remove_file(at("shop-2026-01-06/manifest.json")).unwrap();
        fs::write(at("shop-2026-01-05/manifest.json"), "{").unwrap();
        fs::write(at("shop-2026-01-02/notes.txt"), "mine").unwrap();
        fs::rename(at("shop-2026-01-01"), at("crm-2026-01-01")).unwrap();
        std::os::unix::fs::symlink("crm-2026-01-01", at("shop-2025-01-01")).unwrap();
        fs::write(at("shop-2024-01-01"), "a file").unwrap();
        let warnings = apply(Keep::Count(1), &series, &at("shop-2026-01-07"));
        // 3 and 4 are whole and old; 2 has somebody's notes; 5 and 6 are no dumps.
        assert_eq!(
            left(&folder),
            "crm-2026-01-01 shop-2024-01-01 shop-2025-01-01 shop-2026-01-02 shop-2026-01-05 \
             shop-2026-01-06 shop-2026-01-07"
        );
        assert_eq!(warnings.len(), 1);
        assert!(warnings[0].contains("notes.txt"), "{warnings:?}");
        assert!(at("crm-2026-01-01/manifest.json").exists());
    }

    #[test]
    fn a_count_includes_the_new_dump_and_no_age_reaches_it() {
        let (folder, series) = folder();
        let newest = folder.path().join("shop-2026-01-07");
        assert!(apply(Keep::Count(3), &series, &newest).is_empty());
        assert_eq!(
            left(&folder),
            "shop-2026-01-05 shop-2026-01-06 shop-2026-01-07"
        );
        assert!(apply(Keep::Age(Duration::from_secs(1)), &series, &newest).is_empty());
        assert_eq!(left(&folder), "shop-2026-01-07");
    }

    #[test]
    fn a_removal_that_was_cut_short_is_finished_by_the_next_run() {
        let (folder, series) = folder();
        let at = |name: &str| folder.path().join(name);
        let leaving = at(".shop-2026-01-01.rdump-removing");
        fs::rename(at("shop-2026-01-01"), &leaving).unwrap();
        fs::remove_file(leaving.join("metadata")).unwrap();
        fs::create_dir(at(".shop-2026-01-00.rdump-removing")).unwrap();
        let warnings = apply(Keep::Count(7), &series, &at("shop-2026-01-07"));
        assert!(warnings.is_empty(), "{warnings:?}");
        assert!(!left(&folder).contains("removing"), "{}", left(&folder));
        assert!(at("shop-2026-01-02").exists());
    }
}
