//! `Source`: a dump that is there, to be read.
//!
//! Owns what belongs to it: by its manifest, or for the directories of other dumpers by the names of the files. The manifest
//! is trusted for nothing: a name counts only as that of a file that was listed, sizes and hashes are checked by whoever reads
//! to the end, and a file never gives more bytes than the manifest says it has. What is in the files it leaves to the journeys.

use std::collections::{HashMap, HashSet};
use std::io::{self, Read};

use xxhash_rust::xxh3::{Xxh3, xxh3_128};

use super::layout::{self, Role};
use super::{FORMAT_VERSION, FileEntry, MANIFEST_NAME, METADATA_NAME, Manifest};
use crate::catalog::ident::ObjectName;
use crate::compress::reader::{plain, stem};
use crate::storage::{Archive, StorageError};

/// No manifest is longer: a million files have about 500 MB of it.
const LONGEST_MANIFEST: u64 = 1 << 30;

/// Why a dump cannot be used.
#[derive(Debug, thiserror::Error)]
pub enum SourceError {
    /// The place or one of its files could not be read.
    #[error(transparent)]
    Storage(#[from] StorageError),
    /// There is nothing that a dumper writes.
    #[error("{place} holds no dump")]
    Empty {
        /// The place.
        place: String,
    },
    /// The manifest is no manifest.
    #[error("the manifest of {place} cannot be read")]
    Manifest {
        /// The place.
        place: String,
        /// Why.
        source: serde_json::Error,
    },
    /// The manifest is of another time.
    #[error(
        "the manifest of {place} has the format version {version}, and this rdump knows {FORMAT_VERSION}"
    )]
    Version {
        /// The place.
        place: String,
        /// Its version.
        version: u32,
    },
    /// A file is not what the manifest says.
    #[error("file {name} is damaged: {what}")]
    Damaged {
        /// The file.
        name: String,
        /// What is wrong.
        what: String,
    },
    /// A file of the manifest is not there.
    #[error("file {name} is missing")]
    Missing {
        /// The file.
        name: String,
    },
    /// A file's name has an ending that no file of a dump has.
    #[error("file {name} of the manifest is of no known kind")]
    Unknown {
        /// The file.
        name: String,
    },
    /// A name stands twice in the manifest.
    #[error("file {name} stands twice in the manifest")]
    Twice {
        /// The file.
        name: String,
    },
}

/// A file that belongs to the dump.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DumpFile {
    /// Its name.
    pub name: String,
    /// Bytes as stored.
    pub stored_bytes: u64,
    /// What it is for.
    pub role: Role,
    /// The database; empty for accounts.
    pub database: String,
    /// The table, view or sequence.
    pub object: Option<String>,
    /// What the manifest says of it.
    pub expected: Option<FileEntry>,
}

impl DumpFile {
    /// The table, view or sequence with its database, if the file belongs to one.
    pub fn table(&self) -> Option<ObjectName> {
        let object = self.object.as_ref()?;
        Some(ObjectName::new(&self.database, object))
    }
}

/// A dump.
pub struct Source {
    archive: Box<dyn Archive>,
    /// What it says of itself.
    pub manifest: Option<Manifest>,
    /// The files that belong to it and are there, by role and name.
    pub files: Vec<DumpFile>,
    /// Files of the manifest that are not there.
    pub missing: Vec<String>,
    /// Files that are there and do not belong to it.
    pub extra: Vec<String>,
    /// Whether there is a file `metadata`.
    pub has_metadata: bool,
    /// Tells this dump from all others: 32 hex digits.
    pub identity: String,
}

impl Source {
    /// Looks at what is there. Reads nothing but the manifest.
    pub fn open(archive: Box<dyn Archive>) -> Result<Self, SourceError> {
        let stored: Vec<_> = archive
            .list()?
            .into_iter()
            .map(|file| (file.name, file.bytes))
            .collect();
        let there: HashMap<_, _> = stored.iter().cloned().collect();
        let mut source = Self {
            manifest: None,
            files: Vec::new(),
            missing: Vec::new(),
            extra: Vec::new(),
            has_metadata: there.contains_key(METADATA_NAME),
            identity: String::new(),
            archive,
        };
        if there.contains_key(MANIFEST_NAME) {
            source.read_manifest(&there)?;
        } else {
            source.read_names(&stored);
        }
        source
            .files
            .sort_by(|a, b| (a.role, &a.name).cmp(&(b.role, &b.name)));
        if source.files.is_empty() && source.missing.is_empty() && source.manifest.is_none() {
            return Err(SourceError::Empty {
                place: source.describe(),
            });
        }
        Ok(source)
    }

    /// The place in words.
    pub fn describe(&self) -> String {
        self.archive.describe()
    }

    /// The text of the file `metadata`, if there is one.
    pub fn metadata(&self) -> Result<Option<Vec<u8>>, SourceError> {
        if !self.has_metadata {
            return Ok(None);
        }
        Ok(Some(self.read_small(METADATA_NAME)?))
    }

    /// Opens a file of the dump; its plain bytes are read.
    pub fn read(&self, file: &DumpFile) -> Result<PlainFile, SourceError> {
        let stored = self.archive.open(&file.name)?;
        let plain = plain(&file.name, stored)
            .map_err(|error| StorageError::from_read(error, &file.name))?;
        Ok(PlainFile {
            plain,
            name: file.name.clone(),
            expected: file.expected.clone(),
            hash: file.expected.as_ref().map(|_| Xxh3::new()),
            bytes: 0,
        })
    }

    /// Reads a file to its end, to see that it is what the manifest says. Returns its plain bytes' number.
    pub fn check(&self, file: &DumpFile) -> Result<u64, SourceError> {
        let mut buffer = vec![0; 256 << 10];
        let mut plain = self.read(file)?;
        loop {
            match plain.read(&mut buffer) {
                Ok(0) => return plain.finish(),
                Ok(_) => {}
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(read_error(error, &file.name)),
            }
        }
    }

    fn read_small(&self, name: &str) -> Result<Vec<u8>, SourceError> {
        let mut bytes = Vec::new();
        let stored = self.archive.open(name)?;
        stored
            .take(LONGEST_MANIFEST)
            .read_to_end(&mut bytes)
            .map_err(|error| StorageError::from_read(error, name))?;
        Ok(bytes)
    }

    fn read_manifest(&mut self, there: &HashMap<String, u64>) -> Result<(), SourceError> {
        let bytes = self.read_small(MANIFEST_NAME)?;
        let manifest: Manifest =
            serde_json::from_slice(&bytes).map_err(|source| SourceError::Manifest {
                place: self.describe(),
                source,
            })?;
        if manifest.format_version != FORMAT_VERSION {
            return Err(SourceError::Version {
                place: self.describe(),
                version: manifest.format_version,
            });
        }
        self.identity = format!("{:032x}", xxh3_128(&bytes));
        let mut seen = HashSet::from([MANIFEST_NAME, METADATA_NAME]);
        let of_tables = manifest.tables.iter().flat_map(|table| {
            let name = ObjectName::new(&table.database, &table.name);
            table
                .files
                .iter()
                .map(move |file| (file, Some(name.clone())))
        });
        let of_databases = manifest.files.iter().map(|file| (file, None));
        for (entry, table) in of_databases.chain(of_tables) {
            if !seen.insert(&entry.name) {
                let name = entry.name.clone();
                return Err(SourceError::Twice { name });
            }
            let unknown = || SourceError::Unknown {
                name: entry.name.clone(),
            };
            let Some(stored_bytes) = there.get(&entry.name) else {
                self.missing.push(entry.name.clone());
                continue;
            };
            let stem = stem(&entry.name);
            let (role, database, object) = match table {
                Some(name) => {
                    let (role, _) = layout::role_of(stem).ok_or_else(unknown)?;
                    // A template may give a data file any name.
                    let role = match (&entry.data, role) {
                        (Some(_), Role::CsvData) => Role::CsvData,
                        (Some(_), _) => Role::SqlData,
                        (None, role) => role,
                    };
                    (role, name.database, Some(name.name))
                }
                // The rows of --sql belong to no table.
                None if entry.data.is_some() => (Role::CsvData, String::new(), None),
                None => {
                    let placed = layout::place(stem).ok_or_else(unknown)?;
                    (placed.role, placed.database, placed.object)
                }
            };
            self.files.push(DumpFile {
                name: entry.name.clone(),
                stored_bytes: *stored_bytes,
                role,
                database,
                object,
                expected: Some(entry.clone()),
            });
        }
        self.extra = there
            .keys()
            .filter(|name| !seen.contains(name.as_str()))
            .cloned()
            .collect();
        self.extra.sort();
        self.manifest = Some(manifest);
        Ok(())
    }

    fn read_names(&mut self, stored: &[(String, u64)]) {
        let mut hash = Xxh3::new();
        for (name, bytes) in stored {
            hash.update(name.as_bytes());
            hash.update(&bytes.to_le_bytes());
            match layout::place(stem(name)) {
                Some(placed) => self.files.push(DumpFile {
                    name: name.clone(),
                    stored_bytes: *bytes,
                    role: placed.role,
                    database: placed.database,
                    object: placed.object,
                    expected: None,
                }),
                None if name == METADATA_NAME => {}
                None => self.extra.push(name.clone()),
            }
        }
        self.identity = format!("{:032x}", hash.digest128());
    }
}

/// The plain bytes of a file: counted, hashed and bounded by what the manifest says.
pub struct PlainFile {
    plain: Box<dyn Read + Send>,
    name: String,
    expected: Option<FileEntry>,
    hash: Option<Xxh3>,
    bytes: u64,
}

impl PlainFile {
    /// Compares what was read with what the manifest says; to be called at the end of the file. Returns its plain bytes'
    /// number.
    pub fn finish(self) -> Result<u64, SourceError> {
        let (Some(expected), Some(hash)) = (&self.expected, &self.hash) else {
            return Ok(self.bytes);
        };
        let damaged = |what: String| {
            let name = self.name.clone();
            Err(SourceError::Damaged { name, what })
        };
        if self.bytes != expected.raw_bytes {
            let (bytes, wanted) = (self.bytes, expected.raw_bytes);
            return damaged(format!("it has {bytes} bytes instead of {wanted}"));
        }
        let found = format!("{:032x}", hash.digest128());
        if found != expected.hash {
            return damaged("its bytes are others than were written (another hash)".to_owned());
        }
        Ok(self.bytes)
    }
}

impl Read for PlainFile {
    fn read(&mut self, into: &mut [u8]) -> io::Result<usize> {
        let read = self.plain.read(into)?;
        self.bytes += read as u64;
        if let Some(expected) = &self.expected
            && self.bytes > expected.raw_bytes
        {
            let what = format!(
                "it has more bytes than the {} it should have",
                expected.raw_bytes
            );
            let name = self.name.clone();
            return Err(io::Error::other(SourceError::Damaged { name, what }));
        }
        if let Some(hash) = &mut self.hash {
            hash.update(&into[..read]);
        }
        Ok(read)
    }
}

/// What an error of reading a [`PlainFile`] means. A stream that cannot be decompressed is a damaged file.
pub fn read_error(error: io::Error, name: &str) -> SourceError {
    let error = match error.downcast::<SourceError>() {
        Ok(known) => return known,
        Err(error) => error,
    };
    match error.downcast::<StorageError>() {
        Ok(known) => known.into(),
        Err(error) => SourceError::Damaged {
            name: name.to_owned(),
            what: format!("it cannot be decompressed: {error}"),
        },
    }
}

impl SourceError {
    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        match self {
            Self::Storage(error) => error.hint(),
            Self::Empty { .. } => Some("name the directory that a dumper wrote".to_owned()),
            Self::Damaged { .. } | Self::Missing { .. } => {
                Some("rdump verify lists everything that is wrong with a dump".to_owned())
            }
            _ => None,
        }
    }
}
