//! The worker pool: rayon's threads, one worker each, between two bounded channels.
//!
//! Owns the life of the threads. They end when the jobs do or when the run is cancelled; nothing is left running when
//! [`with_workers`] returns. What to do is decided outside.

use std::panic::{AssertUnwindSafe, catch_unwind};

use crossbeam_channel::{Receiver, Sender, bounded};
use rayon::ThreadPoolBuilder;

use super::job::{Job, Report};
use super::worker::{Shared, Worker};
use crate::error::Error;
use crate::server::session::Session;

/// Jobs waiting for each worker: enough that none is idle while the next chunk is planned.
const JOBS_PER_WORKER: usize = 2;

/// The coordinator's ends of the channels.
pub struct Channels {
    /// Jobs go in here; dropping it ends the workers.
    pub jobs: Sender<Job>,
    /// Reports come out here.
    pub reports: Receiver<Report>,
}

/// Runs one worker per session while `coordinate` hands out jobs; returns when both have ended.
pub fn with_workers<T: Send>(
    shared: &Shared<'_>,
    sessions: Vec<Session>,
    coordinate: impl FnOnce(Channels) -> T + Send,
) -> Result<T, Error> {
    let threads = sessions.len();
    let pool = ThreadPoolBuilder::new()
        .num_threads(threads)
        .thread_name(|n| format!("rdump-worker-{n}"))
        .build()
        .map_err(|error| Error::Request {
            message: format!("{threads} threads could not be started: {error}"),
            hint: Some("lower --threads".to_owned()),
        })?;
    let (job_sender, job_receiver) = bounded(threads * JOBS_PER_WORKER);
    let (report_sender, report_receiver) = bounded(threads * JOBS_PER_WORKER);
    Ok(pool.in_place_scope(|scope| {
        for session in sessions {
            let (jobs, reports) = (job_receiver.clone(), report_sender.clone());
            scope.spawn(move |_| {
                let work = || Worker::new(shared, session).run(&jobs, &reports);
                // Nobody would ever report its chunk: the run ends, and the panic has had its say on standard error.
                if catch_unwind(AssertUnwindSafe(work)).is_err() {
                    shared.cancel.cancel();
                }
            });
        }
        drop((job_receiver, report_sender));
        coordinate(Channels {
            jobs: job_sender,
            reports: report_receiver,
        })
    }))
}
