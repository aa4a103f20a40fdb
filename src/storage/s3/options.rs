//! `S3Options`: which bucket, which prefix, how to get there.
//!
//! Owns the settings, the words for those that have names, and the size of each part of an upload. Keys are secrets and show
//! themselves nowhere. Settings that are left out, credentials first of all, `service.rs` finds as AWS's own tools do.

use std::fmt;
use std::time::Duration;

use crate::secret::Secret;

/// The smallest part that a service takes, but for the last (S3's limit).
pub const SMALLEST_PART_BYTES: u64 = 5 << 20;
/// A larger part could not grow any more (S3's limit is 5 GiB).
pub const LARGEST_PART_BYTES: u64 = 1 << 30;
/// The most parts of one object (S3's limit).
pub const MOST_PARTS: u32 = 10_000;
/// So many parts have the same size, then each is larger than the one before.
const EQUAL_PARTS: u32 = 1000;
/// By so much. With the smallest default an object of 5 TiB, S3's largest, has 9,500 parts and the last of them 1.2 GiB.
const GROWTH_BYTES: u64 = 144 << 10;

/// How an object's bytes are checked on their way.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Checksum {
    /// CRC-32C of each part, which every current store knows.
    #[default]
    Crc32c,
    /// CRC-64/NVME of each part.
    Crc64Nvme,
    /// Only what the request's signature covers, for stores that refuse checksums.
    None,
}

/// Everything about a dump's place in an object store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct S3Options {
    /// The bucket.
    pub bucket: String,
    /// What every key begins with: empty, or ending in `/`.
    pub prefix: String,
    /// The service, where it is not AWS.
    pub endpoint: Option<String>,
    /// The region of the bucket.
    pub region: Option<String>,
    /// Whether the bucket is named in the path of a request, not in its host.
    pub force_path_style: Option<bool>,
    /// Whether AWS's accelerated endpoint is used.
    pub accelerate: bool,
    /// The access key.
    pub access_key: Option<Secret>,
    /// Its secret.
    pub secret_access_key: Option<Secret>,
    /// The token that goes with temporary keys.
    pub session_token: Option<Secret>,
    /// A role to assume.
    pub role_arn: Option<String>,
    /// The word that the role asks for.
    pub external_id: Option<Secret>,
    /// The storage class of the objects.
    pub storage_class: Option<String>,
    /// Encryption by the service: `AES256` or `aws:kms`.
    pub sse: Option<String>,
    /// The key for `aws:kms`.
    pub sse_kms_key_id: Option<String>,
    /// A canned ACL for the objects.
    pub acl: Option<String>,
    /// Whose service it is, where that decides defaults.
    pub provider: Option<String>,
    /// How the bytes are checked.
    pub checksum: Checksum,
    /// Parts of one file in memory at a time.
    pub concurrency: usize,
    /// Size of the first parts of a file.
    pub part_size_bytes: u64,
    /// How long a request is tried again.
    pub retry_time: Duration,
    /// Unfinished uploads of a dump's files under the prefix are removed when they are older.
    pub abort_incomplete_age: Duration,
}

impl S3Options {
    /// Defaults for everything but the place.
    pub fn new(bucket: &str, prefix: &str) -> Self {
        let prefix = prefix.trim_matches('/');
        let end = if prefix.is_empty() { "" } else { "/" };
        Self {
            bucket: bucket.to_owned(),
            prefix: [prefix, end].concat(),
            endpoint: None,
            region: None,
            force_path_style: None,
            accelerate: false,
            access_key: None,
            secret_access_key: None,
            session_token: None,
            role_arn: None,
            external_id: None,
            storage_class: None,
            sse: None,
            sse_kms_key_id: None,
            acl: None,
            provider: None,
            checksum: Checksum::default(),
            concurrency: 4,
            part_size_bytes: 8 << 20,
            retry_time: Duration::from_secs(300),
            abort_incomplete_age: Duration::from_secs(3600),
        }
    }

    /// Whether the bucket goes into the path: everywhere but at AWS and at those who refuse it, since an address or a bare
    /// host cannot have a bucket in front of it.
    pub fn uses_path_style(&self) -> bool {
        let by_host = ["alibaba", "aliyun", "netease", "tencent"];
        let refuses = self
            .provider
            .as_deref()
            .is_some_and(|name| by_host.contains(&name.to_ascii_lowercase().as_str()));
        self.force_path_style
            .unwrap_or(self.endpoint.is_some() && !refuses)
    }

    /// The key of a file.
    pub fn key(&self, name: &str) -> String {
        [self.prefix.as_str(), name].concat()
    }

    /// The URL of a key, for messages.
    pub fn url_of(&self, key: &str) -> String {
        format!("s3://{}/{key}", self.bucket)
    }

    /// Size of part `number`, counted from 1.
    pub fn part_bytes(&self, number: u32) -> u64 {
        let grown = u64::from(number.saturating_sub(EQUAL_PARTS));
        self.part_size_bytes + grown * GROWTH_BYTES
    }
}

impl fmt::Display for S3Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.url_of(&self.prefix))
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn the_largest_object_fits_into_the_most_parts_and_no_part_is_too_large() {
        let options = S3Options::new("b", "");
        let total: u64 = (1..=MOST_PARTS)
            .map(|number| options.part_bytes(number))
            .sum();
        assert!(total >= 5 << 40, "{total}");
        assert!(options.part_bytes(MOST_PARTS) < 5 << 30);
        assert_eq!(options.part_bytes(1), 8 << 20);
        assert_eq!(options.part_bytes(1000), 8 << 20);
        assert!(options.part_bytes(1001) > 8 << 20);
    }

    #[test]
    fn a_prefix_ends_in_one_slash_and_begins_with_none() {
        for (prefix, shown) in [
            ("", "s3://b/"),
            ("/", "s3://b/"),
            ("/a/b//", "s3://b/a/b/"),
            ("a", "s3://b/a/"),
        ] {
            assert_eq!(S3Options::new("b", prefix).to_string(), shown);
        }
        assert_eq!(S3Options::new("b", "a").key("x.sql"), "a/x.sql");
    }

    #[test]
    fn a_bucket_goes_into_the_path_unless_the_service_is_aws_or_refuses_it() {
        let mut options = S3Options::new("b", "");
        assert!(!options.uses_path_style());
        options.endpoint = Some("http://127.0.0.1:9000".to_owned());
        assert!(options.uses_path_style());
        options.provider = Some("Alibaba".to_owned());
        assert!(!options.uses_path_style());
        options.force_path_style = Some(true);
        assert!(options.uses_path_style());
    }

    #[test]
    fn no_key_is_shown() {
        let mut options = S3Options::new("b", "p");
        for secret in [
            &mut options.access_key,
            &mut options.secret_access_key,
            &mut options.session_token,
            &mut options.external_id,
        ] {
            *secret = Some(Secret::new("hunter2"));
        }
        let shown = format!("{options} {options:?}");
        assert!(!shown.contains("hunter2"), "{shown}");
    }
}
