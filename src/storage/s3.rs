//! A dump in a bucket of an object store: AWS S3 and those who speak like it.
//!
//! Owns the books of a run: which uploads are open, which objects shall be there. Nothing has its name before it is whole, since
//! an object exists only when its upload is completed, and nothing is overwritten. Every upload that is not completed is aborted;
//! before the dump is called whole, the store's own list is compared with the books. The AWS crates and their tokio runtime are
//! known in this folder only. `options.rs` and `url.rs` are what was asked for, `service.rs` is the way there, `bucket.rs` the
//! requests, `upload.rs` a file on its way, `archive.rs` the way back.
//!
//! Another store would need beside this: for Google's own interface resumable uploads (one stream, parts of 256 KiB multiples, `If-
//! Generation-Match: 0` for not overwriting); for Azure block lists (Put Block, Put Block List, `If-None-Match: *`), whose blocks
//! vanish by themselves after a week.

// The SDK's requests are; each is polled by the one who waits for it.
#![allow(clippy::large_futures)]

mod archive;
mod bucket;
pub mod error;
mod options;
mod service;
mod upload;
mod url;

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, Mutex, MutexGuard, OnceLock, PoisonError};
use std::time::{Duration, SystemTime, UNIX_EPOCH};

pub use archive::S3Archive;
pub use options::{Checksum, LARGEST_PART_BYTES, S3Options, SMALLEST_PART_BYTES};
pub use url::{S3UrlError, checked_endpoint, is_s3_url, without_settings};

use tokio::task::JoinSet;

use super::names::Names;
use super::{Sink, Storage, StorageError};
use crate::cancel::CancelToken;
use bucket::{Bucket, GRACE, Unfinished};
use upload::Upload;

/// Small files of a run that may wait in memory for their names, in bytes together. Others are uploaded as one part.
const MOST_WAITING_BYTES: u64 = 16 << 20;
/// How long what a failed run left is cleaned up.
const CLEAN: Duration = Duration::from_secs(15);
/// The same after a signal, when somebody waits for the end.
const CLEAN_WHEN_CANCELLED: Duration = Duration::from_millis(1200);
/// The name under which the proof of writability is begun.
const PROBE_NAME: &str = ".rdump-probe";
/// Uploads that are named in a warning.
const NAMED: usize = 5;

/// A [`Storage`] in a bucket.
pub struct S3Storage {
    options: S3Options,
    cancel: CancelToken,
    is_ours: fn(&str) -> bool,
    run: OnceLock<Arc<Run>>,
}

/// What the storage and its open files share.
struct Run {
    bucket: Bucket,
    names: Names,
    books: Mutex<Books>,
}

/// What has happened so far.
#[derive(Debug, Default)]
struct Books {
    /// Whether the place passed the checks of [`Storage::prepare`].
    prepared: bool,
    /// Open uploads, by id, with their keys.
    uploads: BTreeMap<String, String>,
    /// Those among them that nobody wants any more, but that could not be aborted.
    abandoned: BTreeSet<String>,
    /// Keys of which an upload may have been begun without its id becoming known.
    uncertain: BTreeSet<String>,
    /// Names and sizes of the objects that are there.
    objects: BTreeMap<String, u64>,
    /// Bytes of small files that wait for their names.
    waiting_bytes: u64,
    /// Whether objects were missing.
    lost: bool,
}

impl S3Storage {
    /// A storage that is touched by [`Storage::prepare`] only. `is_ours` tells by its name whether a file may be a dump's.
    pub fn new(options: S3Options, cancel: &CancelToken, is_ours: fn(&str) -> bool) -> Self {
        Self {
            options,
            cancel: cancel.clone(),
            is_ours,
            run: OnceLock::new(),
        }
    }

    fn run(&self) -> Result<&Arc<Run>, StorageError> {
        let run = self.run.get().filter(|run| run.books().prepared);
        run.ok_or_else(|| StorageError::NotPrepared {
            place: self.describe(),
        })
    }
}

impl Storage for S3Storage {
    fn prepare(&self) -> Result<(), StorageError> {
        let bucket = Bucket::new(self.options.clone(), &self.cancel)?;
        let run = self.run.get_or_init(|| Arc::new(Run::new(bucket)));
        let service = &run.bucket.service;
        service.block_on(Box::pin(run.refuse_content()))?;
        service.block_on(Box::pin(run.end_leftovers(self.is_ours)))?;
        run.prove_writable()?;
        run.books().prepared = true;
        Ok(())
    }

    fn create(&self, name: &str) -> Result<Box<dyn Sink>, StorageError> {
        let run = self.run()?;
        let claim = run.names.claim(name, &run.path_of(name))?;
        Ok(Box::new(Upload::new(run, claim)))
    }

    fn sync(&self) -> Result<(), StorageError> {
        let run = self.run()?;
        run.check_books()?;
        let service = &run.bucket.service;
        let result = service.block_on(Box::pin(run.check_objects()));
        run.books().lost |= result.is_err();
        result?;
        let abandoned = run.books().abandoned.clone();
        let end = run.end_uploads(|id| abandoned.contains(id), CLEAN, Duration::ZERO);
        service.block_on(Box::pin(end))
    }

    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StorageError> {
        let run = self.run()?;
        run.check_books()?;
        let mut claim = run.names.claim(name, &run.path_of(name))?;
        let (bucket, key) = (&run.bucket, self.options.key(name));
        let length = bytes.len() as u64;
        let written = bucket.service.block_on(Box::pin(async {
            bucket.put(&key, bytes.to_vec(), GRACE).await?;
            bucket.check_size(&key, length).await
        }));
        match written {
            Ok(()) => {
                claim.keep();
                run.remember_object(name, length);
                Ok(())
            }
            Err(error) => {
                // A manifest whose put failed must not make the rest look like a dump.
                if !matches!(error, StorageError::Exists { .. })
                    && let Err(error) = bucket.service.block_on(Box::pin(bucket.withdraw(&key)))
                {
                    log::debug!("{error}");
                }
                Err(error)
            }
        }
    }

    fn clean(&self) -> Result<(), StorageError> {
        let Some(run) = self.run.get() else {
            return Ok(());
        };
        let service = &run.bucket.service;
        let limit = if service.is_stopped() {
            CLEAN_WHEN_CANCELLED
        } else {
            CLEAN
        };
        let clean = run.end_uploads(|_| true, limit, limit);
        service.block_on(Box::pin(async {
            match tokio::time::timeout(limit, clean).await {
                Ok(result) => result,
                Err(_) => Err(StorageError::Unclean {
                    place: self.describe(),
                }),
            }
        }))
    }

    fn describe(&self) -> String {
        self.options.to_string()
    }
}

impl Run {
    fn new(bucket: Bucket) -> Self {
        Self {
            bucket,
            names: Names::default(),
            books: Mutex::default(),
        }
    }

    fn books(&self) -> MutexGuard<'_, Books> {
        self.books.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn path_of(&self, name: &str) -> String {
        let options = &self.bucket.options;
        options.url_of(&options.key(name))
    }

    fn place(&self) -> String {
        self.bucket.options.to_string()
    }

    async fn refuse_content(&self) -> Result<(), StorageError> {
        // Two, since the first may be the mark of a folder.
        let found = self.bucket.objects(Some(2)).await?;
        match found.into_iter().next() {
            None => Ok(()),
            Some(file) => Err(StorageError::NotEmpty {
                place: self.place(),
                entry: file.name,
            }),
        }
    }

    /// Begins an upload and aborts it: all that a dump may do, and nothing is left.
    fn prove_writable(&self) -> Result<(), StorageError> {
        let key = self.bucket.options.key(PROBE_NAME);
        let id = self.begin_upload(&key)?;
        let abort = self.bucket.abort(&key, &id, CLEAN, GRACE);
        self.bucket.service.block_on(Box::pin(abort))?;
        self.forget_upload(&id);
        Ok(())
    }

    /// Aborts what a killed run left half-uploaded under the prefix. What is young may belong to a run that lives.
    async fn end_leftovers(&self, is_ours: fn(&str) -> bool) -> Result<(), StorageError> {
        let options = &self.bucket.options;
        let is_ours = |upload: &Unfinished| {
            let name = upload.key.strip_prefix(&options.prefix);
            name.is_some_and(|name| !name.contains('/') && (name == PROBE_NAME || is_ours(name)))
        };
        let oldest = SystemTime::now()
            .duration_since(UNIX_EPOCH)
            .unwrap_or_default()
            .saturating_sub(options.abort_incomplete_age)
            .as_secs();
        let is_old = |upload: &Unfinished| {
            let started = upload.started.and_then(|time| u64::try_from(time).ok());
            started.is_some_and(|started| started <= oldest)
        };
        let found = self.bucket.uploads(Duration::ZERO).await?;
        let (old, young): (Vec<_>, Vec<_>) = found.into_iter().filter(is_ours).partition(is_old);
        for upload in &old {
            let aborted = self
                .bucket
                .abort(&upload.key, &upload.id, CLEAN, Duration::ZERO);
            aborted.await?;
            log::info!(
                "aborted an upload of {} that an earlier run left",
                options.url_of(&upload.key)
            );
        }
        if !young.is_empty() {
            let mut names: Vec<_> = young.iter().map(|upload| upload.key.as_str()).collect();
            names.truncate(NAMED);
            log::warn!(
                "{} unfinished uploads under {} are younger than --abort-incomplete-age and may belong to a dump that runs: {}",
                young.len(),
                self.place(),
                names.join(", ")
            );
        }
        Ok(())
    }

    fn begin_upload(&self, key: &str) -> Result<String, StorageError> {
        let create = self.bucket.create(key);
        let created = self.bucket.service.block_on(Box::pin(create));
        let mut books = self.books();
        if !matches!(created, Ok((_, true))) {
            books.uncertain.insert(key.to_owned());
        }
        let (id, _) = created?;
        books.uploads.insert(id.clone(), key.to_owned());
        Ok(id)
    }

    fn knows_upload(&self, id: &str) -> bool {
        self.books().uploads.contains_key(id)
    }

    fn forget_upload(&self, id: &str) {
        let mut books = self.books();
        books.uploads.remove(id);
        books.abandoned.remove(id);
    }

    fn abandon_upload(&self, id: String) {
        self.books().abandoned.insert(id);
    }

    fn remember_object(&self, name: &str, bytes: u64) {
        self.books().objects.insert(name.to_owned(), bytes);
    }

    /// Whether so many bytes may wait in memory; if so they count until [`Run::release`].
    fn may_wait(&self, bytes: u64) -> bool {
        let mut books = self.books();
        let fits = books.waiting_bytes + bytes <= MOST_WAITING_BYTES;
        if fits {
            books.waiting_bytes += bytes;
        }
        fits
    }

    fn release(&self, bytes: u64) {
        self.books().waiting_bytes -= bytes;
    }

    fn check_books(&self) -> Result<(), StorageError> {
        if self.books().lost {
            return Err(StorageError::SyncLost {
                place: self.place(),
            });
        }
        Ok(())
    }

    /// Compares the store's list with the books.
    async fn check_objects(&self) -> Result<(), StorageError> {
        let expected = self.books().objects.clone();
        let listed = self.bucket.objects(None).await?;
        let listed: BTreeMap<_, _> = listed
            .into_iter()
            .map(|file| (file.name, file.bytes))
            .collect();
        for (name, bytes) in expected {
            let key = self.bucket.options.key(&name);
            self.bucket
                .compare(&key, bytes, listed.get(&name).copied())?;
        }
        Ok(())
    }

    /// Aborts the open uploads that are `meant`, all at a time, and those whose ids never became known.
    async fn end_uploads(
        self: &Arc<Self>,
        meant: impl Fn(&String) -> bool,
        patience: Duration,
        grace: Duration,
    ) -> Result<(), StorageError> {
        let open = self.books().uploads.clone();
        let mut aborting = JoinSet::new();
        for (id, key) in open.into_iter().filter(|(id, _)| meant(id)) {
            let run = Arc::clone(self);
            aborting.spawn(async move {
                let aborted = run.bucket.abort(&key, &id, patience, grace).await;
                aborted.map(|()| run.forget_upload(&id))
            });
        }
        let mut first_error = Ok(());
        while let Some(ended) = aborting.join_next().await {
            let ended = ended.unwrap_or_else(|error| {
                Err(StorageError::Remove {
                    path: self.place(),
                    source: std::io::Error::other(error),
                })
            });
            first_error = first_error.and(ended);
        }
        first_error.and(self.end_orphans(grace).await)
    }

    /// Aborts uploads that were begun without their ids becoming known.
    async fn end_orphans(&self, grace: Duration) -> Result<(), StorageError> {
        let uncertain = self.books().uncertain.clone();
        if uncertain.is_empty() {
            return Ok(());
        }
        for upload in self.bucket.uploads(grace).await? {
            if uncertain.contains(&upload.key) && !self.knows_upload(&upload.id) {
                let aborted = self.bucket.abort(&upload.key, &upload.id, CLEAN, grace);
                aborted.await?;
            }
        }
        self.books()
            .uncertain
            .retain(|key| !uncertain.contains(key));
        Ok(())
    }
}

#[cfg(test)]
mod tests;
