//! Chance that can be had again: every number follows from the seed.

/// A stream of numbers (`SplitMix64`).
pub(crate) struct EnduranceRng(u64);

impl EnduranceRng {
    pub(crate) fn of(seed: u64) -> Self {
        Self(seed)
    }

    /// A number from the first to the last, all alike.
    pub(crate) fn between(&mut self, first: u64, last: u64) -> u64 {
        first + self.next() % (last - first + 1)
    }

    /// True once in so many times.
    pub(crate) fn once_in(&mut self, times: u64) -> bool {
        self.next().is_multiple_of(times)
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        let last = u64::try_from(from.len() - 1).unwrap();
        from[usize::try_from(self.between(0, last)).unwrap()]
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }
}
