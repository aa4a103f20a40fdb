//! `RetryPolicy`: when to try again. Whether to, the errors know themselves (`is_transient`).
//!
//! Owns the numbers: attempts, first pause, longest pause, jitter. It holds no clock and no source of chance; both are
//! passed in, so that tests need neither.

use std::collections::hash_map::RandomState;
use std::hash::BuildHasher;
use std::time::Duration;

/// How often something is tried and how long the pauses are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RetryPolicy {
    /// Tries in all, the first included; at least 1.
    pub attempts: u32,
    /// The pause after the first failure; each further one is twice as long.
    pub first_pause: Duration,
    /// No pause is longer.
    pub longest_pause: Duration,
}

impl RetryPolicy {
    /// The policy of DESIGN.md section 6 with another number of attempts.
    pub const fn with_attempts(attempts: u32) -> Self {
        Self {
            attempts,
            first_pause: Duration::from_millis(100),
            longest_pause: Duration::from_secs(10),
        }
    }

    /// The pause after failure number `failed` (1 = the first), or `None` when the attempts are used up.
    ///
    /// `chance` is drawn from 0..1 for each pause: it takes away up to half of it, so that workers that failed together do
    /// not come back together.
    pub fn pause_after(&self, failed: u32, chance: f64) -> Option<Duration> {
        if failed >= self.attempts {
            return None;
        }
        let doublings = failed.saturating_sub(1).min(20);
        let full = self
            .first_pause
            .saturating_mul(1 << doublings)
            .min(self.longest_pause);
        Some(full.mul_f64(1.0 - chance.clamp(0.0, 1.0) / 2.0))
    }
}

impl Default for RetryPolicy {
    fn default() -> Self {
        Self::with_attempts(10)
    }
}

/// A number from 0..1 for [`RetryPolicy::pause_after`]: different in every process and call, and nothing more.
pub fn chance() -> f64 {
    // A fresh RandomState is seeded by the standard library; hashing nothing gives its seed back, scrambled.
    let bits = RandomState::new().hash_one(()) >> 11;
    // 53 bits fit a double exactly.
    #[allow(clippy::cast_precision_loss)]
    let chance = bits as f64 / (1_u64 << 53) as f64;
    chance
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_double_up_to_the_longest_and_then_end() {
        let pauses: Vec<_> = (1..=10)
            .map(|n| RetryPolicy::default().pause_after(n, 0.0))
            .collect();
        let ms = |n| Some(Duration::from_millis(n));
        assert_eq!(pauses[..4], [ms(100), ms(200), ms(400), ms(800)]);
        assert_eq!(pauses[8], ms(10_000));
        assert_eq!(pauses[9], None);
    }

    #[test]
    fn jitter_shortens_a_pause_by_at_most_half() {
        let pause = RetryPolicy::default().pause_after(1, 1.0);
        assert_eq!(pause, Some(Duration::from_millis(50)));
    }
}
