//! `LocalArchive`: a dump in a directory, to be read.
//!
//! Owns the reading of a directory: regular files only, so that no device or pipe keeps a reader waiting; a link to a file is
//! as good as the file. Names that would leave the directory are refused. Which files a dump has it leaves to `manifest/`.

use std::fs::File;
use std::io::{self, Read};
use std::path::PathBuf;

use super::names::check;
use super::{Archive, StorageError, StoredFile};

/// An [`Archive`] in a directory.
#[derive(Debug, Clone)]
pub struct LocalArchive {
    path: PathBuf,
}

impl LocalArchive {
    /// The archive in the directory `path`, which is not touched yet.
    pub fn new(path: impl Into<PathBuf>) -> Self {
        Self { path: path.into() }
    }
}

/// Names the file in what goes wrong.
struct LocalFile {
    file: File,
    path: String,
}

impl Archive for LocalArchive {
    fn list(&self) -> Result<Vec<StoredFile>, StorageError> {
        let failed = |source| StorageError::Unreadable {
            place: self.describe(),
            source,
        };
        let mut files = Vec::new();
        for entry in std::fs::read_dir(&self.path).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let metadata = std::fs::metadata(entry.path()).map_err(failed)?;
            if !metadata.is_file() {
                continue;
            }
            files.push(StoredFile {
                name: entry.file_name().to_string_lossy().into_owned(),
                bytes: metadata.len(),
            });
        }
        files.sort_by(|a, b| a.name.cmp(&b.name));
        Ok(files)
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + Send>, StorageError> {
        check(name)?;
        let path = self.path.join(name);
        let shown = path.display().to_string();
        let opened = std::fs::metadata(&path).and_then(|metadata| {
            if metadata.is_file() {
                File::open(&path)
            } else {
                Err(io::Error::new(
                    io::ErrorKind::InvalidInput,
                    "it is not a regular file",
                ))
            }
        });
        match opened {
            Ok(file) => Ok(Box::new(LocalFile { file, path: shown })),
            Err(source) => Err(StorageError::ReadFile {
                path: shown,
                source,
            }),
        }
    }

    fn describe(&self) -> String {
        self.path.display().to_string()
    }
}

impl Read for LocalFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        self.file.read(into).map_err(|source| {
            // Passed on bare: callers know by the kind that they must call again.
            if source.kind() == io::ErrorKind::Interrupted {
                return source;
            }
            let path = self.path.clone();
            StorageError::ReadFile { path, source }.into()
        })
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn files_are_listed_by_name_and_directories_left_out() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("b"), "12").unwrap();
        std::fs::write(folder.path().join("a"), "1").unwrap();
        std::fs::create_dir(folder.path().join("c")).unwrap();
        let archive = LocalArchive::new(folder.path());
        let files = archive.list().unwrap();
        let names: Vec<_> = files.iter().map(|f| (f.name.as_str(), f.bytes)).collect();
        assert_eq!(names, [("a", 1), ("b", 2)]);
        let mut text = String::new();
        archive
            .open("b")
            .unwrap()
            .read_to_string(&mut text)
            .unwrap();
        assert_eq!(text, "12");
    }

    #[test]
    fn what_is_no_file_of_the_directory_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        std::fs::create_dir(folder.path().join("c")).unwrap();
        let archive = LocalArchive::new(folder.path());
        for name in ["../x", "/etc/passwd", "", "c", "missing"] {
            assert!(archive.open(name).is_err(), "{name}");
        }
        assert!(LocalArchive::new("/nonexistent").list().is_err());
    }
}
