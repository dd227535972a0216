//! What must never happen, and what must be seen to happen.

use std::fmt;

/// What holds in every history.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Law {
    /// No two windows of trust have an instant in common, whether or not their candidates are paused.
    OneTrusts,
    /// No two candidates' work runs at the same time, its grace included.
    OneWorks,
    /// Whoever may act has the newest term that was granted.
    NewestActs,
    /// A lease that runs stays with its holder, unless that one releases it.
    LeaseIsKept,
    /// Whoever is called after its deadline to stop does not lead any longer.
    StopsInTime,
    /// Terms grow from one election to the next.
    TermsGrow,
    /// Elected and lost alternate, and nothing is trusted in between.
    Alternates,
    /// Under a term that was lost or resigned nothing is renewed, trusted or elected.
    LostStaysLost,
    /// A lease is released only when the work under it has ended.
    WorkEndsFirst,
    /// A candidate does not campaign beside its own work.
    NoRivalToItself,
    /// A store that keeps its promises is not said to have gone back in time.
    NoFalseAlarm,
    /// Nothing follows the end of a candidacy.
    StoppedIsSilent,
}

/// What some history must show: a search that never met it has proved nothing about it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum ModelSituation {
    /// A lease ran out, and another candidate came to lead.
    Takeover,
    /// A leader resigned, and the successor for whom the lease was reserved came to lead.
    HandOver,
    /// A grant arrived after its campaign had been given up, and did nothing.
    LateGrantIgnored,
    /// A grant arrived again after its term had been resigned, and did nothing.
    DuplicateGrantIgnored,
    /// The lease was renewed after the time at which the first grant would have run out.
    RenewedBeyondFirstLease,
    /// The store granted a lease to a candidate that does not know.
    GhostLease,
    /// A candidate that did not know of its grant asked again, was recognised, and came to lead.
    GhostFound,
    /// A paused leader went on after another one had come to lead.
    ResumedTooLate,
    /// A leader crashed, and its next incarnation came to lead.
    LeadsAfterCrash,
}

impl Law {
    /// All of them.
    pub const ALL: [Self; 12] = [
        Self::OneTrusts,
        Self::OneWorks,
        Self::NewestActs,
        Self::LeaseIsKept,
        Self::StopsInTime,
        Self::TermsGrow,
        Self::Alternates,
        Self::LostStaysLost,
        Self::WorkEndsFirst,
        Self::NoRivalToItself,
        Self::NoFalseAlarm,
        Self::StoppedIsSilent,
    ];

    /// The law in words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::OneTrusts => "at most one candidate trusts itself",
            Self::OneWorks => "at most one candidate's work runs",
            Self::NewestActs => "whoever acts has the newest term",
            Self::LeaseIsKept => "a running lease stays with its holder",
            Self::StopsInTime => "nobody leads beyond its deadline once called",
            Self::TermsGrow => "terms of elections grow",
            Self::Alternates => "elected and lost alternate",
            Self::LostStaysLost => "nothing happens under a term that was lost or resigned",
            Self::WorkEndsFirst => "work ends before its lease is released",
            Self::NoRivalToItself => "nobody campaigns beside its own work",
            Self::NoFalseAlarm => "an honest store is not complained about",
            Self::StoppedIsSilent => "nothing follows the end of a candidacy",
        }
    }
}

impl ModelSituation {
    /// All of them.
    pub const ALL: [Self; 9] = [
        Self::Takeover,
        Self::HandOver,
        Self::LateGrantIgnored,
        Self::DuplicateGrantIgnored,
        Self::RenewedBeyondFirstLease,
        Self::GhostLease,
        Self::GhostFound,
        Self::ResumedTooLate,
        Self::LeadsAfterCrash,
    ];

    /// The situation in words.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Takeover => "takeover after expiry",
            Self::HandOver => "hand-over to a successor",
            Self::LateGrantIgnored => "late grant ignored",
            Self::DuplicateGrantIgnored => "duplicate grant ignored after a release",
            Self::RenewedBeyondFirstLease => "renewed beyond the first lease",
            Self::GhostLease => "ghost lease",
            Self::GhostFound => "ghost lease found again by its nonce",
            Self::ResumedTooLate => "paused leader resumed after another one led",
            Self::LeadsAfterCrash => "crashed leader leads again",
        }
    }
}

impl fmt::Display for Law {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

impl fmt::Display for ModelSituation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.as_str())
    }
}

/// What a step broke and showed. It belongs to the step alone: histories are not told apart by it any longer than that.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Default)]
pub(super) struct Signs {
    broken: u16,
    shown: u16,
}

impl Signs {
    pub(super) fn breaks(&mut self, law: Law) {
        self.broken |= 1 << law as u16;
    }

    pub(super) fn shows(&mut self, situation: ModelSituation) {
        self.shown |= 1 << situation as u16;
    }

    pub(super) fn is_lawful(self) -> bool {
        self.broken == 0
    }

    pub(super) fn has_broken(self, law: Law) -> bool {
        self.broken & 1 << law as u16 != 0
    }

    pub(super) fn has_shown(self, situation: ModelSituation) -> bool {
        self.shown & 1 << situation as u16 != 0
    }
}
