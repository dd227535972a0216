//! A store's record of one election, and the rules by which it changes, as pure functions.
//!
//! Stores that decide in their own process run these rules on what they keep, and so does the simulation: what is
//! proved of them there is proved of the stores.
//!
//! ```
//! use tenure_core::store_rules::record::{Effects, Moment, ProcessToken, Record};
//! use tenure_core::*;
//! # use std::time::Duration;
//!
//! let mut record = Record::default();
//! let request = Campaign {
//!     key: ElectionKey { namespace: Namespace::default(), name: ElectionName::new("nightly")? },
//!     candidate: CandidateId::new("worker-1")?,
//!     nonce: Nonce::from_bits(42),
//!     ttl: Duration::from_secs(15),
//!     priority: Priority::MAX,
//!     metadata: Metadata::default(),
//!     stand_by_for: Duration::from_secs(22),
//! };
//! let at = Moment { now: Instant::ZERO, unix_ms: 0, process: ProcessToken(1), is_gone: &|_| false };
//! let reply = record.campaign(&request, &at, &mut Effects::default());
//! assert_eq!(reply, CampaignReply::Granted { term: Term::new(1).unwrap() });
//! # Ok::<(), NameError>(())
//! ```

mod forget;
mod rules;
mod watch;

pub(crate) use rules::looks_after;
pub use watch::{MAX_RANK, ProcessWatch, WATCHED_BEFORE};

use std::time::Duration;

use crate::election::candidate::Priority;
use crate::election::input::Handover;
use crate::id::CandidateId;
use crate::lease::{Leader, Metadata, Nonce, Term};
use crate::request::{Campaign, Change, Transition};
use crate::time::Instant;

pub use self::forget::{Forgetting, Use};

/// The damage of an election that has no term left to grant.
pub const TERMS_USED_UP: &str =
    "its terms are used up, so no candidate can lead, not even after it is removed; without a backup, use another name";

/// How long a resigned lease stays reserved for its successor. A stand-by that died unnoticed costs this much time,
/// not a whole ttl.
pub const RESERVATION: Duration = Duration::from_secs(1);

/// The number of first stand-bys that a resignation wakes, one after the other. Bounded, so that a hand-over costs the
/// same however long the line is; more than one, so that the next one leads although those before it do not answer.
pub const WOKEN_BY_RESIGNATION: usize = 16;

/// Everything a store knows of an election.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash)]
pub struct Record {
    /// The highest term ever granted.
    pub last_term: Option<Term>,
    /// Terms start above this one, although it may never have been granted here: another store has granted it.
    pub terms_above: Option<Term>,
    /// The last lease that was not released, running or run out.
    pub lease: Option<LeaseRecord>,
    /// For whom a lease that was released is kept.
    pub reservation: Option<Reservation>,
    /// The candidates that stand by, the next one first.
    pub standing_by: Vec<StandByRecord>,
}

/// The lease, running or run out.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct LeaseRecord {
    /// The holder, as shown to others.
    pub leader: Leader,
    /// The nonce that owns it.
    pub nonce: Nonce,
    /// The holder's ttl.
    pub ttl: Duration,
    /// When it expires, on the store's clock.
    pub expires_at: Instant,
    /// The process it was requested through.
    pub process: ProcessToken,
    /// Somebody asked the holder to hand over.
    pub handover: Option<Handover>,
}

/// A lease that waits for its successor. A named successor need not stand by yet, and so need not have a nonce.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Reservation {
    /// A label.
    pub candidate: CandidateId,
    /// The nonce of the successor, if it stands by.
    pub nonce: Option<Nonce>,
    /// When it expires, on the store's clock.
    pub until: Instant,
}

/// A candidate that stands by.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct StandByRecord {
    /// The nonce that owns it.
    pub nonce: Nonce,
    /// A label.
    pub candidate: CandidateId,
    /// Its priority.
    pub priority: Priority,
    /// Since when, on the store's clock.
    pub since: Instant,
    /// Since when, for people.
    pub since_unix_ms: u64,
    /// Until when it counts as standing by without another campaign.
    pub fresh_until: Instant,
    /// The process it was requested through.
    pub process: ProcessToken,
}

/// Identifies a process, or rather one store handle in it, to stores that can see processes die.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct ProcessToken(pub u128);

/// The store's clocks at the moment of decision, and its knowledge of processes.
pub struct Moment<'a> {
    /// The clock that leases run on.
    pub now: Instant,
    /// The wall clock, for people.
    pub unix_ms: u64,
    /// Who is asking.
    pub process: ProcessToken,
    /// Whether a process is known to be gone. `false` when in doubt.
    pub is_gone: &'a dyn Fn(ProcessToken) -> bool,
}

/// What a step did besides answering.
#[derive(Debug, Default, PartialEq)]
pub struct Effects {
    /// For the history.
    pub transitions: Vec<Transition>,
    /// Whom to wake.
    pub wake: Vec<Wake>,
}

/// A process to be notified of a change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Wake {
    /// Whom.
    pub process: ProcessToken,
    /// How long it waits before it looks, because others go first.
    pub after: Duration,
}

impl LeaseRecord {
    fn granted(request: &Campaign, term: Term, at: &Moment<'_>) -> Self {
        Self {
            leader: Leader {
                candidate: request.candidate.clone(),
                term,
                since_unix_ms: Some(at.unix_ms),
                metadata: Metadata::clone(&request.metadata),
            },
            nonce: request.nonce,
            ttl: request.ttl,
            expires_at: at.now + request.ttl,
            process: at.process,
            handover: None,
        }
    }

    /// Whether it is expired, or its holder dead: in either case no process acts under it.
    #[must_use]
    pub fn is_over(&self, at: &Moment<'_>) -> bool {
        at.now >= self.expires_at || (self.process != at.process && (at.is_gone)(self.process))
    }

    fn began(&self, at: &Moment<'_>) -> Transition {
        self.transition(Change::Elected, "granted", at)
    }

    fn ended(&self, reason: &str, at: &Moment<'_>) -> Transition {
        self.transition(Change::Lost, reason, at)
    }

    fn transition(&self, change: Change, reason: &str, at: &Moment<'_>) -> Transition {
        Transition {
            at_unix_ms: at.unix_ms,
            term: self.leader.term,
            candidate: self.leader.candidate.clone(),
            change,
            reason: reason.to_owned(),
        }
    }
}

impl StandByRecord {
    /// The highest priority first, then whoever has waited longest.
    fn order(&self) -> (std::cmp::Reverse<Priority>, Instant, Nonce) {
        (std::cmp::Reverse(self.priority), self.since, self.nonce)
    }
}
