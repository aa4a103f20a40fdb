//! A file system that is soon full.

use std::path::Path;
use std::process::Command;

use super::server::announce;

/// A file system of its own, unmounted at the end.
pub struct SmallDisk(tempfile::TempDir);

impl SmallDisk {
    /// None, and said so, where this process may not mount.
    pub fn mount(size: &str) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let mounted = Command::new("mount")
            .args(["-t", "tmpfs", "-o", &format!("size={size}"), "tmpfs"])
            .arg(folder.path())
            .output()
            .is_ok_and(|output| output.status.success());
        if !mounted {
            announce("NOT COVERED: full disk: this process may not mount a tmpfs (be root)");
            return None;
        }
        Some(Self(folder))
    }

    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        // Lazily: a process that still has a file open there must not keep the mount.
        Command::new("umount")
            .arg("-l")
            .arg(self.path())
            .status()
            .ok();
    }
}
