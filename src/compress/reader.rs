//! Compressed bytes back to plain ones, by the ending of a file's name.
//!
//! Owns what a stream may be made of: several gzip members or zstd frames in a row, as tools that append write them. A stream
//! that ends too early, or whose checksum is wrong, is an error of its last read. How much may come out of it, whoever reads
//! decides.

use std::io::{self, Read};

use flate2::read::MultiGzDecoder;
use zstd::stream::read::Decoder;

/// A name without the ending that says how the file is compressed.
pub fn stem(name: &str) -> &str {
    let endings = [".gz", ".zst"];
    let stripped = endings.iter().find_map(|ending| name.strip_suffix(ending));
    stripped.unwrap_or(name)
}

/// The plain bytes of the file `name`, whose bytes as stored are `stored`.
pub fn plain<'a>(
    name: &str,
    stored: Box<dyn Read + Send + 'a>,
) -> io::Result<Box<dyn Read + Send + 'a>> {
    Ok(match name.strip_prefix(stem(name)) {
        Some(".gz") => Box::new(MultiGzDecoder::new(stored)),
        Some(".zst") => Box::new(Decoder::new(stored)?),
        _ => stored,
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use std::io::Write as _;

    use super::super::{Codec, Compression};
    use super::*;

    fn compressed(compression: Compression, text: &[u8]) -> Vec<u8> {
        let mut writer = Codec::new(compression).unwrap().start(Vec::new()).unwrap();
        writer.write_all(text).unwrap();
        writer.finish().unwrap().0
    }

    fn read(name: &str, stored: &[u8]) -> io::Result<Vec<u8>> {
        let mut out = Vec::new();
        plain(name, Box::new(stored))?.read_to_end(&mut out)?;
        Ok(out)
    }

    #[test]
    fn what_was_compressed_comes_back_also_in_two_pieces() {
        for (name, compression) in [
            ("a.sql", Compression::None),
            ("a.sql.gz", Compression::Gzip(6)),
            ("a.sql.zst", Compression::Zstd(1)),
        ] {
            let stored = [
                compressed(compression, b"one "),
                compressed(compression, b"two"),
            ];
            assert_eq!(read(name, &stored.concat()).unwrap(), b"one two", "{name}");
        }
    }

    #[test]
    fn a_stream_that_was_cut_off_or_damaged_is_an_error() {
        for (name, compression) in [
            ("a.gz", Compression::Gzip(6)),
            ("a.zst", Compression::Zstd(1)),
        ] {
            let mut stored = compressed(compression, &b"some text of some length ".repeat(50));
            let cut = stored.len() - 3;
            assert!(read(name, &stored[..cut]).is_err(), "{name}");
            let last = stored.len() - 5;
            stored[last] ^= 1;
            assert!(read(name, &stored).is_err(), "{name}");
        }
    }

    #[test]
    fn only_the_ending_of_a_compression_is_taken_off() {
        assert_eq!(stem("a.gz.sql"), "a.gz.sql");
        assert_eq!(stem("a.sql.gz"), "a.sql");
        assert_eq!(stem("a.sql.zst"), "a.sql");
    }
}
