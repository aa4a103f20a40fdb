//! What only a bucket can do wrong, on a real server (SeaweedFS by `scripts/dev-server`); where there is none the tests say so
//! and pass.

#![allow(clippy::unwrap_used)]

use std::collections::HashMap;
use std::io::{Read as _, Write as _};
use std::process::Command;
use std::sync::atomic::{AtomicU32, Ordering};

use super::*;
use crate::secret::Secret;
use crate::storage::conformance::{self, Place};
use crate::storage::memory::MemoryStorage;
use crate::storage::{Archive as _, StorageError};

const MIB: usize = 1 << 20;

/// A prefix of its own, and a look at it by requests that the code under test does not make.
struct InBucket {
    options: S3Options,
    outside: Bucket,
}

impl InBucket {
    fn get() -> Option<Self> {
        static COUNT: AtomicU32 = AtomicU32::new(0);
        let facts = server()?;
        let count = COUNT.fetch_add(1, Ordering::Relaxed);
        let prefix = format!("unit-{}-{count}", std::process::id());
        let options = S3Options {
            endpoint: Some(facts["endpoint"].clone()),
            region: Some(facts["region"].clone()),
            access_key: Some(Secret::new(&*facts["access_key"])),
            secret_access_key: Some(Secret::new(&*facts["secret_key"])),
            concurrency: 2,
            part_size_bytes: SMALLEST_PART_BYTES,
            ..S3Options::new(&facts["bucket"], &prefix)
        };
        let outside = Bucket::new(options.clone(), &CancelToken::new()).unwrap();
        Some(Self { options, outside })
    }

    fn s3(&self, cancel: &CancelToken) -> S3Storage {
        S3Storage::new(self.options.clone(), cancel, is_script)
    }

    fn prepared(&self) -> S3Storage {
        let storage = self.s3(&CancelToken::new());
        storage.prepare().unwrap();
        storage
    }

    fn archive(&self) -> S3Archive {
        S3Archive::new(self.options.clone(), &CancelToken::new()).unwrap()
    }

    fn keys(&self) -> Vec<String> {
        let client = &self.outside.service.client;
        let list = client.list_objects_v2().bucket(&self.options.bucket);
        let list = list.prefix(&self.options.prefix).send();
        let listed = self.outside.service.block_on(list).unwrap();
        let keys = listed.contents().iter();
        keys.map(|object| object.key().unwrap().to_owned())
            .collect()
    }

    fn unfinished(&self) -> Vec<String> {
        let client = &self.outside.service.client;
        let list = client.list_multipart_uploads();
        let list = list.bucket(&self.options.bucket);
        let list = list.prefix(&self.options.prefix).send();
        let listed = self.outside.service.block_on(list).unwrap();
        let uploads = listed.uploads().iter();
        uploads
            .map(|upload| {
                let key = upload.key().unwrap();
                key.strip_prefix(&self.options.prefix).unwrap().to_owned()
            })
            .collect()
    }

    fn read(&self, key: &str) -> Vec<u8> {
        let service = &self.outside.service;
        let get = service.client.get_object().bucket(&self.options.bucket);
        let collect = async { get.key(key).send().await.unwrap().body.collect().await };
        service.block_on(collect).unwrap().to_vec()
    }

    fn begin_upload(&self, name: &str) {
        let service = &self.outside.service;
        let create = service.client.create_multipart_upload();
        let create = create.bucket(&self.options.bucket);
        let create = create.key(self.options.key(name)).send();
        service.block_on(create).unwrap();
    }

    fn remove(&self, name: &str) {
        let service = &self.outside.service;
        let delete = service.client.delete_object().bucket(&self.options.bucket);
        service
            .block_on(delete.key(self.options.key(name)).send())
            .unwrap();
    }
}

impl InBucket {
    fn plant(&self, name: &str, bytes: &[u8]) {
        let service = &self.outside.service;
        let put = service.client.put_object().bucket(&self.options.bucket);
        let put = put.key(self.options.key(name)).body(bytes.to_vec().into());
        service.block_on(put.send()).unwrap();
    }
}

/// A bucket, or memory where no server is to be had.
enum Somewhere {
    Bucket(Box<InBucket>),
    Memory(MemoryStorage),
}

impl Place for Somewhere {
    fn new() -> Self {
        InBucket::get().map_or_else(
            || Self::Memory(MemoryStorage::default()),
            |bucket| Self::Bucket(Box::new(bucket)),
        )
    }

    fn storage(&self) -> Box<dyn Storage> {
        match self {
            Self::Bucket(bucket) => Box::new(bucket.s3(&CancelToken::new())),
            Self::Memory(memory) => Box::new(memory.clone()),
        }
    }

    fn files(&self) -> BTreeMap<String, Vec<u8>> {
        match self {
            Self::Bucket(bucket) => {
                let keys = bucket.keys().into_iter();
                keys.map(|key| {
                    let name = key.strip_prefix(&bucket.options.prefix).unwrap();
                    (name.to_owned(), bucket.read(&key))
                })
                .collect()
            }
            Self::Memory(memory) => memory.files(),
        }
    }

    fn leftovers(&self) -> usize {
        match self {
            Self::Bucket(bucket) => bucket.unfinished().len(),
            Self::Memory(_) => 0,
        }
    }

    fn plant(&self, name: &str, bytes: &[u8]) {
        match self {
            Self::Bucket(bucket) => bucket.plant(name, bytes),
            Self::Memory(memory) => memory.plant(name, bytes),
        }
    }
}

conformance::conformance_tests!(Somewhere);

/// What `scripts/dev-server` tells about the shared server.
fn server() -> Option<&'static HashMap<String, String>> {
    static FACTS: OnceLock<Option<HashMap<String, String>>> = OnceLock::new();
    FACTS.get_or_init(start_server).as_ref()
}

fn start_server() -> Option<HashMap<String, String>> {
    const EXIT_UNAVAILABLE: i32 = 69;
    let wanted = std::env::var("RDUMP_TEST_SERVERS");
    let prefix = std::env::var("RDUMP_TEST_INSTANCES").unwrap_or_default();
    let left_out = wanted.is_ok_and(|wanted| !wanted.split(',').any(|word| word.trim() == "s3"));
    let started = (!left_out).then(|| {
        Command::new(concat!(env!("CARGO_MANIFEST_DIR"), "/scripts/dev-server"))
            .args(["s3", "start", "--name", &format!("{prefix}s3")])
            .output()
            .unwrap()
    });
    let Some(started) = started.filter(|started| started.status.code() != Some(EXIT_UNAVAILABLE))
    else {
        let line = b"rdump tests: NOT COVERED: s3\n";
        std::io::stderr().write_all(line).unwrap();
        return None;
    };
    let complaint = String::from_utf8_lossy(&started.stderr);
    assert!(started.status.success(), "{complaint}");
    let facts = String::from_utf8(started.stdout).unwrap();
    let facts = facts.lines().filter_map(|line| line.split_once('='));
    Some(
        facts
            .map(|(key, value)| (key.to_owned(), value.to_owned()))
            .collect(),
    )
}

fn is_script(name: &str) -> bool {
    std::path::Path::new(name).extension() == Some("sql".as_ref())
}

fn bytes(length: usize) -> Vec<u8> {
    (0..=250_u8).cycle().take(length).collect()
}

fn write(storage: &S3Storage, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
    let mut sink = storage.create(name)?;
    for block in bytes.chunks(MIB) {
        sink.write_all(block)
            .map_err(|error| StorageError::from_write(error, name))?;
    }
    sink.finish()?.commit()
}

#[test]
fn large_file_goes_up_in_parts_and_comes_back_whole() {
    let Some(place) = InBucket::get() else { return };
    let storage = place.prepared();
    for (name, length) in [
        ("parts.sql", 13 * MIB + 5),
        ("even.sql", 10 * MIB),
        ("one.sql", 5 * MIB),
        ("small.sql", 7),
        ("empty.sql", 0),
    ] {
        write(&storage, name, &bytes(length)).unwrap();
        let mut back = Vec::new();
        let mut reader = place.archive().open(name).unwrap();
        reader.read_to_end(&mut back).unwrap();
        assert!(back == bytes(length), "{name}");
    }
    storage.sync().unwrap();
    assert!(place.unfinished().is_empty());
    let listed = place.archive().list().unwrap();
    let names: Vec<_> = listed.iter().map(|file| file.name.as_str()).collect();
    let expected = ["empty.sql", "even.sql", "one.sql", "parts.sql", "small.sql"];
    assert_eq!(names, expected);
    assert_eq!(listed[3].bytes, 13 * MIB as u64 + 5);
}

#[test]
fn many_small_files_that_wait_for_their_names_do_not_fill_the_memory() {
    let Some(place) = InBucket::get() else { return };
    let storage = place.prepared();
    let content = bytes(3 * MIB);
    let staged: Vec<_> = (0..8)
        .map(|number| {
            let mut sink = storage.create(&format!("{number}.sql")).unwrap();
            sink.write_all(&content).unwrap();
            sink.finish().unwrap()
        })
        .collect();
    // Five of them fit into what may wait; the others are on the server already.
    assert_eq!(place.unfinished().len(), 3);
    for file in staged {
        file.commit().unwrap();
    }
    storage.sync().unwrap();
    assert_eq!((place.keys().len(), place.unfinished().len()), (8, 0));
    assert!(place.read(&place.options.key("7.sql")) == content);
}

#[test]
fn dropped_file_with_parts_on_the_server_leaves_nothing() {
    let Some(place) = InBucket::get() else { return };
    let storage = place.prepared();
    let mut sink = storage.create("a.sql").unwrap();
    sink.write_all(&bytes(12 * MIB)).unwrap();
    assert_eq!(place.unfinished(), ["a.sql"]);
    drop(sink);
    assert!(place.unfinished().is_empty());
    write(&storage, "a.sql", &bytes(6 * MIB)).unwrap();
    assert_eq!(place.keys().len(), 1);
}

#[test]
fn large_file_does_not_overwrite_what_appeared_meanwhile() {
    let Some(place) = InBucket::get() else { return };
    let storage = place.prepared();
    let mut sink = storage.create("a.sql").unwrap();
    sink.write_all(&bytes(6 * MIB)).unwrap();
    let staged = sink.finish().unwrap();
    place.plant("a.sql", b"theirs");
    let error = staged.commit().unwrap_err();
    assert!(matches!(error, StorageError::Exists { .. }), "{error}");
    assert_eq!(place.read(&place.options.key("a.sql")), b"theirs");
    assert!(place.unfinished().is_empty());
}

#[test]
fn object_that_vanished_is_noticed_before_the_dump_is_called_whole() {
    let Some(place) = InBucket::get() else { return };
    let storage = place.prepared();
    write(&storage, "a.sql", b"1").unwrap();
    write(&storage, "b.sql", b"2").unwrap();
    place.remove("a.sql");
    let error = storage.sync().unwrap_err().to_string();
    assert!(
        error.contains("a.sql") && error.contains("not there"),
        "{error}"
    );
    let error = storage.put("manifest.json", b"{}").unwrap_err();
    assert!(matches!(error, StorageError::SyncLost { .. }), "{error}");
}

#[test]
fn object_of_another_size_is_noticed() {
    let Some(place) = InBucket::get() else { return };
    let storage = place.prepared();
    write(&storage, "a.sql", b"whole").unwrap();
    place.plant("a.sql", b"half");
    let error = storage.sync().unwrap_err().to_string();
    assert!(error.contains("4 bytes instead of 5"), "{error}");
}

#[test]
fn leftovers_of_a_killed_run_are_aborted_when_they_are_old_and_a_dumps() {
    let Some(place) = InBucket::get() else { return };
    for name in ["a.sql", ".rdump-probe", "notes.txt", "deeper/a.sql"] {
        place.begin_upload(name);
    }
    place.prepared();
    assert_eq!(place.unfinished().len(), 4, "all of them are young");
    let options = S3Options {
        abort_incomplete_age: Duration::ZERO,
        ..place.options.clone()
    };
    let storage = S3Storage::new(options, &CancelToken::new(), is_script);
    storage.prepare().unwrap();
    let mut left = place.unfinished();
    left.sort();
    assert_eq!(left, ["deeper/a.sql", "notes.txt"]);
}

#[test]
fn cancelled_run_stops_waiting_and_cleans_up() {
    let Some(place) = InBucket::get() else { return };
    let cancel = CancelToken::new();
    let storage = place.s3(&cancel);
    storage.prepare().unwrap();
    let mut sink = storage.create("a.sql").unwrap();
    sink.write_all(&bytes(6 * MIB)).unwrap();
    cancel.cancel();
    let error = StorageError::from_write(sink.write_all(&bytes(20 * MIB)).unwrap_err(), "a.sql");
    assert!(matches!(error, StorageError::Interrupted { .. }), "{error}");
    drop(sink);
    storage.clean().unwrap();
    assert!(place.unfinished().is_empty() && place.keys().is_empty());
}

#[test]
fn reading_what_is_not_there_fails() {
    let Some(place) = InBucket::get() else { return };
    let error = place.archive().list().unwrap_err();
    assert!(matches!(error, StorageError::Unreadable { .. }), "{error}");
    let error = place.archive().open("a.sql").err().unwrap();
    assert!(error.to_string().contains("a.sql"), "{error}");
}

#[test]
fn object_that_is_replaced_while_it_is_read_is_noticed() {
    let Some(place) = InBucket::get() else { return };
    place.plant("a.sql", &bytes(30 * MIB));
    let archive = place.archive();
    let mut reader = archive.open("a.sql").unwrap();
    reader.read_exact(&mut [0; 16]).unwrap();
    place.plant("a.sql", &vec![0; 30 * MIB]);
    let error = std::io::copy(&mut reader, &mut std::io::sink()).unwrap_err();
    let error = StorageError::from_write(error, "a.sql");
    assert!(matches!(error, StorageError::Altered { .. }), "{error}");
    assert!(reader.read(&mut [0; 16]).is_err(), "an error is no end");
}
