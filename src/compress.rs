//! How a file's bytes are compressed: not at all, gzip or zstd.
//!
//! Owns the choice with its levels ([`Compression`]), the working memory that a worker keeps for all its files
//! ([`Codec`]) and the writer of one file ([`Compressor`]); `compress/reader.rs` is the way back. The only door to `flate2` and `zstd`. The same writes give the
//! same file, whatever was compressed before: gzip's time is 0, and no thread of the libraries is used. (Some levels of
//! gzip give another file when the same bytes come in writes of other sizes: seen.) An error of compressing or writing is
//! always returned; where the bytes go, it leaves to the writer inside.

pub mod reader;

use std::fmt;
use std::io::{self, Write};
use std::str::FromStr;

use flate2::{Compress, FlushCompress, Status};
use zstd::stream::raw::{CParameter, Encoder, InBuffer, Operation, OutBuffer};

/// The level that gzip itself takes when none is asked for.
pub const DEFAULT_GZIP_LEVEL: u32 = 6;
/// The fastest of zstd's usual levels: a dump is bound by the server and the network, not by the disk.
pub const DEFAULT_ZSTD_LEVEL: i32 = 1;

/// The level up to which gzip goes.
const LAST_GZIP_LEVEL: u32 = 9;
/// The level up to which zstd goes. From 20 on each worker needs hundreds of megabytes.
const LAST_ZSTD_LEVEL: i32 = 22;
/// The gzip window as a power of two: the format's largest.
const GZIP_WINDOW_BITS: u8 = 15;
/// Compressed bytes are collected up to this and written at once. The same as the block that `storage/` asks for.
const BLOCK_BYTES: usize = 1 << 20;

/// A way to compress, as in `--compress`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Compression {
    /// Bytes as they are.
    #[default]
    None,
    /// gzip (RFC 1952) with a level of 0 to 9.
    Gzip(u32),
    /// zstd (RFC 8878) with a level of 1 to 22 and a checksum.
    Zstd(i32),
}

/// A compression that cannot be.
#[derive(Debug, thiserror::Error)]
pub enum CompressionError {
    /// No such algorithm.
    #[error("unknown compression {text:?}: it is none, gzip or zstd, with a level as in zstd:3")]
    Unknown {
        /// What was given.
        text: String,
    },
    /// The algorithm does not have the level.
    #[error("compression {text:?} has no such level: it is a number from {first} to {last}")]
    Level {
        /// What was given.
        text: String,
        /// The lowest level.
        first: i32,
        /// The highest level.
        last: i32,
    },
    /// The library did not start.
    #[error("cannot set up {compression} compression")]
    SetUp {
        /// What was to be set up.
        compression: Compression,
        /// Why.
        source: io::Error,
    },
}

impl Compression {
    /// What is appended to the name of a compressed file, without a dot.
    pub fn extension(self) -> Option<&'static str> {
        match self {
            Self::None => None,
            Self::Gzip(_) => Some("gz"),
            Self::Zstd(_) => Some("zst"),
        }
    }

    fn with_level(self, level: Option<&str>, text: &str) -> Result<Self, CompressionError> {
        let wrong = |first, last| CompressionError::Level {
            text: text.to_owned(),
            first,
            last,
        };
        match (self, level) {
            (compression, None) => Ok(compression),
            (Self::None, Some(_)) => Err(CompressionError::Unknown {
                text: text.to_owned(),
            }),
            (Self::Gzip(_), Some(level)) => match level.parse() {
                Ok(level @ 0..=LAST_GZIP_LEVEL) => Ok(Self::Gzip(level)),
                _ => Err(wrong(0, LAST_GZIP_LEVEL.cast_signed())),
            },
            (Self::Zstd(_), Some(level)) => match level.parse() {
                Ok(level @ 1..=LAST_ZSTD_LEVEL) => Ok(Self::Zstd(level)),
                _ => Err(wrong(1, LAST_ZSTD_LEVEL)),
            },
        }
    }
}

/// `none`, `gzip` or `zstd` with an optional `:LEVEL`; also Dumpling's `no-compression`, `gz`, `zst` and the empty
/// text.
impl FromStr for Compression {
    type Err = CompressionError;

    fn from_str(text: &str) -> Result<Self, CompressionError> {
        let (name, level) = match text.split_once(':') {
            Some((name, level)) => (name, Some(level)),
            None => (text, None),
        };
        let compression = match name.to_ascii_lowercase().as_str() {
            "none" | "no-compression" | "" => Self::None,
            "gzip" | "gz" => Self::Gzip(DEFAULT_GZIP_LEVEL),
            "zstd" | "zst" => Self::Zstd(DEFAULT_ZSTD_LEVEL),
            _ => {
                return Err(CompressionError::Unknown {
                    text: text.to_owned(),
                });
            }
        };
        compression.with_level(level, text)
    }
}

/// The text that [`FromStr`] reads back, with the level.
impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::None => f.write_str("none"),
            Self::Gzip(level) => write!(f, "gzip:{level}"),
            Self::Zstd(level) => write!(f, "zstd:{level}"),
        }
    }
}

/// Working memory for one file at a time. A worker makes one, and gets it back from each finished file: a further file
/// allocates nothing.
pub struct Codec {
    stream: Stream,
    /// Compressed bytes that are not written yet. It never grows.
    block: Vec<u8>,
}

enum Stream {
    Plain,
    Gzip(Compress),
    Zstd(Encoder<'static>),
}

/// How far a call goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Goal {
    /// The input is taken.
    Take,
    /// What was taken can be read back from the output.
    Flush,
    /// The stream is complete.
    Finish,
}

impl Codec {
    /// Allocates what the compression needs.
    pub fn new(compression: Compression) -> Result<Self, CompressionError> {
        let stream = Stream::new(compression).map_err(|source| CompressionError::SetUp {
            compression,
            source,
        })?;
        let block = match stream {
            Stream::Plain => Vec::new(),
            Stream::Gzip(_) | Stream::Zstd(_) => Vec::with_capacity(BLOCK_BYTES),
        };
        Ok(Self { stream, block })
    }

    /// Begins a file. The codec goes along and is lost with a file that is given up: zlib-rs 0.6.8 forgets an open block of
    /// level 1 in its reset, so that the next file would be corrupt (seen).
    pub fn start<W: Write>(mut self, writer: W) -> io::Result<Compressor<W>> {
        self.block.clear();
        self.stream.reset()?;
        Ok(Compressor {
            codec: self,
            writer,
        })
    }
}

fn zstd_encoder(level: i32) -> io::Result<Encoder<'static>> {
    let mut encoder = Encoder::new(level)?;
    // Off by default in the library, on in the zstd program: a flipped bit is found when the file is read.
    encoder.set_parameter(CParameter::ChecksumFlag(true))?;
    Ok(encoder)
}

impl Stream {
    fn new(compression: Compression) -> io::Result<Self> {
        Ok(match compression {
            Compression::None => Self::Plain,
            Compression::Gzip(level) => {
                let level = flate2::Compression::new(level.min(LAST_GZIP_LEVEL));
                Self::Gzip(Compress::new_gzip(level, GZIP_WINDOW_BITS))
            }
            Compression::Zstd(level) => Self::Zstd(zstd_encoder(level)?),
        })
    }

    /// Makes a stream that came to its end ready for another one.
    fn reset(&mut self) -> io::Result<()> {
        match self {
            Self::Plain => Ok(()),
            Self::Gzip(compress) => {
                compress.reset();
                Ok(())
            }
            Self::Zstd(encoder) => encoder.reinit(),
        }
    }

    /// Compresses into the free room of `block` and drops what it has taken from `input`. Returns whether the goal is
    /// reached; if not, it must be called again with more room.
    fn step(&mut self, input: &mut &[u8], block: &mut Vec<u8>, goal: Goal) -> io::Result<bool> {
        match self {
            Self::Plain => Ok(true),
            Self::Gzip(compress) => gzip_step(compress, input, block, goal),
            Self::Zstd(encoder) => zstd_step(encoder, input, block, goal),
        }
    }
}

fn gzip_step(
    compress: &mut Compress,
    input: &mut &[u8],
    block: &mut Vec<u8>,
    goal: Goal,
) -> io::Result<bool> {
    let flush = match goal {
        Goal::Take => FlushCompress::None,
        Goal::Flush => FlushCompress::Sync,
        Goal::Finish => FlushCompress::Finish,
    };
    let before = compress.total_in();
    let status = compress
        .compress_vec(input, block, flush)
        .map_err(io::Error::other)?;
    let taken = usize::try_from(compress.total_in() - before).map_err(io::Error::other)?;
    *input = &input[taken..];
    Ok(match goal {
        Goal::Take => input.is_empty(),
        // zlib has flushed all when it leaves room.
        Goal::Flush => block.len() < block.capacity(),
        Goal::Finish => status == Status::StreamEnd,
    })
}

fn zstd_step(
    encoder: &mut Encoder<'static>,
    input: &mut &[u8],
    block: &mut Vec<u8>,
    goal: Goal,
) -> io::Result<bool> {
    let filled = block.len();
    let mut output = OutBuffer::around_pos(block, filled);
    match goal {
        Goal::Take => {
            let mut source = InBuffer::around(input);
            encoder.run(&mut source, &mut output)?;
            *input = &input[source.pos()..];
            Ok(input.is_empty())
        }
        Goal::Flush => Ok(encoder.flush(&mut output)? == 0),
        Goal::Finish => Ok(encoder.finish(&mut output, true)? == 0),
    }
}

/// Compresses what is written to it into `W`, in blocks of a mebibyte. Without [`Compressor::finish`] the file is torn.
pub struct Compressor<W> {
    codec: Codec,
    writer: W,
}

impl<W: Write> Compressor<W> {
    /// Completes the stream, writes and flushes all of it. Returns the writer, and the codec for the next file.
    pub fn finish(mut self) -> io::Result<(W, Codec)> {
        self.run(&[], Goal::Finish)?;
        self.write_block()?;
        self.writer.flush()?;
        Ok((self.writer, self.codec))
    }

    fn run(&mut self, mut input: &[u8], goal: Goal) -> io::Result<()> {
        let Codec { stream, block } = &mut self.codec;
        while !stream.step(&mut input, block, goal)? {
            self.writer.write_all(block)?;
            block.clear();
        }
        Ok(())
    }

    fn write_block(&mut self) -> io::Result<()> {
        self.writer.write_all(&self.codec.block)?;
        self.codec.block.clear();
        Ok(())
    }
}

/// After an error the stream is torn: the file must be given up.
impl<W: Write> Write for Compressor<W> {
    /// Takes all bytes, but for [`Compression::None`], which takes what the writer takes.
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if matches!(self.codec.stream, Stream::Plain) {
            return self.writer.write(bytes);
        }
        self.run(bytes, Goal::Take)?;
        Ok(bytes.len())
    }

    /// Writes out all that was taken so far. Costs compression: not needed before [`Compressor::finish`].
    fn flush(&mut self) -> io::Result<()> {
        self.run(&[], Goal::Flush)?;
        self.write_block()?;
        self.writer.flush()
    }
}

#[cfg(test)]
mod tests;
