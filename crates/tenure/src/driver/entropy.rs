//! Randomness for the electors, fetched from the kernel in bulk.

use tenure_core::{Draw, Nonce};

/// Hands out draws. With ten thousand elections a system call for each would be felt.
pub(crate) struct Entropy {
    pool: [u8; Self::POOL_BYTES],
    used: usize,
}

impl Entropy {
    const DRAW_BYTES: usize = 20;
    const POOL_BYTES: usize = 200 * Self::DRAW_BYTES;

    /// # Panics
    /// When the kernel has no randomness to give: without nonces nobody may lead, and nothing else can be done here.
    pub(crate) fn draw(&mut self) -> Draw {
        if self.used + Self::DRAW_BYTES > Self::POOL_BYTES {
            getrandom::fill(&mut self.pool).expect("the kernel gives random bytes");
            self.used = 0;
        }
        let bytes = &mut self.pool[self.used..self.used + Self::DRAW_BYTES];
        self.used += Self::DRAW_BYTES;
        let (mut nonce, mut spread) = ([0; 16], [0; 4]);
        nonce.copy_from_slice(&bytes[..16]);
        spread.copy_from_slice(&bytes[16..]);
        // A nonce owns a lease; it is not left lying around.
        bytes.fill(0);
        Draw { nonce: Nonce::from_bits(u128::from_le_bytes(nonce)), spread: u32::from_le_bytes(spread) }
    }
}

impl Default for Entropy {
    fn default() -> Self {
        Self { pool: [0; Self::POOL_BYTES], used: Self::POOL_BYTES }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn no_two_draws_are_alike() {
        let mut entropy = Entropy::default();
        let nonces: std::collections::BTreeSet<Nonce> = (0..1_000).map(|_| entropy.draw().nonce).collect();
        assert_eq!(nonces.len(), 1_000);
    }
}
