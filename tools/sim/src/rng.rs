//! Chance that can be had again: every number follows from the seed.

use std::time::Duration;

/// A stream of numbers (`SplitMix64`: one word of state, and every stream of its own).
#[derive(Debug, Clone)]
pub(crate) struct SimRng(u64);

impl SimRng {
    /// The stream of this name under this seed. Streams do not disturb each other: leaving one out changes nothing in
    /// the others, so that a failing run can be made smaller.
    pub(crate) fn of(seed: u64, stream: u64) -> Self {
        let mut rng = Self(seed);
        let mixed = rng.next() ^ stream.wrapping_mul(0x9e37_79b9_7f4a_7c15);
        let mut rng = Self(mixed);
        Self(rng.next())
    }

    pub(crate) fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// A number below `end`, which must not be 0.
    pub(crate) fn below(&mut self, end: u64) -> u64 {
        // The high half of the product is as even as the numbers are.
        let product = u128::from(self.next()) * u128::from(end);
        u64::try_from(product >> 64).unwrap_or_default()
    }

    pub(crate) fn index(&mut self, length: usize) -> usize {
        usize::try_from(self.below(length as u64)).unwrap_or_default()
    }

    pub(crate) fn pick<T: Copy>(&mut self, from: &[T]) -> T {
        from[self.index(from.len())]
    }

    /// True in `permille` of a thousand cases.
    pub(crate) fn permille(&mut self, permille: u32) -> bool {
        self.below(1_000) < u64::from(permille)
    }

    pub(crate) fn percent(&mut self, percent: u32) -> bool {
        self.permille(percent * 10)
    }

    /// Nanoseconds up to `longest`, all alike.
    pub(crate) fn up_to(&mut self, longest: u64) -> u64 {
        self.below(longest + 1)
    }

    /// Nanoseconds between the two, all alike.
    pub(crate) fn between(&mut self, shortest: u64, longest: u64) -> u64 {
        shortest + self.up_to(longest.saturating_sub(shortest))
    }

    /// Nanoseconds as between two faults that know nothing of each other: often short, sometimes long.
    pub(crate) fn interval(&mut self, mean: u64) -> u64 {
        let even = (self.below(1 << 53) as f64 + 1.0) / (1_u64 << 53) as f64;
        Duration::from_nanos(mean).mul_f64(-even.ln()).as_nanos().try_into().unwrap_or(u64::MAX)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_seed_gives_the_same_numbers_and_another_stream_others() {
        let numbers = |seed, stream| {
            let mut rng = SimRng::of(seed, stream);
            [rng.next(), rng.next(), rng.next()]
        };
        assert_eq!(numbers(7, 1), numbers(7, 1));
        assert_ne!(numbers(7, 1), numbers(7, 2));
        assert_ne!(numbers(7, 1), numbers(8, 1));
    }

    #[test]
    fn numbers_stay_in_their_range_and_reach_its_ends() {
        let mut rng = SimRng::of(1, 1);
        let drawn: Vec<u64> = (0..10_000).map(|_| rng.between(3, 7)).collect();
        assert_eq!((drawn.iter().min(), drawn.iter().max()), (Some(&3), Some(&7)));
    }

    #[test]
    fn intervals_have_the_mean_they_should() {
        let mut rng = SimRng::of(1, 1);
        let sum: u64 = (0..100_000).map(|_| rng.interval(1_000_000)).sum();
        assert!((980_000..1_020_000).contains(&(sum / 100_000)), "{}", sum / 100_000);
    }
}
