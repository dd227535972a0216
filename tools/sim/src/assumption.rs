//! What promises rest on. Faults that break one of these are simulated, too: what does not rest on it must still hold.

/// Something that somebody else has to keep.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Assumption {
    /// A candidate's clock counts as long as time passes. A virtual machine that is paused from outside breaks it.
    ClocksGoOn,
    /// The clock that leases run on is never set.
    StoreClockIsNotSet,
    /// What the store has acknowledged it does not forget.
    StoreRemembers,
    /// Work that is killed is dead.
    WorkCanBeKilled,
}

/// Those that were broken so far.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Broken(u8);

impl Assumption {
    /// All of them.
    pub const ALL: [Self; 4] =
        [Self::ClocksGoOn, Self::StoreClockIsNotSet, Self::StoreRemembers, Self::WorkCanBeKilled];
}

impl Broken {
    pub(crate) fn add(&mut self, assumption: Assumption) {
        self.0 |= 1 << assumption as u8;
    }

    pub(crate) fn has_any_of(self, assumptions: &[Assumption]) -> bool {
        assumptions.iter().any(|assumption| self.0 & 1 << *assumption as u8 != 0)
    }
}
