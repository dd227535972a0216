//! Where a candidacy stands, for probes and for people.

use std::fmt;
use std::time::Duration;

use tenure_core::{Leader, Term};

use super::Candidacy;
use crate::phase::Phase;
use crate::store::StoreError;
use crate::with_causes;

/// Where a candidacy stands, as [`Candidacy::state`] tells.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CandidacyState {
    /// This candidate leads, and may begin leader's work.
    Leading {
        /// The term it leads under.
        term: Term,
    },
    /// This candidate stands by, or campaigns.
    Following {
        /// Who led when the store was last asked; `None` when nobody did, or nothing is known yet.
        leader: Option<Leader>,
    },
    /// Leadership has ended: its work is stopping, or its lease is being released.
    Draining {
        /// The term that has ended.
        term: Term,
    },
    /// This candidate does not stand, because the work that it was to [run](Candidacy::run_while_leader) has ended.
    Paused,
    /// This candidate has left the election.
    Stopped,
}

impl fmt::Display for CandidacyState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Leading { term } => write!(f, "leading under term {term}"),
            Self::Following { leader: Some(Leader { candidate, term, .. }) } => {
                write!(f, "following {candidate}, the leader of term {term}")
            }
            Self::Following { leader: None } => f.write_str("following; no leader is known"),
            Self::Draining { term } => write!(f, "draining: term {term} has ended, and its work or its lease has not"),
            Self::Paused => f.write_str("paused: its work has ended, and it does not stand until it is asked to"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

/// A store that does not answer a candidacy, as [`Candidacy::store_outage`] tells.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StoreOutage {
    /// How long ago the first of the requests failed that have failed in a row since.
    pub lasting: Duration,
    /// Why the last one failed.
    pub last_error: StoreError,
}

impl fmt::Display for StoreOutage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer of the store for {:.1?}: {}", self.lasting, with_causes(&self.last_error))
    }
}

impl Candidacy {
    /// Where this candidacy stands, from what is known here: no request is made. For readiness probes and status pages.
    ///
    /// Whether it leads is decided by the clock, as [`is_leader`](Self::is_leader) decides it. Who else leads is known from
    /// the last answer of the store, which is about a ttl old at most while the store [answers](Self::store_outage);
    /// [`current_leader`](Self::current_leader) asks it. A child made by `fork` is told `Stopped`.
    ///
    /// ```
    /// use tenure::CandidacyState;
    ///
    /// let client = tenure::Client::open("memory:")?;
    /// let election = client.election("nightly-report")?.candidate().start()?;
    /// let term = election.wait_elected()?.term();
    /// assert_eq!(election.state(), CandidacyState::Leading { term });
    /// println!("{}", election.state());
    /// election.stop_blocking();
    /// assert_eq!(election.state(), CandidacyState::Stopped);
    /// # Ok::<(), tenure::Error>(())
    /// ```
    #[must_use]
    pub fn state(&self) -> CandidacyState {
        // In a forked child nothing else may be touched.
        if !self.shared.is_same_process() {
            return CandidacyState::Stopped;
        }
        let known = self.shared.phase().read(|phase| match phase {
            // The clock is asked while the phase is held: no later term can begin in between.
            Phase::Leading(grant) if self.is_leader() => Some(CandidacyState::Leading { term: grant.term }),
            Phase::Leading(grant) => Some(CandidacyState::Draining { term: grant.term }),
            Phase::Leaving { term, .. } => Some(CandidacyState::Draining { term: *term }),
            Phase::Stopped => Some(CandidacyState::Stopped),
            Phase::Standing if self.shared.asks().is_paused() => Some(CandidacyState::Paused),
            Phase::Standing => None,
        });
        known.unwrap_or_else(|| CandidacyState::Following { leader: self.shared.last_heard().leader() })
    }

    /// The outage of the store, if its last answer to this candidacy was an error or did not come in time. No request is made.
    ///
    /// A leader asks it at every renewal, a candidate that stands by about once per ttl: an outage that is shorter may go
    /// unnoticed. A leader that cannot reach the store goes on leading until its time is over.
    #[must_use]
    pub fn store_outage(&self) -> Option<StoreOutage> {
        if !self.shared.is_same_process() {
            return None;
        }
        let (since, last_error) = self.shared.last_heard().outage()?;
        Some(StoreOutage { lasting: self.shared.clock.now().saturating_since(since), last_error })
    }
}
