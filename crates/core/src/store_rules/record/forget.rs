//! When an election may be forgotten.

use std::fmt;

use super::{Effects, Moment, Record};
use crate::lease::Term;

/// What became of a request to forget an election.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Forgetting {
    /// Forgotten. Only the lower bound of its next term remains, above all earlier terms.
    Forgotten,
    /// It was never led, or is forgotten already, and no message waits for it.
    Unknown,
    /// It is still used, so nothing was removed.
    InUse(Use),
}

impl fmt::Display for Forgetting {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Forgotten => f.write_str("forgotten"),
            Self::Unknown => f.write_str("unknown"),
            Self::InUse(usage) => write!(f, "in use: {usage}"),
        }
    }
}

/// What keeps an election from being forgotten.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Use {
    /// It has a leader, or is reserved for a successor.
    Led,
    /// A candidate stands by for it.
    StoodBy,
    /// Messages wait for its next leader.
    Messages,
    /// It changed more recently than was asked for.
    Recent,
}

impl fmt::Display for Use {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Led => "it has a leader",
            Self::StoodBy => "a candidate stands by for it",
            Self::Messages => "messages wait for its next leader",
            Self::Recent => "it was used recently",
        })
    }
}

impl Record {
    /// The highest term that must not be granted again. It outlives everything else that is known about an election.
    #[must_use]
    pub fn highest_taken(&self) -> Option<Term> {
        self.last_term.max(self.terms_above)
    }

    /// What speaks against forgetting this election now. A lease that ran out without a word is ended here, so that its
    /// age counts from a moment that is written down.
    pub fn lay_down(&mut self, at: &Moment<'_>, effects: &mut Effects) -> Option<Use> {
        let is_led = self.lease.as_ref().is_some_and(|lease| !lease.is_over(at));
        let is_reserved = self.reservation.as_ref().is_some_and(|reservation| at.now < reservation.until);
        if is_led || is_reserved {
            return Some(Use::Led);
        }
        if self.fresh(at).next().is_some() {
            return Some(Use::StoodBy);
        }
        self.bury(at, effects);
        None
    }
}
