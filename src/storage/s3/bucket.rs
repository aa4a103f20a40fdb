//! `Bucket`: what is asked of an object store, each request as a method.
//!
//! Owns the settings that go with a new object, the rule that nothing is overwritten, and the question whether an object is
//! this run's: an attempt may succeed without its answer arriving, and then the next one is told that the object exists or that
//! its upload does not. Every object therefore carries the run's stamp. When to ask what it leaves to the files beside it.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use aws_sdk_s3::operation::create_multipart_upload::builders::CreateMultipartUploadFluentBuilder;
use aws_sdk_s3::operation::put_object::builders::PutObjectFluentBuilder;
use aws_sdk_s3::primitives::{ByteStream, DateTime};
use aws_sdk_s3::types::{
    ChecksumAlgorithm, CompletedMultipartUpload, CompletedPart, ObjectCannedAcl,
    ServerSideEncryption, StorageClass,
};

use bytes::Bytes;

use super::error::S3Error;
use super::options::{Checksum, S3Options};
use super::service::{Answer, Ended, Request, Service};
use crate::cancel::CancelToken;
use crate::storage::{StorageError, StoredFile};

/// The metadata key of the run's stamp.
const STAMP_KEY: &str = "rdump-run";
/// A request whose end must be known may take so much longer when the run is cancelled.
pub const GRACE: Duration = Duration::from_millis(700);

/// A bucket, and the prefix of one dump in it.
pub struct Bucket {
    /// The way there.
    pub service: Service,
    /// What was asked for.
    pub options: S3Options,
    stamp: String,
    /// Whether the store knows no conditions on writes, so that each is preceded by a look.
    unconditional: AtomicBool,
}

/// An object as the store describes it.
pub struct Found {
    /// Its size.
    pub bytes: u64,
    /// Its version's tag.
    pub tag: Option<String>,
    /// Whether this run has written it.
    is_ours: bool,
}

/// An upload that was neither completed nor aborted.
pub struct Unfinished {
    /// The key of the object it would become.
    pub key: String,
    /// Its id.
    pub id: String,
    /// When it was begun, in seconds of the Unix epoch, if the store tells.
    pub started: Option<i64>,
}

impl Bucket {
    /// Asks nobody yet.
    pub fn new(options: S3Options, cancel: &CancelToken) -> Result<Self, StorageError> {
        Ok(Self {
            service: Service::new(&options, cancel)?,
            options,
            stamp: format!("{:016x}", RandomState::new().hash_one(std::process::id())),
            unconditional: AtomicBool::new(false),
        })
    }

    /// All objects directly under the prefix, in the order of their keys, or the first few.
    pub async fn objects(&self, at_most: Option<i32>) -> Result<Vec<StoredFile>, StorageError> {
        let request = self.service.request("list", &self.options.prefix);
        let mut files = Vec::new();
        let mut after = None;
        loop {
            let list = self
                .service
                .client
                .list_objects_v2()
                .bucket(&self.options.bucket)
                .prefix(&self.options.prefix)
                .set_max_keys(at_most)
                .set_continuation_token(after);
            let page = self.service.ask(&request, || list.clone().send()).await;
            let page = page.or_error(&request)?;
            files.extend(page.contents().iter().filter_map(|object| {
                let name = object.key()?.strip_prefix(&self.options.prefix)?;
                // An empty name is the mark that consoles make for a folder.
                (!name.is_empty()).then(|| StoredFile {
                    name: name.to_owned(),
                    bytes: object
                        .size()
                        .and_then(|size| size.try_into().ok())
                        .unwrap_or_default(),
                })
            }));
            after = page.next_continuation_token().map(str::to_owned);
            let is_enough = at_most.is_some() && !files.is_empty();
            if after.is_none() || is_enough {
                return Ok(files);
            }
        }
    }

    /// All unfinished uploads under the prefix.
    pub async fn uploads(&self, grace: Duration) -> Result<Vec<Unfinished>, StorageError> {
        let request = self
            .service
            .request("list the unfinished uploads under", &self.options.prefix)
            .with_grace(grace);
        let mut uploads = Vec::new();
        let (mut key_marker, mut id_marker) = (None, None);
        loop {
            let list = self
                .service
                .client
                .list_multipart_uploads()
                .bucket(&self.options.bucket)
                .prefix(&self.options.prefix)
                .set_key_marker(key_marker)
                .set_upload_id_marker(id_marker);
            let page = self.service.ask(&request, || list.clone().send()).await;
            let page = page.or_error(&request)?;
            uploads.extend(page.uploads().iter().filter_map(|upload| {
                Some(Unfinished {
                    key: upload.key()?.to_owned(),
                    id: upload.upload_id()?.to_owned(),
                    started: upload.initiated().map(DateTime::secs),
                })
            }));
            key_marker = page.next_key_marker().map(str::to_owned);
            id_marker = page.next_upload_id_marker().map(str::to_owned);
            if !page.is_truncated().unwrap_or(false) || key_marker.is_none() {
                return Ok(uploads);
            }
        }
    }

    /// What lies under a key.
    pub async fn find(&self, key: &str) -> Result<Option<Found>, StorageError> {
        let request = self.service.request("look at", key);
        let head = self.service.client.head_object();
        let head = head.bucket(&self.options.bucket).key(key);
        let answer = self.service.ask(&request, || head.clone().send()).await;
        match answer.result {
            Ok(head) => Ok(Some(Found {
                bytes: head
                    .content_length()
                    .and_then(|length| length.try_into().ok())
                    .unwrap_or_default(),
                tag: head.e_tag().map(str::to_owned),
                is_ours: head
                    .metadata()
                    .and_then(|metadata| metadata.get(STAMP_KEY))
                    .is_some_and(|stamp| *stamp == self.stamp),
            })),
            Err(Ended::Failed(error)) if error.is_not_found() => Ok(None),
            Err(ended) => Err(request.error(ended)),
        }
    }

    /// Fails unless the object is there with this size.
    pub async fn check_size(&self, key: &str, bytes: u64) -> Result<(), StorageError> {
        let found = self.find(key).await?;
        self.compare(key, bytes, found.map(|found| found.bytes))
    }

    /// Fails unless an object is there with the size it shall have.
    pub fn compare(&self, key: &str, bytes: u64, found: Option<u64>) -> Result<(), StorageError> {
        let problem = match found {
            Some(found) if found == bytes => return Ok(()),
            Some(found) => format!("it has {found} bytes instead of {bytes}"),
            None => "it is not there".to_owned(),
        };
        Err(StorageError::Altered {
            path: self.options.url_of(key),
            problem,
        })
    }

    /// Writes a small object at once.
    pub async fn put(
        &self,
        key: &str,
        bytes: Vec<u8>,
        grace: Duration,
    ) -> Result<(), StorageError> {
        let length = bytes.len() as u64;
        let request = self
            .service
            .request("write", key)
            .with_body(length)
            .with_grace(grace);
        let body = Bytes::from(bytes);
        self.without_overwriting(key, length, &request, async |condition| {
            self.service
                .ask(&request, || {
                    let put = self.service.client.put_object();
                    let put = put.bucket(&self.options.bucket).key(key);
                    let put = put.set_if_none_match(condition.map(str::to_owned));
                    self.described_put(put)
                        .body(ByteStream::from(body.clone()))
                        .send()
                })
                .await
        })
        .await
    }

    /// Begins an upload in parts. Returns its id, and whether it is certain that no other one was begun on the way.
    pub async fn create(&self, key: &str) -> Result<(String, bool), StorageError> {
        let request = self
            .service
            .request("begin the upload of", key)
            .with_grace(GRACE);
        let create = self.service.client.create_multipart_upload();
        let create = self.described_upload(create.bucket(&self.options.bucket).key(key));
        let answer = self.service.ask(&request, || create.clone().send()).await;
        let is_only = answer.attempts == 1;
        let created = answer.or_error(&request)?;
        let id = created.upload_id().ok_or_else(|| {
            let error = S3Error::lasting("the service gave the upload no id".to_owned());
            request.error(Ended::Failed(error))
        })?;
        Ok((id.to_owned(), is_only))
    }

    /// Sends one part of an upload.
    pub async fn upload_part(
        &self,
        key: &str,
        id: &str,
        number: i32,
        bytes: Vec<u8>,
    ) -> Result<CompletedPart, StorageError> {
        let request = self
            .service
            .request("write a part of", key)
            .with_body(bytes.len() as u64);
        let body = Bytes::from(bytes);
        let send = || {
            let part = self.service.client.upload_part();
            part.bucket(&self.options.bucket)
                .key(key)
                .upload_id(id)
                .part_number(number)
                .set_checksum_algorithm(self.checksum())
                .body(ByteStream::from(body.clone()))
                .send()
        };
        let answer = self.service.ask(&request, send).await;
        let written = answer.or_error(&request)?;
        Ok(CompletedPart::builder()
            .part_number(number)
            .set_e_tag(written.e_tag)
            .set_checksum_crc32_c(written.checksum_crc32_c)
            .set_checksum_crc64_nvme(written.checksum_crc64_nvme)
            .build())
    }

    /// Makes an object of the parts, in their order.
    pub async fn complete(
        &self,
        key: &str,
        id: &str,
        parts: Vec<CompletedPart>,
        bytes: u64,
    ) -> Result<(), StorageError> {
        let request = self
            .service
            .request("complete the upload of", key)
            .with_grace(GRACE);
        // Not every store heeds the condition here.
        self.refuse_existing(key).await?;
        let parts = CompletedMultipartUpload::builder()
            .set_parts(Some(parts))
            .build();
        self.without_overwriting(key, bytes, &request, async |condition| {
            let complete = self.service.client.complete_multipart_upload();
            let complete = complete
                .bucket(&self.options.bucket)
                .key(key)
                .upload_id(id)
                .multipart_upload(parts.clone())
                .set_if_none_match(condition.map(str::to_owned));
            self.service.ask(&request, || complete.clone().send()).await
        })
        .await?;
        self.check_size(key, bytes).await
    }

    /// Gives an upload up. One that is gone is as good.
    pub async fn abort(
        &self,
        key: &str,
        id: &str,
        patience: Duration,
        grace: Duration,
    ) -> Result<(), StorageError> {
        let request = self
            .service
            .request("abort the upload of", key)
            .for_at_most(patience)
            .with_grace(grace);
        let abort = self.service.client.abort_multipart_upload();
        let abort = abort.bucket(&self.options.bucket).key(key).upload_id(id);
        let answer = self.service.ask(&request, || abort.clone().send()).await;
        match answer.result {
            Ok(_) => Ok(()),
            Err(Ended::Failed(error)) if error.is_no_such_upload() => Ok(()),
            Err(ended) => Err(request.error(ended)),
        }
    }

    /// Removes an object if this run has written it.
    pub async fn withdraw(&self, key: &str) -> Result<(), StorageError> {
        if !self.find(key).await?.is_some_and(|found| found.is_ours) {
            return Ok(());
        }
        let request = self.service.request("remove", key);
        let delete = self.service.client.delete_object();
        let delete = delete.bucket(&self.options.bucket).key(key);
        let answer = self.service.ask(&request, || delete.clone().send()).await;
        answer.or_error(&request).map(|_| ())
    }

    /// Makes a write on the condition that nothing is there, which is passed to it. A store that knows no conditions is
    /// looked at before.
    async fn without_overwriting<T>(
        &self,
        key: &str,
        bytes: u64,
        request: &Request,
        write: impl AsyncFn(Option<&'static str>) -> Answer<T>,
    ) -> Result<(), StorageError> {
        loop {
            let is_blind = self.unconditional.load(Ordering::Relaxed);
            if is_blind {
                self.refuse_existing(key).await?;
            }
            let answer = write((!is_blind).then_some("*")).await;
            let error = match answer.result {
                Ok(_) => return Ok(()),
                Err(Ended::Failed(error)) => error,
                Err(ended) => return Err(request.error(ended)),
            };
            if error.is_not_implemented() && !is_blind {
                self.unconditional.store(true, Ordering::Relaxed);
                continue;
            }
            let is_done = error.is_condition_failed() || error.is_no_such_upload();
            if is_done && answer.attempts > 1 && self.holds_ours(key, bytes).await? {
                return Ok(());
            }
            if error.is_condition_failed() {
                let path = self.options.url_of(key);
                return Err(StorageError::Exists { path });
            }
            return Err(request.error(Ended::Failed(error)));
        }
    }

    async fn refuse_existing(&self, key: &str) -> Result<(), StorageError> {
        match self.find(key).await? {
            None => Ok(()),
            Some(_) => Err(StorageError::Exists {
                path: self.options.url_of(key),
            }),
        }
    }

    async fn holds_ours(&self, key: &str, bytes: u64) -> Result<bool, StorageError> {
        let found = self.find(key).await?;
        Ok(found.is_some_and(|found| found.is_ours && found.bytes == bytes))
    }

    fn checksum(&self) -> Option<ChecksumAlgorithm> {
        match self.options.checksum {
            Checksum::Crc32c => Some(ChecksumAlgorithm::Crc32C),
            Checksum::Crc64Nvme => Some(ChecksumAlgorithm::Crc64Nvme),
            Checksum::None => None,
        }
    }

    fn described_put(&self, put: PutObjectFluentBuilder) -> PutObjectFluentBuilder {
        let options = &self.options;
        put.metadata(STAMP_KEY, &self.stamp)
            .set_checksum_algorithm(self.checksum())
            .set_storage_class(options.storage_class.as_deref().map(StorageClass::from))
            .set_server_side_encryption(options.sse.as_deref().map(ServerSideEncryption::from))
            .set_ssekms_key_id(options.sse_kms_key_id.clone())
            .set_acl(options.acl.as_deref().map(ObjectCannedAcl::from))
    }

    fn described_upload(
        &self,
        create: CreateMultipartUploadFluentBuilder,
    ) -> CreateMultipartUploadFluentBuilder {
        let options = &self.options;
        create
            .metadata(STAMP_KEY, &self.stamp)
            .set_checksum_algorithm(self.checksum())
            .set_storage_class(options.storage_class.as_deref().map(StorageClass::from))
            .set_server_side_encryption(options.sse.as_deref().map(ServerSideEncryption::from))
            .set_ssekms_key_id(options.sse_kms_key_id.clone())
            .set_acl(options.acl.as_deref().map(ObjectCannedAcl::from))
    }
}
