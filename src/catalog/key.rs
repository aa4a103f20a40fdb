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

/// A row of `information_schema.STATISTICS` about a unique index.
#[derive(Debug, Clone)]
#[allow(clippy::struct_excessive_bools)] // as the server lists them
pub(super) struct KeyPart {
    pub key: String,
    pub position: u64,
    /// `None` for an expression.
    pub column: Option<String>,
    /// Whether the index holds the whole value, not a prefix.
    pub whole: bool,
    pub nullable: bool,
    pub index_type: String,
    pub descending: bool,
    /// Whether the optimizer is told not to use the index.
    pub hidden: bool,
}

impl KeyPart {
    fn is_usable(&self) -> bool {
        // A HASH index has no order: MEMORY's default, and MariaDB's unique keys over long columns.
        self.column.is_some()
            && self.whole
            && !self.nullable
            && !self.hidden
            && !self.index_type.eq_ignore_ascii_case("HASH")
    }

    /// The keys that can cut a table: the primary first, then those with the fewest columns, then by name.
    pub(super) fn keys(mut parts: Vec<Self>) -> Vec<Key> {
        parts.sort_by(|a, b| (&a.key, a.position).cmp(&(&b.key, b.position)));
        let mut keys: Vec<Key> = parts
            .chunk_by(|a, b| a.key == b.key)
            .filter(|parts| parts.iter().all(Self::is_usable))
            .map(|parts| Key {
                name: parts[0].key.clone(),
                columns: parts
                    .iter()
                    .filter_map(|part| part.column.clone())
                    .collect(),
                descending: parts.iter().map(|part| part.descending).collect(),
            })
            .collect();
        keys.sort_by_key(|key| (!key.is_primary(), key.columns.len()));
        keys
    }
}

impl Key {
    /// Whether this is the primary key.
    pub fn is_primary(&self) -> bool {
        self.name == "PRIMARY"
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn part(key: &str, position: u64, column: &str) -> KeyPart {
        KeyPart {
            key: key.to_owned(),
            position,
            column: Some(column.to_owned()),
            whole: true,
            nullable: false,
            index_type: "BTREE".to_owned(),
            descending: false,
            hidden: false,
        }
    }

    #[test]
    fn the_primary_key_comes_first_then_the_shortest() {
        let keys = KeyPart::keys(vec![
            part("a", 2, "y"),
            part("a", 1, "x"),
            part("b", 1, "z"),
            part("PRIMARY", 2, "q"),
            part("PRIMARY", 1, "p"),
        ]);
        let found: Vec<(&str, Vec<&str>)> = keys
            .iter()
            .map(|key| {
                (
                    key.name.as_str(),
                    key.columns.iter().map(String::as_str).collect(),
                )
            })
            .collect();
        assert_eq!(
            found,
            [
                ("PRIMARY", vec!["p", "q"]),
                ("b", vec!["z"]),
                ("a", vec!["x", "y"])
            ]
        );
    }

    #[test]
    fn a_key_with_one_unusable_part_is_none() {
        let spoil: [fn(&mut KeyPart); 5] = [
            |part| part.column = None,
            |part| part.whole = false,
            |part| part.nullable = true,
            |part| part.hidden = true,
            |part| part.index_type = "HASH".to_owned(),
        ];
        for change in spoil {
            let mut parts = vec![part("k", 1, "x"), part("k", 2, "y")];
            change(&mut parts[1]);
            assert_eq!(KeyPart::keys(parts), []);
        }
    }
}
