//! Fuzzing on a stable compiler: a committed corpus, mutations of it, and inputs made from nothing, all from one seed.
//!
//! A target is a test that calls [`Fuzz::run`]. In `cargo xtask test` it tries a modest number of inputs, always the
//! same ones; `cargo xtask fuzz` tries many, and others for another seed.

mod corpus;
mod failure;
mod inputs;
mod tape;

use std::time::{Duration, Instant};

use failure::FuzzFailure;
use inputs::Inputs;
pub use tape::InputTape;

/// A target: its name, which is also that of its folder in `tools/fuzz/corpus`, and how to try it.
///
/// ```no_run
/// use tenure_fuzz::Fuzz;
///
/// Fuzz::target("numbers").words(&["0x", "-", "9999999999"]).run(|input| {
///     // It may fail, but it must not panic.
///     let _ = String::from_utf8_lossy(input).parse::<u64>();
/// });
/// ```
#[derive(Debug, Clone, Copy)]
pub struct Fuzz {
    target: &'static str,
    words: &'static [&'static str],
    cases: u64,
    cost: u64,
}

impl Fuzz {
    /// Tries this target.
    pub fn target(target: &'static str) -> Self {
        Self { target, words: &[], cases: 10_000, cost: 1 }
    }

    /// What inputs of this target are made of: mutations insert these, too, and made inputs mostly consist of them.
    pub fn words(self, words: &'static [&'static str]) -> Self {
        Self { words, ..self }
    }

    /// How many inputs to try unless `TENURE_FUZZ_CASES` says otherwise.
    pub fn cases(self, cases: u64) -> Self {
        Self { cases, ..self }
    }

    /// How many inputs of a cheap target take as long as one of this: it tries that many times fewer than
    /// `TENURE_FUZZ_CASES` says.
    pub fn cost(self, cost: u64) -> Self {
        Self { cost, ..self }
    }

    /// Gives every entry of the corpus to `property`, then as many other inputs as there shall be. The property panics
    /// when it does not hold.
    ///
    /// # Panics
    ///
    /// When the property did; with an input that makes it, made as small as possible, and how to keep it.
    pub fn run(self, property: impl Fn(&[u8])) {
        if let Some(only) = setting("TENURE_FUZZ_TARGET").filter(|only| only != self.target) {
            println!("fuzz target {}: not tried, only {only} is", self.target);
            return;
        }
        let began = Instant::now();
        let seed = number("TENURE_FUZZ_SEED").unwrap_or(SEED);
        let cases = number("TENURE_FUZZ_CASES").map_or(self.cases, |cases| (cases / self.cost).max(1));
        let corpus = corpus::of(self.target).expect("the corpus belongs to the tree");
        let tried = self.check_all(seed, cases, &corpus, &property).expect("the property holds for every input");
        println!("fuzz target {}: {tried} inputs, {:.1} s", self.target, began.elapsed().as_secs_f64());
    }

    /// How many inputs were tried.
    fn check_all(
        self,
        seed: u64,
        cases: u64,
        corpus: &[Vec<u8>],
        property: &dyn Fn(&[u8]),
    ) -> Result<u64, FuzzFailure> {
        let mut inputs = Inputs::new(seed, corpus, self.words);
        let mut told_at = Instant::now();
        let invented = (0..cases).map(|_| inputs.make());
        let mut tried = 0;
        for input in corpus.iter().cloned().chain(invented) {
            if let Err(failure) = failure::check(&input, property) {
                return Err(failure.of(self.target, seed, tried));
            }
            tried += 1;
            if told_at.elapsed() >= TELL_EVERY {
                told_at = Instant::now();
                println!("fuzz progress {}: {tried} of about {cases} inputs", self.target);
            }
        }
        Ok(tried)
    }
}

fn number(variable: &str) -> Option<u64> {
    let text = setting(variable)?;
    let number = text.parse().ok();
    assert!(number.is_some(), "{variable} is {text:?}, but must be a number");
    number
}

fn setting(variable: &str) -> Option<String> {
    std::env::var(variable).ok()
}

/// Any number would do, as long as it stays the same.
const SEED: u64 = 0x7e92;
const TELL_EVERY: Duration = Duration::from_secs(1);

#[cfg(test)]
mod tests {
    use super::*;

    fn check(property: impl Fn(&[u8])) -> Result<u64, FuzzFailure> {
        let corpus = [b"12345".to_vec(), b"x".to_vec()];
        Fuzz::target("unit").words(&["needle"]).check_all(SEED, 2_000, &corpus, &property)
    }

    #[test]
    fn every_input_is_tried_the_corpus_first_and_the_same_ones_every_time() {
        let run = || {
            let seen = std::cell::RefCell::new(Vec::new());
            assert_eq!(check(|input| seen.borrow_mut().push(input.to_vec())).unwrap(), 2_002);
            seen.into_inner()
        };
        let seen = run();
        assert_eq!(seen[..2], [b"12345".to_vec(), b"x".to_vec()]);
        assert_eq!(seen, run());
        let mut different = seen.clone();
        different.sort();
        different.dedup();
        assert!(different.len() > 1_000, "only {} inputs are different", different.len());
    }

    #[test]
    fn a_property_that_fails_is_told_with_the_smallest_input() {
        let holds = |input: &[u8]| assert!(!input.windows(6).any(|bytes| bytes == b"needle"), "found it");
        let told = format!("{:?}", check(holds).unwrap_err());
        assert!(told.contains("fuzz target unit failed") && told.contains("found it"), "{told}");
        assert!(told.contains("\"needle\"") && told.contains("6e 65 65 64 6c 65"), "{told}");
        assert!(told.contains(r"printf '\156\145\145\144\154\145' > tools/fuzz/corpus/unit/"), "{told}");
        assert!(told.contains("--seed 32402"), "{told}");
    }

    #[test]
    fn an_entry_of_the_corpus_that_fails_is_found_at_once() {
        let told = format!("{:?}", check(|input| assert_ne!(input, b"x")).unwrap_err());
        assert!(told.contains("after 1 others"), "{told}");
    }
}
