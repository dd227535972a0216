//! One candidacy inside the driver: an elector and its listeners.

use std::sync::Arc;
use std::time::{Duration, SystemTime};

use tenure_core::{
    Anomaly, Elector, ElectorPhase, Input, Instant, LossReason, Metadata, Output, Request, Term, Trust, Unreleased,
    Verb,
};

use super::CandidacyId;
use super::batcher::Requester;
use super::companion::{self, Beside, Companion};
use super::entropy::Entropy;
use super::in_flight::InFlight;
use crate::callback::CallbackRunner;
use crate::crash::{CrashHelper, OrphanLease};
use crate::event::{ElectionError, Event, EventKind, Subscriber};
use crate::leadership::Leadership;
use crate::metrics::Recorder;
use crate::phase::Phase;
use crate::shared::{Grant, Shared};
use crate::store::{Campaign, ElectionKey, Renew, Resign, Store, StoreError};

#[derive(Debug)]
pub(crate) struct DrivenCandidacy {
    elector: Elector,
    metadata: Metadata,
    /// For how long each campaign that is not granted counts as standing by.
    stand_by_for: Duration,
    shared: Arc<Shared>,
    grant: Option<Arc<Grant>>,
    /// Until when the grant may be acted under.
    trust: Option<Trust>,
    /// It was told to leave.
    is_leaving: bool,
    /// What the application last said of its health.
    is_healthy: bool,
    /// Nobody works by it: to its elector it is not healthy.
    is_paused: bool,
    subscribers: Vec<Subscriber>,
    callbacks: Option<Arc<CallbackRunner>>,
    companions: Vec<Arc<dyn Companion>>,
    recorder: Recorder,
    /// Is told of every lease, to release it after a crash.
    crash_helper: Option<CrashHelper>,
    due: Option<Instant>,
}

impl DrivenCandidacy {
    pub(crate) fn new(
        elector: Elector,
        metadata: Metadata,
        shared: Arc<Shared>,
        callbacks: Option<Arc<CallbackRunner>>,
    ) -> Self {
        let ttl = elector.candidate().timing.ttl();
        Self {
            elector,
            metadata,
            // A stand-by looks about once per ttl of the leader; one that has missed a look is not fresh.
            stand_by_for: ttl + ttl / 2,
            recorder: Recorder::new(&shared),
            shared,
            grant: None,
            trust: None,
            is_leaving: false,
            is_healthy: true,
            is_paused: false,
            subscribers: Vec::new(),
            callbacks,
            companions: Vec::new(),
            crash_helper: None,
            due: None,
        }
    }

    /// It leaves after its first answer: a place in line would be somebody else's loss until it is known to have left.
    pub(crate) fn never_stands_by(&mut self) {
        self.stand_by_for = Duration::ZERO;
    }

    /// After a crash of this process this helper, if there is one, releases what it led.
    pub(crate) fn is_known_to(&mut self, crash_helper: Option<CrashHelper>) {
        self.crash_helper = crash_helper;
    }

    pub(crate) fn id(&self) -> CandidacyId {
        self.shared.id
    }

    /// When it wants to be called again.
    pub(crate) fn due(&self) -> Option<Instant> {
        self.due
    }

    pub(crate) fn key(&self) -> &ElectionKey {
        &self.shared.key
    }

    /// Lets a companion run beside the election until this candidate has left it.
    pub(crate) fn attach(&mut self, companion: Arc<dyn Companion>, store: &Arc<dyn Store>) {
        let (shared, store, timing) = (Arc::clone(&self.shared), Arc::clone(store), self.elector.candidate().timing);
        companion::spawn(Arc::clone(&companion), Beside { shared, store, timing });
        self.companions.push(companion);
    }

    pub(crate) fn is_stopped(&self) -> bool {
        self.elector.phase() == ElectorPhase::Stopped
    }

    /// A new subscriber first hears where things stand, so that it cannot miss an election that was over before it
    /// came.
    pub(crate) fn subscribe(&mut self, now: Instant, mut subscriber: Subscriber) {
        let standing = match (self.elector.leads_under(), self.shared.store_view().observed()) {
            (Some((term, trust)), _) => self.grant.as_ref().map(|grant| {
                let leadership = Leadership::new(Arc::clone(&self.shared), Arc::clone(grant));
                EventKind::Elected { term, trust, leadership }
            }),
            (None, Some(leader)) => Some(EventKind::Observed { leader }),
            (None, None) => None,
        };
        if standing.is_none_or(|kind| subscriber.tell(&Event { at: now, time: SystemTime::now(), kind })) {
            self.subscribers.push(subscriber);
        }
    }

    /// Feeds the elector and carries out its outputs. Returns when it wants to be called again.
    pub(crate) fn handle(
        &mut self,
        now: Instant,
        input: Input,
        entropy: &mut Entropy,
        in_flight: &mut InFlight,
    ) -> Option<Instant> {
        self.recorder.heard(now, &input);
        self.is_leaving |= input == Input::Stop;
        let input = match input {
            Input::Health { healthy } => {
                self.is_healthy = healthy;
                Input::Health { healthy: healthy && !self.is_paused }
            }
            other => other,
        };
        self.elector.handle(now, input, entropy.draw());
        self.carry_out(now, entropy, in_flight)
    }

    /// Gives up what it leads, and does not campaign until it is to [resume](Self::resume).
    pub(crate) fn pause(&mut self, now: Instant, entropy: &mut Entropy, in_flight: &mut InFlight) -> Option<Instant> {
        self.is_paused = true;
        log!(info, election = %self.shared.key, candidate = %self.shared.candidate, "paused: its work has ended");
        // Before it is not healthy any more, so that this is told as the reason.
        self.handle(now, Input::Resign { term: None, successor: None }, entropy, in_flight);
        self.elector.handle(now, Input::Health { healthy: false }, entropy.draw());
        self.carry_out(now, entropy, in_flight)
    }

    /// One that stands by under a nonce which the store knows would be waited for: the nonce is withdrawn, as after a
    /// breakdown, and the next campaign has another.
    pub(crate) fn leave_the_line(
        &mut self,
        now: Instant,
        entropy: &mut Entropy,
        in_flight: &mut InFlight,
    ) -> Option<Instant> {
        if !self.is_leaving && self.elector.phase() == ElectorPhase::Following {
            self.elector.begin_anew(now, entropy.draw(), None);
        }
        self.carry_out(now, entropy, in_flight)
    }

    /// Stands again, as healthy as the application last reported.
    pub(crate) fn resume(&mut self, now: Instant, entropy: &mut Entropy, in_flight: &mut InFlight) -> Option<Instant> {
        self.is_paused = false;
        self.handle(now, Input::Health { healthy: self.is_healthy }, entropy, in_flight)
    }

    /// Ends its leadership at once, whatever its state.
    pub(crate) fn fail_closed(&self) {
        self.shared.fail_closed();
    }

    /// Restarts after a panic of the driver. Returns when it wants to be called again.
    pub(crate) fn begin_anew(
        &mut self,
        now: Instant,
        why: &str,
        entropy: &mut Entropy,
        in_flight: &mut InFlight,
    ) -> Option<Instant> {
        let unreleased = self.unreleased();
        self.elector.begin_anew(now, entropy.draw(), unreleased);
        self.carry_out(now, entropy, in_flight);
        self.error(now, ElectionError::Panicked { what: "the election thread", message: why.to_owned() });
        // What it was told meanwhile may be lost: that it shall leave, and that its work has ended.
        if self.is_leaving {
            self.handle(now, Input::Stop, entropy, in_flight);
        }
        if let Some((Unreleased { term, .. }, grant)) = unreleased.zip(self.grant.as_ref())
            && grant.work().close()
        {
            self.handle(now, Input::WorkEnded { term }, entropy, in_flight);
        }
        self.due
    }

    /// The lease that may still be there, as the application was told.
    fn unreleased(&self) -> Option<Unreleased> {
        let (grant, trust) = self.grant.as_ref().zip(self.trust)?;
        let is_lost = self.shared.phase().read(|phase| match phase {
            Phase::Leading(leading) => (leading.term == grant.term).then_some(false),
            Phase::Leaving { term, .. } => (*term == grant.term).then_some(true),
            Phase::Standing | Phase::Stopped => None,
        })?;
        Some(Unreleased { nonce: grant.nonce()?, term: grant.term, trust, is_lost })
    }

    /// Does what the elector wants done. Returns when it wants to be called again.
    fn carry_out(&mut self, now: Instant, entropy: &mut Entropy, in_flight: &mut InFlight) -> Option<Instant> {
        let mut ended = None;
        loop {
            match self.elector.poll_output() {
                Output::Timeout(due) => match ended.take() {
                    Some(term) => self.elector.handle(now, Input::WorkEnded { term }, entropy.draw()),
                    None => {
                        // Its elector is told that a paused one is unhealthy; the application is not.
                        self.shared.set_healthy(self.is_paused || self.elector.is_healthy());
                        if self.elector.phase() == ElectorPhase::Following {
                            self.shared.standing();
                        }
                        self.due = due;
                        return due;
                    }
                },
                Output::Send(request) => self.send(now, request, in_flight),
                Output::Elected { term, trust } => self.elected(now, term, trust),
                Output::Trusted { term, trust } => self.trusted(now, term, trust),
                Output::Lost { term, reason, kill_at } => {
                    let idle = self.lost(now, term, reason, kill_at);
                    ended = idle.then_some(term);
                }
                Output::KillWork { term } => self.kill_work(now, term),
                Output::Observed { leader } => {
                    self.shared.store_view().saw(Some(leader.clone()));
                    self.tell(now, EventKind::Observed { leader });
                }
                Output::Report(anomaly) => {
                    if let Anomaly::StuckWork { term } = anomaly {
                        self.shared.lapsed(term);
                    }
                    self.error(now, ElectionError::Anomaly(anomaly));
                }
                Output::Stopped => self.stopped(now),
                other => log!(error, ?other, "unknown elector output"),
            }
        }
    }

    /// A request was answered, or failed.
    pub(crate) fn answered(&mut self, now: Instant, error: Option<StoreError>) {
        self.shared.store_view().answered(now, error.as_ref());
        if let Some(error) = error {
            self.error(now, ElectionError::Store(error));
        }
    }

    /// Tells all listeners what happened beside the election, or on the application's side.
    pub(crate) fn report(&mut self, now: Instant, event: EventKind) {
        self.recorder.reported(&event);
        if let EventKind::Error { error } = &event {
            log!(warn, election = %self.shared.key, candidate = %self.shared.candidate, "{error}");
            if let Some(runner) = &self.callbacks
                && !matches!(error, ElectionError::Callback { callback: "error", .. })
            {
                runner.call("error", runner.callbacks.error.as_ref(), error.clone(), None);
            }
        }
        self.tell(now, event);
    }

    fn error(&mut self, now: Instant, error: ElectionError) {
        self.report(now, EventKind::Error { error });
    }

    fn send(&mut self, now: Instant, request: Request, in_flight: &mut InFlight) {
        self.recorder.asked(now, &request);
        let candidate = self.elector.candidate();
        let timing = &candidate.timing;
        let from = Requester { candidacy: self.shared.id, request: request.id };
        let patience = now + timing.attempt_timeout();
        let key = self.shared.key.clone();
        match request.verb {
            Verb::Campaign { nonce } => {
                let request = Campaign {
                    key,
                    candidate: candidate.id.clone(),
                    nonce,
                    ttl: timing.ttl(),
                    priority: candidate.priority,
                    metadata: Metadata::clone(&self.metadata),
                    stand_by_for: self.stand_by_for,
                };
                in_flight.campaign(from, request, patience);
            }
            Verb::Renew { nonce, term } => {
                in_flight.renew(from, Renew { key, nonce, term, ttl: timing.ttl() }, patience);
            }
            Verb::Resign { nonce, term, successor, reason } => {
                // Whoever comes next may be granted the lease as soon as this is sent.
                if let Some(grant) = &self.grant {
                    grant.distrust();
                }
                if let Some(helper) = &self.crash_helper {
                    helper.holds_none(self.shared.id.0);
                }
                in_flight.resign(from, Resign { key, nonce, term, successor, reason }, patience);
            }
        }
    }

    fn elected(&mut self, now: Instant, term: Term, trust: Trust) {
        log!(info, election = %self.shared.key, candidate = %self.shared.candidate, %term, "elected");
        self.recorder.elected(now);
        self.shared.store_view().saw(None);
        let grant = Arc::new(Grant::new(term, self.elector.nonce()));
        (self.grant, self.trust) = (Some(Arc::clone(&grant)), Some(trust));
        self.shared.elected(Arc::clone(&grant), trust);
        let leadership = Leadership::new(Arc::clone(&self.shared), grant);
        if let (Some(helper), Some(lease)) = (&self.crash_helper, OrphanLease::of(&leadership)) {
            helper.holds(self.shared.id.0, lease, self.elector.candidate().timing.ttl());
        }
        if let Some(runner) = &self.callbacks {
            // What it does under this term has to end before the lease is released.
            let work = leadership.hold();
            runner.call("elected", runner.callbacks.elected.as_ref(), leadership.clone(), work);
        }
        self.tell(now, EventKind::Elected { term, trust, leadership });
    }

    fn trusted(&mut self, now: Instant, term: Term, trust: Trust) {
        self.trust = Some(trust);
        if let Some(grant) = &self.grant {
            self.shared.renewed(grant, trust);
        }
        log!(trace, election = %self.shared.key, %term, "renewed");
        self.recorder.renewed();
        self.tell(now, EventKind::Renewed { term, trust });
    }

    /// Returns whether there is no work to wait for.
    fn lost(&mut self, now: Instant, term: Term, reason: LossReason, kill_at: Instant) -> bool {
        let reason_word = reason.as_str();
        log!(info, election = %self.shared.key, candidate = %self.shared.candidate, %term, reason_word, "lost");
        if let Some(grant) = &self.grant {
            // Before anybody is told to stop, so that whoever is can say why.
            grant.lost_because(reason);
        }
        self.shared.lost(term);
        self.recorder.lost(reason);
        let Some(grant) = &self.grant else { return true };
        if kill_at <= now {
            grant.distrust();
        }
        if let Some(runner) = &self.callbacks
            && runner.callbacks.lost.is_some()
        {
            let work = Leadership::new(Arc::clone(&self.shared), Arc::clone(grant)).hold();
            runner.call("lost", runner.callbacks.lost.as_ref(), (term, reason), work);
        }
        let idle = grant.work().close();
        self.tell(now, EventKind::Lost { term, reason, kill_at });
        idle
    }

    fn kill_work(&mut self, now: Instant, term: Term) {
        self.shared.killed(term);
        let hung = self.callbacks.as_ref().and_then(|runner| runner.running());
        if let Some(callback) = hung {
            let message = "has not returned although its time is up".to_owned();
            self.error(now, ElectionError::Callback { callback, message });
        }
        let complaints = self.companions.iter().filter_map(|companion| companion.complaint(&self.shared));
        for error in complaints.collect::<Vec<_>>() {
            self.error(now, error);
        }
    }

    fn stopped(&mut self, now: Instant) {
        log!(info, election = %self.shared.key, candidate = %self.shared.candidate, "left the election");
        if let Some(grant) = &self.grant {
            grant.distrust();
        }
        self.shared.stopped();
        self.tell(now, EventKind::Stopped);
    }

    fn tell(&mut self, now: Instant, kind: EventKind) {
        if self.subscribers.is_empty() {
            return;
        }
        let event = Event { at: now, time: SystemTime::now(), kind };
        self.subscribers.retain_mut(|subscriber| subscriber.tell(&event));
    }
}

impl Drop for DrivenCandidacy {
    /// Nobody must wait for a candidacy that nobody runs any more, whether it was stopped or its driver died.
    fn drop(&mut self) {
        self.shared.stopped();
    }
}
