//! What must be true of every elector, whatever happens to it.

use std::collections::{BTreeMap, BTreeSet};

use crate::election::tests::*;

#[derive(Default)]
pub(in crate::election::tests) struct Monitor {
    sent: BTreeMap<RequestId, Sent>,
    /// The request under way, as far as the elector can know.
    outstanding: Option<RequestId>,
    leading: Option<(Term, Trust)>,
    /// The term whose work must stop, and when it is killed.
    draining: Option<(Term, Instant)>,
    /// The term whose work is being said to have ended. Deadlines come first: it may be lost or killed before.
    ending: Option<Term>,
    killed: BTreeSet<Term>,
    elected: BTreeSet<Term>,
    ended: BTreeSet<Term>,
    /// What a resignation was sent for.
    resigned: BTreeSet<u128>,
    stopped: bool,
    first_at: Option<Instant>,
    inputs: u64,
    /// When it wants to be woken.
    wake_at: Option<Instant>,
    /// How often it was, as it wanted.
    alarms: u64,
}

struct Sent {
    at: Instant,
    verb: Verb,
    /// A grant or a renewal came back.
    granted: bool,
}

impl Monitor {
    /// The term whose work runs, as far as anybody can tell.
    pub(in crate::election::tests) fn running(&self) -> Option<Term> {
        self.leading.map(|(term, _)| term).or(self.draining.map(|(term, _)| term))
    }

    pub(super) fn acts_until(&self) -> Option<Instant> {
        self.leading.map(|(_, trust)| trust.until)
    }

    pub(in crate::election::tests) fn before(&mut self, now: Instant, input: &Input) {
        self.first_at.get_or_insert(now);
        self.inputs += 1;
        match input {
            Input::Timeout if self.wake_at.is_some_and(|at| at <= now) => {
                self.inputs -= 1;
                self.alarms += 1;
            }
            Input::Reply { request, reply } => self.answered(*request, reply),
            Input::WorkEnded { term } => self.ending = Some(*term),
            Input::Timeout
            | Input::Start
            | Input::Hint
            | Input::Opportunity
            | Input::Resign { .. }
            | Input::Health { .. }
            | Input::Stop => (),
        }
    }

    pub(in crate::election::tests) fn after(
        &mut self,
        now: Instant,
        elector: &Elector,
        outputs: &[Output],
        timeout: Option<Instant>,
    ) {
        let timing = elector.candidate().timing;
        for output in outputs {
            if matches!(output, Output::Send(_)) {
                self.end();
            }
            assert!(!self.stopped, "{output:?} after Stopped");
            match output {
                Output::Send(request) => self.sends(now, timing, request),
                Output::Elected { term, trust } => self.is_elected(*term, *trust, timing),
                Output::Trusted { term, trust } => {
                    let (leading, before) = self.leading.expect("Trusted without Elected");
                    assert!(leading == *term && before.until < trust.until, "trust never shrinks");
                    self.is_backed(*trust, timing);
                    self.leading = Some((*term, *trust));
                }
                Output::Lost { term, kill_at, .. } => self.loses(*term, *kill_at),
                Output::KillWork { term } => {
                    assert!(self.killed.insert(*term), "killed twice");
                    assert!(self.draining.is_some_and(|(draining, _)| draining == *term), "killed without Lost");
                }
                Output::Stopped => self.stopped = true,
                Output::Timeout(_) | Output::Observed { .. } | Output::Report(_) => (),
            }
        }
        self.end();
        self.ending = None;
        self.wake_at = timeout;
        assert_eq!(elector.leads_under(), self.leading);
        assert!(self.leading.is_none_or(|(_, trust)| now < trust.stop_at), "it leads beyond stop_at");
        let overdue = self.draining.is_some_and(|(term, kill_at)| kill_at <= now && !self.killed.contains(&term));
        assert!(!overdue || self.stopped, "work beyond kill_at is killed");
        assert!(timeout.is_none_or(|at| at >= now), "{timeout:?} is in the past at {now:?}");
        assert!(timeout.is_none() || !self.stopped, "it wants to be woken after Stopped");
        let millis = now.saturating_since(self.first_at.unwrap()).as_millis();
        let most = 20 + 6 * u128::from(self.inputs) + millis / 5;
        assert!(u128::from(self.alarms) <= most, "{} alarms in {millis} ms", self.alarms);
    }

    fn end(&mut self) {
        if let Some((term, _)) = self.draining.take_if(|(draining, _)| Some(*draining) == self.ending) {
            self.ended.insert(term);
        }
    }

    fn answered(&mut self, request: RequestId, reply: &Reply) {
        let Some(sent) = self.sent.get_mut(&request) else { return };
        let (fits, granted) = match (&sent.verb, reply) {
            (Verb::Campaign { .. }, Reply::Campaign(reply)) => {
                (true, matches!(reply, Ok(CampaignReply::Granted { .. })))
            }
            (Verb::Renew { .. }, Reply::Renew(reply)) => (true, matches!(reply, Ok(RenewReply::Renewed { .. }))),
            (Verb::Resign { .. }, Reply::Resign(_)) => (true, false),
            (Verb::Campaign { .. } | Verb::Renew { .. } | Verb::Resign { .. }, _) => (false, false),
        };
        sent.granted |= granted;
        if fits {
            self.outstanding.take_if(|outstanding| *outstanding == request);
        }
    }

    fn sends(&mut self, now: Instant, timing: Timing, request: &Request) {
        if let Some(before) = self.outstanding.replace(request.id) {
            let given_up = self.sent[&before].at + timing.attempt_timeout() <= now;
            // Whoever loses or leaves a term does not wait for its renewal.
            let abandoned = matches!(self.sent[&before].verb, Verb::Renew { .. }) && self.leading.is_none();
            assert!(given_up || abandoned, "two requests under way: {request:?}");
        }
        match request.verb {
            Verb::Campaign { nonce } => {
                assert_eq!(self.running(), None, "it campaigns beside its own work");
                assert!(
                    !self.resigned.contains(&nonce.to_bits()),
                    "a resignation that is late would end what it is granted"
                );
            }
            Verb::Renew { term, .. } => {
                assert_eq!(self.leading.map(|(leading, _)| leading), Some(term), "a renewal after the loss");
            }
            Verb::Resign { nonce, term, .. } => {
                self.resigned.insert(nonce.to_bits());
                assert_eq!(self.running(), None, "a release while the work runs");
                assert!(term.is_none_or(|term| self.ended.contains(&term) || !self.elected.contains(&term)));
            }
        }
        let sent = Sent { at: now, verb: request.verb.clone(), granted: false };
        assert!(self.sent.last_key_value().is_none_or(|(last, _)| *last < request.id), "ids grow");
        self.sent.insert(request.id, sent);
    }

    fn is_elected(&mut self, term: Term, trust: Trust, timing: Timing) {
        assert_eq!(self.running(), None, "elected twice without a loss, or beside its own work");
        assert!(self.elected.last().is_none_or(|last| *last < term), "terms grow");
        self.is_backed(trust, timing);
        self.elected.insert(term);
        self.leading = Some((term, trust));
    }

    /// Trust rests on a request that was sent then and granted.
    fn is_backed(&self, trust: Trust, timing: Timing) {
        let backing = |sent: &Sent| sent.granted && trust.until <= sent.at + timing.hold();
        assert!(self.sent.values().any(backing), "nothing backs {trust:?}");
    }

    fn loses(&mut self, term: Term, kill_at: Instant) {
        let (leading, trust) = self.leading.take().expect("Lost without Elected");
        assert_eq!(leading, term);
        assert!(kill_at <= trust.kill_at, "the grace reaches beyond the trust");
        self.draining = Some((term, kill_at));
    }
}
