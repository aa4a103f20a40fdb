//! Where a dump is read from, and `s3://…` with the flags that go with it.
//!
//! Owns the flags of object stores, under Dumpling's names, and the way from them and a URL to a [`Location`]. What a URL says wins
//! over the flags. The grammar of URLs is `storage`'s; the directory of a new dump is `dump.rs`'s.

#![allow(clippy::doc_markdown)] // the comments on flags are their help lines

use std::path::{Path, PathBuf};
use std::time::Duration;

use clap::Args;

use super::size::{parse_duration, parse_size};
use super::usage::UsageError;
use crate::secret::Secret;
use crate::storage::Location;
use crate::storage::s3::{
    Checksum, LARGEST_PART_BYTES, S3Options, SMALLEST_PART_BYTES, checked_endpoint, is_s3_url,
    without_settings,
};

/// More would only queue in the sockets.
const MOST_PARTS_IN_MEMORY: usize = 256;

/// How to reach an object store.
#[derive(Debug, Args)]
#[command(next_help_heading = "Object store (s3://bucket/prefix)")]
pub struct StoreArgs {
    /// Its URL, where it is not AWS
    #[arg(id = "s3.endpoint", long, value_name = "URL", value_parser = endpoint)]
    endpoint: Option<String>,
    /// Region of the bucket
    #[arg(id = "s3.region", long, value_name = "NAME")]
    region: Option<String>,
    /// Whose store it is, for its peculiarities
    #[arg(id = "s3.provider", long, value_name = "NAME")]
    provider: Option<String>,
    /// Role to assume
    #[arg(id = "s3.role-arn", long, value_name = "ARN")]
    role_arn: Option<String>,
    /// The word that the role asks for
    #[arg(id = "s3.external-id", long, value_name = "ID", value_parser = secret)]
    external_id: Option<Secret>,
    /// How long a request is tried again
    #[arg(id = "s3.retry-time", long, value_name = "TIME", default_value = "5m", value_parser = duration)]
    retry_time: Duration,
}

/// How objects are written.
#[derive(Debug, Args)]
#[command(next_help_heading = "Object store (s3://bucket/prefix)")]
pub struct ObjectArgs {
    /// Storage class of the objects
    #[arg(id = "s3.storage-class", long, value_name = "CLASS")]
    storage_class: Option<String>,
    /// Encryption by the store: AES256 or aws:kms
    #[arg(id = "s3.sse", long, value_name = "HOW")]
    sse: Option<String>,
    /// The key for aws:kms
    #[arg(id = "s3.sse-kms-key-id", long, value_name = "ID")]
    sse_kms_key_id: Option<String>,
    /// Canned ACL of the objects
    #[arg(id = "s3.acl", long, value_name = "NAME")]
    acl: Option<String>,
    /// Checks of parts: crc32c, crc64nvme or none
    #[arg(id = "s3.checksum", long, value_name = "HOW", default_value = "crc32c", value_parser = checksum)]
    checksum: Checksum,
    /// Parts of a file in memory, for each worker
    #[arg(id = "s3.concurrency", long, value_name = "N", default_value = "4", value_parser = concurrency)]
    concurrency: usize,
    /// Size of a part; those past the 1000th grow
    #[arg(id = "s3.part-size", long, value_name = "SIZE", default_value = "8MiB", value_parser = part_size)]
    part_size: u64,
    /// Abort older uploads that a killed dump left
    #[arg(long, value_name = "TIME", default_value = "1h", value_parser = duration)]
    abort_incomplete_age: Duration,
}

impl StoreArgs {
    fn options(&self) -> S3Options {
        S3Options {
            endpoint: self.endpoint.clone(),
            region: self.region.clone(),
            provider: self.provider.clone(),
            role_arn: self.role_arn.clone(),
            external_id: self.external_id.clone(),
            retry_time: self.retry_time,
            ..S3Options::new("", "")
        }
    }
}

impl ObjectArgs {
    fn options(&self, store: &StoreArgs) -> S3Options {
        S3Options {
            storage_class: self.storage_class.clone(),
            sse: self.sse.clone(),
            sse_kms_key_id: self.sse_kms_key_id.clone(),
            acl: self.acl.clone(),
            checksum: self.checksum,
            concurrency: self.concurrency,
            part_size_bytes: self.part_size,
            abort_incomplete_age: self.abort_incomplete_age,
            ..store.options()
        }
    }
}

/// Whether a place is named by the URL of an object store.
pub fn is_remote(place: &Path) -> bool {
    is_s3_url(&place.to_string_lossy())
}

/// The place of a new dump that a URL names. The URL may hold keys, so no error shows it.
pub fn remote_place(
    url: &Path,
    store: &StoreArgs,
    objects: &ObjectArgs,
) -> Result<Location, UsageError> {
    bucket(url, "-o", &objects.options(store))
}

/// The one place that was named, which must be a directory or a URL.
pub fn source(words: &[PathBuf], store: &StoreArgs) -> Result<Location, UsageError> {
    let [path] = words else {
        let sentence = match words.get(1) {
            None => "SOURCE is missing".to_owned(),
            Some(word) => format!("unexpected word `{}`", shown(&word.to_string_lossy())),
        };
        let hint = "name one directory, or s3://bucket/prefix, that holds a dump";
        return Err(UsageError::new(sentence).with_hint(hint));
    };
    if is_remote(path) {
        return bucket(path, "SOURCE", &store.options());
    }
    let text = path.to_string_lossy();
    let path = match text.split_once("://") {
        None => path.clone(),
        Some(("file" | "local", rest)) => PathBuf::from(rest),
        Some((scheme, _)) => {
            return Err(UsageError::new(format!("cannot read from {scheme}://"))
                .with_hint("use s3://bucket/prefix, or copy the dump to a local directory"));
        }
    };
    check_directory(&path)?;
    Ok(Location::Directory(path))
}

fn check_directory(path: &Path) -> Result<(), UsageError> {
    match std::fs::metadata(path) {
        Ok(metadata) if metadata.is_dir() => Ok(()),
        Ok(_) => Err(UsageError::new(format!(
            "{} is not a directory",
            path.display()
        ))),
        Err(error) => {
            Err(UsageError::new(format!("cannot read {}", path.display())).caused_by(error))
        }
    }
}

fn bucket(url: &Path, what: &str, options: &S3Options) -> Result<Location, UsageError> {
    let options = S3Options::from_url(&url.to_string_lossy(), options).map_err(|error| {
        UsageError::new(format!("{what} {error}")).with_hint(
            "as s3://bucket/prefix?endpoint=https://host:port&region=name; quote it for the shell",
        )
    })?;
    Ok(Location::S3(Box::new(options)))
}

/// A word of the command line without the keys that a URL may hold.
pub fn shown(word: &str) -> &str {
    without_settings(word)
}

fn endpoint(text: &str) -> Result<String, String> {
    checked_endpoint(text).map_err(|_| "it must be http://host:port or https://host".to_owned())
}

/// Cannot fail, but must wrap the text before anything could print it.
#[allow(clippy::unnecessary_wraps)] // clap wants a Result
fn secret(text: &str) -> Result<Secret, String> {
    Ok(Secret::new(text))
}

fn checksum(text: &str) -> Result<Checksum, String> {
    text.parse().map_err(|choices| format!("use {choices}"))
}

fn concurrency(text: &str) -> Result<usize, String> {
    let parts = text.parse().ok();
    parts
        .filter(|parts| (1..=MOST_PARTS_IN_MEMORY).contains(parts))
        .ok_or_else(|| format!("it must be a number from 1 to {MOST_PARTS_IN_MEMORY}"))
}

fn part_size(text: &str) -> Result<u64, String> {
    let size = parse_size(text).map_err(|error| error.to_string())?;
    if (SMALLEST_PART_BYTES..=LARGEST_PART_BYTES).contains(&size) {
        Ok(size)
    } else {
        Err("a part has from 5MiB to 1GiB".to_owned())
    }
}

fn duration(text: &str) -> Result<Duration, String> {
    parse_duration(text).map_err(|error| error.to_string())
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::super::defaults::Defaults;
    use super::super::dump::convert;
    use super::super::typed;
    use super::*;

    fn place(words: &[&str]) -> Result<Location, UsageError> {
        let words = [&["--password=x"], words].concat();
        convert(&typed(&words), Defaults::default()).map(|command| command.config.output)
    }

    #[test]
    fn flags_and_url_make_one_place_and_the_url_wins() {
        let words = [
            "-o",
            "s3://bucket/a/b?region=eu-west-1",
            "--s3.region",
            "us-west-2",
            "--s3.endpoint",
            "http://127.0.0.1:9000",
            "--s3.concurrency=2",
            "--abort-incomplete-age=0s",
        ];
        let Location::S3(options) = place(&words).unwrap() else {
            panic!("no bucket");
        };
        assert_eq!(options.to_string(), "s3://bucket/a/b/");
        assert_eq!(options.region.as_deref(), Some("eu-west-1"));
        assert_eq!(options.endpoint.as_deref(), Some("http://127.0.0.1:9000"));
        assert_eq!((options.concurrency, options.part_size_bytes), (2, 8 << 20));
        assert!(options.abort_incomplete_age.is_zero());
    }

    #[test]
    fn the_time_stands_in_the_prefix_and_directories_alone_are_kept_in_order() {
        let place = place(&[
            "-o",
            "s3://bucket/nightly/{date}?access-key=a{b&secret-access-key=c",
        ]);
        let place = place.unwrap().to_string();
        assert!(place.starts_with("s3://bucket/nightly/20"), "{place}");
        assert!(!place.contains('{'), "{place}");
        for flag in [&["--keep", "3"][..], &["--latest-link", "/tmp/latest"]] {
            let words = [&["--password=x", "-o", "s3://bucket/{date}"], flag].concat();
            let error = convert(&typed(&words), Defaults::default()).unwrap_err();
            assert!(error.to_string().contains("is for dumps in directories"));
        }
    }

    #[test]
    fn no_key_is_shown_whatever_is_wrong() {
        for words in [
            &["-o", "s3://b?access-key=hunter2"][..],
            &["-o", "s3://b?nothing=hunter2"],
            &["-o", "gs://b?access-key=hunter2"],
            &["s3://b?access-key=hunter2"],
        ] {
            let error = place(words).unwrap_err();
            let text = format!("{error} {:?}", error.hint());
            assert!(!text.contains("hunter2"), "{text}");
        }
        let url = "s3://b?access-key=hunter2&secret-access-key=hunter2";
        let args = typed(&["--password=x", "-o", url]);
        let command = convert(&args, Defaults::default()).unwrap();
        assert!(!format!("{command:?}").contains("hunter2"));
    }
}
