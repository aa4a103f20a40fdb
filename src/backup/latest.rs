//! The symbolic link to the newest dump.
//!
//! Owns its exchange in one step: whoever follows it finds the old dump or the new one, and never nothing. Only a symbolic link is
//! ever replaced.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};

/// Makes `link` lead to `dump`: by its bare name if both lie in one folder, so that the folder can be moved.
pub(super) fn point(link: &Path, dump: &Path) -> io::Result<()> {
    if let Ok(there) = fs::symlink_metadata(link)
        && !there.is_symlink()
    {
        let text = "it is there and no symbolic link";
        return Err(io::Error::new(io::ErrorKind::AlreadyExists, text));
    }
    let folder = link.parent().unwrap_or(Path::new(""));
    let target = match (link.parent(), dump.parent(), dump.file_name()) {
        (Some(a), Some(b), Some(name)) if a == b => PathBuf::from(name),
        _ => fs::canonicalize(dump)?,
    };
    let fresh = folder.join(format!(".rdump-link-{}", std::process::id()));
    symlink(target, &fresh)?;
    fs::rename(&fresh, link).inspect_err(|_| {
        // The first error is the one that counts.
        fs::remove_file(&fresh).ok();
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_link_moves_on_and_nothing_else_is_replaced() {
        let folder = tempfile::tempdir().unwrap();
        let at = |name: &str| folder.path().join(name);
        for name in ["one", "two", "elsewhere"] {
            fs::create_dir(at(name)).unwrap();
        }
        point(&at("latest"), &at("one")).unwrap();
        assert_eq!(fs::read_link(at("latest")).unwrap(), Path::new("one"));
        point(&at("latest"), &at("two")).unwrap();
        assert_eq!(fs::read_link(at("latest")).unwrap(), Path::new("two"));
        point(&at("elsewhere/latest"), &at("two")).unwrap();
        let far = fs::canonicalize(at("elsewhere/latest")).unwrap();
        assert_eq!(far, fs::canonicalize(at("two")).unwrap());
        assert!(point(&at("one"), &at("two")).is_err());
        assert!(at("one").is_dir());
        assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 4);
    }
}
