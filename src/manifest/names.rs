//! The names of a dump's files: Dumpling's layout, so that its importers and the plain client find everything.
//!
//! Owns the encoding of database and table names into file names that stay inside the directory, whatever the names hold,
//! and below the length a file system takes. What is in the files it leaves to others.

use std::path::Path;

use crate::catalog::ident::{ObjectName, hex};

/// The longest file name common file systems take, in bytes (NAME_MAX).
const NAME_MAX_BYTES: usize = 255;
/// Room kept for the longest ending, `-schema-sequence.sql.zst`, and for thirteen digits of chunk and part.
const ENDING_BYTES: usize = 40;
/// What is kept of each part of a name that is too long.
const KEPT_BYTES: usize = 90;

/// Names files for one dump.
#[derive(Debug, Clone)]
pub struct FileNames {
    /// `sql` or `csv`.
    data_extension: &'static str,
    /// Appended to every compressed file, with its dot; empty for none.
    compression_extension: String,
    template: Option<String>,
}

impl FileNames {
    /// Names for a format and a compression (`gz`, `zst`); `template` names data files by `{db}`, `{table}` and `{chunk}`.
    pub fn new(
        data_extension: &'static str,
        compression_extension: Option<&str>,
        template: Option<String>,
    ) -> Self {
        Self {
            data_extension,
            compression_extension: compression_extension
                .map(|extension| format!(".{extension}"))
                .unwrap_or_default(),
            template,
        }
    }

    /// `{db}-schema-create.sql`
    pub fn database(&self, database: &str) -> String {
        self.schema(&encode(database), "-schema-create")
    }

    /// `{db}-schema-post.sql`: routines and events.
    pub fn post(&self, database: &str) -> String {
        self.schema(&encode(database), "-schema-post")
    }

    /// `server-schema-users.sql`: accounts and grants. No importer takes it for rows, and no table's file has this ending.
    pub fn users(&self) -> String {
        self.schema("server", "-schema-users")
    }

    /// `{db}.{table}-schema.sql`, also a view's stand-in table.
    pub fn table(&self, name: &ObjectName) -> String {
        self.schema(&base(name), "-schema")
    }

    /// `{db}.{view}-schema-view.sql`
    pub fn view(&self, name: &ObjectName) -> String {
        self.schema(&base(name), "-schema-view")
    }

    /// `{db}.{sequence}-schema-sequence.sql`
    pub fn sequence(&self, name: &ObjectName) -> String {
        self.schema(&base(name), "-schema-sequence")
    }

    /// `{db}.{table}-schema-trigger.sql`: singular, since Lightning takes the plural for data.
    pub fn triggers(&self, name: &ObjectName) -> String {
        self.schema(&base(name), "-schema-trigger")
    }

    /// `{db}.{table}.{chunk:09}.sql`, with `part` (files of a limited size) `{chunk:09}{part:04}`.
    pub fn data(&self, name: &ObjectName, chunk: u64, part: Option<u64>) -> String {
        let number = match part {
            Some(part) => format!("{chunk:09}{part:04}"),
            None => format!("{chunk:09}"),
        };
        let stem = match &self.template {
            // One pass, so that a table that is called `{chunk}` stays that.
            Some(template) => fill(template, name, &number),
            None => format!("{}.{number}", base(name)),
        };
        format!(
            "{stem}.{}{}",
            self.data_extension, self.compression_extension
        )
    }

    /// `result.{part:09}.csv`: the rows of `--sql`.
    pub fn result(&self, part: u64) -> String {
        format!(
            "result.{part:09}.{}{}",
            self.data_extension, self.compression_extension
        )
    }

    fn schema(&self, base: &str, ending: &str) -> String {
        format!("{base}{ending}.sql{}", self.compression_extension)
    }
}

/// Whether a table's files carry a shortened name, so that importers cannot tell its name from them.
pub fn is_shortened(name: &ObjectName) -> bool {
    encode(&name.database).len() + 1 + encode(&name.name).len() + ENDING_BYTES > NAME_MAX_BYTES
}

/// Whether a dump may have a file of this name, by its ending.
pub fn is_dump_file(name: &str) -> bool {
    let plain = [".gz", ".zst"]
        .iter()
        .find_map(|ending| name.strip_suffix(ending));
    let plain = plain.unwrap_or(name);
    let ending = Path::new(plain).extension();
    ending.is_some_and(|ending| ending == "sql" || ending == "csv")
}

fn fill(template: &str, name: &ObjectName, number: &str) -> String {
    let mut out = String::new();
    let mut rest = template;
    while let Some(at) = rest.find('{') {
        out.push_str(&rest[..at]);
        rest = &rest[at..];
        let values = [
            ("{db}", encode(&name.database)),
            ("{table}", encode(&name.name)),
            ("{chunk}", number.to_owned()),
        ];
        let (skip, value) = values
            .into_iter()
            .find(|(word, _)| rest.starts_with(word))
            .map_or((1, "{".to_owned()), |(word, value)| (word.len(), value));
        out.push_str(&value);
        rest = &rest[skip..];
    }
    out + rest
}

/// `{db}.{table}`, shortened where it would not fit: cut, and told apart by a hash of the whole.
fn base(name: &ObjectName) -> String {
    let (database, table) = (encode(&name.database), encode(&name.name));
    if !is_shortened(name) {
        return format!("{database}.{table}");
    }
    let hash = xxhash_rust::xxh3::xxh3_64(format!("{database}.{table}").as_bytes());
    format!("{}.{}~{hash:016x}", cut(&database), cut(&table))
}

/// At most [`KEPT_BYTES`], ending at a character and not within a `%HH`.
fn cut(text: &str) -> &str {
    let mut end = text.len().min(KEPT_BYTES);
    while !text.is_char_boundary(end) {
        end -= 1;
    }
    let head = &text[..end];
    match head.rfind('%') {
        Some(at) if at + 3 > head.len() && head.len() < text.len() => &head[..at],
        _ => head,
    }
}

/// Dumpling's encoding: bytes 00–1F and `%"*./:<>?\|` as `%HH`, and the `-` of `-schema` (in any case) as `%2D`.
fn encode(name: &str) -> String {
    const MARK: &[u8] = b"-schema";
    let bytes = name.as_bytes();
    let mut out = String::with_capacity(name.len());
    for (at, character) in name.char_indices() {
        let is_mark = bytes[at..]
            .get(..MARK.len())
            .is_some_and(|ahead| ahead.eq_ignore_ascii_case(MARK));
        if is_mark || character < ' ' || "%\"*./:<>?\\|".contains(character) {
            out.push('%');
            out.push_str(&hex(&[character as u8]).to_uppercase());
        } else {
            out.push(character);
        }
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names() -> FileNames {
        FileNames::new("sql", Some("zst"), None)
    }

    #[test]
    fn names_are_dumplings() {
        let item = ObjectName::new("my.db", "a-Schema");
        assert_eq!(names().table(&item), "my%2Edb.a%2DSchema-schema.sql.zst");
        assert_eq!(
            names().data(&item, 7, None),
            "my%2Edb.a%2DSchema.000000007.sql.zst"
        );
        assert_eq!(
            names().data(&item, 7, Some(2)),
            "my%2Edb.a%2DSchema.0000000070002.sql.zst"
        );
        assert_eq!(names().database("50%"), "50%25-schema-create.sql.zst");
        assert_eq!(names().post("日本"), "日本-schema-post.sql.zst");
    }

    #[test]
    fn no_name_leaves_the_directory() {
        for name in ["..", "../../../tmp/x", "/lead", "a\\b", "\0"] {
            let file = names().table(&ObjectName::new("d", name));
            assert!(!file.contains(['/', '\\', '\0']), "{file}");
            assert!(file.starts_with("d."), "{file}");
        }
    }

    #[test]
    fn names_that_are_too_long_are_cut_and_told_apart() {
        let long = "表".repeat(45);
        let one = ObjectName::new(long.clone(), long.clone());
        let other = ObjectName::new(long.clone(), format!("{}x", "表".repeat(44)));
        let files = [names().sequence(&one), names().sequence(&other)];
        assert_ne!(files[0], files[1]);
        assert!(files.iter().all(|f| f.len() <= NAME_MAX_BYTES), "{files:?}");
    }

    #[test]
    fn a_table_called_like_a_placeholder_is_not_filled_again() {
        let names = FileNames::new("csv", None, Some("{table}_{chunk}".to_owned()));
        let file = names.data(&ObjectName::new("d", "{chunk}"), 1, None);
        assert_eq!(file, "{chunk}_000000001.csv");
    }
}
