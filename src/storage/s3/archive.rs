//! A dump in a bucket, to be read.
//!
//! Owns the ranges: a file is fetched piece by piece, one ahead of the reader, and a piece that breaks off is gone on with from
//! the byte that was reached. All pieces are of one version of the object, or the reading fails.

use std::io::{self, Read};
use std::sync::{Arc, Mutex, PoisonError};

use aws_sdk_s3::operation::get_object::builders::GetObjectFluentBuilder;
use tokio::task::JoinHandle;

use super::bucket::Bucket;
use super::error::S3Error;
use super::options::S3Options;
use super::service::Ended;
use crate::cancel::CancelToken;
use crate::storage::{Archive, StorageError, StoredFile};

/// Bytes fetched by one request.
const PIECE_BYTES: u64 = 8 << 20;

/// A dump under a prefix of a bucket.
pub struct S3Archive(Arc<Bucket>);

impl S3Archive {
    /// Asks nobody yet. `cancel` ends every wait.
    pub fn new(options: S3Options, cancel: &CancelToken) -> Result<Self, StorageError> {
        Ok(Self(Arc::new(Bucket::new(options, cancel)?)))
    }
}

impl Archive for S3Archive {
    fn list(&self) -> Result<Vec<StoredFile>, StorageError> {
        let listed = self.0.service.block_on(Box::pin(self.0.objects(None)))?;
        let is_file = |file: &StoredFile| !file.name.contains('/');
        let files: Vec<_> = listed.into_iter().filter(is_file).collect();
        if files.is_empty() {
            return Err(absent(self.describe()));
        }
        Ok(files)
    }

    fn open(&self, name: &str) -> Result<Box<dyn Read + Send>, StorageError> {
        let key = self.0.options.key(name);
        let found = self.0.service.block_on(Box::pin(self.0.find(&key)))?;
        let Some(found) = found else {
            return Err(absent(self.0.options.url_of(&key)));
        };
        let object = Object {
            bucket: Arc::clone(&self.0),
            key,
            tag: found.tag,
        };
        Ok(Box::new(Reader::new(object, found.bytes)))
    }

    fn describe(&self) -> String {
        self.0.options.to_string()
    }
}

fn absent(place: String) -> StorageError {
    let source = io::Error::new(io::ErrorKind::NotFound, "nothing is there");
    StorageError::Unreadable { place, source }
}

/// One version of an object.
#[derive(Clone)]
struct Object {
    bucket: Arc<Bucket>,
    key: String,
    tag: Option<String>,
}

impl Object {
    /// The bytes from `start` up to, and without, `end`.
    async fn fetch(self, start: u64, end: u64) -> Result<Vec<u8>, StorageError> {
        let service = &self.bucket.service;
        let request = service.request("read", &self.key).with_body(end - start);
        let get = service.client.get_object();
        let get = get
            .bucket(&self.bucket.options.bucket)
            .key(&self.key)
            .set_if_match(self.tag.clone());
        let piece = Mutex::default();
        let attempt = || fetch_rest(get.clone(), &piece, start, end);
        let answer = service.attempt(&request, attempt).await;
        match answer.result {
            Ok(()) => Ok(piece.into_inner().unwrap_or_else(PoisonError::into_inner)),
            Err(Ended::Failed(error)) if error.is_condition_failed() => {
                Err(StorageError::Altered {
                    path: self.bucket.options.url_of(&self.key),
                    problem: "it was replaced while it was read".to_owned(),
                })
            }
            Err(ended) => Err(request.error(ended)),
        }
    }
}

/// Appends what `piece` lacks.
async fn fetch_rest(
    get: GetObjectFluentBuilder,
    piece: &Mutex<Vec<u8>>,
    start: u64,
    end: u64,
) -> Result<(), S3Error> {
    let length = || piece.lock().unwrap_or_else(PoisonError::into_inner).len() as u64;
    let range = format!("bytes={}-{}", start + length(), end - 1);
    let answer = get.range(range).send().await?;
    let mut body = answer.body;
    while let Some(block) = body.next().await {
        let block =
            block.map_err(|error| S3Error::passing(format!("the body broke off: {error}")))?;
        let mut bytes = piece.lock().unwrap_or_else(PoisonError::into_inner);
        bytes.extend_from_slice(&block);
    }
    match start + length() {
        reached if reached == end => Ok(()),
        reached if reached < end => Err(S3Error::passing("the body ended early".to_owned())),
        _ => Err(S3Error::lasting(
            "the service sent more than was asked for".to_owned(),
        )),
    }
}

/// Reads an object from its start to its end.
struct Reader {
    object: Object,
    total: u64,
    /// Where the next piece begins.
    next: u64,
    ahead: Option<JoinHandle<Result<Vec<u8>, StorageError>>>,
    /// Whether a piece is missing: then there is no end to be reached.
    failed: bool,
    piece: Vec<u8>,
    /// Bytes of the piece that were read.
    read: usize,
}

impl Reader {
    fn new(object: Object, total: u64) -> Self {
        let mut reader = Self {
            object,
            total,
            next: 0,
            ahead: None,
            failed: false,
            piece: Vec::new(),
            read: 0,
        };
        reader.fetch_ahead();
        reader
    }

    fn fetch_ahead(&mut self) {
        if self.next >= self.total {
            return;
        }
        let (start, end) = (self.next, self.total.min(self.next + PIECE_BYTES));
        self.next = end;
        let fetch = self.object.clone().fetch(start, end);
        self.ahead = Some(self.object.bucket.service.handle().spawn(fetch));
    }
}

impl Read for Reader {
    fn read(&mut self, target: &mut [u8]) -> io::Result<usize> {
        if self.failed {
            return Err(io::Error::other("an earlier read has failed"));
        }
        if self.read == self.piece.len()
            && let Some(ahead) = self.ahead.take()
        {
            self.failed = true;
            let piece = self.object.bucket.service.block_on(ahead);
            self.piece = piece.map_err(io::Error::other)??;
            self.failed = false;
            self.read = 0;
            self.fetch_ahead();
        }
        let left = &self.piece[self.read..];
        let length = left.len().min(target.len());
        target[..length].copy_from_slice(&left[..length]);
        self.read += length;
        Ok(length)
    }
}

impl Drop for Reader {
    fn drop(&mut self) {
        if let Some(ahead) = self.ahead.take() {
            ahead.abort();
        }
    }
}
