//! Telling that a property does not hold: the smallest input found that shows it, and how to keep it.

use std::any::Any;
use std::cell::Cell;
use std::fmt;
use std::panic::{self, AssertUnwindSafe};
use std::sync::Once;

/// An input for which a property does not hold.
pub(super) struct FuzzFailure {
    target: &'static str,
    seed: u64,
    tried: u64,
    input: Vec<u8>,
    message: String,
}

impl FuzzFailure {
    /// Adds where it was found.
    pub(super) fn of(self, target: &'static str, seed: u64, tried: u64) -> Self {
        Self { target, seed, tried, ..self }
    }
}

/// For people, because this is what `expect` prints.
impl fmt::Debug for FuzzFailure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { target, seed, tried, input, message } = self;
        let hex: Vec<String> = input.iter().map(|byte| format!("{byte:02x}")).collect();
        let octal: String = input.iter().map(|byte| format!("\\{byte:03o}")).collect();
        writeln!(f, "fuzz target {target} failed with seed {seed} after {tried} others: {message}")?;
        writeln!(f, "  the input, made smaller: \"{}\"", input.escape_ascii())?;
        writeln!(f, "  the same in hex:         {}", hex.join(" "))?;
        writeln!(f, "  to find it again:        cargo xtask fuzz --target {target} --seed {seed}")?;
        write!(f, "  to keep it, give it a name: printf '{octal}' > tools/fuzz/corpus/{target}/NAME")
    }
}

/// Tries one input, and if it fails smaller and smaller ones.
pub(super) fn check(input: &[u8], property: &dyn Fn(&[u8])) -> Result<(), FuzzFailure> {
    let Some(first) = panic_of(input, property) else { return Ok(()) };
    let (mut input, mut message) = (input.to_vec(), first);
    let mut attempts = 0;
    let mut length = input.len().div_ceil(2);
    while length > 0 && attempts < MAX_ATTEMPTS {
        let mut at = 0;
        while at < input.len() && attempts < MAX_ATTEMPTS {
            attempts += 1;
            let smaller = [&input[..at], &input[(at + length).min(input.len())..]].concat();
            match panic_of(&smaller, property) {
                Some(again) => (input, message) = (smaller, again),
                None => at += length,
            }
        }
        length /= 2;
    }
    Err(FuzzFailure { target: "", seed: 0, tried: 0, input, message })
}

/// What the property says when it panics.
fn panic_of(input: &[u8], property: &dyn Fn(&[u8])) -> Option<String> {
    be_quiet_on_demand();
    QUIET.set(true);
    let result = panic::catch_unwind(AssertUnwindSafe(|| property(input)));
    QUIET.set(false);
    result.err().map(|payload| words_of(&*payload))
}

/// Hundreds of attempts at a smaller input must not print hundreds of backtraces. Other threads are not silenced.
fn be_quiet_on_demand() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let loud = panic::take_hook();
        panic::set_hook(Box::new(move |info| {
            if !QUIET.get() {
                loud(info);
            }
        }));
    });
}

fn words_of(payload: &(dyn Any + Send)) -> String {
    let text = payload.downcast_ref::<&str>().map(|text| (*text).to_owned());
    text.or_else(|| payload.downcast_ref::<String>().cloned()).unwrap_or_else(|| "a panic without a word".to_owned())
}

thread_local! {
    static QUIET: Cell<bool> = const { Cell::new(false) };
}

/// Enough for most inputs, and bounded for those that take long.
const MAX_ATTEMPTS: usize = 1_000;
