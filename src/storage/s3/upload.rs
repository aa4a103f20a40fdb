//! A file on its way into an object store.
//!
//! Owns the buffer, the parts in flight and the decision between one request and many: what fits into one part waits in memory
//! until it gets its name, as long as not too much waits there; else parts go out while the file grows. No more parts of a file
//! are in memory than were asked for, the one that fills included: then the writer waits. A file that is given up has its
//! upload aborted, at once or by `clean`.

use std::io::{self, Write};
use std::sync::Arc;
use std::time::Duration;

use aws_sdk_s3::types::CompletedPart;
use tokio::task::JoinSet;

use super::Run;
use super::bucket::GRACE;
use super::options::MOST_PARTS;
use crate::storage::names::Claim;
use crate::storage::{Sink, Staged, StorageError};

/// How long the end of a file that is given up is waited for; later ones try again.
const ABORT_PATIENCE: Duration = Duration::from_secs(10);

/// A file that has no name yet.
pub struct Upload {
    run: Arc<Run>,
    claim: Claim,
    key: String,
    /// Set once a part is on its way.
    id: Option<String>,
    sending: JoinSet<Result<CompletedPart, StorageError>>,
    sent: Vec<CompletedPart>,
    /// Parts begun.
    parts: u32,
    bytes: u64,
    buffer: Vec<u8>,
    /// Bytes that wait in memory for their name.
    waiting: u64,
    committed: bool,
}

impl Upload {
    /// Asks nobody yet.
    pub fn new(run: &Arc<Run>, claim: Claim) -> Self {
        Self {
            key: run.bucket.options.key(claim.name()),
            run: Arc::clone(run),
            claim,
            id: None,
            sending: JoinSet::new(),
            sent: Vec::new(),
            parts: 0,
            bytes: 0,
            buffer: Vec::new(),
            waiting: 0,
            committed: false,
        }
    }

    fn part_bytes(&self) -> usize {
        let bytes = self.run.bucket.options.part_bytes(self.parts + 1);
        usize::try_from(bytes).unwrap_or(usize::MAX)
    }

    /// Takes as much as the part has room for, without a buffer larger than the part.
    fn fill(&mut self, bytes: &[u8]) -> usize {
        let part = self.part_bytes();
        let taken = bytes.len().min(part - self.buffer.len());
        let needed = self.buffer.len() + taken;
        if needed > self.buffer.capacity() {
            let wanted = needed.max(2 * self.buffer.capacity()).min(part);
            self.buffer.reserve_exact(wanted - self.buffer.len());
        }
        self.buffer.extend_from_slice(&bytes[..taken]);
        self.bytes += taken as u64;
        taken
    }

    /// Sends the buffer as the next part, and waits until there is room for another one.
    fn send_part(&mut self) -> Result<(), StorageError> {
        let id = self.begin()?;
        if self.parts == MOST_PARTS {
            return Err(StorageError::TooLarge {
                path: self.path(),
                bytes: self.bytes,
            });
        }
        self.parts += 1;
        let (run, key) = (Arc::clone(&self.run), self.key.clone());
        let number = i32::try_from(self.parts).unwrap_or(i32::MAX);
        let bytes = std::mem::take(&mut self.buffer);
        let send = async move { run.bucket.upload_part(&key, &id, number, bytes).await };
        self.sending
            .spawn_on(send, self.run.bucket.service.handle());
        // The next part to be filled takes room too.
        self.wait_below(self.run.bucket.options.concurrency)
    }

    fn begin(&mut self) -> Result<String, StorageError> {
        if let Some(id) = &self.id {
            return Ok(id.clone());
        }
        let id = self.run.begin_upload(&self.key)?;
        self.id = Some(id.clone());
        Ok(id)
    }

    /// Waits until fewer than `limit` parts are in flight.
    fn wait_below(&mut self, limit: usize) -> Result<(), StorageError> {
        while self.sending.len() >= limit {
            let service = &self.run.bucket.service;
            match service.block_on(self.sending.join_next()) {
                Some(Ok(part)) => self.sent.push(part?),
                Some(Err(error)) => {
                    return Err(StorageError::Write {
                        path: self.path(),
                        source: io::Error::other(error),
                    });
                }
                None => break,
            }
        }
        Ok(())
    }

    fn path(&self) -> String {
        self.run.bucket.options.url_of(&self.key)
    }

    fn commit(mut self) -> Result<(), StorageError> {
        let bucket = &self.run.bucket;
        if let Some(id) = &self.id {
            let mut parts = std::mem::take(&mut self.sent);
            parts.sort_by_key(CompletedPart::part_number);
            let complete = bucket.complete(&self.key, id, parts, self.bytes);
            bucket.service.block_on(Box::pin(complete))?;
            self.run.forget_upload(id);
        } else {
            let bytes = std::mem::take(&mut self.buffer);
            let put = bucket.put(&self.key, bytes, Duration::ZERO);
            bucket.service.block_on(Box::pin(put))?;
        }
        self.committed = true;
        self.claim.keep();
        self.run.remember_object(self.claim.name(), self.bytes);
        Ok(())
    }

    /// Ends the upload on the server. Once the run is cancelled, `clean` ends all of them together.
    fn give_up(&mut self) {
        let service = &self.run.bucket.service;
        service.block_on(self.sending.shutdown());
        let Some(id) = self.id.take() else {
            return;
        };
        if service.is_stopped() || !self.run.knows_upload(&id) {
            return;
        }
        let abort = self.run.bucket.abort(&self.key, &id, ABORT_PATIENCE, GRACE);
        match service.block_on(Box::pin(abort)) {
            Ok(()) => self.run.forget_upload(&id),
            // It stays in the books: `sync` and `clean` try again, and theirs is the error that ends the run.
            Err(error) => {
                log::debug!("{error}");
                self.run.abandon_upload(id);
            }
        }
    }
}

impl Drop for Upload {
    fn drop(&mut self) {
        self.run.release(self.waiting);
        if !self.committed {
            self.give_up();
        }
    }
}

impl Write for Upload {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.buffer.len() >= self.part_bytes() {
            self.send_part()?;
        }
        Ok(self.fill(bytes))
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl Sink for Upload {
    fn finish(mut self: Box<Self>) -> Result<Box<dyn Staged>, StorageError> {
        let left = self.buffer.len() as u64;
        if self.id.is_none() && self.run.may_wait(left) {
            self.waiting = left;
            self.buffer.shrink_to_fit();
        } else {
            if left > 0 || self.parts == 0 {
                self.send_part()?;
            }
            self.wait_below(1)?;
        }
        Ok(self)
    }
}

impl Staged for Upload {
    fn commit(self: Box<Self>) -> Result<(), StorageError> {
        (*self).commit()
    }
}
