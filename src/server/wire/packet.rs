//! `PacketBuffer`: takes packets out of a stream of bytes, in place.
//!
//! Owns one buffer that is reused from packet to packet and from query to query: a packet that fits is borrowed from where it
//! arrived. A longer one, or one in several pieces (MySQL internals, "Sending more than 16 MB"), is put together in a second
//! buffer, which grows by what has arrived and never by what a header promises, and is given back once it has grown large. What
//! is in a packet it leaves to `parse.rs`.

use std::io::{self, Read};

/// What an idle session costs.
const SMALLEST: usize = 16 << 10;
/// Enough that a read of the kernel's is never the bottleneck (measured: 256 KiB and more are alike).
const LARGEST: usize = 1 << 20;
/// A header: three bytes of length, one of sequence.
const HEADER: usize = 4;
/// The length that says that another piece follows.
const FULL_PIECE: usize = 0xff_ff_ff;
/// How much of a long packet is kept room for, once it has been read.
const KEPT: usize = 4 << 20;

/// Where the last packet lies.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Place {
    long: bool,
    start: usize,
    len: usize,
}

/// A reused buffer.
#[derive(Debug, Default)]
pub(super) struct PacketBuffer {
    bytes: Vec<u8>,
    /// What has arrived and was not taken.
    start: usize,
    end: usize,
    long: Vec<u8>,
}

impl PacketBuffer {
    /// Takes the next packet; returns its place and its (last) sequence number.
    #[inline]
    pub(super) fn next(&mut self, source: &mut impl Read) -> io::Result<(Place, u8)> {
        let at = self.start;
        if let Some(header) = self.arrived().first_chunk::<HEADER>() {
            let len = length(*header);
            if len < FULL_PIECE && self.end - at >= HEADER + len {
                let sequence = header[3];
                self.start = at + HEADER + len;
                let start = at + HEADER;
                return Ok((
                    Place {
                        long: false,
                        start,
                        len,
                    },
                    sequence,
                ));
            }
        }
        self.wait(source)
    }

    /// A packet's bytes, followed by whatever lies behind it in the buffer: `len` says where it ends.
    #[inline]
    pub(super) fn ahead(&self, place: Place) -> (&[u8], usize) {
        let bytes = if place.long { &self.long } else { &self.bytes };
        (&bytes[place.start..], place.len)
    }

    /// A packet's bytes.
    pub(super) fn payload(&self, place: Place) -> &[u8] {
        let (ahead, len) = self.ahead(place);
        &ahead[..len]
    }

    /// Whether bytes have arrived that nobody has asked for.
    pub(super) fn has_left_over(&self) -> bool {
        self.start < self.end
    }

    fn arrived(&self) -> &[u8] {
        &self.bytes[self.start..self.end]
    }

    /// The slow way: bytes must be read first, or the packet is a long one.
    #[cold]
    fn wait(&mut self, source: &mut impl Read) -> io::Result<(Place, u8)> {
        if self.long.capacity() > KEPT {
            self.long = Vec::new();
        }
        let header = self.header(source)?;
        let len = length(header);
        if len < FULL_PIECE && HEADER + len <= LARGEST {
            self.make_room(HEADER + len);
            while self.end - self.start < HEADER + len {
                self.fill(source)?;
            }
            let start = self.start + HEADER;
            self.start = start + len;
            let place = Place {
                long: false,
                start,
                len,
            };
            return Ok((place, header[3]));
        }
        self.put_together(source, header)
    }

    /// Waits for a header, and leaves it where it is.
    fn header(&mut self, source: &mut impl Read) -> io::Result<[u8; HEADER]> {
        loop {
            if let Some(header) = self.arrived().first_chunk() {
                return Ok(*header);
            }
            self.make_room(HEADER);
            self.fill(source)?;
        }
    }

    fn put_together(
        &mut self,
        source: &mut impl Read,
        mut header: [u8; HEADER],
    ) -> io::Result<(Place, u8)> {
        self.long.clear();
        loop {
            self.start += HEADER;
            let mut left = length(header);
            while left > 0 {
                if self.start == self.end {
                    self.make_room(LARGEST);
                    self.fill(source)?;
                }
                let here = left.min(self.end - self.start);
                let piece = self.start..self.start + here;
                self.long.extend_from_slice(&self.bytes[piece]);
                self.start += here;
                left -= here;
            }
            if length(header) < FULL_PIECE {
                break;
            }
            let sequence = header[3];
            header = self.header(source)?;
            if header[3] != sequence.wrapping_add(1) {
                return Err(io::Error::new(
                    io::ErrorKind::InvalidData,
                    "the pieces of a packet are out of order",
                ));
            }
        }
        let place = Place {
            long: true,
            start: 0,
            len: self.long.len(),
        };
        Ok((place, header[3]))
    }

    /// Makes sure that `wanted` bytes fit from `start` on.
    fn make_room(&mut self, wanted: usize) {
        if self.start == self.end {
            (self.start, self.end) = (0, 0);
        }
        let wanted = wanted.clamp(SMALLEST, LARGEST);
        if self.bytes.len() - self.start < wanted {
            self.bytes.copy_within(self.start..self.end, 0);
            self.end -= self.start;
            self.start = 0;
        }
        if self.bytes.len() < wanted {
            self.bytes.resize(wanted, 0);
        }
    }

    /// Reads what there is, at least one byte.
    fn fill(&mut self, source: &mut impl Read) -> io::Result<()> {
        let room = self.bytes.len() - self.end;
        let arrived = loop {
            match source.read(&mut self.bytes[self.end..]) {
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                done => break done?,
            }
        };
        if arrived == 0 {
            return Err(io::ErrorKind::UnexpectedEof.into());
        }
        self.end += arrived;
        // A source that fills all the room at once has more to say.
        if arrived == room && self.bytes.len() < LARGEST {
            let grown = (self.bytes.len() * 4).min(LARGEST);
            self.bytes.resize(grown, 0);
        }
        Ok(())
    }
}

fn length(header: [u8; HEADER]) -> usize {
    usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
pub(super) mod tests {
    use super::*;

    /// Packs payloads as a server does, one sequence.
    pub(crate) fn packed(payloads: &[&[u8]]) -> Vec<u8> {
        let mut bytes = Vec::new();
        let mut sequence = 1_u8;
        for payload in payloads {
            let mut rest = *payload;
            loop {
                let piece = rest.len().min(FULL_PIECE);
                bytes.extend_from_slice(&u32::try_from(piece).unwrap().to_le_bytes()[..3]);
                bytes.push(sequence);
                sequence = sequence.wrapping_add(1);
                bytes.extend_from_slice(&rest[..piece]);
                rest = &rest[piece..];
                if piece < FULL_PIECE {
                    break;
                }
            }
        }
        bytes
    }

    /// Gives at most so many bytes at a time.
    pub(crate) struct Drops<'a>(pub &'a [u8], pub usize);

    impl Read for Drops<'_> {
        fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
            let most = self.1.min(into.len());
            (&mut self.0).take(most as u64).read(into)
        }
    }

    #[test]
    fn packets_of_every_length_come_out_whatever_the_pieces_they_arrive_in() {
        let lengths = [0, 1, 250, SMALLEST, LARGEST - 4, LARGEST, 3 << 20];
        let payloads: Vec<Vec<u8>> = lengths
            .iter()
            .map(|&len| (0..len).map(|n| u8::try_from(n % 251).unwrap()).collect())
            .collect();
        let borrowed: Vec<&[u8]> = payloads.iter().map(Vec::as_slice).collect();
        let stream = packed(&borrowed);
        for piece in [1999, 16 << 10, usize::MAX] {
            let mut buffer = PacketBuffer::default();
            let mut source = Drops(&stream, piece);
            for (payload, expected) in payloads.iter().zip(1..) {
                let (place, sequence) = buffer.next(&mut source).unwrap();
                assert_eq!(sequence, expected);
                assert!(buffer.payload(place) == payload, "{} bytes", payload.len());
            }
            assert!(!buffer.has_left_over());
            let end = buffer.next(&mut source).unwrap_err();
            assert_eq!(end.kind(), io::ErrorKind::UnexpectedEof);
        }
    }

    #[test]
    fn packet_of_several_pieces_is_put_together_and_its_room_given_back() {
        for len in [FULL_PIECE - 1, FULL_PIECE, 2 * FULL_PIECE + 5] {
            let payload = vec![b'x'; len];
            let stream = packed(&[&payload, b"next", b"last"]);
            let mut buffer = PacketBuffer::default();
            let mut source = Drops(&stream, 100_000);
            let (place, _) = buffer.next(&mut source).unwrap();
            assert!(buffer.payload(place) == payload);
            let (place, _) = buffer.next(&mut source).unwrap();
            assert_eq!(buffer.payload(place), b"next");
            buffer.next(&mut source).unwrap();
            buffer.next(&mut source).unwrap_err();
            assert!(buffer.long.capacity() <= KEPT);
        }
    }

    #[test]
    fn length_that_is_only_promised_takes_no_memory() {
        let mut stream = vec![0xff, 0xff, 0xff, 1];
        stream.extend_from_slice(&[7; 100]);
        let mut buffer = PacketBuffer::default();
        buffer.next(&mut stream.as_slice()).unwrap_err();
        assert!(buffer.long.capacity() < 1000 && buffer.bytes.len() <= LARGEST);
    }
}
