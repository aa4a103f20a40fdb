//! `ChunkWriter`: rows in, staged files out.
//!
//! Owns the way of a chunk's bytes: encode into one buffer, hash and compress it in blocks, write it to a sink, begin a new
//! file when one is full. Nothing gets its name here: the files of a chunk wait, whole, until all its rows are read, so that a
//! failed attempt leaves no trace.

use std::io::{self, Write};

use xxhash_rust::xxh3::{Xxh3, xxh3_64};

use super::relay::Relay;
use super::throttle::Throttle;
use crate::compress::{Codec, Compression, Compressor};
use crate::format::Encoder;
use crate::manifest::{DataEntry, FileEntry};
use crate::progress::Attempt;
use crate::server::rows::Row;
use crate::storage::{Sink, Staged, Storage, StorageError};

/// Bytes are hashed, compressed and written in blocks of at least this size.
const BLOCK_BYTES: usize = 1 << 20;

/// Memory that a worker keeps from chunk to chunk.
#[derive(Default)]
pub struct Scratch {
    buffer: Vec<u8>,
    codec: Option<Codec>,
}

/// Where and how files are written.
#[derive(Clone, Copy)]
pub struct FileOptions<'a> {
    /// The place.
    pub storage: &'a dyn Storage,
    /// How they are compressed.
    pub compression: Compression,
    /// Raw bytes after which a file ends.
    pub file_size_bytes: Option<u64>,
    /// Whether compression gets a thread of its own.
    pub compress_beside: bool,
    /// How fast rows may come.
    pub throttle: &'a Throttle,
}

/// A whole file without its name, and what the manifest will say of it.
pub struct StagedFile {
    staged: Box<dyn Staged>,
    /// Its description.
    pub entry: FileEntry,
}

impl StagedFile {
    /// Gives the file its name.
    pub fn commit(self) -> Result<FileEntry, StorageError> {
        self.staged.commit()?;
        Ok(self.entry)
    }
}

/// Counts what reaches the sink.
struct Counted {
    sink: Box<dyn Sink>,
    bytes: u64,
}

impl Write for Counted {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.sink.write(bytes)?;
        self.bytes += written as u64;
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.sink.flush()
    }
}

/// A file that is compressed, hashed and counted on its way to the storage.
pub struct FileWriter {
    name: String,
    way: Way,
    hash: Xxh3,
    raw_bytes: u64,
}

/// Where a file is compressed.
enum Way {
    Here(Compressor<Counted>),
    Beside(Relay<Counted>),
}

impl FileWriter {
    /// Opens a file; `codec` is used if there is one.
    pub fn create(
        options: &FileOptions<'_>,
        name: String,
        codec: &mut Option<Codec>,
    ) -> Result<Self, StorageError> {
        let sink = options.storage.create(&name)?;
        let failed = |source| StorageError::from_write(source, &name);
        let codec = match codec.take() {
            Some(codec) => codec,
            None => {
                Codec::new(options.compression).map_err(|error| failed(io::Error::other(error)))?
            }
        };
        let compressor = codec.start(Counted { sink, bytes: 0 }).map_err(failed)?;
        let way = if options.compress_beside {
            Way::Beside(Relay::start(compressor).map_err(failed)?)
        } else {
            Way::Here(compressor)
        };
        Ok(Self {
            name,
            way,
            hash: Xxh3::new(),
            raw_bytes: 0,
        })
    }

    /// Appends raw bytes.
    pub fn write(&mut self, bytes: &[u8]) -> Result<(), StorageError> {
        self.hash.update(bytes);
        self.raw_bytes += bytes.len() as u64;
        match &mut self.way {
            Way::Here(compressor) => compressor.write_all(bytes),
            Way::Beside(relay) => relay.write(bytes),
        }
        .map_err(|source| StorageError::from_write(source, &self.name))
    }

    /// Completes the file; gives the codec back.
    pub fn finish(self, codec: &mut Option<Codec>) -> Result<StagedFile, StorageError> {
        let (counted, used) = match self.way {
            Way::Here(compressor) => compressor.finish(),
            Way::Beside(relay) => relay.finish(),
        }
        .map_err(|source| StorageError::from_write(source, &self.name))?;
        *codec = Some(used);
        let staged = counted.sink.finish()?;
        Ok(StagedFile {
            staged,
            entry: FileEntry {
                name: self.name,
                raw_bytes: self.raw_bytes,
                stored_bytes: counted.bytes,
                hash: format!("{:032x}", self.hash.digest128()),
                data: None,
            },
        })
    }
}

/// Writes a small file whole; the caller commits it.
pub fn write_small(
    options: &FileOptions<'_>,
    name: String,
    bytes: &[u8],
) -> Result<StagedFile, StorageError> {
    let mut codec = None;
    let mut file = FileWriter::create(options, name, &mut codec)?;
    file.write(bytes)?;
    file.finish(&mut codec)
}

/// Writes the rows of one chunk.
pub struct ChunkWriter<'a> {
    options: &'a FileOptions<'a>,
    /// The name of the file of a part.
    name: &'a dyn Fn(u64) -> String,
    template: DataEntry,
    encoder: Box<dyn Encoder>,
    scratch: &'a mut Scratch,
    attempt: Attempt,
    open: Option<OpenPart>,
    staged: Vec<StagedFile>,
    oversized: Option<u64>,
}

struct OpenPart {
    file: FileWriter,
    rows: u64,
    unreported_rows: u64,
    digest: u128,
}

impl<'a> ChunkWriter<'a> {
    /// A writer without a file: a chunk without rows writes none. `template` says where the rows come from.
    pub fn new(
        options: &'a FileOptions<'a>,
        name: &'a dyn Fn(u64) -> String,
        template: DataEntry,
        encoder: Box<dyn Encoder>,
        scratch: &'a mut Scratch,
        attempt: Attempt,
    ) -> Self {
        scratch.buffer.clear();
        Self {
            options,
            name,
            template,
            encoder,
            scratch,
            attempt,
            open: None,
            staged: Vec::new(),
            oversized: None,
        }
    }

    /// Appends one row.
    pub fn row(&mut self, row: &Row<'_>) -> Result<(), StorageError> {
        let part = match &mut self.open {
            Some(part) => part,
            None => self.open.insert(Self::open(
                self.options,
                (self.name)(self.staged.len() as u64),
                &mut *self.encoder,
                self.scratch,
            )?),
        };
        let buffer = &mut self.scratch.buffer;
        let encoded = self.encoder.row(row, buffer);
        part.rows += 1;
        part.unreported_rows += 1;
        part.digest = part
            .digest
            .wrapping_add(u128::from(xxh3_64(&buffer[encoded.text])));
        if encoded.oversized && self.oversized.is_none() {
            self.oversized = Some(part.rows);
        }
        let full = self
            .options
            .file_size_bytes
            .is_some_and(|limit| part.file.raw_bytes + buffer.len() as u64 >= limit);
        if full {
            self.close()
        } else if buffer.len() >= BLOCK_BYTES {
            self.write_block()
        } else {
            Ok(())
        }
    }

    /// Completes the last file. Returns all files, the number of the first row that no server may take back (if there is
    /// one), and the attempt, to be kept when the files have their names.
    pub fn finish(mut self) -> Result<(Vec<StagedFile>, Option<u64>, Attempt), StorageError> {
        self.close()?;
        Ok((self.staged, self.oversized, self.attempt))
    }

    fn open(
        options: &FileOptions<'_>,
        name: String,
        encoder: &mut dyn Encoder,
        scratch: &mut Scratch,
    ) -> Result<OpenPart, StorageError> {
        let file = FileWriter::create(options, name, &mut scratch.codec)?;
        encoder.begin_file(&mut scratch.buffer);
        Ok(OpenPart {
            file,
            rows: 0,
            unreported_rows: 0,
            digest: 0,
        })
    }

    fn write_block(&mut self) -> Result<(), StorageError> {
        let buffer = &mut self.scratch.buffer;
        if let Some(part) = &mut self.open {
            self.options.throttle.spend(buffer.len() as u64);
            part.file.write(buffer)?;
            self.attempt
                .add_rows(part.unreported_rows, buffer.len() as u64);
            part.unreported_rows = 0;
        }
        buffer.clear();
        // One huge row must not hold its memory for the rest of the dump.
        buffer.shrink_to(4 * BLOCK_BYTES);
        Ok(())
    }

    fn close(&mut self) -> Result<(), StorageError> {
        if self.open.is_none() {
            return Ok(());
        }
        self.encoder.end_file(&mut self.scratch.buffer);
        self.write_block()?;
        let Some(part) = self.open.take() else {
            return Ok(());
        };
        let mut staged = part.file.finish(&mut self.scratch.codec)?;
        self.attempt.add_file(staged.entry.stored_bytes);
        staged.entry.data = Some(DataEntry {
            part: self.staged.len() as u64,
            rows: part.rows,
            digest: format!("{:032x}", part.digest),
            ..self.template.clone()
        });
        self.staged.push(staged);
        Ok(())
    }
}
