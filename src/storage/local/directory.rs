//! A directory held open by a handle: the system calls below `local.rs`.
//!
//! Owns the handle. Every file is opened, renamed and removed relative to it, so that nothing is ever written to
//! another directory that took the path in the meantime; [`Directory::check_place`] tells whether that happened. What
//! the files are, and which are temporary, it leaves to `local.rs`.

use std::fs::File;
use std::io::{self, Write as _};
use std::os::fd::OwnedFd;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, FlockOperation, Mode, OFlags, RenameFlags, flock};
use rustix::io::{Errno, retry_on_intr};

use crate::storage::StorageError;

/// What the umask is taken from for new files, as every tool does.
const FILE_MODE: Mode = Mode::from_raw_mode(0o666);
/// What the umask is taken from for new directories.
const DIRECTORY_MODE: Mode = Mode::from_raw_mode(0o777);
/// How much is written to prove that there is room: a block of the usual file systems. A full disk often has inodes
/// left.
const PROOF_BYTES: usize = 4096;

/// A directory of the local file system.
#[derive(Debug)]
pub(super) struct Directory {
    path: PathBuf,
    handle: OwnedFd,
    made: bool,
}

impl Directory {
    /// Opens the directory at `path`; makes it, and its parents, when there is nothing.
    pub(super) fn open_or_make(path: &Path) -> Result<Self, StorageError> {
        let opened = match open_directory(path) {
            Err(Errno::NOENT) => {
                make_directory(path).and_then(|made| Ok((open_directory(path)?, made)))
            }
            other => other.map(|handle| (handle, false)),
        };
        let place = || path.display().to_string();
        match opened {
            Ok((handle, made)) => Ok(Self {
                path: path.to_owned(),
                handle,
                made,
            }),
            Err(Errno::NOTDIR) => Err(StorageError::NotADirectory { place: place() }),
            Err(errno) => Err(StorageError::Open {
                place: place(),
                source: errno.into(),
            }),
        }
    }

    /// The path as it was given.
    pub(super) fn place(&self) -> String {
        self.path.display().to_string()
    }

    /// The path of a file in it, for messages.
    pub(super) fn path_of(&self, name: &str) -> String {
        self.path.join(name).display().to_string()
    }

    /// Keeps other runs out for as long as the handle is open. Where the file system knows no locks on directories (NFS), the
    /// look at the content has to do.
    pub(super) fn lock(&self) -> Result<(), StorageError> {
        match flock(&self.handle, FlockOperation::NonBlockingLockExclusive) {
            Err(Errno::WOULDBLOCK) => Err(StorageError::Locked {
                place: self.place(),
            }),
            Err(errno) => {
                log::debug!("{} cannot be locked: {errno}", self.place());
                Ok(())
            }
            Ok(()) => Ok(()),
        }
    }

    /// Fails when the directory holds anything. `lost+found`, which a fresh volume has at its root, is not anybody's
    /// data.
    pub(super) fn refuse_content(&self) -> Result<(), StorageError> {
        let failed = |errno: Errno| StorageError::Read {
            place: self.place(),
            source: errno.into(),
        };
        for entry in Dir::read_from(&self.handle).map_err(failed)? {
            let entry = entry.map_err(failed)?;
            let name = entry.file_name();
            if name != c"." && name != c".." && name != c"lost+found" {
                return Err(StorageError::NotEmpty {
                    place: self.place(),
                    entry: name.to_string_lossy().into_owned(),
                });
            }
        }
        Ok(())
    }

    /// Writes one block to a file called `name` and removes it.
    pub(super) fn prove_writable(&self, name: &str) -> Result<(), StorageError> {
        let proof = || -> io::Result<()> {
            let mut file = self.create_file(name)?;
            let written = file.write_all(&[0; PROOF_BYTES]).and_then(|()| close(file));
            let removed = self.remove_file(name);
            written.and(removed)
        };
        proof().map_err(|source| StorageError::NotWritable {
            place: self.place(),
            source,
        })
    }

    /// Fails unless the path still leads to this directory.
    pub(super) fn check_place(&self) -> Result<(), StorageError> {
        let ours = rustix::fs::fstat(&self.handle);
        let stat = match (ours, rustix::fs::stat(&self.path)) {
            (Ok(ours), Ok(there)) => Ok((ours.st_dev, ours.st_ino) == (there.st_dev, there.st_ino)),
            (Ok(_), Err(Errno::NOENT | Errno::NOTDIR)) => Ok(false),
            (Err(errno), _) | (_, Err(errno)) => Err(errno),
        };
        match stat {
            Ok(true) => Ok(()),
            Ok(false) => Err(StorageError::Moved {
                place: self.place(),
            }),
            Err(errno) => Err(StorageError::Read {
                place: self.place(),
                source: errno.into(),
            }),
        }
    }

    /// Creates a file that was not there.
    pub(super) fn create_file(&self, name: &str) -> io::Result<File> {
        let flags = OFlags::CREATE | OFlags::EXCL | OFlags::WRONLY | OFlags::CLOEXEC;
        let file = retry_on_intr(|| rustix::fs::openat(&self.handle, name, flags, FILE_MODE))?;
        Ok(File::from(file))
    }

    /// Renames a file; fails with `AlreadyExists` when there is one called `to`.
    pub(super) fn rename(&self, from: &str, to: &str) -> io::Result<()> {
        let (dir, only_new) = (&self.handle, RenameFlags::NOREPLACE);
        match rustix::fs::renameat_with(dir, from, dir, to, only_new) {
            // NFS and some FUSE file systems know no flags, kernels before 3.15 not the call.
            Err(Errno::INVAL | Errno::NOSYS | Errno::OPNOTSUPP) => self.rename_by_link(from, to),
            other => Ok(other?),
        }
    }

    /// As [`Directory::rename`], for file systems with hard links.
    fn rename_by_link(&self, from: &str, to: &str) -> io::Result<()> {
        let dir = &self.handle;
        match rustix::fs::linkat(dir, from, dir, to, AtFlags::empty()) {
            Ok(()) => self.remove_file(from),
            // FAT, exFAT and most object store mounts have no hard links.
            Err(Errno::PERM | Errno::NOSYS | Errno::OPNOTSUPP | Errno::INVAL) => {
                self.rename_after_look(from, to)
            }
            Err(errno) => Err(errno.into()),
        }
    }

    /// As [`Directory::rename`], for file systems that have nothing better: a file that appears between the look and
    /// the rename is overwritten.
    fn rename_after_look(&self, from: &str, to: &str) -> io::Result<()> {
        let dir = &self.handle;
        match rustix::fs::statat(dir, to, AtFlags::SYMLINK_NOFOLLOW) {
            Err(Errno::NOENT) => Ok(rustix::fs::renameat(dir, from, dir, to)?),
            Ok(_) => Err(Errno::EXIST.into()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Removes a file; one that is gone already is fine.
    pub(super) fn remove_file(&self, name: &str) -> io::Result<()> {
        match rustix::fs::unlinkat(&self.handle, name, AtFlags::empty()) {
            Ok(()) | Err(Errno::NOENT) => Ok(()),
            Err(errno) => Err(errno.into()),
        }
    }

    /// Makes a file's bytes survive a power cut; its name needs [`Directory::sync`].
    ///
    /// The kernel reports a failed write-back to whoever syncs the file next, also through a descriptor opened later,
    /// for as long as it has the file in memory.
    pub(super) fn sync_file(&self, name: &str) -> Result<(), StorageError> {
        let flags = OFlags::RDONLY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        retry_on_intr(|| rustix::fs::openat(&self.handle, name, flags, Mode::empty()))
            .and_then(|file| retry_on_intr(|| rustix::fs::fsync(&file)))
            .map_err(|errno| StorageError::Sync {
                path: self.path_of(name),
                source: errno.into(),
            })
    }

    /// Makes the names in the directory survive a power cut.
    pub(super) fn sync(&self) -> Result<(), StorageError> {
        sync_names(&self.handle).map_err(|errno| StorageError::Sync {
            path: self.place(),
            source: errno.into(),
        })
    }

    /// Removes the directory if this run made it, it is empty, and it is still where it was made. Parents are left:
    /// another run may be about to use them.
    pub(super) fn remove_if_made_and_empty(&self) -> Result<(), StorageError> {
        if !self.made || self.check_place().is_err() {
            return Ok(());
        }
        match rustix::fs::rmdir(&self.path) {
            Ok(()) | Err(Errno::NOTEMPTY | Errno::EXIST | Errno::NOENT) => Ok(()),
            Err(errno) => Err(StorageError::Remove {
                path: self.place(),
                source: errno.into(),
            }),
        }
    }
}

/// Closes a file and tells how that went, which dropping it does not: NFS, CIFS and FUSE send the last bytes, and find
/// a used-up quota, only now. The descriptor is gone in any case, so an error is never answered by a second close.
pub(super) fn close(file: File) -> io::Result<()> {
    Ok(nix::unistd::close(file)?)
}

fn open_directory(path: &Path) -> rustix::io::Result<OwnedFd> {
    let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
    retry_on_intr(|| rustix::fs::open(path, flags, Mode::empty()))
}

/// Makes a directory and the parents that are missing, durably. Returns false when somebody else was faster.
fn make_directory(path: &Path) -> rustix::io::Result<bool> {
    let parent = match path.parent() {
        Some(parent) if parent.as_os_str().is_empty() => Path::new("."),
        Some(parent) => parent,
        None => return Err(Errno::NOENT),
    };
    let mut made = rustix::fs::mkdir(path, DIRECTORY_MODE);
    if made == Err(Errno::NOENT) && parent != Path::new(".") {
        make_directory(parent)?;
        made = rustix::fs::mkdir(path, DIRECTORY_MODE);
    }
    match made {
        Ok(()) => sync_parent(parent).map(|()| true),
        Err(Errno::EXIST) => Ok(false),
        Err(errno) => Err(errno),
    }
}

/// Makes the entry of a new directory survive a power cut.
fn sync_parent(parent: &Path) -> rustix::io::Result<()> {
    match open_directory(parent) {
        Ok(handle) => sync_names(&handle),
        // A parent that may be written but not read (a drop box) cannot be synced alone.
        Err(Errno::ACCESS) => {
            rustix::fs::sync();
            Ok(())
        }
        Err(errno) => Err(errno),
    }
}

/// Syncs a directory. Some file systems (CIFS, some FUSE) answer EINVAL or EBADF: they cannot sync a directory, and
/// need no sync.
fn sync_names(directory: &OwnedFd) -> rustix::io::Result<()> {
    match retry_on_intr(|| rustix::fs::fsync(directory)) {
        Err(Errno::INVAL | Errno::BADF) => Ok(()),
        other => other,
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::fs;

    use super::*;

    type Rename = fn(&Directory, &str, &str) -> io::Result<()>;
    const RENAMES: [Rename; 3] = [
        Directory::rename,
        Directory::rename_by_link,
        Directory::rename_after_look,
    ];

    #[test]
    fn every_way_to_rename_moves_the_file_and_overwrites_nothing() {
        for rename in RENAMES {
            let place = tempfile::tempdir().unwrap();
            let directory = Directory::open_or_make(place.path()).unwrap();
            fs::write(place.path().join("temp"), b"ours").unwrap();
            rename(&directory, "temp", "final").unwrap();
            assert!(!place.path().join("temp").exists());

            fs::write(place.path().join("temp"), b"later").unwrap();
            let error = rename(&directory, "temp", "final").unwrap_err();
            assert_eq!(error.kind(), io::ErrorKind::AlreadyExists);
            assert_eq!(fs::read(place.path().join("final")).unwrap(), b"ours");
            assert_eq!(fs::read(place.path().join("temp")).unwrap(), b"later");
        }
    }

    #[test]
    fn parents_are_made_and_a_directory_that_was_there_is_not_ours() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("a/b/c");
        let directory = Directory::open_or_make(&path).unwrap();
        assert!(directory.made);
        assert!(!Directory::open_or_make(&path).unwrap().made);
        assert!(path.is_dir());
    }

    #[test]
    fn path_below_a_file_is_an_error_that_names_the_path() {
        let place = tempfile::tempdir().unwrap();
        fs::write(place.path().join("file"), b"").unwrap();
        let error = Directory::open_or_make(&place.path().join("file/sub")).unwrap_err();
        assert!(
            matches!(error, StorageError::NotADirectory { .. }),
            "{error}"
        );
        assert!(error.to_string().contains("file/sub"));
    }

    #[test]
    fn dangling_symlink_is_an_error_and_not_an_endless_try() {
        let place = tempfile::tempdir().unwrap();
        let link = place.path().join("link");
        std::os::unix::fs::symlink(place.path().join("nowhere"), &link).unwrap();
        for path in [link.clone(), link.join("sub")] {
            let error = Directory::open_or_make(&path).unwrap_err();
            assert!(matches!(error, StorageError::Open { .. }), "{error}");
        }
    }

    #[test]
    fn symlink_to_a_directory_is_followed() {
        let place = tempfile::tempdir().unwrap();
        let link = place.path().join("link");
        fs::create_dir(place.path().join("real")).unwrap();
        std::os::unix::fs::symlink("real", &link).unwrap();
        let directory = Directory::open_or_make(&link).unwrap();
        directory.check_place().unwrap();
        directory.prove_writable("proof").unwrap();
    }

    #[test]
    fn root_of_a_fresh_volume_counts_as_empty() {
        let place = tempfile::tempdir().unwrap();
        let directory = Directory::open_or_make(place.path()).unwrap();
        fs::create_dir(place.path().join("lost+found")).unwrap();
        directory.refuse_content().unwrap();
        fs::write(place.path().join("x"), b"").unwrap();
        directory.refuse_content().unwrap_err();
    }
}
