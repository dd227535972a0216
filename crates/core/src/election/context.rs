//! The context of every state: the candidate, the clock, the timers, the outbox, and the facts learnt about the store.

use std::collections::VecDeque;
use std::time::Duration;

use crate::backoff::Backoff;
use crate::election::candidate::Candidate;
use crate::election::input::Draw;
use crate::election::mutant::Mutant;
use crate::election::output::{Anomaly, Output, Request, RequestId, Trust, Verb};
use crate::election::timer::{Timer, Timers};
use crate::id::CandidateId;
use crate::lease::{Leader, Nonce, Term};
use crate::time::Instant;

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(crate) struct Context {
    pub(crate) candidate: Candidate,
    pub(crate) now: Instant,
    pub(crate) draw: Draw,
    pub(crate) timers: Timers,
    pub(crate) healthy: bool,
    highest_seen: Option<Term>,
    /// The last term granted to us.
    granted: Option<Term>,
    /// What was last told to the application about the leader: nothing yet, nobody, or somebody's term.
    told: Option<Option<(CandidateId, Term)>>,
    warned_of_duplicate: bool,
    last_request: u64,
    outputs: VecDeque<Output>,
    #[cfg(mutants)]
    pub(crate) mutant: Option<Mutant>,
    /// The last campaign, for mutants that cannot forget it.
    #[cfg(mutants)]
    pub(crate) campaigned: Option<(Nonce, PendingRequest)>,
}

/// A request under way. Whatever its answer is worth counts from `sent_at`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct PendingRequest {
    pub(crate) id: RequestId,
    pub(crate) sent_at: Instant,
}

impl Context {
    pub(crate) fn new(candidate: Candidate) -> Self {
        Self {
            candidate,
            now: Instant::ZERO,
            draw: Draw { nonce: Nonce::from_bits(0), spread: 0 },
            timers: Timers::default(),
            healthy: true,
            highest_seen: None,
            granted: None,
            told: None,
            warned_of_duplicate: false,
            last_request: 0,
            outputs: VecDeque::new(),
            #[cfg(mutants)]
            mutant: None,
            #[cfg(mutants)]
            campaigned: None,
        }
    }

    /// Forgets what was under way, and keeps what was learnt. Ids of requests are not used again.
    pub(crate) fn begin_anew(&mut self, now: Instant, draw: Draw) {
        self.now = now.max(self.now);
        self.draw = draw;
        self.timers = Timers::default();
        self.told = None;
        self.outputs.clear();
    }

    pub(crate) fn emit(&mut self, output: Output) {
        self.outputs.push_back(output);
    }

    pub(crate) fn next_output(&mut self) -> Option<Output> {
        let output = self.outputs.pop_front();
        if self.outputs.is_empty() {
            // A process may stand in ten thousand elections that are silent most of the time.
            self.outputs = VecDeque::new();
        }
        output
    }

    /// Sends, and starts the clock of this attempt. `now` was read before anything was sent, as trust demands.
    pub(crate) fn send(&mut self, verb: Verb) -> PendingRequest {
        self.last_request += 1;
        let id = RequestId(self.last_request);
        let pending = PendingRequest { id, sent_at: self.now };
        #[cfg(mutants)]
        if let Verb::Campaign { nonce } = verb {
            self.campaigned = Some((nonce, pending));
        }
        self.timers.set(Timer::Attempt, self.now + self.candidate.timing.attempt_timeout());
        self.emit(Output::Send(Request { id, verb }));
        pending
    }

    /// The trust that an answer to this request gives: it counts from the sending of the very request that was
    /// answered.
    pub(crate) fn trust_by(&self, answered: PendingRequest) -> Trust {
        let from = if self.has(Mutant::TrustFromReply) { self.now } else { answered.sent_at };
        #[cfg(mutants)]
        if let Some(trust) = self.mistaken_trust(from) {
            return trust;
        }
        self.candidate.timing.trust_from(from)
    }

    /// The request that was sent last; zero before the first.
    pub(crate) fn last_request(&self) -> RequestId {
        RequestId(self.last_request)
    }

    /// A nonce for a candidacy of its own.
    pub(crate) fn fresh_nonce(&self) -> Nonce {
        #[cfg(mutants)]
        if let (Some(Mutant::NonceKept), Some((kept, _))) = (self.mutant, self.campaigned) {
            return kept;
        }
        self.draw.nonce
    }

    /// How long to wait after so many failures in a row: little at first, because most failures are short.
    pub(crate) fn back_off(&self, failures: u32, longest: Duration) -> Duration {
        if self.has(Mutant::NoBackOff) {
            return Duration::ZERO;
        }
        let first = self.candidate.timing.renew_every() / 16;
        Backoff::new(first, longest).delay(failures, self.draw.spread)
    }

    /// `duration` give or take the jitter.
    pub(crate) fn jittered(&self, duration: Duration) -> Duration {
        let jitter = duration * crate::election::timing::Timing::JITTER_PERCENT / 100;
        duration - jitter + self.draw.part_of(jitter * 2)
    }

    /// Takes note of a term that somebody else holds, and complains when terms went back.
    pub(crate) fn saw(&mut self, term: Term) {
        match self.highest_seen {
            Some(seen) if term < seen => self.emit(Output::Report(Anomaly::Regressed { seen, shown: term })),
            Some(_) | None => self.highest_seen = Some(term),
        }
    }

    /// Takes note of a term granted to us: it must be above all that were seen.
    pub(crate) fn admits(&mut self, term: Term) -> bool {
        match self.highest_seen {
            Some(seen) if term <= seen && !self.has(Mutant::AcceptsOldTerm) => {
                self.emit(Output::Report(Anomaly::Regressed { seen, shown: term }));
                false
            }
            Some(_) | None => {
                self.highest_seen = Some(term);
                self.granted = Some(term);
                true
            }
        }
    }

    /// Tells who leads, when that is news, and says whether it is.
    pub(crate) fn observe(&mut self, leader: Option<&Leader>) -> bool {
        let known = leader.map(|leader| (leader.candidate.clone(), leader.term));
        let news = self.told.as_ref() != Some(&known);
        if news {
            self.told = Some(known);
            self.emit(Output::Observed { leader: leader.cloned() });
        }
        // A lease of our own that ended before the store let it go is no rival.
        let duplicate =
            leader.is_some_and(|leader| leader.candidate == self.candidate.id && self.granted != Some(leader.term));
        if duplicate && !self.warned_of_duplicate {
            self.warned_of_duplicate = true;
            self.emit(Output::Report(Anomaly::DuplicateId { candidate: self.candidate.id.clone() }));
        }
        news
    }

    /// Our own leadership is news of its own kind; whoever leads after it is news again. So is whoever leads when the
    /// store is heard again after a campaign that failed.
    pub(crate) fn forget_observed(&mut self) {
        self.told = None;
    }
}
