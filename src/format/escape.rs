//! The byte work that the formats share: escaping, doubling, hex, base64, short copies.
//!
//! Owns speed as much as bytes: what is here runs once per cell. Text goes in blocks of 16 bytes; a block without any
//! suspicious byte is copied whole, any other goes through a table, byte by byte but without a branch, so that text full of
//! quotes (JSON) is not slow. Nothing here allocates but to grow `out`. Which bytes a format escapes, and what stands
//! around a value, it leaves to `sql.rs` and `csv.rs`.

use crate::server::rows::Cell;

/// Bytes looked at, or copied, together.
pub const BLOCK: usize = 16;

/// How one format escapes text: for every byte what is written for it.
///
/// The blocks are sifted by a coarse test: bytes under 0x20, the backslash and two more bytes are suspicious. So the
/// constructors must not let any other byte be escaped; a suspicious byte that needs no escape costs time only.
#[derive(Debug, Clone)]
pub struct Escaper {
    /// What is written for a byte: itself and a zero, or a lead byte and a second byte, which is never zero.
    pairs: [[u8; 2]; 256],
    /// The two suspicious bytes beside the control bytes and the backslash.
    marks: [u8; 2],
}

impl Escaper {
    /// For `'…'` in SQL where the backslash escapes: `\0 \n \r \\ \' \" \Z`, as Dumpling and `mysql_real_escape_string` do.
    pub fn sql() -> Self {
        let mut escaper = Self::backslash([b'\'', b'"']);
        escaper.pairs[0x1a] = *b"\\Z";
        escaper
    }

    /// Where the backslash escapes: `\0 \n \r \\`, and the two marks by themselves.
    pub fn backslash(marks: [u8; 2]) -> Self {
        let mut pairs = unescaped();
        for mark in marks {
            pairs[usize::from(mark)] = [b'\\', mark];
        }
        // After the marks: a mark that is also one of these is written as its letter.
        for (byte, letter) in [(0, b'0'), (b'\n', b'n'), (b'\r', b'r'), (b'\\', b'\\')] {
            pairs[usize::from(byte)] = [b'\\', letter];
        }
        Self { pairs, marks }
    }

    /// Where a quote is doubled and nothing else is changed.
    pub fn doubling(quote: u8) -> Self {
        let mut pairs = unescaped();
        pairs[usize::from(quote)] = [quote, quote];
        Self {
            pairs,
            marks: [quote, quote],
        }
    }

    /// Whether `byte` is written as more than itself.
    pub fn escapes(&self, byte: u8) -> bool {
        self.pairs[usize::from(byte)][1] != 0
    }

    /// Whether `written` could have been written for some text.
    pub fn could_write(&self, written: &[u8]) -> bool {
        let mut rest = written;
        while let Some((&byte, after)) = rest.split_first() {
            rest = match after.split_first() {
                Some((&second, after)) if second != 0 && self.pairs.contains(&[byte, second]) => {
                    after
                }
                _ if self.escapes(byte) => return false,
                _ => after,
            };
        }
        true
    }

    /// Appends the cell, escaped.
    #[inline]
    pub fn escape(&self, text: Cell<'_>, out: &mut Vec<u8>) {
        out.reserve(text.len() + 2 * BLOCK);
        let (blocks, tail) = text.bytes().as_chunks::<BLOCK>();
        for block in blocks {
            if self.suspects(u128::from_le_bytes(*block)) {
                self.escape_block(block, out);
            } else {
                out.extend_from_slice(block);
            }
        }
        match text.skip(blocks.len() * BLOCK).chunk::<BLOCK>() {
            Some(block) if !self.suspects(head(block, tail.len())) => {
                append_prefix(block, tail.len(), out);
            }
            _ => self.escape_block(tail, out),
        }
    }

    /// Whether one of 16 bytes is suspicious: under 0x20, a backslash or a mark.
    #[inline]
    fn suspects(&self, bytes: u128) -> bool {
        #[allow(clippy::cast_possible_truncation)]
        let halves = [bytes as u64, (bytes >> 64) as u64];
        halves
            .iter()
            .fold(0, |seen, half| seen | self.suspicion(*half))
            != 0
    }

    /// Not zero if one of eight bytes is suspicious.
    #[inline]
    fn suspicion(&self, bytes: u64) -> u64 {
        let [one, two] = self.marks;
        (under(bytes, 0x20) | equal(bytes, b'\\') | equal(bytes, one) | equal(bytes, two))
            & repeat(0x80)
    }

    /// Escapes at most [`BLOCK`] bytes; every byte takes the same steps, whatever it is.
    #[inline]
    fn escape_block(&self, block: &[u8], out: &mut Vec<u8>) {
        // One byte more than can be filled, since both bytes of a pair are always stored.
        let mut written = [0; 2 * BLOCK + 1];
        let mut len = 0;
        for &byte in block {
            let pair = self.pairs[usize::from(byte)];
            // The mask changes nothing; it shows the compiler that the index is in bounds.
            let at = len & (2 * BLOCK - 1);
            written[at] = pair[0];
            written[at + 1] = pair[1];
            len += 1 + usize::from(pair[1] != 0);
        }
        append_prefix(&written, len, out);
    }
}

/// The table that escapes nothing.
fn unescaped() -> [[u8; 2]; 256] {
    let mut pairs = [[0; 2]; 256];
    for (pair, byte) in pairs.iter_mut().zip(0..=u8::MAX) {
        pair[0] = byte;
    }
    pairs
}

/// Eight times the same byte.
const fn repeat(byte: u8) -> u64 {
    u64::from_le_bytes([byte; 8])
}

/// Has a high bit set if some byte of `bytes` is under `limit` (at most 0x80); the lowest such bit is right, higher ones may not be.
#[inline]
fn under(bytes: u64, limit: u8) -> u64 {
    bytes.wrapping_sub(repeat(limit)) & !bytes
}

/// Has a high bit set if some byte of `bytes` equals `byte`; as exact as [`under`].
#[inline]
fn equal(bytes: u64, byte: u8) -> u64 {
    under(bytes ^ repeat(byte), 1)
}

/// Appends the first `len` bytes of `bytes`: one store of fixed size, which beats a call of `memcpy`.
#[inline]
pub fn append_prefix<const N: usize>(bytes: &[u8; N], len: usize, out: &mut Vec<u8>) {
    let end = out.len() + len;
    out.extend_from_slice(bytes);
    out.truncate(end);
}

/// The first `len` bytes of a block, and harmless ones after them.
#[inline]
fn head(block: &[u8; BLOCK], len: usize) -> u128 {
    const HARMLESS: u128 = u128::from_le_bytes([b'a'; BLOCK]);
    let kept = (1_u128 << (8 * len)) - 1;
    u128::from_le_bytes(*block) & kept | HARMLESS & !kept
}

/// Appends the cell as it is; quick for cells of up to two blocks, as numbers and dates are.
#[inline]
pub fn copy(cell: Cell<'_>, out: &mut Vec<u8>) {
    let len = cell.len();
    if let Some(block) = cell.chunk::<BLOCK>()
        && len <= BLOCK
    {
        append_prefix(block, len, out);
    } else if let Some(blocks) = cell.chunk::<{ 2 * BLOCK }>()
        && len <= 2 * BLOCK
    {
        append_prefix(blocks, len, out);
    } else {
        out.extend_from_slice(cell.bytes());
    }
}

/// The lower-case hex digits of every byte.
const HEX: [[u8; 2]; 256] = {
    let digits = b"0123456789abcdef";
    let mut table = [[0; 2]; 256];
    let mut byte = 0;
    while byte < 256 {
        table[byte] = [digits[byte >> 4], digits[byte & 15]];
        byte += 1;
    }
    table
};

/// Appends `bytes` as lower-case hex digits.
pub fn hex(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len() * 2 + 2 * BLOCK);
    let (blocks, tail) = bytes.as_chunks::<BLOCK>();
    for block in blocks {
        out.extend_from_slice(&hex_block(block));
    }
    append_prefix(&hex_block(tail), tail.len() * 2, out);
}

/// The digits of at most [`BLOCK`] bytes, then zeros.
#[inline]
fn hex_block(block: &[u8]) -> [u8; 2 * BLOCK] {
    let mut digits = [[0; 2]; BLOCK];
    for (pair, &byte) in digits.iter_mut().zip(block) {
        *pair = HEX[usize::from(byte)];
    }
    let mut flat = [0; 2 * BLOCK];
    flat.copy_from_slice(digits.as_flattened());
    flat
}

/// Appends `bytes` in base64 with padding (RFC 4648 section 4).
pub fn base64(bytes: &[u8], out: &mut Vec<u8>) {
    out.reserve(bytes.len().div_ceil(3) * 4);
    let (triples, tail) = bytes.as_chunks::<3>();
    for triple in triples {
        out.extend_from_slice(&base64_digits(*triple));
    }
    match *tail {
        [one, two] => {
            let [a, b, c, _] = base64_digits([one, two, 0]);
            out.extend_from_slice(&[a, b, c, b'=']);
        }
        [one] => {
            let [a, b, _, _] = base64_digits([one, 0, 0]);
            out.extend_from_slice(&[a, b, b'=', b'=']);
        }
        _ => {}
    }
}

/// The four digits of three bytes.
#[inline]
fn base64_digits([one, two, three]: [u8; 3]) -> [u8; 4] {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let digit = |six: u8| DIGITS[usize::from(six & 63)];
    [
        digit(one >> 2),
        digit(one << 4 | two >> 4),
        digit(two << 2 | three >> 6),
        digit(three),
    ]
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;
    use crate::catalog::ident;

    fn escaped(escaper: &Escaper, text: &[u8]) -> Vec<u8> {
        let mut out = b"before".to_vec();
        escaper.escape(text.into(), &mut out);
        assert_eq!(&out[..6], b"before");
        out.split_off(6)
    }

    /// What every escaper must write, said one byte at a time.
    fn plainly(text: &[u8], write: impl Fn(u8) -> Option<[u8; 2]>) -> Vec<u8> {
        text.iter()
            .flat_map(|&byte| write(byte).map_or(vec![byte], |pair| pair.to_vec()))
            .collect()
    }

    fn sql_pair(byte: u8) -> Option<[u8; 2]> {
        let letter = match byte {
            0 => b'0',
            b'\n' => b'n',
            b'\r' => b'r',
            0x1a => b'Z',
            b'\\' | b'\'' | b'"' => byte,
            _ => return None,
        };
        Some([b'\\', letter])
    }

    /// Texts of every length about the block's, with many bytes that are escaped or nearly so.
    fn text() -> impl Strategy<Value = Vec<u8>> {
        let byte = prop_oneof![
            4 => any::<u8>(),
            2 => prop::sample::select(b"\0\n\r\x1a\\'\"|,\t\x1f #&(\x7f\x80\xa2\xa7\xdc".to_vec()),
            6 => b'a'..=b'z',
        ];
        prop::collection::vec(byte, 0..70)
    }

    proptest! {
        #[test]
        fn escaping_by_blocks_equals_escaping_byte_by_byte(text in text()) {
            prop_assert_eq!(escaped(&Escaper::sql(), &text), plainly(&text, sql_pair));
            let csv = |byte| match byte {
                b'\'' | b'"' | 0x1a => (byte == b'"').then_some(*b"\\\""),
                _ => sql_pair(byte),
            };
            prop_assert_eq!(escaped(&Escaper::backslash([b'"', b'"']), &text), plainly(&text, csv));
            let doubled = |byte| (byte == b'\'').then_some(*b"''");
            prop_assert_eq!(escaped(&Escaper::doubling(b'\''), &text), plainly(&text, doubled));
        }

        #[test]
        fn what_was_written_is_known_as_such(text in text()) {
            for escaper in [Escaper::sql(), Escaper::backslash([b'|', b'\n']), Escaper::doubling(b'"')] {
                prop_assert!(escaper.could_write(&escaped(&escaper, &text)));
            }
        }

        #[test]
        fn hex_and_base64_read_back(bytes in prop::collection::vec(any::<u8>(), 0..70)) {
            let mut out = Vec::new();
            hex(&bytes, &mut out);
            prop_assert_eq!(out, ident::hex(&bytes).into_bytes());
            let mut out = Vec::new();
            base64(&bytes, &mut out);
            prop_assert_eq!(from_base64(&out), bytes);
        }

        #[test]
        fn a_short_copy_is_a_copy(bytes in prop::collection::vec(any::<u8>(), 0..40)) {
            let mut out = vec![b'x'];
            copy(bytes[..].into(), &mut out);
            prop_assert_eq!(&out[1..], &bytes[..]);
            for len in 0..=bytes.len() {
                let mut out = vec![b'x'];
                copy(Cell::new(&bytes, len), &mut out);
                prop_assert_eq!(out, [b"x", &bytes[..len]].concat());
            }
        }
    }

    fn from_base64(digits: &[u8]) -> Vec<u8> {
        let value = |digit: u8| match digit {
            b'A'..=b'Z' => u32::from(digit - b'A'),
            b'a'..=b'z' => u32::from(digit - b'a') + 26,
            b'0'..=b'9' => u32::from(digit - b'0') + 52,
            b'+' => 62,
            b'/' => 63,
            _ => 0,
        };
        let mut bytes = Vec::new();
        for four in digits.chunks(4) {
            let number = four.iter().fold(0, |sum, &digit| sum << 6 | value(digit));
            let padding = four.len() - four.partition_point(|&digit| digit != b'=');
            bytes.extend_from_slice(&number.to_be_bytes()[1..4 - padding]);
        }
        bytes
    }

    #[test]
    fn base64_is_that_of_the_rfc() {
        for (bytes, digits) in [
            ("", ""),
            ("f", "Zg=="),
            ("fo", "Zm8="),
            ("foobar", "Zm9vYmFy"),
        ] {
            let mut out = Vec::new();
            base64(bytes.as_bytes(), &mut out);
            assert_eq!(out, digits.as_bytes());
        }
    }

    #[test]
    fn a_mark_that_has_a_letter_is_written_by_it() {
        assert_eq!(
            escaped(&Escaper::backslash([b'|', b'\n']), b"a|b\nc"),
            b"a\\|b\\nc"
        );
    }

    #[test]
    fn text_that_no_escaper_writes_is_known() {
        let escaper = Escaper::backslash([b',', b',']);
        assert!(!escaper.could_write(b"\\N"));
        assert!(!escaper.could_write(b"a\\"));
        assert!(!escaper.could_write(b"a\0"));
        assert!(escaper.could_write(b"NULL"));
        assert!(escaper.could_write(b"\\n\\,"));
    }
}
