//! Where inputs come from: proptest makes some from nothing, the others are entries of the corpus, changed.

use std::ops::Range;

use proptest::collection::vec;
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{RngSeed, TestRunner};

/// An endless row of inputs, the same for the same seed.
pub(super) struct Inputs<'a> {
    corpus: &'a [Vec<u8>],
    words: &'static [&'static str],
    inventions: BoxedStrategy<Vec<u8>>,
    runner: TestRunner,
}

impl<'a> Inputs<'a> {
    pub(super) fn new(seed: u64, corpus: &'a [Vec<u8>], words: &'static [&'static str]) -> Self {
        let config = ProptestConfig { rng_seed: RngSeed::Fixed(seed), failure_persistence: None, ..Default::default() };
        Self { corpus, words, inventions: inventions(words), runner: TestRunner::new(config) }
    }

    /// The next one.
    pub(super) fn make(&mut self) -> Vec<u8> {
        if self.below(4) == 0 {
            return self.invent();
        }
        let mut input = self.entry();
        for _ in 0..=self.below(5) {
            self.change(&mut input);
        }
        input.truncate(MAX_LENGTH);
        input
    }

    fn invent(&mut self) -> Vec<u8> {
        // These strategies refuse nothing, so they always give a value.
        self.inventions.new_tree(&mut self.runner).map(|tree| tree.current()).unwrap_or_default()
    }

    fn change(&mut self, input: &mut Vec<u8>) {
        let at = self.below(input.len() + 1);
        let range = self.range_of(input);
        match self.below(7) {
            0 => drop(input.drain(range)),
            1 => drop(input.splice(at..at, input[range].to_vec())),
            2 => drop(input.splice(at..at, self.few_bytes())),
            3 => drop(input.splice(range, self.few_bytes())),
            4 => drop(input.splice(at..at, self.word())),
            5 => drop(input.splice(range, self.word())),
            _ => self.cross(input, at),
        }
    }

    /// Goes on as another entry does.
    fn cross(&mut self, input: &mut Vec<u8>, at: usize) {
        let other = self.entry();
        let from = self.below(other.len() + 1);
        input.truncate(at);
        input.extend_from_slice(&other[from..]);
    }

    fn entry(&mut self) -> Vec<u8> {
        let entry = self.below(self.corpus.len());
        self.corpus.get(entry).cloned().unwrap_or_default()
    }

    fn word(&mut self) -> Vec<u8> {
        let word = self.below(self.words.len());
        self.words.get(word).map_or_else(|| self.few_bytes(), |word| word.as_bytes().to_vec())
    }

    /// Often one, seldom more than four.
    fn few_bytes(&mut self) -> Vec<u8> {
        let length = 1 + self.below(4) * self.below(2);
        let rng = self.runner.rng();
        (0..length).map(|_| rng.random()).collect()
    }

    /// A short one: what is left must still look like something.
    fn range_of(&mut self, input: &[u8]) -> Range<usize> {
        let start = self.below(input.len());
        let length = 1 + self.below(MAX_RANGE);
        start..(start + length).min(input.len())
    }

    /// From zero up to but not including the limit; zero when there is nothing below it.
    fn below(&mut self, limit: usize) -> usize {
        self.runner.rng().random_range(0..limit.max(1))
    }
}

/// Mostly words, if there are any, with bytes of every kind between them.
fn inventions(words: &'static [&'static str]) -> BoxedStrategy<Vec<u8>> {
    let bytes = || vec(any::<u8>(), 1..4);
    let text = || vec(prop::char::any(), 1..4).prop_map(|chars| chars.into_iter().collect::<String>().into_bytes());
    let length = 0..24_usize;
    match words {
        [] => vec(any::<u8>(), 0..200).boxed(),
        words => {
            let word = prop::sample::select(words).prop_map(|word| word.as_bytes().to_vec());
            vec(prop_oneof![4 => word, 1 => bytes(), 1 => text()], length).prop_map(|parts| parts.concat()).boxed()
        }
    }
}

/// Longer inputs are slower to try and seldom say more.
const MAX_LENGTH: usize = 4_096;
const MAX_RANGE: usize = 16;
