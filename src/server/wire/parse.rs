//! What is in a packet of the text protocol.
//!
//! Owns the reading of lengths, columns, rows, OK, EOF and ERR (MySQL internals, "Text Resultset"). Nothing the server sends is
//! trusted: whatever does not add up is a [`Malformed`], and no place beyond the packet is looked at.

use crate::server::rows::{ColumnMeta, Span};

/// A packet that breaks the protocol.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("{0}")]
pub(super) struct Malformed(pub &'static str);

/// The first packet of an answer.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Answer {
    /// Done, without a result set; the status flags.
    Ok(u16),
    /// So many columns follow.
    Columns(u64),
    /// The server's code and text.
    Error(u16, String),
}

/// The packet after the columns or the rows.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum RowPacket {
    /// The end; the status flags.
    End(u16),
    /// The server's code and text.
    Error(u16, String),
    /// A row, whose cells are in the spans.
    Row,
}

const OK: u8 = 0x00;
const LOCAL_INFILE: u8 = 0xfb;
const NULL: u8 = 0xfb;
const EOF: u8 = 0xfe;
const ERR: u8 = 0xff;
/// An EOF packet is shorter than this; a longer one with its first byte is a row that begins with a huge cell.
const EOF_LIMIT: usize = 9;
/// `SERVER_MORE_RESULTS_EXISTS`.
pub(super) const MORE_RESULTS: u16 = 8;

/// Takes numbers and strings from the front of a packet.
struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    fn take(&mut self, len: usize) -> Result<&'a [u8], Malformed> {
        let (taken, rest) = self
            .0
            .split_at_checked(len)
            .ok_or(Malformed("a packet is shorter than it says"))?;
        self.0 = rest;
        Ok(taken)
    }

    fn number(&mut self, bytes: usize) -> Result<u64, Malformed> {
        let taken = self.take(bytes)?.iter().rev();
        Ok(taken.fold(0, |number, byte| number << 8 | u64::from(*byte)))
    }

    fn u16(&mut self) -> Result<u16, Malformed> {
        let number = self.number(2)?;
        u16::try_from(number).map_err(|_| Malformed("a number is too large"))
    }

    /// A length-encoded integer.
    fn length(&mut self) -> Result<u64, Malformed> {
        match self.number(1)? {
            0xfc => self.number(2),
            0xfd => self.number(3),
            0xfe => self.number(8),
            0xfb | 0xff => Err(Malformed("a length is none")),
            small => Ok(small),
        }
    }

    /// A length-encoded string.
    fn string(&mut self) -> Result<&'a [u8], Malformed> {
        let len = self.length()?;
        let len = usize::try_from(len).map_err(|_| Malformed("a length is too large"))?;
        self.take(len)
    }
}

/// Reads the first packet of an answer.
pub(super) fn answer(packet: &[u8]) -> Result<Answer, Malformed> {
    match packet.first() {
        Some(&ERR) => error(packet).map(|(code, text)| Answer::Error(code, text)),
        Some(&LOCAL_INFILE) => Err(Malformed("it asks for a file of this machine")),
        Some(&OK) => {
            let mut reader = Reader(&packet[1..]);
            reader.length()?;
            reader.length()?;
            Ok(Answer::Ok(reader.u16()?))
        }
        _ => {
            let mut reader = Reader(packet);
            let count = reader.length()?;
            // MariaDB adds that the columns' definitions follow (MARIADB_CLIENT_CACHE_METADATA, which the driver asks for).
            if matches!(reader.0, [] | [1]) && count > 0 {
                Ok(Answer::Columns(count))
            } else {
                Err(Malformed("the number of columns is none"))
            }
        }
    }
}

/// Reads a column definition.
pub(super) fn column(packet: &[u8]) -> Result<ColumnMeta, Malformed> {
    let mut reader = Reader(packet);
    // Catalog, schema, table, original table.
    for _ in 0..4 {
        reader.string()?;
    }
    let name = reader.string()?.to_vec();
    // Original name, and the length of what follows.
    reader.string()?;
    reader.length()?;
    let collation = reader.u16()?;
    // The display width.
    reader.take(4)?;
    let wire_type = reader.take(1)?[0];
    Ok(ColumnMeta {
        name,
        wire_type,
        collation,
        flags: reader.u16()?,
    })
}

/// Reads the packet that ends the columns.
pub(super) fn end(packet: &[u8]) -> Result<RowPacket, Malformed> {
    match packet.first() {
        Some(&ERR) => error(packet).map(|(code, text)| RowPacket::Error(code, text)),
        Some(&EOF) if packet.len() < EOF_LIMIT => {
            let mut reader = Reader(&packet[1..]);
            reader.u16()?;
            Ok(RowPacket::End(reader.u16()?))
        }
        _ => Err(Malformed("the columns have no end")),
    }
}

/// Reads a row, or what ends the rows. `ahead` is the packet and what lies behind it, `len` where it ends; the spans, one for
/// each column, are filled in.
#[inline]
pub(super) fn row(ahead: &[u8], len: usize, spans: &mut [Span]) -> Result<RowPacket, Malformed> {
    let packet = &ahead[..len];
    match packet.first() {
        Some(&ERR) | None => return end(packet),
        Some(&EOF) if len < EOF_LIMIT => return end(packet),
        Some(_) => {}
    }
    let mut at = 0;
    for span in spans {
        let Some(&first) = packet.get(at) else {
            return Err(Malformed("a row has too few cells"));
        };
        let (start, cell) = match first {
            0..=0xfa => (at + 1, usize::from(first)),
            NULL => {
                *span = Span::NULL;
                at += 1;
                continue;
            }
            _ => long_cell(packet, at)?,
        };
        let Some(end) = start.checked_add(cell).filter(|end| *end <= len) else {
            return Err(Malformed("a cell is longer than its row"));
        };
        *span = Span::new(start, end);
        at = end;
    }
    if at == len {
        Ok(RowPacket::Row)
    } else {
        Err(Malformed("a row has too many cells"))
    }
}

/// Start and length of a cell of more than 250 bytes.
#[cold]
fn long_cell(packet: &[u8], at: usize) -> Result<(usize, usize), Malformed> {
    let mut reader = Reader(&packet[at..]);
    let cell = reader.length()?;
    let start = packet.len() - reader.0.len();
    let cell = usize::try_from(cell).map_err(|_| Malformed("a length is too large"))?;
    Ok((start, cell))
}

/// Code and text of an ERR packet. The SQLSTATE between them is not there before the handshake has ended.
fn error(packet: &[u8]) -> Result<(u16, String), Malformed> {
    let mut reader = Reader(&packet[1..]);
    let code = reader.u16()?;
    let text = match reader.0 {
        [b'#', rest @ ..] => rest.get(5..).unwrap_or_default(),
        text => text,
    };
    Ok((code, String::from_utf8_lossy(text).into_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells<const N: usize>(packet: &[u8]) -> Result<Vec<Option<Vec<u8>>>, Malformed> {
        let mut spans = [Span::NULL; N];
        row(packet, packet.len(), &mut spans)?;
        let row = crate::server::rows::Row::new(packet, &spans);
        Ok(row.cells().map(|cell| cell.map(<[u8]>::to_vec)).collect())
    }

    #[test]
    fn cells_of_every_length_are_found() {
        for len in [0, 1, 250, 251, 65_535, 65_536, 70_000] {
            let text = vec![b'x'; len];
            let head = match len {
                0..=250 => vec![u8::try_from(len).unwrap_or_default()],
                251..=65_535 => [&[0xfc], &len.to_le_bytes()[..2]].concat(),
                _ => [&[0xfd], &len.to_le_bytes()[..3]].concat(),
            };
            let packet = [&head[..], &text, &[0xfb, 1, b'y']].concat();
            let found = cells::<3>(&packet);
            assert_eq!(found, Ok(vec![Some(text), None, Some(b"y".to_vec())]));
        }
    }

    #[test]
    fn row_whose_cells_do_not_fill_it_is_refused() {
        for packet in [
            &b"\x01a"[..],
            b"\x01a\x05b",
            b"\x01a\x01b\x01c",
            b"\x01a\xfc\xff",
            b"\x01a\xfe\xff\xff\xff\xff\xff\xff\xff\xff",
        ] {
            assert!(cells::<2>(packet).is_err(), "{packet:?}");
        }
    }

    #[test]
    fn short_fe_ends_the_rows_and_a_long_one_begins_a_cell() {
        let mut spans = [Span::NULL];
        let end = row(&[0xfe, 0, 0, 2, 0], 5, &mut spans);
        assert_eq!(end, Ok(RowPacket::End(2)));
        let mut packet = vec![0xfe, 1, 0, 0, 0, 0, 0, 0, 0, b'z'];
        assert_eq!(row(&packet, 10, &mut spans), Ok(RowPacket::Row));
        packet[8] = 0xff;
        assert!(row(&packet, 10, &mut spans).is_err());
    }

    #[test]
    fn number_of_columns_comes_with_or_without_a_word_on_their_definitions() {
        assert_eq!(answer(b"\x06"), Ok(Answer::Columns(6)));
        assert_eq!(answer(b"\x06\x01"), Ok(Answer::Columns(6)));
        assert!(answer(b"\x06\x00").is_err());
        assert!(answer(b"").is_err());
    }

    #[test]
    fn request_for_a_local_file_is_refused() {
        assert!(answer(b"\xfb/etc/passwd").is_err());
    }

    #[test]
    fn error_is_read_with_and_without_its_state() {
        let with = answer(b"\xff\x15\x04#28000Access denied");
        let expected = Answer::Error(1045, "Access denied".to_owned());
        assert_eq!(with.as_ref(), Ok(&expected));
        assert_eq!(answer(b"\xff\x15\x04Access denied"), with);
    }
}
