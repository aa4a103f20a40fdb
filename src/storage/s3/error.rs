//! `S3Error`: what an object store answered, or why no answer came.
//!
//! Owns the words for it, the question how long trying again makes sense, and the hint. The sentence around it, with bucket and
//! key, is [`StorageError`](crate::storage::StorageError)'s.

use std::error::Error as StdError;
use std::time::Duration;

use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::error::{ErrorMetadata, ProvideErrorMetadata, SdkError};
use aws_sdk_s3::operation::RequestId;

/// How long a failed request is tried again.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Patience {
    /// Not at all: the answer will be the same.
    None,
    /// A few times: bytes may have been damaged on their way.
    Few,
    /// As long as the user allows: the service is busy, broken or not there.
    Long,
}

/// What went wrong with one request.
#[derive(Debug, thiserror::Error)]
#[error("{message}")]
pub struct S3Error {
    message: String,
    code: Option<String>,
    status: Option<u16>,
    patience: Patience,
    hint: Option<String>,
}

/// Codes of S3 and of those who imitate it for what passes.
const PASSING: &[&str] = &[
    "BandwidthLimitExceeded",
    "ConditionalRequestConflict",
    "IncompleteBody",
    "InternalError",
    "InternalFailure",
    "OperationAborted",
    "RequestLimitExceeded",
    "RequestThrottled",
    "RequestThrottledException",
    "RequestTimeout",
    "RequestTimeoutException",
    "ServiceUnavailable",
    "SlowDown",
    "Throttling",
    "ThrottlingException",
    "TooManyRequestsException",
];
/// Codes for bytes that were not those that were sent.
const DAMAGED: &[&str] = &[
    "BadDigest",
    "ContentSHA256Mismatch",
    "XAmzContentChecksumMismatch",
    "XAmzContentSHA256Mismatch",
];

impl S3Error {
    /// An answer that did not come in time.
    pub fn no_answer(waited: Duration) -> Self {
        Self::passing(format!("no answer within {} s", waited.as_secs()))
    }

    /// A body that ended early, and the like.
    pub fn passing(message: String) -> Self {
        Self {
            patience: Patience::Long,
            ..Self::lasting(message)
        }
    }

    /// Something that will not get better.
    pub fn lasting(message: String) -> Self {
        Self {
            message,
            code: None,
            status: None,
            patience: Patience::None,
            hint: None,
        }
    }

    /// The same with the service's address, if the service did not answer: the address may be the mistake.
    #[must_use]
    pub fn of_service(self, address: Option<&str>) -> Self {
        match address {
            Some(address) if self.status.is_none() => Self {
                message: format!("{address}: {}", self.message),
                ..self
            },
            _ => self,
        }
    }

    /// How long trying again makes sense.
    pub fn patience(&self) -> Patience {
        self.patience
    }

    /// What the user can do about it.
    pub fn hint(&self) -> Option<String> {
        self.hint.clone()
    }

    /// Whether the upload is not there (any more).
    pub fn is_no_such_upload(&self) -> bool {
        self.code.as_deref() == Some("NoSuchUpload")
    }

    /// Whether the object is not there.
    pub fn is_not_found(&self) -> bool {
        self.status == Some(404) && !self.is_no_such_upload()
    }

    /// Whether the object is there already, or is not the one asked for.
    pub fn is_condition_failed(&self) -> bool {
        self.status == Some(412)
    }

    /// Whether the service does not know something that was asked of it.
    pub fn is_not_implemented(&self) -> bool {
        self.status == Some(501) || self.code.as_deref() == Some("NotImplemented")
    }

    fn answered(status: u16, meta: Option<&ErrorMetadata>, region: Option<&str>) -> Self {
        let code = meta.and_then(ErrorMetadata::code);
        let text = meta.and_then(ErrorMetadata::message);
        let request = meta.and_then(RequestId::request_id);
        let mut message = format!("the service answered {status}");
        if let Some(code) = code {
            message.push_str(&[" ", code].concat());
        }
        let details: Vec<String> = [
            text.map(|text| text.trim_end_matches('.').to_owned()),
            request.map(|id| format!("request {id}")),
        ]
        .into_iter()
        .flatten()
        .filter(|detail| !detail.is_empty())
        .collect();
        if !details.is_empty() {
            message = format!("{message} ({})", details.join("; "));
        }
        Self {
            patience: patience(status, code),
            hint: hint(
                status,
                code,
                region.or_else(|| text.and_then(expected_region)),
            ),
            message,
            code: code.map(str::to_owned),
            status: Some(status),
        }
    }
}

impl<E> From<SdkError<E, HttpResponse>> for S3Error
where
    E: ProvideErrorMetadata + StdError + 'static,
{
    fn from(error: SdkError<E, HttpResponse>) -> Self {
        match &error {
            SdkError::ServiceError(context) => {
                let answer = context.raw();
                let region = answer.headers().get("x-amz-bucket-region");
                Self::answered(answer.status().as_u16(), Some(context.err().meta()), region)
            }
            SdkError::ResponseError(context) => Self {
                status: Some(context.raw().status().as_u16()),
                ..Self::passing(format!("the answer could not be read: {}", causes(&error)))
            },
            SdkError::TimeoutError(_) => Self::passing(causes(&error)),
            SdkError::DispatchFailure(failure) => {
                let passes =
                    failure.is_io() || failure.is_timeout() || failure.as_other().is_some();
                let message = causes(&error);
                if passes {
                    Self::passing(message)
                } else {
                    Self {
                        hint: Some(CREDENTIALS.to_owned()),
                        ..Self::lasting(message)
                    }
                }
            }
            _ => Self::lasting(causes(&error)),
        }
    }
}

const CREDENTIALS: &str = "keys come from the URL, from AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, from a profile \
                           (AWS_PROFILE), from `aws sso login`, or from the role of the machine";

fn patience(status: u16, code: Option<&str>) -> Patience {
    let is_one_of = |codes: &[&str]| code.is_some_and(|code| codes.contains(&code));
    match status {
        _ if is_one_of(PASSING) => Patience::Long,
        _ if is_one_of(DAMAGED) => Patience::Few,
        501 | 505 => Patience::None,
        408 | 429 | 500.. => Patience::Long,
        // A success that could not be understood: the answer was cut.
        200..300 if code.is_none() => Patience::Long,
        _ => Patience::None,
    }
}

fn hint(status: u16, code: Option<&str>, region: Option<&str>) -> Option<String> {
    let hint = match (status, code.unwrap_or_default()) {
        (301 | 307, _)
        | (_, "AuthorizationHeaderMalformed" | "IllegalLocationConstraintException") => {
            return Some(match region {
                Some(region) => {
                    format!("the bucket is in the region {region}: add --s3.region {region}")
                }
                None => "name the bucket's region by --s3.region".to_owned(),
            });
        }
        (_, "NoSuchBucket") => "make the bucket first, or name another one",
        (_, "InvalidAccessKeyId" | "SignatureDoesNotMatch" | "InvalidToken" | "ExpiredToken") => {
            CREDENTIALS
        }
        (_, "RequestTimeTooSkewed") => "set this machine's clock",
        (403, _) => {
            "a dump needs s3:ListBucket, s3:ListBucketMultipartUploads, s3:PutObject, s3:GetObject and \
             s3:AbortMultipartUpload there"
        }
        (501, _) | (_, "NotImplemented") => {
            "a store that knows no checksums may take the dump with --s3.checksum none"
        }
        _ => return None,
    };
    Some(hint.to_owned())
}

/// The region in "… the region 'us-east-1' is wrong; expecting 'eu-west-1'".
fn expected_region(message: &str) -> Option<&str> {
    message.split_once("expecting '")?.1.split('\'').next()
}

/// The causes of an error, outermost first, without those that only say that there is one.
fn causes(error: &(dyn StdError + 'static)) -> String {
    let mut words: Vec<String> = Vec::new();
    let mut cause = Some(error);
    while let Some(error) = cause {
        let text = error.to_string();
        cause = error.source();
        let says_nothing = ["dispatch failure", "io error", "other", "unhandled error"];
        let is_repeated = words.iter().any(|word| word.contains(&text));
        if !says_nothing.contains(&text.as_str()) && !is_repeated {
            words.push(text);
        }
    }
    words.join(": ")
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    fn answer(status: u16, code: &str) -> S3Error {
        let meta = ErrorMetadata::builder()
            .code(code)
            .message("Some words.")
            .build();
        S3Error::answered(status, Some(&meta), None)
    }

    #[test]
    fn what_passes_is_tried_again_and_what_lasts_is_not() {
        for (status, code, patience) in [
            (503, "SlowDown", Patience::Long),
            (500, "InternalError", Patience::Long),
            (200, "InternalError", Patience::Long),
            (429, "TooManyRequests", Patience::Long),
            (400, "RequestTimeout", Patience::Long),
            (409, "ConditionalRequestConflict", Patience::Long),
            (400, "BadDigest", Patience::Few),
            (403, "AccessDenied", Patience::None),
            (403, "SignatureDoesNotMatch", Patience::None),
            (404, "NoSuchBucket", Patience::None),
            (301, "PermanentRedirect", Patience::None),
            (412, "PreconditionFailed", Patience::None),
            (501, "NotImplemented", Patience::None),
        ] {
            assert_eq!(answer(status, code).patience(), patience, "{status} {code}");
        }
        let cut = S3Error::answered(200, None, None);
        assert_eq!(cut.patience(), Patience::Long);
    }

    #[test]
    fn an_answer_is_told_with_its_code_and_words() {
        let text = answer(403, "AccessDenied").to_string();
        assert_eq!(text, "the service answered 403 AccessDenied (Some words)");
    }

    #[test]
    fn the_right_region_is_in_the_hint() {
        let meta = ErrorMetadata::builder().code("PermanentRedirect").build();
        let error = S3Error::answered(301, Some(&meta), Some("eu-west-1"));
        assert!(error.hint().unwrap().contains("--s3.region eu-west-1"));
        let meta = ErrorMetadata::builder()
            .code("AuthorizationHeaderMalformed")
            .message("the region 'a' is wrong; expecting 'eu-central-1'")
            .build();
        let error = S3Error::answered(400, Some(&meta), None);
        assert!(error.hint().unwrap().contains("--s3.region eu-central-1"));
    }
}
