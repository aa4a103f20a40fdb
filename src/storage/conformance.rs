//! What every storage must do, as tests that run against each of them.
//!
//! Owns the behaviour promised in `mod.rs`. What only one kind of place can do wrong (a moved directory, a full disk),
//! its own tests cover.

#![allow(clippy::unwrap_used)]

use std::collections::BTreeMap;

use super::{Sink, Storage, StorageError};

/// A fresh, empty place and a look at it from outside.
pub(crate) trait Place {
    /// A place that no storage has prepared yet.
    fn new() -> Self
    where
        Self: Sized;
    /// A storage there; called once.
    fn storage(&self) -> Box<dyn Storage>;
    /// What has a final name.
    fn files(&self) -> BTreeMap<String, Vec<u8>>;
    /// How many unfinished things lie there.
    fn leftovers(&self) -> usize;
    /// Puts a file there as another program would.
    fn plant(&self, name: &str, bytes: &[u8]);
}

/// Makes one test of each function of this module for the named [`Place`].
macro_rules! conformance_tests {
    ($place:ty) => {
        $crate::storage::conformance::conformance_tests!($place:
            file_has_its_name_only_when_committed
            dropped_file_leaves_nothing_and_frees_its_name
            name_in_use_or_committed_is_refused
            name_with_a_path_is_refused_everywhere
            foreign_file_under_the_final_name_is_not_overwritten
            place_that_holds_anything_is_refused
            nothing_works_before_prepare
            put_writes_a_whole_file_once
            many_small_writes_and_one_large_make_the_same_file
            clean_removes_what_is_unfinished_and_keeps_what_is_whole
            files_are_written_from_many_threads
        );
    };
    ($place:ty: $($test:ident)*) => {
        mod conformance_suite {
            use super::*;
            $(
                #[test]
                fn $test() {
                    $crate::storage::conformance::$test(&<$place>::new());
                }
            )*
        }
    };
}
pub(crate) use conformance_tests;

fn prepared(place: &impl Place) -> Box<dyn Storage> {
    let storage = place.storage();
    storage.prepare().unwrap();
    assert_eq!(place.leftovers(), 0, "the proof of writability stays");
    storage
}

fn commit(storage: &dyn Storage, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
    let mut sink = storage.create(name)?;
    sink.write_all(bytes)
        .map_err(|error| StorageError::from_write(error, name))?;
    sink.finish()?.commit()
}

pub(crate) fn file_has_its_name_only_when_committed(place: &impl Place) {
    let storage = prepared(place);
    let mut sink = storage.create("a.sql").unwrap();
    sink.write_all(b"whole").unwrap();
    assert!(place.files().is_empty());
    let staged = sink.finish().unwrap();
    assert!(place.files().is_empty());
    staged.commit().unwrap();
    assert_eq!(place.files()["a.sql"], b"whole");
    assert_eq!(place.leftovers(), 0);
    storage.sync().unwrap();
    storage.sync().unwrap();
}

pub(crate) fn dropped_file_leaves_nothing_and_frees_its_name(place: &impl Place) {
    let storage = prepared(place);
    let mut sink = storage.create("a.sql").unwrap();
    sink.write_all(b"half").unwrap();
    drop(sink);
    assert_eq!((place.files().len(), place.leftovers()), (0, 0));
    drop(storage.create("a.sql").unwrap().finish().unwrap());
    assert_eq!((place.files().len(), place.leftovers()), (0, 0));
    commit(storage.as_ref(), "a.sql", b"second try").unwrap();
    assert_eq!(place.files()["a.sql"], b"second try");
}

pub(crate) fn name_in_use_or_committed_is_refused(place: &impl Place) {
    let storage = prepared(place);
    let refused = |result: Result<Box<dyn Sink>, StorageError>| {
        let error = result.err().unwrap();
        assert!(
            matches!(error, StorageError::DuplicateName { .. }),
            "{error}"
        );
        assert!(error.to_string().contains("a.sql"), "{error}");
    };
    let sink = storage.create("a.sql").unwrap();
    refused(storage.create("a.sql"));
    let staged = sink.finish().unwrap();
    refused(storage.create("a.sql"));
    staged.commit().unwrap();
    refused(storage.create("a.sql"));
    storage.put("a.sql", b"").unwrap_err();
    commit(storage.as_ref(), "A.SQL2", b"").unwrap();
    assert_eq!(place.files()["a.sql"], b"");
}

pub(crate) fn name_with_a_path_is_refused_everywhere(place: &impl Place) {
    let storage = prepared(place);
    for name in ["", "..", "a/b", "../a", "/a", "a\0"] {
        let created = storage.create(name).err().unwrap();
        let put = storage.put(name, b"x").unwrap_err();
        for error in [created, put] {
            assert!(matches!(error, StorageError::BadName { .. }), "{error}");
        }
    }
    let longest = "ü".repeat(127);
    commit(storage.as_ref(), &longest, b"x").unwrap();
    assert_eq!(place.files().len(), 1);
}

pub(crate) fn foreign_file_under_the_final_name_is_not_overwritten(place: &impl Place) {
    let storage = prepared(place);
    let mut sink = storage.create("a.sql").unwrap();
    sink.write_all(b"ours").unwrap();
    let staged = sink.finish().unwrap();
    place.plant("a.sql", b"theirs");
    place.plant("metadata", b"theirs");
    let committed = staged.commit().unwrap_err();
    let put = storage.put("metadata", b"ours").unwrap_err();
    for error in [committed, put] {
        assert!(matches!(error, StorageError::Exists { .. }), "{error}");
        assert!(error.hint().is_some());
    }
    assert_eq!(place.files()["a.sql"], b"theirs");
    assert_eq!(place.files()["metadata"], b"theirs");
    assert_eq!(place.leftovers(), 0);
}

pub(crate) fn place_that_holds_anything_is_refused(place: &impl Place) {
    place.plant("old.sql", b"x");
    let storage = place.storage();
    let error = storage.prepare().unwrap_err();
    assert!(matches!(error, StorageError::NotEmpty { .. }), "{error}");
    assert!(error.to_string().contains("old.sql"), "{error}");
    storage.create("new.sql").err().unwrap();
    storage.put("metadata", b"m").unwrap_err();
    storage.clean().unwrap();
    assert_eq!(place.files().len(), 1);
}

pub(crate) fn nothing_works_before_prepare(place: &impl Place) {
    let storage = place.storage();
    let created = storage.create("a").err().unwrap();
    let put = storage.put("a", b"").unwrap_err();
    for error in [created, put] {
        assert!(matches!(error, StorageError::NotPrepared { .. }), "{error}");
    }
    storage.clean().unwrap();
}

pub(crate) fn put_writes_a_whole_file_once(place: &impl Place) {
    let storage = prepared(place);
    storage.put("manifest.json", b"{}").unwrap();
    assert_eq!(place.files()["manifest.json"], b"{}");
    assert_eq!(place.leftovers(), 0);
    let error = storage.put("manifest.json", b"[]").unwrap_err();
    assert!(
        matches!(error, StorageError::DuplicateName { .. }),
        "{error}"
    );
    assert_eq!(place.files()["manifest.json"], b"{}");
}

pub(crate) fn many_small_writes_and_one_large_make_the_same_file(place: &impl Place) {
    let storage = prepared(place);
    let bytes: Vec<u8> = (0..=u8::MAX).cycle().take(3 << 20).collect();
    commit(storage.as_ref(), "large", &bytes).unwrap();
    let mut sink = storage.create("small").unwrap();
    for piece in bytes.chunks(4099) {
        sink.write_all(piece).unwrap();
        sink.flush().unwrap();
    }
    sink.finish().unwrap().commit().unwrap();
    let files = place.files();
    assert!(files["large"] == bytes && files["small"] == bytes);
}

pub(crate) fn clean_removes_what_is_unfinished_and_keeps_what_is_whole(place: &impl Place) {
    let storage = prepared(place);
    commit(storage.as_ref(), "whole", b"1").unwrap();
    let sink = storage.create("open").unwrap();
    let staged = storage.create("staged").unwrap().finish().unwrap();
    storage.clean().unwrap();
    assert_eq!(place.leftovers(), 0);
    drop((sink, staged));
    storage.clean().unwrap();
    assert_eq!(place.files().into_keys().collect::<Vec<_>>(), ["whole"]);
}

pub(crate) fn files_are_written_from_many_threads(place: &impl Place) {
    let storage = prepared(place);
    let storage = storage.as_ref();
    std::thread::scope(|scope| {
        for worker in 0..4 {
            scope.spawn(move || {
                for chunk in 0..50 {
                    let name = format!("db.t{worker}.{chunk:09}.sql");
                    commit(storage, &name, name.as_bytes()).unwrap();
                }
            });
        }
        scope.spawn(|| (0..5).for_each(|_| storage.sync().unwrap()));
    });
    storage.sync().unwrap();
    let files = place.files();
    assert_eq!(files.len(), 200);
    assert!(files.iter().all(|(name, bytes)| name.as_bytes() == bytes));
}
