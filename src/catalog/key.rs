//! The keys of a table, and which of them can cut it.
//!
//! Owns the choice: primary, else the best unique key whose parts are whole columns that cannot be NULL (a range never
//! matches NULL, so rows would vanish: dumpling PR#119). How a key is cut it leaves to `chunk/`.

/// An index that holds no two equal entries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Key {
    /// The index' name; `PRIMARY` for the primary key.
    pub name: String,
    /// Its columns, in index order.
    pub columns: Vec<String>,
    /// For each of them, whether the index holds it from large to small.
    pub descending: Vec<bool>,
}

impl Key {
    /// Whether this is the primary key.
    pub fn is_primary(&self) -> bool {
        self.name == "PRIMARY"
    }
}
