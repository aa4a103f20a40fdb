//! `RunLock`: a file that only one run holds at a time.
//!
//! Owns the file: an advisory lock of the kernel (`flock`), which ends with the process however that ends, so that no stale lock
//! ever needs a person. The file is removed at the end; who finds it locked is told by whom.

use std::fs::{File, remove_file};
use std::io::{self, Read, Seek, Write};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use rustix::io::Errno;

use crate::error::Error;

/// The lock, held. Dropping it removes the file and gives the lock back.
#[derive(Debug)]
pub struct RunLock {
    path: PathBuf,
    _file: File,
}

impl RunLock {
    /// Takes the lock, or says who has it. Never waits.
    pub fn take(path: &Path) -> Result<Self, Error> {
        let failed = |source| Error::Lock {
            path: path.display().to_string(),
            source,
        };
        if let Some(folder) = path
            .parent()
            .filter(|folder| !folder.as_os_str().is_empty())
        {
            std::fs::create_dir_all(folder).map_err(failed)?;
        }
        loop {
            let mut file = File::options()
                .read(true)
                .write(true)
                .create(true)
                .truncate(false)
                .open(path)
                .map_err(failed)?;
            match flock(&file, FlockOperation::NonBlockingLockExclusive) {
                Ok(()) => {}
                Err(Errno::WOULDBLOCK) => {
                    return Err(Error::Locked {
                        what: format!("the lock file {}", path.display()),
                        holder: holder(&mut file),
                    });
                }
                Err(errno) => return Err(failed(errno.into())),
            }
            // Its holder may have removed it between the two calls: then this is a file that nobody else will ever find.
            if is_at(&file, path).map_err(failed)? {
                note_holder(&mut file).map_err(failed)?;
                return Ok(Self {
                    path: path.to_owned(),
                    _file: file,
                });
            }
        }
    }
}

impl Drop for RunLock {
    fn drop(&mut self) {
        // While the lock is held: another run that has opened the file sees that it is gone.
        if let Err(error) = remove_file(&self.path) {
            log::debug!("{} could not be removed: {error}", self.path.display());
        }
    }
}

fn is_at(file: &File, path: &Path) -> io::Result<bool> {
    let own = file.metadata()?;
    match std::fs::metadata(path) {
        Ok(there) => Ok((own.dev(), own.ino()) == (there.dev(), there.ino())),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(false),
        Err(error) => Err(error),
    }
}

fn note_holder(file: &mut File) -> io::Result<()> {
    file.set_len(0)?;
    file.write_all(format!("{}\n", std::process::id()).as_bytes())
}

/// The process that wrote its number into the file.
fn holder(file: &mut File) -> Option<u32> {
    let mut text = String::new();
    file.rewind().ok()?;
    file.take(32).read_to_string(&mut text).ok()?;
    text.trim().parse().ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn one_run_holds_it_and_the_next_gets_it() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("deep/.lock");
        let held = RunLock::take(&path).unwrap();
        let second = RunLock::take(&path).unwrap_err();
        let own = std::process::id();
        assert!(
            matches!(second, Error::Locked { holder: Some(pid), .. } if pid == own),
            "{second}"
        );
        drop(held);
        assert!(!path.exists());
        drop(RunLock::take(&path).unwrap());
    }

    #[test]
    fn a_file_that_a_dead_run_left_is_no_lock() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join(".lock");
        std::fs::write(&path, "1\n").unwrap();
        let held = RunLock::take(&path).unwrap();
        let text = std::fs::read_to_string(&path).unwrap();
        assert_eq!(text, format!("{}\n", std::process::id()));
        drop(held);
    }
}
