//! One struct per state. A transition consumes the state it leaves.

mod campaigning;
mod draining;
mod following;
mod leading;
mod resigning;

pub(crate) use campaigning::Campaigning;
pub(crate) use draining::Draining;
pub(crate) use following::Following;
pub(crate) use leading::Leading;
pub(crate) use resigning::{Release, Resigning};

use crate::lease::Nonce;

/// Where a candidacy stands.
///
/// ```diagram
///          ┌────────────── held, failed ──────────────┐
///          v                                          │
/// Idle ─> Following ── expiry, hint, back-off ─> Campaigning
///          ^  ^                                       │ granted
///          │  │                                       v
///          │  └── Resigning <── work ended ─ Draining <── lost ── Leading
///          │         │                          │
///          └─────────┼── superseded, lapsed ────┘
///                    v
///                 Stopped
/// ```
///
/// Two campaigns in a row that nobody answers lead from Campaigning to Resigning, too: the lease may be ours. So does a
/// grant that must not be relied on. Whatever was resigned, what follows has a nonce of its own.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) enum State {
    /// Not standing yet.
    Idle,
    /// Waits for the moment to campaign.
    Following(Following),
    /// A campaign is under way.
    Campaigning(Campaigning),
    /// Leads.
    Leading(Leading),
    /// Led; its work is stopping. No renewal is sent from here.
    Draining(Draining),
    /// Its work has ended; the lease is being released.
    Resigning(Resigning),
    /// Has left for good.
    Stopped,
}

impl State {
    /// What the store may have granted, or may yet, or keeps a place in line for.
    pub(crate) fn nonce_in_doubt(&self) -> Option<Nonce> {
        match self {
            Self::Idle | Self::Stopped => None,
            Self::Following(following) => following.known_to_store.then_some(following.nonce),
            Self::Campaigning(campaigning) => Some(campaigning.nonce()),
            Self::Leading(leading) => Some(leading.nonce()),
            Self::Draining(draining) => Some(draining.nonce()),
            Self::Resigning(resigning) => Some(resigning.nonce()),
        }
    }
}

/// What comes after the lease is gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) enum Then {
    /// Campaign again.
    Follow,
    /// Campaign again, but only when the store has answered.
    FollowOnceHeard,
    /// Leave the election.
    Stop,
}
