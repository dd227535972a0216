//! Known mistakes about messages, to be made on purpose. As those of electors, they exist only in builds with `--cfg mutants`.

use super::inbox::LeaderInbox;

/// A mistake that an inbox can be made to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(not(mutants), allow(dead_code, unreachable_pub, reason = "it is public, and all of it used, with mutants"))]
pub enum InboxMutant {
    /// A message is acknowledged when it is handed out, before it was handled.
    AcksUnhandled,
    /// While a message waits to be tried again, the next one of its line is handed out.
    HandsOutBehindRetry,
    /// A message is handed out although leadership is over.
    HandsOutAfterLoss,
    /// What an earlier term had to tell is told under the next one.
    TellsUnderNewTerm,
    /// What an earlier term had received is handed out under the next one.
    KeepsOverTerms,
    /// What could not be told, or nobody knows, counts as told.
    TellsOnce,
    /// An attempt that the end of the leadership cut short counts as failed.
    InterruptionCounts,
    /// A message becomes a dead letter one attempt too early.
    GivesUpEarly,
    /// The mailbox is looked into only after a hint: not when leadership begins, nor once in a while.
    LooksWhenHinted,
    /// An answer is not matched with the call that is under way.
    TakesAnyReply,
    /// The mailbox is asked for lines of which messages are here.
    AsksForHeldLines,
    /// While a channel has no room, the others are asked for again and again.
    AsksPastFull,
    /// A call that failed is repeated at once.
    NeverPauses,
}

#[cfg(not(mutants))]
impl LeaderInbox {
    /// Whether this mistake is to be made.
    #[inline(always)]
    #[expect(clippy::unused_self, reason = "it is asked of an inbox that makes mistakes")]
    pub(super) const fn has(&self, _: InboxMutant) -> bool {
        false
    }
}

#[cfg(mutants)]
impl InboxMutant {
    /// All of them.
    pub const ALL: [Self; 13] = [
        Self::AcksUnhandled,
        Self::HandsOutBehindRetry,
        Self::HandsOutAfterLoss,
        Self::TellsUnderNewTerm,
        Self::KeepsOverTerms,
        Self::TellsOnce,
        Self::InterruptionCounts,
        Self::GivesUpEarly,
        Self::LooksWhenHinted,
        Self::TakesAnyReply,
        Self::AsksForHeldLines,
        Self::AsksPastFull,
        Self::NeverPauses,
    ];
}

#[cfg(mutants)]
impl LeaderInbox {
    /// Makes this inbox make a mistake.
    #[must_use]
    pub fn mutated(mut self, mutant: InboxMutant) -> Self {
        self.mutant = Some(mutant);
        self
    }

    /// Whether this mistake is to be made.
    pub(super) fn has(&self, mutant: InboxMutant) -> bool {
        self.mutant == Some(mutant)
    }
}
