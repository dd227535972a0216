//! A store that decides by the real rules, on a clock of its own. Its leases end as early as the contract allows.

use super::{TestClock, TrueTime};
use crate::election::tests::*;
use crate::store_rules::record::{Effects, Moment, ProcessToken, Record};

pub(super) struct TestStore {
    clock: TestClock,
    ttl: Duration,
    record: Record,
}

impl TestStore {
    pub(super) fn new(clock: TestClock, ttl: Duration) -> Self {
        Self { clock, ttl: ttl - Timing::QUANTUM, record: Record::default() }
    }

    pub(super) fn serve(&mut self, now: TrueTime, candidate: &CandidateId, verb: &Verb) -> Reply {
        let (at, ttl) = (self.moment(now), self.ttl);
        let mut effects = Effects::default();
        match verb.clone() {
            Verb::Campaign { nonce } => {
                let request = self.campaign(candidate, nonce);
                Reply::Campaign(Ok(self.record.campaign(&request, &at, &mut effects)))
            }
            Verb::Renew { nonce, term } => {
                Reply::Renew(Ok(self.record.renew(&Renew { key: key(), nonce, term, ttl }, &at)))
            }
            Verb::Resign { nonce, term, successor, reason } => {
                let request = Resign { key: key(), nonce, term, successor, reason };
                self.record.resign(&request, &at, &mut effects);
                Reply::Resign(Ok(()))
            }
        }
    }

    pub(super) fn ask_for_handover(&mut self, now: TrueTime) {
        let at = self.moment(now);
        self.record.request_handover(Some(&id("b")), &at, &mut Effects::default());
    }

    /// Gives the lease to somebody who did not ask, whoever has it.
    pub(super) fn seize(&mut self, now: TrueTime) {
        let request = self.campaign(&id("thief"), Nonce::from_bits(0));
        self.record.lease = None;
        self.record.reservation = None;
        let at = self.moment(now);
        self.record.campaign(&request, &at, &mut Effects::default());
    }

    pub(super) fn flush(&mut self) {
        self.record = Record::default();
    }

    fn moment(&self, now: TrueTime) -> Moment<'static> {
        Moment { now: self.clock.at(now), unix_ms: 0, process: ProcessToken::default(), is_gone: &|_| false }
    }

    fn campaign(&self, candidate: &CandidateId, nonce: Nonce) -> Campaign {
        Campaign {
            key: key(),
            candidate: candidate.clone(),
            nonce,
            ttl: self.ttl,
            priority: Priority::MAX,
            metadata: Metadata::default(),
            stand_by_for: self.ttl * 3 / 2,
        }
    }
}

fn key() -> ElectionKey {
    ElectionKey { namespace: Namespace::default(), name: ElectionName::new("nightly").unwrap() }
}
