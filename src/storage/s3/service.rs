//! `Service`: the way to an object store, and how long one goes it.
//!
//! Owns the runtime of the AWS crates, the client with its credentials, and the loop around every request: a limit for each
//! attempt, pauses that grow, an end when the user's patience ends or the run is cancelled. What is asked for it leaves to the
//! files beside it. The crates' own retries are off, since theirs share a budget that one outage uses up.

use std::future::{Future, pending};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use aws_config::environment::EnvironmentVariableRegionProvider;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::ProfileFileRegionProvider;
use aws_config::retry::RetryConfig;
use aws_config::sts::AssumeRoleProvider;
use aws_sdk_s3::Client;
use aws_sdk_s3::config::http::HttpResponse;
use aws_sdk_s3::config::{
    BehaviorVersion, Builder, Credentials, Region, RequestChecksumCalculation,
    ResponseChecksumValidation, SharedCredentialsProvider, SharedHttpClient,
    StalledStreamProtectionConfig,
};
use aws_sdk_s3::error::{ProvideErrorMetadata, SdkError};
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;
use tokio::runtime::{Builder as RuntimeBuilder, Handle, Runtime};
use tokio::sync::watch;

use super::error::{Patience, S3Error};
use super::options::{Checksum, S3Options};
use crate::cancel::{CancelToken, Interrupt, Registration};
use crate::retry::{RetryPolicy, chance};
use crate::storage::StorageError;

/// Where nothing says which region: AWS's first one, and what most other services take for any.
const DEFAULT_REGION: &str = "us-east-1";
/// An attempt may take so long, and for each [`SLOWEST_BYTES_PER_SECOND`] of its body a second more.
const ATTEMPT: Duration = Duration::from_secs(30);
/// A slower line is taken for a broken one.
const SLOWEST_BYTES_PER_SECOND: u64 = 50_000;
/// Before the first answer came there is more likely a mistake in the settings than an outage.
const FIRST_PATIENCE: Duration = Duration::from_secs(3);
/// The pause after the first failure; each further one is twice as long, up to that of [`RetryPolicy`].
const FIRST_PAUSE: Duration = Duration::from_millis(200);
/// How often bytes that arrived damaged are sent.
const FEW: u32 = 3;
/// Failures of one request after which the user is told.
const SILENT_FAILURES: u32 = 3;
/// Threads for TLS, checksums and sockets.
const RUNTIME_THREADS: usize = 2;

/// One request: what it does to what, in words, and how it is to be waited for.
#[derive(Debug, Clone)]
pub struct Request {
    action: &'static str,
    object: String,
    body_bytes: u64,
    patience: Duration,
    grace: Duration,
}

/// An answer, and how many attempts it took.
pub struct Answer<T> {
    /// What came.
    pub result: Result<T, Ended>,
    /// Attempts made. After the first, an earlier one may have done its work without a word.
    pub attempts: u32,
}

/// Why a request has no result.
pub enum Ended {
    /// The store said no, or nothing.
    Failed(S3Error),
    /// The run was cancelled.
    Stopped,
}

/// A connection to one bucket.
pub struct Service {
    /// The client of the AWS crates.
    pub client: Client,
    runtime: Option<Runtime>,
    handle: Handle,
    bucket: String,
    endpoint: Option<String>,
    retry_time: Duration,
    /// Whether the store has ever done what was asked.
    answered: AtomicBool,
    stop: Arc<Stop>,
    _registration: Registration,
}

/// Tells waits inside the runtime that the run was cancelled.
struct Stop(watch::Sender<bool>);

impl Interrupt for Stop {
    fn interrupt(&self) {
        self.0.send_replace(true);
    }
}

impl Service {
    /// Reads settings and credentials files; asks nobody yet.
    pub fn new(options: &S3Options, cancel: &CancelToken) -> Result<Self, StorageError> {
        let runtime = RuntimeBuilder::new_multi_thread()
            .worker_threads(RUNTIME_THREADS)
            .thread_name("rdump-s3")
            .enable_all()
            .build()
            .map_err(|source| StorageError::Open {
                place: options.to_string(),
                source,
            })?;
        let stop = Arc::new(Stop(watch::Sender::new(false)));
        Ok(Self {
            client: Client::from_conf(runtime.block_on(configure(options))),
            handle: runtime.handle().clone(),
            runtime: Some(runtime),
            bucket: options.bucket.clone(),
            endpoint: options.endpoint.clone(),
            retry_time: options.retry_time,
            answered: AtomicBool::new(false),
            _registration: cancel.register(Arc::clone(&stop) as Arc<dyn Interrupt>),
            stop,
        })
    }

    /// Where tasks run.
    pub fn handle(&self) -> &Handle {
        &self.handle
    }

    /// Waits for `work` on the calling thread.
    pub fn block_on<T>(&self, work: impl Future<Output = T>) -> T {
        self.handle.block_on(work)
    }

    /// Whether the run was cancelled.
    pub fn is_stopped(&self) -> bool {
        *self.stop.0.borrow()
    }

    /// A request on a key, tried again for as long as the user allows. `action` is a verb phrase, as "complete".
    pub fn request(&self, action: &'static str, key: &str) -> Request {
        Request {
            action,
            object: format!("s3://{}/{key}", self.bucket),
            body_bytes: 0,
            patience: self.retry_time,
            grace: Duration::ZERO,
        }
    }

    /// Sends a request until it is answered for good. `send` makes one attempt.
    pub async fn ask<T, E, F>(&self, request: &Request, send: impl Fn() -> F) -> Answer<T>
    where
        F: Future<Output = Result<T, SdkError<E, HttpResponse>>>,
        E: ProvideErrorMetadata + std::error::Error + 'static,
    {
        let send = || {
            let attempt = send();
            async { attempt.await.map_err(S3Error::from) }
        };
        self.attempt(request, send).await
    }

    /// As [`Service::ask`], for attempts that judge their answer themselves.
    pub async fn attempt<T, F>(&self, request: &Request, send: impl Fn() -> F) -> Answer<T>
    where
        F: Future<Output = Result<T, S3Error>>,
    {
        let limit = ATTEMPT + Duration::from_secs(request.body_bytes / SLOWEST_BYTES_PER_SECOND);
        let started = Instant::now();
        let mut attempts = 0;
        loop {
            attempts += 1;
            let answer = self.unless_stopped(request.grace, tokio::time::timeout(limit, send()));
            let error = match answer.await {
                Some(Ok(Ok(value))) => {
                    self.answered.store(true, Ordering::Relaxed);
                    let result = Ok(value);
                    return Answer { result, attempts };
                }
                Some(Ok(Err(error))) => error,
                Some(Err(_)) => S3Error::no_answer(limit),
                None => return Answer::ended(Ended::Stopped, attempts),
            };
            let error = error.of_service(self.endpoint.as_deref());
            let Some(pause) = self.pause_after(&error, attempts, started.elapsed(), request) else {
                return Answer::ended(Ended::Failed(error), attempts);
            };
            request.tell(&error, attempts, pause);
            let slept = self.unless_stopped(request.grace, tokio::time::sleep(pause));
            if slept.await.is_none() {
                return Answer::ended(Ended::Stopped, attempts);
            }
        }
    }

    /// The pause before the next attempt, if there shall be one.
    fn pause_after(
        &self,
        error: &S3Error,
        attempts: u32,
        elapsed: Duration,
        request: &Request,
    ) -> Option<Duration> {
        let pauses = RetryPolicy {
            first_pause: FIRST_PAUSE,
            ..RetryPolicy::with_attempts(u32::MAX)
        };
        let pause = pauses.pause_after(attempts, chance())?;
        let patience = if self.answered.load(Ordering::Relaxed) {
            request.patience
        } else {
            request.patience.min(FIRST_PATIENCE)
        };
        let goes_on = match error.patience() {
            Patience::None => false,
            Patience::Few => attempts < FEW,
            Patience::Long => elapsed + pause <= patience,
        };
        goes_on.then_some(pause)
    }

    /// The value of `work`, or nothing when the run is cancelled and `grace` is over too.
    async fn unless_stopped<T>(&self, grace: Duration, work: impl Future<Output = T>) -> Option<T> {
        let mut stop = self.stop.0.subscribe();
        let stopped = async {
            if stop.wait_for(|stopped| *stopped).await.is_err() {
                // The sender is this service's own, so this is never reached.
                pending::<()>().await;
            }
            tokio::time::sleep(grace).await;
        };
        tokio::select! {
            biased;
            value = work => Some(value),
            () = stopped => None,
        }
    }
}

impl Drop for Service {
    fn drop(&mut self) {
        // A look-up of a name may hang in the C library for longer than anybody wants to wait.
        if let Some(runtime) = self.runtime.take() {
            runtime.shutdown_background();
        }
    }
}

impl Request {
    /// With a body of so many bytes, which take their time.
    pub fn with_body(self, bytes: u64) -> Self {
        Self {
            body_bytes: bytes,
            ..self
        }
    }

    /// Given up after `patience`.
    pub fn for_at_most(self, patience: Duration) -> Self {
        let patience = self.patience.min(patience);
        Self { patience, ..self }
    }

    /// Allowed to end for so long after the run was cancelled: what it leaves half-done could not be found again.
    pub fn with_grace(self, grace: Duration) -> Self {
        Self { grace, ..self }
    }

    /// The storage error for the end of this request.
    pub fn error(&self, ended: Ended) -> StorageError {
        let (action, object) = (self.action, self.object.clone());
        match ended {
            Ended::Failed(source) => StorageError::Remote {
                action,
                object,
                source: Box::new(source),
            },
            Ended::Stopped => StorageError::Interrupted { action, object },
        }
    }

    fn tell(&self, error: &S3Error, attempts: u32, pause: Duration) {
        let level = if attempts < SILENT_FAILURES {
            log::Level::Debug
        } else {
            log::Level::Warn
        };
        let (action, object) = (self.action, &self.object);
        let pause = pause.as_millis();
        log::log!(
            level,
            "cannot {action} {object}: {error}; trying again in {pause} ms"
        );
    }
}

impl<T> Answer<T> {
    fn ended(ended: Ended, attempts: u32) -> Self {
        Self {
            result: Err(ended),
            attempts,
        }
    }

    /// The value, or the error in words.
    pub fn or_error(self, request: &Request) -> Result<T, StorageError> {
        self.result.map_err(|ended| request.error(ended))
    }
}

async fn configure(options: &S3Options) -> aws_sdk_s3::Config {
    let http = http_client();
    let region = RegionProviderChain::first_try(options.region.clone().map(Region::new))
        .or_else(EnvironmentVariableRegionProvider::new())
        .or_else(ProfileFileRegionProvider::new())
        .or_else(Region::new(DEFAULT_REGION));
    let mut loader = aws_config::defaults(BehaviorVersion::latest())
        .http_client(http.clone())
        .region(region);
    if let Some(keys) = keys(options) {
        loader = loader.credentials_provider(keys);
    }
    let shared = loader.load().await;
    let mut builder = Builder::from(&shared)
        .retry_config(RetryConfig::disabled())
        // The loop has a limit of its own, which knows how large a body is.
        .stalled_stream_protection(StalledStreamProtectionConfig::disabled())
        .force_path_style(options.uses_path_style())
        .accelerate(options.accelerate)
        // Composite checksums of multipart objects do not fit the ranges that are read.
        .response_checksum_validation(ResponseChecksumValidation::WhenRequired);
    if options.checksum == Checksum::None {
        builder = builder.request_checksum_calculation(RequestChecksumCalculation::WhenRequired);
    }
    if let Some(endpoint) = &options.endpoint {
        builder = builder.endpoint_url(endpoint);
    }
    if let Some(role) = &options.role_arn {
        let mut provider = AssumeRoleProvider::builder(role)
            .session_name("rdump")
            .configure(&shared);
        if let Some(id) = &options.external_id {
            provider = provider.external_id(id.expose());
        }
        builder = builder.credentials_provider(provider.build().await);
    }
    builder.build()
}

/// rustls with ring, which build with a C compiler alone.
fn http_client() -> SharedHttpClient {
    aws_smithy_http_client::Builder::new()
        .tls_provider(Provider::Rustls(CryptoMode::Ring))
        .build_https()
}

fn keys(options: &S3Options) -> Option<SharedCredentialsProvider> {
    let (key, secret) = (
        options.access_key.as_ref()?,
        options.secret_access_key.as_ref()?,
    );
    let token = options
        .session_token
        .as_ref()
        .map(|token| token.expose().to_owned());
    let keys = Credentials::new(key.expose(), secret.expose(), token, None, "rdump-url");
    Some(SharedCredentialsProvider::new(keys))
}
