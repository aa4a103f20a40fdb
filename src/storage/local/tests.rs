//! What only a directory can do wrong.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;
use std::fs;
use std::os::unix::fs::PermissionsExt as _;
use std::path::Path;
use std::process::Command;

use super::*;
use crate::storage::conformance::{self, Place};

struct InDirectory(tempfile::TempDir);

impl InDirectory {
    fn names(&self) -> Vec<String> {
        names_in(self.0.path())
    }
}

impl Place for InDirectory {
    fn new() -> Self {
        Self(tempfile::tempdir().unwrap())
    }

    fn storage(&self) -> Box<dyn Storage> {
        Box::new(LocalStorage::new(self.0.path()))
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        let names = self.names().into_iter().filter(|name| !is_temp(name));
        names
            .map(|name| {
                let bytes = fs::read(self.0.path().join(&name)).unwrap();
                (name, bytes)
            })
            .collect()
    }

    fn leftovers(&self) -> usize {
        self.names().iter().filter(|name| is_temp(name)).count()
    }

    fn plant(&self, name: &str, bytes: &[u8]) {
        fs::write(self.0.path().join(name), bytes).unwrap();
    }
}

conformance::conformance_tests!(InDirectory);

fn is_temp(name: &str) -> bool {
    name.starts_with(".rdump-tmp-")
}

fn names_in(path: &Path) -> Vec<String> {
    let entries = fs::read_dir(path).unwrap();
    entries
        .map(|entry| entry.unwrap().file_name().into_string().unwrap())
        .collect()
}

/// A storage in a new directory `out`, which `prepare` makes.
fn storage_in(parent: &Path) -> LocalStorage {
    let storage = LocalStorage::new(parent.join("out"));
    storage.prepare().unwrap();
    storage
}

fn commit(storage: &LocalStorage, name: &str) -> Result<(), StorageError> {
    let mut sink = storage.create(name)?;
    sink.write_all(name.as_bytes()).unwrap();
    sink.finish()?.commit()
}

/// A tmpfs that is unmounted when dropped. `None`, with a word on standard error, where tests may not mount.
struct Tmpfs(tempfile::TempDir);

impl Tmpfs {
    fn mount(options: &str) -> Option<Self> {
        let place = tempfile::tempdir().unwrap();
        let mut mount = Command::new("mount");
        mount.args(["-t", "tmpfs", "-o", options, "tmpfs"]);
        mount.arg(place.path());
        let is_root = rustix::process::geteuid().is_root();
        if is_root && mount.status().is_ok_and(|status| status.success()) {
            return Some(Self(place));
        }
        let name = std::thread::current().name().unwrap_or_default().to_owned();
        // The test harness would swallow `eprintln!` of a test that passes.
        writeln!(io::stderr(), "SKIPPED {name}: only root can mount a tmpfs").unwrap();
        None
    }
}

impl Drop for Tmpfs {
    fn drop(&mut self) {
        let status = Command::new("umount").arg(self.0.path()).status();
        assert!(status.is_ok_and(|status| status.success()));
    }
}

#[test]
fn full_disk_is_told_and_leaves_no_temp_file() {
    let Some(disk) = Tmpfs::mount("size=1m") else {
        return;
    };
    let storage = storage_in(disk.0.path());
    commit(&storage, "small").unwrap();
    let mut sink = storage.create("large").unwrap();
    let error = sink.write_all(&vec![b'x'; 2 << 20]).unwrap_err();
    let error = StorageError::from_write(error, "not used");
    assert!(error.is_disk_full() && !error.is_transient(), "{error}");
    assert!(error.to_string().ends_with("out/large"), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("room")));

    let put = storage.put("metadata", b"m").unwrap_err();
    assert!(put.is_disk_full(), "{put}");
    drop(sink);
    assert_eq!(names_in(&disk.0.path().join("out")), ["small"]);
    storage.put("metadata", b"m").unwrap();
}

#[test]
fn disk_without_room_is_refused_before_the_dump_and_the_new_directory_goes() {
    let Some(disk) = Tmpfs::mount("size=1m") else {
        return;
    };
    fs::write(disk.0.path().join("ballast"), vec![0; 1 << 20]).unwrap();
    let storage = LocalStorage::new(disk.0.path().join("out"));
    let error = storage.prepare().unwrap_err();
    assert!(matches!(error, StorageError::NotWritable { .. }), "{error}");
    assert!(error.is_disk_full());
    storage.clean().unwrap();
    assert_eq!(names_in(disk.0.path()), ["ballast"]);
}

#[test]
fn read_only_file_system_is_refused_before_the_dump() {
    let Some(disk) = Tmpfs::mount("ro") else {
        return;
    };
    let error = LocalStorage::new(disk.0.path()).prepare().unwrap_err();
    assert!(matches!(error, StorageError::NotWritable { .. }), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("read-only")));
    let error = LocalStorage::new(disk.0.path().join("out"))
        .prepare()
        .unwrap_err();
    assert!(matches!(error, StorageError::Open { .. }), "{error}");
}

#[test]
fn directory_without_write_permission_is_refused_before_the_dump() {
    if rustix::process::geteuid().is_root() {
        writeln!(io::stderr(), "SKIPPED: root may write everywhere").unwrap();
        return;
    }
    let place = tempfile::tempdir().unwrap();
    fs::set_permissions(place.path(), fs::Permissions::from_mode(0o555)).unwrap();
    let error = LocalStorage::new(place.path()).prepare().unwrap_err();
    assert!(matches!(error, StorageError::NotWritable { .. }), "{error}");
    assert!(error.hint().is_some_and(|hint| hint.contains("user")));
}

#[test]
fn path_that_is_a_file_is_refused_and_left_alone() {
    let place = tempfile::tempdir().unwrap();
    let path = place.path().join("out");
    fs::write(&path, b"mine").unwrap();
    let storage = LocalStorage::new(&path);
    let error = storage.prepare().unwrap_err();
    assert!(
        matches!(error, StorageError::NotADirectory { .. }),
        "{error}"
    );
    storage.clean().unwrap();
    assert_eq!(fs::read(&path).unwrap(), b"mine");
}

/// What may happen to the output directory behind our back (case B117).
fn moved_away(out: &Path) {
    fs::rename(out, out.with_extension("moved")).unwrap();
}

fn replaced_by_another(out: &Path) {
    moved_away(out);
    fs::create_dir(out).unwrap();
}

fn replaced_by_a_file(out: &Path) {
    moved_away(out);
    fs::write(out, b"").unwrap();
}

fn removed(out: &Path) {
    fs::remove_dir_all(out).unwrap();
}

#[test]
fn directory_that_is_moved_or_replaced_is_noticed_by_every_call() {
    for change in [moved_away, replaced_by_another, replaced_by_a_file, removed] {
        let place = tempfile::tempdir().unwrap();
        let out = place.path().join("out");
        let storage = storage_in(place.path());
        commit(&storage, "before").unwrap();
        storage.sync().unwrap();
        let staged = storage.create("after").unwrap().finish().unwrap();
        change(&out);

        let committed = staged.commit().unwrap_err();
        assert!(
            matches!(committed, StorageError::Moved { .. }),
            "{committed}"
        );
        assert!(committed.hint().is_some());
        storage.put("metadata", b"m").unwrap_err();
        storage.sync().unwrap_err();
        storage.put("manifest.json", b"{}").unwrap_err();
        storage.clean().unwrap();

        if out.is_dir() {
            assert_eq!(names_in(&out), [""; 0], "foreign directory is left alone");
        }
        let moved = out.with_extension("moved");
        if moved.is_dir() {
            assert_eq!(names_in(&moved), ["before"]);
        }
    }
}

#[test]
fn file_that_vanished_before_the_sync_fails_it_and_all_that_follows() {
    let place = tempfile::tempdir().unwrap();
    let storage = storage_in(place.path());
    commit(&storage, "a").unwrap();
    fs::remove_file(place.path().join("out/a")).unwrap();
    let error = storage.sync().unwrap_err();
    assert!(matches!(error, StorageError::Sync { .. }), "{error}");
    assert!(error.to_string().ends_with("out/a"), "{error}");
    for error in [storage.sync(), storage.put("manifest.json", b"{}")] {
        let error = error.unwrap_err();
        assert!(matches!(error, StorageError::SyncLost { .. }), "{error}");
    }
    assert!(names_in(&place.path().join("out")).is_empty());
}

#[test]
fn clean_removes_an_empty_directory_that_prepare_made_and_no_other() {
    let place = tempfile::tempdir().unwrap();
    let made = storage_in(place.path());
    let sink = made.create("a").unwrap();
    made.clean().unwrap();
    assert!(!place.path().join("out").exists());
    drop(sink);
    made.clean().unwrap();

    let found = LocalStorage::new(place.path());
    found.prepare().unwrap();
    found.clean().unwrap();
    assert!(place.path().is_dir());
}

#[test]
fn clean_leaves_a_directory_that_holds_whole_files() {
    let place = tempfile::tempdir().unwrap();
    let storage = storage_in(place.path());
    commit(&storage, "a").unwrap();
    drop(storage.create("b").unwrap());
    storage.clean().unwrap();
    assert_eq!(names_in(&place.path().join("out")), ["a"]);
}

#[test]
fn new_files_and_directories_take_their_mode_from_the_umask() {
    let place = tempfile::tempdir().unwrap();
    let storage = storage_in(place.path());
    commit(&storage, "a").unwrap();
    fs::write(place.path().join("by std"), b"").unwrap();
    fs::create_dir(place.path().join("dir by std")).unwrap();
    let mode = |name: &str| {
        let metadata = fs::metadata(place.path().join(name)).unwrap();
        metadata.permissions().mode()
    };
    assert_eq!(mode("out/a"), mode("by std"));
    assert_eq!(mode("out"), mode("dir by std"));
}

#[test]
fn temp_names_are_short_whatever_the_final_name() {
    let place = tempfile::tempdir().unwrap();
    let storage = storage_in(place.path());
    let sink = storage.create(&"x".repeat(255)).unwrap();
    let names = names_in(&place.path().join("out"));
    assert!(names.len() == 1 && is_temp(&names[0]) && names[0].len() < 40);
    sink.finish().unwrap().commit().unwrap();
    assert_eq!(names_in(&place.path().join("out"))[0].len(), 255);
}

#[test]
fn relative_path_is_shown_as_it_was_given() {
    let storage = LocalStorage::new("backup/today/");
    assert_eq!(storage.describe(), "backup/today/");
    let error = storage.create("a").err().unwrap();
    assert_eq!(
        error.to_string(),
        "the output backup/today/ was not prepared"
    );
}
