//! Rows made up for the tests of the encoders, and what an encoder writes for them.
//!
//! Owns the way from owned cells to a [`Row`] and back to text. What the text must be each test says itself.

use proptest::prelude::*;

use super::{Encoded, EncodedColumn, Encoder};
use crate::catalog::column::CellKind;
use crate::server::rows::{Row, Span};

/// The cells of one row; `None` is NULL.
pub type Cells = Vec<Option<Vec<u8>>>;

/// Cells of these texts.
pub fn cells(texts: &[&str]) -> Cells {
    texts
        .iter()
        .map(|text| Some(text.as_bytes().to_vec()))
        .collect()
}

/// Columns of these kinds, called `a`, `b` and so on.
pub fn columns(kinds: &[CellKind]) -> Vec<EncodedColumn> {
    kinds
        .iter()
        .zip('a'..)
        .map(|(kind, name)| EncodedColumn {
            name: name.to_string(),
            kind: *kind,
        })
        .collect()
}

/// A whole file of these rows, and what the encoder said of each.
pub fn file(encoder: &mut dyn Encoder, rows: &[Cells]) -> (Vec<u8>, Vec<Encoded>) {
    let mut out = Vec::new();
    encoder.begin_file(&mut out);
    let told = rows
        .iter()
        .map(|row| append(encoder, row, &mut out))
        .collect();
    encoder.end_file(&mut out);
    (out, told)
}

/// Appends one row.
pub fn append(encoder: &mut dyn Encoder, row: &Cells, out: &mut Vec<u8>) -> Encoded {
    let mut bytes = Vec::new();
    let mut spans = Vec::new();
    for cell in row {
        spans.push(cell.as_ref().map_or(Span::NULL, |cell| {
            // As on the wire, where the length of each cell stands before it.
            bytes.push(5);
            let start = bytes.len();
            bytes.extend_from_slice(cell);
            Span::new(start, bytes.len())
        }));
    }
    encoder.row(&Row::new(&bytes, &spans), out)
}

/// Any bytes, most of them such as some format escapes or takes for a mark.
pub fn nasty_bytes() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![
        1 => any::<u8>(),
        3 => prop::sample::select(b"\0\n\r\x1a\\'\"|*+,;\tNntZ0".to_vec()),
        2 => b'a'..=b'z',
    ];
    prop::collection::vec(byte, 0..40)
}

/// A cell of a column of that kind, as a server could send it.
pub fn cell(kind: CellKind) -> BoxedStrategy<Option<Vec<u8>>> {
    let bytes = match kind {
        CellKind::Number => any::<i64>()
            .prop_map(|n| n.to_string().into_bytes())
            .boxed(),
        CellKind::Float => any::<f32>()
            .prop_map(|n| n.to_string().into_bytes())
            .boxed(),
        CellKind::Plain => "[0-9]{4}-[0-9]{2}-[0-9]{2}( [0-9:.]{8,15})?"
            .prop_map(String::into_bytes)
            .boxed(),
        CellKind::Text | CellKind::HexText | CellKind::Json | CellKind::Binary => {
            nasty_bytes().boxed()
        }
    };
    prop::option::weighted(0.8, bytes).boxed()
}

/// Rows with a column of every kind.
pub const KINDS: [CellKind; 6] = [
    CellKind::Number,
    CellKind::Text,
    CellKind::Float,
    CellKind::Plain,
    CellKind::Json,
    CellKind::Binary,
];

/// Some rows of [`KINDS`].
pub fn rows() -> impl Strategy<Value = Vec<Cells>> {
    let row: Vec<_> = KINDS.map(cell).into();
    prop::collection::vec(row, 0..6)
}
