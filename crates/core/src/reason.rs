//! Reasons that stores keep for people.

/// A longer reason is cut: it is for people, and the store has to keep it.
pub const MAX_REASON_CHARS: usize = 1_000;

/// A reason as every store can keep it: some do not take a NUL.
#[must_use]
pub fn storable(why: &str) -> String {
    why.chars().take(MAX_REASON_CHARS).map(|c| if c == '\0' { char::REPLACEMENT_CHARACTER } else { c }).collect()
}
