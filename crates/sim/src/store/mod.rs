//! A store: the real rules of an election's record, on a machine that is simulated.

mod mistakes;

use std::collections::VecDeque;
use std::time::Duration;

use tenure_core::record::{Effects, Moment, ProcessToken, Record, Wake};
use tenure_core::{
    Campaign, CampaignReply, Candidate, ElectionKey, ElectionName, Instant, Metadata, Namespace, Renew, Reply, Resign,
    Term, Verb,
};

use crate::clock::{Clock, MILLI, SECOND, True};
use crate::kind::Kind;
use crate::mistake::{Mistake, StoreMistake};

/// The store of one run.
pub(crate) struct Store {
    kind: Kind,
    mistake: Option<StoreMistake>,
    /// The clock that leases run on; that of the candidates' own machine if there is none.
    pub(crate) clock: Option<Clock>,
    record: Record,
    /// What a copy may still believe, the oldest first.
    past: VecDeque<(True, Record)>,
    /// The primary before the last failover, as those see it who still talk to it.
    old_primary: Option<Record>,
    key: ElectionKey,
}

/// Who asks, and when.
pub(crate) struct Caller<'a> {
    pub(crate) now: True,
    /// What the clock that leases run on shows.
    pub(crate) shown: Instant,
    pub(crate) process: ProcessToken,
    pub(crate) candidate: &'a Candidate,
    pub(crate) is_gone: &'a dyn Fn(ProcessToken) -> bool,
    /// Whether it talks to a primary that was deposed.
    pub(crate) at_old_primary: bool,
    /// How much later than it should the store lets a lease go.
    pub(crate) lateness: Duration,
}

/// What a store answers, and whom it wakes.
pub(crate) struct Answer {
    pub(crate) reply: Reply,
    pub(crate) wake: Vec<Wake>,
    /// A new term was granted.
    pub(crate) granted: Option<Term>,
}

/// What the quorum's leases last at least.
const QUORUM_TTL_MIN: Duration = Duration::from_secs(2);
/// How far a copy may lag behind; what is older is not kept.
const LAG_MAX: u64 = 5 * SECOND;
/// Some date of the wall clock's, for terms that follow it.
const EPOCH_MS: u64 = 1_700_000_000_000;

impl Store {
    pub(crate) fn new(kind: Kind, mistake: Option<Mistake>, clock: Option<Clock>) -> Self {
        let mistake = match mistake {
            Some(Mistake::Store(mistake)) => Some(mistake),
            _ => None,
        };
        let name = ElectionName::new("nightly").expect("a word is a valid name");
        let key = ElectionKey { namespace: Namespace::default(), name };
        let record = Record::default();
        Self { kind, mistake, clock, record, past: VecDeque::new(), old_primary: None, key }
    }

    /// How long a lease of this ttl really lasts here, at most, on the store's clock.
    pub(crate) fn lease_max(kind: Kind, ttl: Duration) -> Duration {
        match kind {
            Kind::Quorum => raised(ttl) + Duration::from_millis(600),
            Kind::Embedded | Kind::Steady | Kind::WallClock | Kind::Replicated => ttl,
        }
    }

    /// One atomic step.
    pub(crate) fn serve(&mut self, caller: &Caller<'_>, verb: &Verb) -> Answer {
        self.keep_for_copy(caller.now);
        let shown = if self.kind.is_coarse() {
            Instant::from_nanos(caller.shown.as_nanos() / MILLI * MILLI)
        } else {
            caller.shown
        };
        let at = Moment { now: shown, unix_ms: 0, process: caller.process, is_gone: caller.is_gone };
        self.err_before(caller, verb, &at);
        let last_term = self.record_for(caller).last_term;
        let before = self.mistake.and_then(|_| self.record_for(caller).lease.clone());
        let mut effects = Effects::default();
        let reply = match verb {
            Verb::Campaign { nonce } => {
                let request = self.campaign(caller, *nonce);
                self.let_terms_follow_clock(caller, &request, &at);
                let record = self.record_for(caller);
                Reply::Campaign(Ok(record.campaign(&request, &at, &mut effects)))
            }
            Verb::Renew { nonce, term } => {
                let ttl = self.ttl(caller);
                let request = Renew { key: self.key.clone(), nonce: *nonce, term: *term, ttl };
                Reply::Renew(Ok(self.record_for(caller).renew(&request, &at)))
            }
            Verb::Resign { nonce, term, successor, reason } => {
                let (successor, reason) = (successor.clone(), *reason);
                let request = Resign { key: self.key.clone(), nonce: *nonce, term: *term, successor, reason };
                self.record_for(caller).resign(&request, &at, &mut effects);
                Reply::Resign(Ok(()))
            }
        };
        let reply = self.err_after(caller, verb, &at, before, reply);
        let granted = match reply {
            Reply::Campaign(Ok(CampaignReply::Granted { term })) if Some(term) > last_term => Some(term),
            _ => None,
        };
        Answer { reply, wake: effects.wake, granted }
    }

    /// An operator asks whoever leads to hand over.
    pub(crate) fn ask_for_handover(&mut self, caller: &Caller<'_>) -> Vec<Wake> {
        let at = Moment { now: caller.shown, unix_ms: 0, process: caller.process, is_gone: caller.is_gone };
        let mut effects = Effects::default();
        self.record.request_handover(None, &at, &mut effects);
        effects.wake
    }

    /// The copy takes over, with what it had got `lag` ago.
    pub(crate) fn fail_over(&mut self, now: True, lag: u64) {
        self.keep_for_copy(now);
        let behind = self.past.partition_point(|(at, _)| *at <= now.saturating_sub(lag));
        let copy = self.past.get(behind.saturating_sub(1)).map(|(_, record)| record.clone()).unwrap_or_default();
        self.old_primary = Some(std::mem::replace(&mut self.record, copy));
        self.past.clear();
    }

    /// Every lease begins anew.
    pub(crate) fn change_quorum(&mut self, shown: Instant) {
        if let Some(lease) = &mut self.record.lease {
            lease.expires_at = lease.expires_at.max(shown + lease.ttl);
        }
    }

    /// Somebody put an empty store in its place.
    pub(crate) fn replace(&mut self) {
        self.record = Record::default();
        self.past.clear();
    }

    fn record_for(&mut self, caller: &Caller<'_>) -> &mut Record {
        match &mut self.old_primary {
            Some(old) if caller.at_old_primary => old,
            _ => &mut self.record,
        }
    }

    fn ttl(&self, caller: &Caller<'_>) -> Duration {
        let ttl = caller.candidate.timing.ttl();
        if self.kind == Kind::Quorum { raised(ttl) + caller.lateness } else { ttl }
    }

    fn campaign(&self, caller: &Caller<'_>, nonce: tenure_core::Nonce) -> Campaign {
        let timing = &caller.candidate.timing;
        Campaign {
            key: self.key.clone(),
            candidate: caller.candidate.id.clone(),
            nonce,
            ttl: self.ttl(caller),
            priority: caller.candidate.priority,
            metadata: Metadata::default(),
            stand_by_for: timing.ttl() + timing.ttl() / 2,
        }
    }

    /// Where terms are also dates, a store that forgot everything still grants later ones.
    fn let_terms_follow_clock(&mut self, caller: &Caller<'_>, request: &Campaign, at: &Moment<'_>) {
        let date = Term::new(EPOCH_MS + at.now.as_nanos() / MILLI - 1);
        let follows = self.kind == Kind::Replicated;
        let record = self.record_for(caller);
        if follows && record.is_free_for(request, at) {
            record.last_term = record.last_term.max(date);
        }
    }

    fn keep_for_copy(&mut self, now: True) {
        if self.kind != Kind::Replicated {
            return;
        }
        self.past.push_back((now, self.record.clone()));
        while self.past.len() > 2 && self.past[1].0 + LAG_MAX < now {
            self.past.pop_front();
        }
    }
}

/// A ttl in the whole seconds of a quorum.
fn raised(ttl: Duration) -> Duration {
    let whole = Duration::from_secs(ttl.as_secs() + u64::from(ttl.subsec_nanos() > 0));
    whole.max(QUORUM_TTL_MIN)
}
