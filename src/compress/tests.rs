//! Files read back by the crates and by the programs, one codec for many files, errors of the writer.

#![allow(clippy::unwrap_used)]

use std::io::Read as _;
use std::process::{Command, Stdio};

use super::*;

/// Every level of gzip, since zlib takes another algorithm for most of them, and levels of zstd that are not slow.
fn all() -> Vec<Compression> {
    let gzip = (0..=LAST_GZIP_LEVEL).map(Compression::Gzip);
    let zstd = [1, 3, 9].map(Compression::Zstd);
    std::iter::once(Compression::None)
        .chain(gzip)
        .chain(zstd)
        .collect()
}

/// Bytes that compress somewhat, as rows do: the same for the same seed.
fn rows(seed: u64, length: usize) -> Vec<u8> {
    let mut state = seed;
    let mut text = Vec::with_capacity(length + 64);
    while text.len() < length {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        writeln!(text, "({},'{:x}','some words'),", state >> 48, state >> 8).unwrap();
    }
    text.truncate(length);
    text
}

/// Bytes that do not compress.
fn noise(length: usize) -> Vec<u8> {
    let mut state = 1u64;
    let next = || {
        state = state
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1);
        state.to_be_bytes()[0]
    };
    std::iter::repeat_with(next).take(length).collect()
}

fn compress_and_return(codec: Codec, bytes: &[u8]) -> (Vec<u8>, Codec) {
    let mut compressor = codec.start(Vec::new()).unwrap();
    for piece in bytes.chunks(100_001) {
        compressor.write_all(piece).unwrap();
    }
    compressor.finish().unwrap()
}

fn compress(codec: Codec, bytes: &[u8]) -> Vec<u8> {
    compress_and_return(codec, bytes).0
}

fn by_crate(compression: Compression, stored: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    match compression {
        Compression::None => return stored.to_vec(),
        Compression::Gzip(_) => flate2::read::GzDecoder::new(stored)
            .read_to_end(&mut bytes)
            .unwrap(),
        Compression::Zstd(_) => zstd::Decoder::new(stored)
            .unwrap()
            .read_to_end(&mut bytes)
            .unwrap(),
    };
    bytes
}

/// What `gzip -dc` or `zstd -dc` makes of it; `None`, with a word, where the program is missing.
fn by_program(program: &str, stored: &[u8]) -> Option<Vec<u8>> {
    let mut file = tempfile::tempfile().unwrap();
    file.write_all(stored).unwrap();
    std::io::Seek::rewind(&mut file).unwrap();
    let mut command = Command::new(program);
    let output = command
        .arg("-dc")
        .stdin(file)
        .stderr(Stdio::inherit())
        .output();
    let Ok(output) = output else {
        writeln!(io::stderr(), "SKIPPED: there is no program {program}").unwrap();
        return None;
    };
    assert!(output.status.success(), "{program} refuses the file");
    Some(output.stdout)
}

#[test]
fn crates_read_back_what_was_written() {
    for compression in all() {
        let mut codec = Codec::new(compression).unwrap();
        for bytes in [vec![], b"x".to_vec(), rows(1, 1 << 20), noise(2 << 20)] {
            let (stored, used) = compress_and_return(codec, &bytes);
            codec = used;
            let read = by_crate(compression, &stored);
            assert!(read == bytes, "{compression}, {} bytes", bytes.len());
        }
    }
}

#[test]
fn programs_read_back_what_was_written() {
    let cases = [
        ("gzip", Compression::Gzip(6), rows(2, 2 << 20)),
        ("gzip", Compression::Gzip(6), vec![]),
        ("zstd", Compression::Zstd(1), rows(2, 2 << 20)),
        ("zstd", Compression::Zstd(1), vec![]),
        ("zstd", Compression::Zstd(LAST_ZSTD_LEVEL), rows(3, 300_000)),
    ];
    for (program, compression, bytes) in cases {
        let stored = compress(Codec::new(compression).unwrap(), &bytes);
        if let Some(read) = by_program(program, &stored) {
            assert!(read == bytes, "{compression}");
        }
    }
}

#[test]
fn files_of_one_codec_are_those_of_a_fresh_one_each() {
    for compression in all() {
        let mut codec = Codec::new(compression).unwrap();
        let room = codec.block.capacity();
        for (seed, length) in [(1, 600_000), (2, 10), (3, 900_000)] {
            let bytes = rows(seed, length);
            let fresh = compress(Codec::new(compression).unwrap(), &bytes);
            let (stored, used) = compress_and_return(codec, &bytes);
            assert!(stored == fresh, "{compression}");
            codec = used;
        }
        assert_eq!(codec.block.capacity(), room, "the block grew");
    }
}

#[test]
fn codec_moves_between_threads() {
    fn assert_send<T: Send>(_: &T) {}
    for compression in all() {
        assert_send(&Codec::new(compression).unwrap());
    }
}

#[test]
fn gzip_header_holds_no_time_and_no_name() {
    let stored = compress(Codec::new(Compression::Gzip(6)).unwrap(), b"x");
    assert_eq!(stored[..8], [0x1f, 0x8b, 8, 0, 0, 0, 0, 0]);
}

#[test]
fn zstd_frame_ends_in_a_checksum_that_finds_a_flipped_bit() {
    let bytes = noise(1000);
    let mut stored = compress(Codec::new(Compression::Zstd(1)).unwrap(), &bytes);
    assert_eq!(stored[4] & 4, 4, "the frame header's checksum flag");
    let middle = stored.len() / 2;
    stored[middle] ^= 1;
    let mut read = Vec::new();
    let decoded = zstd::Decoder::new(&stored[..])
        .unwrap()
        .read_to_end(&mut read);
    decoded.unwrap_err();
}

#[test]
fn flush_makes_all_bytes_so_far_readable_and_the_file_stays_one_stream() {
    for compression in all() {
        let codec = Codec::new(compression).unwrap();
        let mut compressor = codec.start(Vec::new()).unwrap();
        compressor.write_all(b"first").unwrap();
        compressor.flush().unwrap();
        let mut read = [0; 5];
        let so_far = compressor.writer.as_slice();
        match compression {
            Compression::None => read.copy_from_slice(so_far),
            Compression::Gzip(_) => flate2::read::GzDecoder::new(so_far)
                .read_exact(&mut read)
                .unwrap(),
            Compression::Zstd(_) => zstd::Decoder::new(so_far)
                .unwrap()
                .read_exact(&mut read)
                .unwrap(),
        }
        assert_eq!(&read, b"first", "{compression}");
        compressor.flush().unwrap();
        compressor.write_all(b" second").unwrap();
        let (stored, _) = compressor.finish().unwrap();
        assert_eq!(by_crate(compression, &stored), b"first second");
    }
}

/// Takes so many bytes, a few at a time, then fails; also fails to flush when told so.
struct Limited {
    room: usize,
    largest_write: usize,
    fail_flush: bool,
}

impl Limited {
    fn with_room(room: usize) -> Self {
        Self {
            room,
            largest_write: 0,
            fail_flush: false,
        }
    }
}

impl Write for Limited {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.room < bytes.len() {
            return Err(io::ErrorKind::StorageFull.into());
        }
        self.room -= bytes.len();
        self.largest_write = self.largest_write.max(bytes.len());
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        if self.fail_flush {
            return Err(io::ErrorKind::QuotaExceeded.into());
        }
        Ok(())
    }
}

#[test]
fn error_of_the_writer_comes_back_from_write_flush_and_finish() {
    for compression in all() {
        let codec = Codec::new(compression).unwrap();
        let mut compressor = codec.start(Limited::with_room(1 << 20)).unwrap();
        let error = compressor.write_all(&noise(4 << 20)).unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::StorageFull, "{compression}");

        let room = usize::from(compression == Compression::None);
        let mut full = Limited::with_room(room);
        full.fail_flush = true;
        let mut compressor = Codec::new(compression).unwrap().start(full).unwrap();
        compressor.write_all(b"x").unwrap();
        compressor.flush().unwrap_err();
        compressor.finish().err().unwrap();
    }
}

#[test]
fn compressed_bytes_are_written_in_blocks_of_a_mebibyte() {
    for compression in [Compression::Gzip(1), Compression::Zstd(1)] {
        let codec = Codec::new(compression).unwrap();
        let mut compressor = codec.start(Limited::with_room(usize::MAX)).unwrap();
        compressor.write_all(&noise(4 << 20)).unwrap();
        let (writer, _) = compressor.finish().unwrap();
        assert_eq!(writer.largest_write, BLOCK_BYTES, "{compression}");
    }
}

#[test]
fn texts_are_read_with_their_levels_and_written_back() {
    let cases = [
        ("none", Compression::None),
        ("", Compression::None),
        ("no-compression", Compression::None),
        ("gzip", Compression::Gzip(6)),
        ("gz", Compression::Gzip(6)),
        ("gzip:0", Compression::Gzip(0)),
        ("GZIP:9", Compression::Gzip(9)),
        ("zstd", Compression::Zstd(1)),
        ("zst:3", Compression::Zstd(3)),
        ("zstd:22", Compression::Zstd(22)),
    ];
    for (text, compression) in cases {
        assert_eq!(text.parse::<Compression>().unwrap(), compression, "{text}");
        let written = compression.to_string();
        assert_eq!(written.parse::<Compression>().unwrap(), compression);
    }
}

#[test]
fn texts_that_are_no_compression_are_refused_in_a_sentence() {
    for text in ["snappy", "none:1", ":3", "gzip6", " gzip"] {
        let error = text.parse::<Compression>().unwrap_err();
        assert!(matches!(error, CompressionError::Unknown { .. }), "{text}");
    }
    for text in ["gzip:10", "gzip:-1", "gzip:", "gzip:x", "gzip:6:7"] {
        let error = text.parse::<Compression>().unwrap_err().to_string();
        assert!(
            error.contains(text) && error.ends_with("from 0 to 9"),
            "{error}"
        );
    }
    for text in ["zstd:0", "zstd:23", "zstd:-5", "zstd:"] {
        let error = text.parse::<Compression>().unwrap_err().to_string();
        assert!(error.ends_with("from 1 to 22"), "{error}");
    }
}

#[test]
fn extensions_are_those_of_the_programs() {
    assert_eq!(Compression::None.extension(), None);
    assert_eq!(Compression::Gzip(6).extension(), Some("gz"));
    assert_eq!(Compression::Zstd(1).extension(), Some("zst"));
}
