//! `s3://bucket/prefix?setting=value`: a place in an object store as people type it.
//!
//! Owns the grammar and the settings' names, which are those of Dumpling and of TiDB's other tools. What is wrong is told by the
//! setting's name, never by its value, which may be a key.

use super::options::{Checksum, S3Options};
use crate::secret::Secret;

/// Why a URL is refused. Each is a phrase that follows the flag's name.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum S3UrlError {
    /// Nothing before the first slash.
    #[error("names no bucket")]
    NoBucket,
    /// A bucket with characters that none can have. It is not shown: it may begin with a key.
    #[error(
        "has a bucket of other than letters, digits, `-`, `_` and `.`; keys are settings, access-key and secret-access-key"
    )]
    BadBucket,
    /// A name that means nothing.
    #[error("has the setting `{0}`, which means nothing")]
    UnknownSetting(String),
    /// A value that the setting cannot have.
    #[error("has a value for `{setting}` that is not {expected}")]
    BadValue {
        /// The setting.
        setting: String,
        /// What it can have.
        expected: &'static str,
    },
    /// A `%` that no two hexadecimal digits follow, or bytes that are no text.
    #[error("has a `%` in {0} that stands for no character; a percent sign is written %25")]
    BadEscape(&'static str),
    /// A key without its secret, or the other way round.
    #[error("has one of access-key and secret-access-key without the other")]
    HalfAKey,
}

/// Whether the text is a URL of this kind.
pub fn is_s3_url(text: &str) -> bool {
    strip_scheme(text).is_some()
}

/// The URL without what may be secret, for messages.
pub fn without_settings(text: &str) -> &str {
    text.split_once('?').map_or(text, |(place, _)| place)
}

impl S3Options {
    /// Reads a URL on top of `defaults`, whose place is replaced; what the URL sets wins.
    pub fn from_url(text: &str, defaults: &Self) -> Result<Self, S3UrlError> {
        let rest = strip_scheme(text).unwrap_or(text);
        let (place, settings) = rest.split_once('?').unwrap_or((rest, ""));
        let (bucket, prefix) = place.split_once('/').unwrap_or((place, ""));
        check_bucket(bucket)?;
        let prefix = unescape(prefix).ok_or(S3UrlError::BadEscape("its path"))?;
        let named = Self::new(bucket, &prefix);
        let mut options = Self {
            bucket: named.bucket,
            prefix: named.prefix,
            ..defaults.clone()
        };
        for setting in settings.split('&').filter(|setting| !setting.is_empty()) {
            let (name, value) = setting.split_once('=').unwrap_or((setting, ""));
            let value = unescape(value).ok_or(S3UrlError::BadEscape("a setting"))?;
            options.set(name, value)?;
        }
        if options.access_key.is_some() != options.secret_access_key.is_some() {
            return Err(S3UrlError::HalfAKey);
        }
        Ok(options)
    }

    fn set(&mut self, name: &str, value: String) -> Result<(), S3UrlError> {
        let plain = name.to_ascii_lowercase().replace('_', "-");
        let switch = |value: &str| {
            parse_switch(value).ok_or_else(|| S3UrlError::BadValue {
                setting: name.to_owned(),
                expected: "true or false",
            })
        };
        match plain.as_str() {
            "endpoint" => self.endpoint = Some(checked_endpoint(&value)?),
            "region" => self.region = Some(value),
            "force-path-style" => self.force_path_style = Some(switch(&value)?),
            "use-accelerate-endpoint" => self.accelerate = switch(&value)?,
            "access-key" => self.access_key = Some(Secret::new(value)),
            "secret-access-key" => self.secret_access_key = Some(Secret::new(value)),
            "session-token" => self.session_token = Some(Secret::new(value)),
            "role-arn" => self.role_arn = Some(value),
            "external-id" => self.external_id = Some(Secret::new(value)),
            "storage-class" => self.storage_class = Some(value),
            "sse" => self.sse = Some(value),
            "sse-kms-key-id" => self.sse_kms_key_id = Some(value),
            "acl" => self.acl = Some(value),
            "provider" => self.provider = Some(value),
            "checksum" => {
                self.checksum = value.parse().map_err(|expected| S3UrlError::BadValue {
                    setting: name.to_owned(),
                    expected,
                })?;
            }
            _ => return Err(S3UrlError::UnknownSetting(name.to_owned())),
        }
        Ok(())
    }
}

impl std::str::FromStr for Checksum {
    type Err = &'static str;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        match text.to_ascii_lowercase().as_str() {
            "crc32c" => Ok(Self::Crc32c),
            "crc64nvme" => Ok(Self::Crc64Nvme),
            "none" => Ok(Self::None),
            _ => Err("one of crc32c, crc64nvme, none"),
        }
    }
}

/// An endpoint as given, if it can be one.
pub fn checked_endpoint(text: &str) -> Result<String, S3UrlError> {
    let host = text
        .strip_prefix("https://")
        .or_else(|| text.strip_prefix("http://"))
        .unwrap_or_default();
    // A user name in it would be a secret that shows itself.
    if host.is_empty() || host.contains(['@', '?', '#']) || host.chars().any(char::is_whitespace) {
        return Err(S3UrlError::BadValue {
            setting: "endpoint".to_owned(),
            expected: "of the form http://host:port or https://host",
        });
    }
    Ok(text.to_owned())
}

fn strip_scheme(text: &str) -> Option<&str> {
    let (scheme, rest) = text.split_once("://")?;
    scheme.eq_ignore_ascii_case("s3").then_some(rest)
}

fn check_bucket(bucket: &str) -> Result<(), S3UrlError> {
    if bucket.is_empty() {
        return Err(S3UrlError::NoBucket);
    }
    let allowed = |c: char| c.is_ascii_alphanumeric() || "-._".contains(c);
    if bucket.chars().all(allowed) {
        Ok(())
    } else {
        Err(S3UrlError::BadBucket)
    }
}

fn parse_switch(text: &str) -> Option<bool> {
    match text.to_ascii_lowercase().as_str() {
        "" | "true" | "1" | "on" | "yes" => Some(true),
        "false" | "0" | "off" | "no" => Some(false),
        _ => None,
    }
}

/// Percent escapes undone. A `+` stays one: secrets often hold it, and nothing here holds blanks.
fn unescape(text: &str) -> Option<String> {
    let mut bytes = Vec::with_capacity(text.len());
    let mut rest = text.bytes();
    while let Some(byte) = rest.next() {
        if byte != b'%' {
            bytes.push(byte);
            continue;
        }
        let mut digit = || char::from(rest.next()?).to_digit(16);
        let (high, low) = (digit()?, digit()?);
        bytes.push(u8::try_from(high * 16 + low).ok()?);
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn read(text: &str) -> Result<S3Options, S3UrlError> {
        S3Options::from_url(text, &S3Options::new("", ""))
    }

    #[test]
    fn a_url_names_bucket_prefix_and_settings() {
        let url = "S3://bucket/a%20b/c?endpoint=http://127.0.0.1:9000&region=eu-west-1&force_path_style=false\
                   &access-key=AK&secret-access-key=a+b%2Fc%3D&storage-class=STANDARD_IA&checksum=none";
        let options = read(url).unwrap();
        assert_eq!(options.to_string(), "s3://bucket/a b/c/");
        assert_eq!(options.endpoint.as_deref(), Some("http://127.0.0.1:9000"));
        assert_eq!(options.region.as_deref(), Some("eu-west-1"));
        assert_eq!(options.force_path_style, Some(false));
        assert_eq!(options.secret_access_key.unwrap().expose(), "a+b/c=");
        assert_eq!(options.storage_class.as_deref(), Some("STANDARD_IA"));
        assert_eq!(options.checksum, Checksum::None);
    }

    #[test]
    fn what_the_url_says_wins_and_the_rest_stays() {
        let mut defaults = S3Options::new("", "");
        defaults.region = Some("a".to_owned());
        defaults.acl = Some("private".to_owned());
        let options = S3Options::from_url("s3://b?region=b", &defaults).unwrap();
        assert_eq!(options.region.as_deref(), Some("b"));
        assert_eq!(options.acl.as_deref(), Some("private"));
        assert_eq!(options.prefix, "");
    }

    #[test]
    fn what_is_wrong_is_told_without_any_value() {
        for url in [
            "s3://",
            "s3:///prefix",
            "s3://AK:hunter2@bucket/p",
            "s3://AK:hunter2/x@bucket/p",
            "s3://b?no-such-setting=hunter2",
            "s3://b?force-path-style=hunter2",
            "s3://b?checksum=hunter2",
            "s3://b?endpoint=hunter2",
            "s3://b?endpoint=http://u:hunter2@host",
            "s3://b?access-key=hunter2",
            "s3://b?secret-access-key=hunter%2",
            "s3://b/%ff",
        ] {
            let error = read(url).unwrap_err().to_string();
            assert!(!error.contains("hunter2"), "{url}: {error}");
        }
        assert_eq!(without_settings("s3://b/p?access-key=hunter2"), "s3://b/p");
    }

    #[test]
    fn other_schemes_are_no_s3_urls() {
        assert!(is_s3_url("s3://b") && is_s3_url("S3://b/p"));
        assert!(!is_s3_url("./s3") && !is_s3_url("file:///s3://"));
    }
}
