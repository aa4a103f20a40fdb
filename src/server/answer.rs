//! Rows of small results, owned: what the catalog and the questions around a snapshot are answered with.
//!
//! Owns the reading of a cell as text or number. Rows of tables never come this way (`rows.rs`).

use std::sync::Arc;

use super::error::ServerError;
use super::rows::RowSource;

/// A row of a small result, owned.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TextRow(pub(super) Vec<Option<Vec<u8>>>);

impl TextRow {
    /// The bytes of column `index`; `None` for NULL or no such column.
    pub fn bytes(&self, index: usize) -> Option<&[u8]> {
        self.0.get(index)?.as_deref()
    }

    /// Column `index` as text; bytes that are no UTF-8 are replaced, so use it for names and words only.
    pub fn text(&self, index: usize) -> Option<String> {
        self.bytes(index)
            .map(|bytes| String::from_utf8_lossy(bytes).into_owned())
    }

    /// Column `index` as a number; `None` for NULL and for what is no number.
    pub fn number(&self, index: usize) -> Option<u64> {
        std::str::from_utf8(self.bytes(index)?).ok()?.parse().ok()
    }
}

/// A row of a small result with the names of its columns, for statements whose columns differ between servers.
#[derive(Debug, Clone)]
pub struct NamedRow {
    pub(super) names: Arc<[String]>,
    pub(super) row: TextRow,
}

impl NamedRow {
    /// The text of the column of that name (in any case); `None` for NULL and for no such column.
    pub fn get(&self, name: &str) -> Option<String> {
        let index = self
            .names
            .iter()
            .position(|n| n.eq_ignore_ascii_case(name))?;
        self.row.text(index)
    }

    /// The number in the column of that name; 0 when there is none.
    pub fn number(&self, name: &str) -> u64 {
        self.get(name)
            .and_then(|text| text.parse().ok())
            .unwrap_or_default()
    }
}

/// All rows of a result.
pub(super) fn collect(source: &mut dyn RowSource) -> Result<Vec<TextRow>, ServerError> {
    let mut rows = Vec::new();
    while let Some(row) = source.next_row()? {
        rows.push(TextRow(
            row.cells().map(|cell| cell.map(<[u8]>::to_vec)).collect(),
        ));
    }
    Ok(rows)
}
