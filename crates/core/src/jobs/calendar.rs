//! At which ticks a job is due.

use std::num::NonZeroU64;

use super::tick::Tick;

/// A calendar, which says when a job is due. It has to say the same everywhere and for ever.
pub trait Calendar {
    /// Returns the first tick after this one; `None` if there is none.
    fn next_after(&self, tick: Tick) -> Option<Tick>;

    /// Returns the last tick at or before this one; `None` if there is none.
    fn last_until(&self, tick: Tick) -> Option<Tick>;
}

/// A calendar of every multiple of this many seconds since the Unix epoch. For tests and simulations.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Every(pub NonZeroU64);

impl Calendar for Every {
    fn next_after(&self, tick: Tick) -> Option<Tick> {
        let next = (tick.unix_s() / self.0 + 1) * self.0.get();
        Some(Tick::from_unix_s(next)).filter(|next| *next > tick)
    }

    fn last_until(&self, tick: Tick) -> Option<Tick> {
        Some(Tick::from_unix_s(tick.unix_s() / self.0 * self.0.get()))
    }
}
