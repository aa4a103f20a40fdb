//! The soak's dice: a plain generator (SplitMix64), so that a seed throws the same on every machine.

use std::ops::RangeInclusive;

pub struct Dice(u64);

impl Dice {
    pub fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn throw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.0;
        mixed = (mixed ^ (mixed >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    pub fn between(&mut self, range: RangeInclusive<u64>) -> u64 {
        let size = range.end() - range.start() + 1;
        range.start() + self.throw() % size
    }

    /// Each order of magnitude is as likely as the others.
    pub fn spread(&mut self, range: RangeInclusive<u64>) -> u64 {
        let (start, end) = (*range.start(), *range.end());
        let doublings = u64::from((end / start).ilog2());
        let low = start << self.between(0..=doublings);
        self.between(low..=end.min(low * 2))
    }

    pub fn one_in(&mut self, times: u64) -> bool {
        self.throw().is_multiple_of(times)
    }

    pub fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let last = from.len() as u64 - 1;
        from[usize::try_from(self.between(0..=last)).unwrap()]
    }
}
