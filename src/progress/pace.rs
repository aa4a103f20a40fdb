//! `Pace`: how fast a run goes and how long it may still take.
//!
//! Owns the arithmetic over counters taken at several moments; the moments are passed in, so that tests need no clock.

use std::collections::VecDeque;
use std::time::{Duration, Instant};

use super::counters::Counts;

/// The counters of the last seconds.
#[derive(Debug)]
pub struct Pace {
    window: Duration,
    /// When rows began to come; what went before (connecting, waiting for a lock) says nothing about the speed.
    first: Option<(Instant, Counts)>,
    samples: VecDeque<(Instant, Counts)>,
}

impl Pace {
    /// A pace over the last `window`.
    pub fn new(window: Duration) -> Self {
        Self {
            window,
            first: None,
            samples: VecDeque::new(),
        }
    }

    /// Takes note of the counters at `now`.
    pub fn note(&mut self, now: Instant, counts: Counts) {
        if self.first.is_none() && counts.rows > 0 {
            self.first = Some(self.samples.back().copied().unwrap_or((now, counts)));
        }
        self.samples.push_back((now, counts));
        // One sample older than the window stays, so that the window is always covered.
        while self.samples.len() > 2 && now.duration_since(self.samples[1].0) >= self.window {
            self.samples.pop_front();
        }
    }

    /// Raw bytes per second over the window.
    pub fn bytes_per_second(&self) -> u64 {
        let (Some((from, old)), Some((to, new))) = (self.samples.front(), self.samples.back())
        else {
            return 0;
        };
        let grown = new.raw_bytes.saturating_sub(old.raw_bytes);
        per_second(grown, to.duration_since(*from))
    }

    /// How long the rest will take at the average speed so far, by the estimated rows.
    pub fn remaining(&self) -> Option<Duration> {
        let (from, old) = self.first?;
        let (to, new) = *self.samples.back()?;
        let done = new.rows.saturating_sub(old.rows);
        let left = new.rows_estimated.checked_sub(new.rows)?;
        let elapsed = to.duration_since(from);
        // In the first second the guess would be wild.
        if done == 0 || elapsed < Duration::from_secs(1) {
            return None;
        }
        let seconds = u128::from(left) * elapsed.as_millis() / u128::from(done) / 1000;
        u64::try_from(seconds).ok().map(Duration::from_secs)
    }
}

fn per_second(n: u64, time: Duration) -> u64 {
    let millis = time.as_millis().max(1);
    u64::try_from(u128::from(n) * 1000 / millis).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn at(rows: u64) -> Counts {
        Counts {
            rows,
            raw_bytes: rows * 100,
            rows_estimated: 1_000,
            ..Counts::default()
        }
    }

    #[test]
    fn the_speed_is_that_of_the_window_and_the_rest_that_of_the_whole() {
        let start = Instant::now();
        let after = |seconds| start + Duration::from_secs(seconds);
        let mut pace = Pace::new(Duration::from_secs(2));
        pace.note(start, at(0));
        assert_eq!((pace.bytes_per_second(), pace.remaining()), (0, None));
        pace.note(after(60), at(0));
        pace.note(after(61), at(10));
        pace.note(after(62), at(20));
        pace.note(after(64), at(100));
        assert_eq!(pace.bytes_per_second(), 80 * 100 / 2);
        assert_eq!(pace.remaining(), Some(Duration::from_secs(36)));
    }

    #[test]
    fn more_rows_than_estimated_give_no_guess() {
        let start = Instant::now();
        let mut pace = Pace::new(Duration::from_secs(2));
        pace.note(start, at(0));
        pace.note(start + Duration::from_secs(5), at(2_000));
        assert_eq!(pace.remaining(), None);
    }
}
