//! Files of a dump.

use std::fs::{self, File};
use std::io::Read as _;
use std::path::Path;

/// Paths of all files under `folder`, relative to it, sorted; empty when the folder does not exist.
pub fn list_files(folder: &Path) -> Vec<String> {
    let mut files = Vec::new();
    let mut pending = vec![folder.to_owned()];
    while let Some(next) = pending.pop() {
        let Ok(entries) = fs::read_dir(&next) else {
            continue;
        };
        for entry in entries {
            let path = entry.unwrap().path();
            if path.is_dir() {
                pending.push(path);
            } else {
                files.push(path.strip_prefix(folder).unwrap().display().to_string());
            }
        }
    }
    files.sort();
    files
}

/// What the names of files begin with that are not complete yet.
pub const TEMP_PREFIX: &str = ".rdump-tmp-";

#[track_caller]
pub fn assert_no_temporary_files(folder: &Path) {
    let mut files = list_files(folder);
    files.retain(|name| name.starts_with(TEMP_PREFIX));
    assert!(files.is_empty(), "left behind: {files:?}");
}

/// A file's content, decompressed by what its name says.
#[track_caller]
pub fn read_decompressed(path: &Path) -> Vec<u8> {
    let mut content = Vec::new();
    let file = File::open(path);
    let read = file.and_then(
        |mut file| match path.extension().and_then(|end| end.to_str()) {
            Some("gz") => flate2::read::MultiGzDecoder::new(file).read_to_end(&mut content),
            Some("zst") => zstd::Decoder::new(file)?.read_to_end(&mut content),
            _ => file.read_to_end(&mut content),
        },
    );
    if let Err(error) = read {
        panic!("{}: {error}", path.display());
    }
    content
}
