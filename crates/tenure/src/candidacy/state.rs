//! The state of a candidacy, for probes and for people.

use std::fmt;
use std::time::Duration;

use tenure_core::{Leader, Term};

use super::Candidacy;
use crate::phase::Phase;
use crate::store::StoreError;
use crate::with_causes;

/// The state of a candidacy, as returned by [`Candidacy::state`].
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
        /// The leader at the store's last answer; `None` when there was none, or none is known yet.
        leader: Option<Leader>,
    },
    /// Leadership has ended: its work is stopping, or its lease is being released.
    Draining {
        /// The term that has ended.
        term: Term,
    },
    /// This candidate does not stand, because its [work](Candidacy::run_while_leader) has ended.
    Paused,
    /// This candidate does not campaign, because the application is unhealthy: by its
    /// [own report](Candidacy::set_health), or because a [required heartbeat](crate::CandidacyBuilder::require_heartbeat) is
    /// missing. It stands again after the next [`heartbeat`](Candidacy::heartbeat).
    Unhealthy,
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
            Self::Draining { term } => write!(f, "draining: term {term} has ended, but its work or its lease has not"),
            Self::Paused => f.write_str("paused: its work has ended; it does not stand until asked to"),
            Self::Unhealthy => f.write_str("unhealthy: it does not campaign until the application is healthy again"),
            Self::Stopped => f.write_str("stopped"),
        }
    }
}

/// An outage of the store, as returned by [`Candidacy::store_outage`].
#[derive(Debug, Clone)]
#[non_exhaustive]
pub struct StoreOutage {
    /// Time since the first of the failed requests in a row.
    pub lasting: Duration,
    /// The error of the last request.
    pub last_error: StoreError,
}

impl fmt::Display for StoreOutage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no answer from the store for {:.1?}: {}", self.lasting, with_causes(&self.last_error))
    }
}

impl Candidacy {
    /// Returns the state of this candidacy without a request to the store, for readiness probes and status pages.
    ///
    /// The clock decides whether it leads, as for [`is_leader`](Self::is_leader). Another leader is known from the last answer
    /// of the store, which is about a ttl old at most while the store [answers](Self::store_outage);
    /// [`current_leader`](Self::current_leader) asks the store. A child made by `fork` always gets `Stopped`.
    ///
    /// ```
    /// use tenure::CandidacyState;
    ///
    /// let client = tenure::blocking::Client::open("memory:")?;
    /// let candidacy = client.election("nightly-report")?.candidate().start()?;
    /// let term = candidacy.elected()?.term();
    /// assert_eq!(candidacy.state(), CandidacyState::Leading { term });
    /// println!("{}", candidacy.state());
    /// candidacy.stop();
    /// assert_eq!(candidacy.state(), CandidacyState::Stopped);
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
            Phase::Standing if !self.shared.is_healthy() => Some(CandidacyState::Unhealthy),
            Phase::Standing => None,
        });
        known.unwrap_or_else(|| CandidacyState::Following { leader: self.shared.store_view().leader() })
    }

    /// Returns the outage of the store, if its last answer was an error or came too late. Makes no request.
    ///
    /// A leader contacts the store at every renewal, a candidate that stands by about once per ttl: a shorter outage may go
    /// unnoticed. A leader that cannot reach the store goes on leading until its lease can no longer be trusted.
    #[must_use]
    pub fn store_outage(&self) -> Option<StoreOutage> {
        if !self.shared.is_same_process() {
            return None;
        }
        let (since, last_error) = self.shared.store_view().outage()?;
        Some(StoreOutage { lasting: self.shared.clock.now().saturating_since(since), last_error })
    }
}
