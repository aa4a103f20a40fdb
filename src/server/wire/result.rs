//! `ResultSet`: one answer to one query, packet by packet.
//!
//! Owns the order in which packets may come: a count, columns, their end, rows, their end; each numbered after the last. It knows
//! bytes and no socket, so the tests feed it whatever they like. What trouble means for the session it leaves to `wire.rs`.

use std::io::{self, Read};

use super::packet::{PacketBuffer, Place};
use super::parse::{self, Answer, MORE_RESULTS, Malformed, RowPacket};
use crate::server::rows::{ColumnMeta, Row, Span};

/// More than any server has (4,096 in MySQL and MariaDB).
const MOST_COLUMNS: u64 = 1 << 16;
/// A packet has one number more for each full piece in it.
const FULL_PIECE: usize = 0xff_ff_ff;

/// What a session keeps for its queries.
#[derive(Debug, Default)]
pub(in crate::server) struct Wire {
    packets: PacketBuffer,
    spans: Vec<Span>,
}

/// An answer that is being read.
#[derive(Debug)]
pub(super) struct ResultSet<'a> {
    wire: &'a mut Wire,
    columns: Vec<ColumnMeta>,
    sequence: u8,
    ended: bool,
}

/// Why a packet was not had.
#[derive(Debug)]
pub(super) enum Trouble {
    Network(io::Error),
    Protocol(&'static str),
    Server(u16, String),
}

impl From<io::Error> for Trouble {
    fn from(error: io::Error) -> Self {
        Self::Network(error)
    }
}

impl From<Malformed> for Trouble {
    fn from(Malformed(what): Malformed) -> Self {
        Self::Protocol(what)
    }
}

impl<'a> ResultSet<'a> {
    /// Nothing is read yet of the answer to a query that took so many packets beside its first.
    pub(super) fn new(wire: &'a mut Wire, more_packets: usize) -> Self {
        Self {
            wire,
            columns: Vec::new(),
            // Counted in one byte.
            sequence: more_packets.to_le_bytes()[0],
            ended: false,
        }
    }

    /// The columns, once the result has begun.
    pub(super) fn columns(&self) -> &[ColumnMeta] {
        &self.columns
    }

    /// Whether the server's own end mark has come.
    pub(super) fn has_ended(&self) -> bool {
        self.ended
    }

    /// Reads up to the first row.
    pub(super) fn begin(&mut self, source: &mut impl Read) -> Result<(), Trouble> {
        let place = self.next_packet(source)?;
        let count = match parse::answer(self.wire.packets.payload(place))? {
            Answer::Columns(count) => count,
            Answer::Ok(status) => return self.end(status),
            Answer::Error(code, text) => return Err(Trouble::Server(code, text)),
        };
        if count > MOST_COLUMNS {
            return Err(Trouble::Protocol("there are too many columns"));
        }
        for _ in 0..count {
            let place = self.next_packet(source)?;
            let column = parse::column(self.wire.packets.payload(place))?;
            self.columns.push(column);
        }
        self.wire.spans.clear();
        self.wire.spans.resize(self.columns.len(), Span::NULL);
        let place = self.next_packet(source)?;
        match parse::end(self.wire.packets.payload(place))? {
            RowPacket::Error(code, text) => Err(Trouble::Server(code, text)),
            _ => Ok(()),
        }
    }

    /// The next row, or `None` after the server's own end mark.
    #[inline]
    pub(super) fn next(&mut self, source: &mut impl Read) -> Result<Option<Place>, Trouble> {
        if self.ended {
            return Ok(None);
        }
        let place = self.next_packet(source)?;
        let (ahead, len) = self.wire.packets.ahead(place);
        match parse::row(ahead, len, &mut self.wire.spans)? {
            RowPacket::Row => Ok(Some(place)),
            RowPacket::End(status) => self.end(status).map(|()| None),
            RowPacket::Error(code, text) => Err(Trouble::Server(code, text)),
        }
    }

    /// The row at the place that [`ResultSet::next`] has just given.
    #[inline]
    pub(super) fn row(&self, place: Place) -> Row<'_> {
        let (ahead, _) = self.wire.packets.ahead(place);
        Row::new(ahead, &self.wire.spans)
    }

    /// The next packet, which must follow the last one. An error may come out of turn: it is what an idle session was ended
    /// with (4031: seen).
    #[inline]
    fn next_packet(&mut self, source: &mut impl Read) -> Result<Place, Trouble> {
        let (place, sequence) = self.wire.packets.next(source)?;
        let (_, len) = self.wire.packets.ahead(place);
        // Counted in one byte.
        let pieces = (len / FULL_PIECE).to_le_bytes()[0];
        self.sequence = self.sequence.wrapping_add(1).wrapping_add(pieces);
        if sequence == self.sequence {
            return Ok(place);
        }
        match parse::answer(self.wire.packets.payload(place)) {
            Ok(Answer::Error(code, text)) => Err(Trouble::Server(code, text)),
            _ => Err(Trouble::Protocol("a packet is out of order")),
        }
    }

    fn end(&mut self, status: u16) -> Result<(), Trouble> {
        if status & MORE_RESULTS != 0 {
            return Err(Trouble::Protocol("there is more than one result"));
        }
        if self.wire.packets.has_left_over() {
            return Err(Trouble::Protocol("it says more after its end"));
        }
        self.ended = true;
        Ok(())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::packet::tests::{Drops, packed};
    use super::*;

    const COLUMN: &[u8] =
        b"\x03def\x01d\x01t\x01t\x02id\x02id\x0c\x2d\x00\x0b\x00\x00\x00\x03\x03\x42\x00\x00\x00";
    const END: &[u8] = b"\xfe\x00\x00\x02\x00";

    fn stream() -> Vec<u8> {
        let long = [b"\xfc\x00\x04".as_slice(), &[b'x'; 1024]].concat();
        let wide = [b"\x011".as_slice(), &long].concat();
        packed(&[
            b"\x02",
            COLUMN,
            COLUMN,
            END,
            b"\x011\x03abc",
            b"\xfb\xfb",
            &wide,
            b"\x00\x00",
            END,
        ])
    }

    /// All cells of all rows.
    fn read(bytes: &[u8], piece: usize, wire: &mut Wire) -> Result<Vec<usize>, Trouble> {
        let mut source = Drops(bytes, piece);
        let mut result = ResultSet::new(wire, 0);
        result.begin(&mut source)?;
        let mut lengths = Vec::new();
        while let Some(place) = result.next(&mut source)? {
            let row = result.row(place);
            lengths.extend(row.cells().map(|cell| cell.map_or(usize::MAX, <[u8]>::len)));
        }
        assert!(result.has_ended());
        Ok(lengths)
    }

    #[test]
    fn rows_are_read_whatever_the_pieces_they_arrive_in() {
        let null = usize::MAX;
        for piece in [1, 3, 7, 4096] {
            let mut wire = Wire::default();
            // Twice, so that a buffer is used again.
            for _ in 0..2 {
                let lengths = read(&stream(), piece, &mut wire).unwrap();
                assert_eq!(lengths, [1, 3, null, null, 1, 1024, 0, 0]);
            }
        }
    }

    #[test]
    fn result_that_is_cut_anywhere_is_no_result() {
        let stream = stream();
        for end in 0..stream.len() {
            let cut = read(&stream[..end], 4096, &mut Wire::default());
            assert!(matches!(cut, Err(Trouble::Network(_))), "{end}: {cut:?}");
        }
    }

    #[test]
    fn error_may_take_the_place_of_any_packet() {
        let error = b"\xff\x25\x05#70100Query execution was interrupted";
        for packets in [
            &[&error[..]][..],
            &[b"\x01", error],
            &[b"\x01", COLUMN, error],
            &[b"\x01", COLUMN, END, error],
            &[b"\x01", COLUMN, END, b"\x011", error],
        ] {
            let failed = read(&packed(packets), 4096, &mut Wire::default());
            // In the place of a column it is none.
            let told =
                matches!(&failed, Err(Trouble::Server(1317, text)) if text.starts_with("Query"));
            let refused = matches!(failed, Err(Trouble::Protocol(_)));
            assert!(told || (refused && packets.len() == 2), "{failed:?}");
        }
        // Left by a server that ended the session while it was idle.
        let mut late = packed(&[error]);
        late[3] = 0;
        let failed = read(&late, 4096, &mut Wire::default());
        assert!(
            matches!(failed, Err(Trouble::Server(1317, _))),
            "{failed:?}"
        );
    }

    #[test]
    fn more_than_one_result_and_a_gap_are_refused() {
        let more = b"\xfe\x00\x00\x0a\x00";
        let failed = read(
            &packed(&[b"\x01", COLUMN, END, more]),
            4096,
            &mut Wire::default(),
        );
        assert!(matches!(failed, Err(Trouble::Protocol(_))), "{failed:?}");
        let mut stream = stream();
        stream[3] = 2;
        let failed = read(&stream, 4096, &mut Wire::default());
        assert!(matches!(failed, Err(Trouble::Protocol(_))), "{failed:?}");
    }

    /// Bytes changed, dropped and doubled at random: no panic, and no row that was not there.
    #[test]
    fn million_damaged_streams_are_read_or_refused() {
        const STREAMS: u32 = if cfg!(debug_assertions) {
            50_000
        } else {
            1_000_000
        };
        let sound = stream();
        let mut state = 0x9e37_79b9_7f4a_7c15_u64;
        let mut random = |below: usize| {
            state = state
                .wrapping_mul(6_364_136_223_846_793_005)
                .wrapping_add(1_442_695_040_888_963_407);
            usize::try_from(state >> 33).unwrap() % below
        };
        let (mut wire, mut damaged) = (Wire::default(), Vec::new());
        for _ in 0..STREAMS {
            damaged.clone_from(&sound);
            for _ in 0..=random(4) {
                let at = random(damaged.len());
                match random(8) {
                    0 => damaged.truncate(at.max(1)),
                    1 => drop(damaged.remove(at)),
                    2 => damaged.insert(at, 0xff),
                    _ => damaged[at] = random(256).to_le_bytes()[0],
                }
                if damaged.is_empty() {
                    break;
                }
            }
            if let Ok(lengths) = read(&damaged, 4096, &mut wire) {
                assert!(
                    lengths
                        .iter()
                        .all(|&len| len == usize::MAX || len <= damaged.len())
                );
            } else {
                // As a session does that is out of step.
                wire.packets = PacketBuffer::default();
            }
        }
    }
}
