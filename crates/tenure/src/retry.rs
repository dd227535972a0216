//! Chance for the delays between retries.

/// Chance, to spread retries. Without randomness they come together, which costs a little time and nothing else.
pub(crate) fn spread() -> u32 {
    let mut bytes = [0; 4];
    let _ = getrandom::fill(&mut bytes);
    u32::from_le_bytes(bytes)
}
