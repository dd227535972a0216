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
//! ```diagram
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

mod backoff;
pub mod duration;
mod election;
mod id;
pub mod jobs;
mod lease;
pub mod messages;
mod reason;
mod request;
pub mod store_rules;
mod time;
mod wall_time;

pub use backoff::Backoff;
pub use election::candidate::{Candidate, Priority, PriorityError};
pub use election::elector::{Elector, ElectorPhase, Unreleased};
pub use election::input::{CampaignReply, Draw, Handover, Held, Input, RenewReply, Reply, WriteOutcome};
#[cfg(mutants)]
pub use election::mutant::Mutant;
pub use election::output::{Anomaly, LossReason, Output, Request, RequestId, Trust, Verb};
pub use election::timing::*;
pub use id::{
    CandidateId, ChannelName, ElectionName, JobName, MAX_CHANNEL_BYTES, MAX_NAME_BYTES, NameError, NameFault,
    Namespace, Sender,
};
pub use lease::{Leader, Metadata, Nonce, Term};
pub use reason::{MAX_REASON_CHARS, storable};
pub use request::{Campaign, Change, ElectionKey, Lease, Observation, Renew, Resign, StandBy, Transition};
pub use time::Instant;
