//! A row as borrowed cells, and the trait of whatever produces rows.
//!
//! Owns the shape in which bytes travel from the server to the encoders: one buffer per row and the places of its cells in
//! it, reused from row to row. Nothing here interprets a value. Where rows come from it leaves to `driver.rs` (the `mysql`
//! crate's iterator) and `wire.rs` (packets read in place).

use super::error::ServerError;

/// Where a cell lies in its row's bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Span {
    start: usize,
    end: usize,
}

impl Span {
    /// The cell of an SQL NULL.
    pub const NULL: Self = Self {
        start: usize::MAX,
        end: usize::MAX,
    };

    /// A cell of `bytes[start..end]`.
    pub fn new(start: usize, end: usize) -> Self {
        Self { start, end }
    }
}

/// A cell with what follows it in its row, so that a copy of fixed size can take a cell of any size: the length of a short
/// cell is then no branch that the processor must guess.
#[derive(Debug, Clone, Copy)]
pub struct Cell<'a> {
    ahead: &'a [u8],
    len: usize,
}

impl<'a> Cell<'a> {
    /// A cell of the first `len` bytes of `ahead`.
    #[inline]
    pub fn new(ahead: &'a [u8], len: usize) -> Self {
        Self {
            ahead,
            len: len.min(ahead.len()),
        }
    }

    /// The cell's own bytes.
    #[inline]
    pub fn bytes(self) -> &'a [u8] {
        &self.ahead[..self.len]
    }

    /// Exactly `N` bytes from the cell's start, those after its end included; `None` if the row ends before.
    #[inline]
    pub fn chunk<const N: usize>(self) -> Option<&'a [u8; N]> {
        self.ahead.first_chunk()
    }

    /// The rest of the cell after its first `len` bytes.
    #[inline]
    #[must_use]
    pub fn skip(self, len: usize) -> Self {
        let ahead = self.ahead.get(len..).unwrap_or_default();
        Self::new(ahead, self.len.saturating_sub(len))
    }

    /// How many bytes the cell has.
    #[inline]
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether the cell is the empty string.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }
}

/// A cell that nothing follows.
impl<'a> From<&'a [u8]> for Cell<'a> {
    fn from(bytes: &'a [u8]) -> Self {
        Self::new(bytes, bytes.len())
    }
}

/// One row: as many cells as the result has columns.
#[derive(Debug, Clone, Copy)]
pub struct Row<'a> {
    bytes: &'a [u8],
    spans: &'a [Span],
}

impl<'a> Row<'a> {
    /// A row over `bytes`; every span must lie inside them or be [`Span::NULL`].
    pub fn new(bytes: &'a [u8], spans: &'a [Span]) -> Self {
        Self { bytes, spans }
    }

    /// How many cells the row has.
    pub fn len(&self) -> usize {
        self.spans.len()
    }

    /// Whether the row has no cell at all.
    pub fn is_empty(&self) -> bool {
        self.spans.is_empty()
    }

    /// The text the server sent for column `index`, or `None` for NULL and for a column that does not exist.
    #[inline]
    pub fn cell(&self, index: usize) -> Option<&'a [u8]> {
        let span = self.spans.get(index)?;
        self.bytes.get(span.start..span.end)
    }

    /// The cells in order.
    #[inline]
    pub fn cells(&self) -> impl Iterator<Item = Option<&'a [u8]>> + use<'a> {
        let bytes = self.bytes;
        self.spans
            .iter()
            .map(move |span| bytes.get(span.start..span.end))
    }

    /// The cells in order, each with what follows it.
    #[inline]
    pub fn cells_ahead(&self) -> impl Iterator<Item = Option<Cell<'a>>> + use<'a> {
        let bytes = self.bytes;
        self.spans.iter().map(move |span| {
            // NULL starts beyond every row.
            let ahead = bytes.get(span.start..)?;
            Some(Cell::new(ahead, span.end.saturating_sub(span.start)))
        })
    }
}

/// What the server says of a result's column.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ColumnMeta {
    /// The column's name or alias, as the server sent it.
    pub name: Vec<u8>,
    /// The type byte of the protocol (`MYSQL_TYPE_*`).
    pub wire_type: u8,
    /// The collation id; 63 is `binary`.
    pub collation: u16,
    /// The flag bits of the protocol.
    pub flags: u16,
}

/// A running result set.
pub trait RowSource {
    /// The result's columns; known before the first row.
    fn columns(&self) -> &[ColumnMeta];

    /// The next row, or `None` after the server's own end mark. A connection that ends without it is an error: a short
    /// result must never look like a whole one (mysql2#761).
    fn next_row(&mut self) -> Result<Option<Row<'_>>, ServerError>;
}
