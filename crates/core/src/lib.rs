//! The deterministic elector of `tenure`: no clock, no I/O, no randomness, no async.
//!
//! What is *not* promised comes first: a leader's write can still be in flight when its lease ends. Only a resource
//! that checks the [`Term`] can reject it.
//!
//! What is promised rests on one assumption: the *rates* of two clocks differ by at most [`Drift`]. Clocks need not
//! agree, and delays and pauses may be of any length. Then no two candidates trust themselves at the same instant,
//! because a candidate counts its trust from *before* it sent the request that was granted, and shrinks it by what
//! both clocks may be wrong:
//!
//! ```text
//! store      ................[===================== ttl =====================]
//! candidate  ......[============== hold ==============]
//!                  ^         ^              ^     ^   ^                       ^
//!                  sent_at   granted        stop  kill  trusted until         the next grant, at the earliest
//! ```
//!
//! [`Elector`] is one candidate in one election: feed it [`Input`]s with the time, and carry out its [`Output`]s.
//! The same type is run by the library, by simulations and by model checkers.

// Every transition is written out: a state or an input that is added later must be thought of everywhere.
#![warn(clippy::wildcard_enum_match_arm)]

mod candidate;
mod context;
pub mod duration;
mod elector;
mod id;
mod input;
pub mod jobs;
mod lease;
pub mod messages;
mod mutant;
mod output;
mod reason;
pub mod record;
mod request;
mod retry;
mod state;
mod time;
mod timer;
mod timing;
mod wall_time;

#[cfg(test)]
mod tests;

pub use candidate::{Candidate, Priority, PriorityError};
pub use elector::{Elector, Standing, Unreleased};
pub use id::{
    CHANNEL_BYTES_MAX, CandidateId, ChannelName, ElectionName, JobName, NAME_BYTES_MAX, NameError, NameFault,
    Namespace, Sender,
};
pub use input::{CampaignReply, Draw, Handover, Held, Input, RenewReply, Reply, WriteOutcome};
pub use lease::{Leader, Metadata, Nonce, Term};
#[cfg(mutants)]
pub use mutant::Mutant;
pub use output::{Anomaly, LossReason, Output, Request, RequestId, Trust, Verb};
pub use reason::{REASON_CHARS_MAX, storable};
pub use request::{Campaign, Change, ElectionKey, Lease, Observation, Renew, Resign, StandBy, Transition};
pub use retry::{RETRY_FIRST, retry_after};
pub use time::Instant;
pub use timing::*;
