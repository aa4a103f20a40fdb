//! `Throttle`: how fast the workers may go, and whether they may go on.
//!
//! Owns the rate of `--max-rate`, shared by all workers, and the pause that a watch over the server (`sentinel.rs`) may ask for. While
//! a lock is held nobody is slowed down: writers wait for its end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::cancel::CancelToken;
use crate::progress::Progress;

/// How often a worker that is told to wait looks up.
const LOOK: Duration = Duration::from_millis(100);

/// Shared by all workers of a run.
pub struct Throttle {
    /// Bytes a second, before compression.
    rate: Option<u64>,
    /// When the bytes that were let through so far will have had their time.
    paid_until: Mutex<Option<Instant>>,
    /// Whether somebody waits for the end of a lock.
    hurried: AtomicBool,
    paused: AtomicBool,
    progress: Progress,
    cancel: CancelToken,
}

impl Throttle {
    /// A throttle that lets `rate` bytes through in a second, or any number; `hurried` while a lock is held.
    pub fn new(
        rate: Option<u64>,
        hurried: bool,
        progress: &Progress,
        cancel: &CancelToken,
    ) -> Self {
        Self {
            rate,
            paid_until: Mutex::default(),
            hurried: AtomicBool::new(hurried),
            paused: AtomicBool::new(false),
            progress: progress.clone(),
            cancel: cancel.clone(),
        }
    }

    /// From now on no lock is held.
    pub fn take_time(&self) {
        self.hurried.store(false, Ordering::SeqCst);
    }

    /// Waits until so many bytes more fit into the rate. Returns early when the run is cancelled.
    pub fn spend(&self, bytes: u64) {
        let Some(rate) = self.rate else { return };
        if self.hurried.load(Ordering::SeqCst) {
            return;
        }
        let nanos = u128::from(bytes) * 1_000_000_000 / u128::from(rate.max(1));
        let cost = Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX));
        let now = Instant::now();
        let begin = {
            let mut until = self.lock();
            let begin = until.map_or(now, |until| until.max(now));
            *until = Some(begin + cost);
            begin
        };
        self.cancel.sleep(begin.saturating_duration_since(now));
    }

    /// Holds the workers before their next chunk; `reason` is for people.
    pub fn pause(&self, reason: &str) {
        if !self.paused.swap(true, Ordering::SeqCst) {
            log::info!("paused: {reason}");
        }
        self.progress.set_paused(Some(reason.to_owned()));
    }

    /// Lets them go on.
    pub fn resume(&self) {
        if self.paused.swap(false, Ordering::SeqCst) {
            log::info!("going on");
        }
        self.progress.set_paused(None);
    }

    /// Waits while a pause is on. Between chunks only: a query that is not read to its end would keep a thread of the server running,
    /// which may be the very thing that is waited for.
    pub fn wait_for_turn(&self) {
        let must_wait =
            || self.paused.load(Ordering::SeqCst) && !self.hurried.load(Ordering::SeqCst);
        while must_wait() {
            if self.cancel.sleep(LOOK) {
                return;
            }
        }
    }

    fn lock(&self) -> MutexGuard<'_, Option<Instant>> {
        self.paid_until
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn throttle(rate: u64, hurried: bool) -> Throttle {
        Throttle::new(Some(rate), hurried, &Progress::new(), &CancelToken::new())
    }

    #[test]
    fn several_workers_share_one_rate() {
        let throttle = throttle(1_000_000, false);
        let begun = Instant::now();
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..3).for_each(|_| throttle.spend(25_000)));
            }
        });
        // Twelve times 25 ms, of which the last need not be waited for.
        let took = begun.elapsed();
        assert!(took >= Duration::from_millis(275), "{took:?}");
        assert!(took < Duration::from_millis(600), "{took:?}");
    }

    #[test]
    fn nobody_waits_while_a_lock_is_held() {
        let throttle = throttle(1, true);
        let begun = Instant::now();
        throttle.spend(1_000_000);
        throttle.spend(1_000_000);
        throttle.pause("busy");
        throttle.wait_for_turn();
        assert!(begun.elapsed() < Duration::from_secs(1));
    }

    #[test]
    fn a_pause_ends_when_it_is_over_or_the_run_is_cancelled() {
        for cancelled in [false, true] {
            let throttle = throttle(1, false);
            throttle.pause("busy");
            std::thread::scope(|scope| {
                let waiting = scope.spawn(|| throttle.wait_for_turn());
                if cancelled {
                    throttle.cancel.cancel();
                } else {
                    throttle.resume();
                }
                assert!(waiting.join().is_ok());
            });
        }
    }
}
