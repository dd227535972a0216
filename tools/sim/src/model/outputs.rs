//! Carrying out what an elector wants.

use std::time::Duration;

use tenure_core::{Anomaly, Input, Instant, Output, Request, Term, Trust, Verb};

use super::laws::{Law, ModelSituation};
use super::shared::Interned;
use super::state::{AwaitedRequest, Body, ModelMessage, ModelNode, ModelWork, Origin, WorkPhase};
use super::step::ModelStep;
use crate::mistake::ProcessMistake;
use crate::words::{name, wanted};

impl ModelStep<'_> {
    /// Gives an elector its input, and carries out what it wants.
    pub(super) fn feed(&mut self, index: usize, input: Input) {
        let now = self.clock(index);
        if self.state.nodes[index].asked.is_some_and(|asked| asked.given_up_at <= now) {
            self.gives_up(index);
        }
        let mut node = ModelNode::clone(&self.state.nodes[index]);
        node.elector.handle(now, input, node.draw(index));
        node.timeout = loop {
            match node.elector.poll_output() {
                Output::Timeout(at) => break at,
                output => self.carry_out(index, &mut node, now, output),
            }
        };
        self.judge_called(&node, now);
        self.state.nodes[index] = Interned::new(node);
    }

    fn carry_out(&mut self, index: usize, node: &mut ModelNode, now: Instant, output: Output) {
        self.note(|| format!("{} {}", name(index), wanted(&output, now)));
        self.require(!node.stopped, Law::StoppedIsSilent);
        match output {
            Output::Send(request) => self.ask(index, node, now, request),
            Output::Elected { term, trust } => self.elected(node, term, trust),
            Output::Trusted { term, trust } => {
                self.require(node.runs(term), Law::Alternates);
                self.require(node.resigned < Some(term), Law::LostStaysLost);
                node.work = Some(ModelWork { term, until: trust.until, phase: WorkPhase::Running });
                self.show(self.has_outlived_grant(), ModelSituation::RenewedBeyondFirstLease);
            }
            Output::Lost { term, .. } => {
                self.require(node.runs(term), Law::Alternates);
                if let Some(work) = &mut node.work {
                    work.phase = WorkPhase::Stopping;
                }
            }
            Output::KillWork { .. } => self.kill(node, now),
            Output::Report(Anomaly::Regressed { .. } | Anomaly::Replaced { .. }) => {
                self.require(false, Law::NoFalseAlarm);
            }
            Output::Stopped => node.stopped = true,
            _ => (),
        }
    }

    fn ask(&mut self, index: usize, node: &mut ModelNode, now: Instant, request: Request) {
        let mut nonce = None;
        match request.verb {
            Verb::Campaign { nonce: own } => {
                self.require(node.work.is_none(), Law::NoRivalToItself);
                nonce = Some(own);
            }
            Verb::Renew { term, .. } => {
                self.require(node.runs(term) && node.resigned < Some(term), Law::LostStaysLost);
            }
            Verb::Resign { term, .. } => {
                self.require(node.work.is_none_or(|work| Some(work.term) != term), Law::WorkEndsFirst);
                node.resigned = node.resigned.max(term);
            }
        }
        let given_up_at = now + self.world.timing.attempt_timeout();
        node.asked = Some(AwaitedRequest { id: request.id, given_up_at, nonce });
        node.last_request = request.id;
        let body = Interned::new(Body::Request(request));
        let message = ModelMessage { node: index, incarnation: node.incarnation, body };
        self.state.send(message, self.world.options.link);
    }

    fn elected(&mut self, node: &mut ModelNode, term: Term, trust: Trust) {
        self.require(node.work.is_none(), Law::Alternates);
        self.require(node.resigned < Some(term), Law::LostStaysLost);
        self.require(self.state.elected < Some(term), Law::TermsGrow);
        self.state.elected = self.state.elected.max(Some(term));
        node.work = Some(ModelWork { term, until: trust.until, phase: WorkPhase::Running });
        self.show(std::mem::take(&mut node.fell), ModelSituation::LeadsAfterCrash);
        if let Some(grant) = self.state.grant.filter(|grant| grant.term == term) {
            self.show(grant.origin == Origin::Expired, ModelSituation::Takeover);
            self.show(grant.origin == Origin::Reserved, ModelSituation::HandOver);
            self.show(grant.request != node.answered, ModelSituation::GhostFound);
        }
    }

    /// Work that is killed in time is gone when its trust ends. If that has passed, whoever guards it has ended it.
    fn kill(&mut self, node: &mut ModelNode, now: Instant) {
        let Some(work) = &mut node.work else { return };
        if self.world.makes(ProcessMistake::NoKill) {
            work.until = Instant::FAR_FUTURE;
            return;
        }
        let by = (now + self.world.timing.reaction()).min(work.until).max(now);
        work.phase = WorkPhase::Dying { by };
    }

    /// Whether the lease would have run out by now, had it not been renewed.
    fn has_outlived_grant(&self) -> bool {
        self.state.record.lease.as_ref().is_some_and(|lease| {
            let granted_at = Instant::ZERO + Duration::from_millis(lease.leader.since_unix_ms.unwrap_or_default());
            granted_at + lease.ttl <= self.world.store_clock.at(self.state.now)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::laws::Signs;
    use crate::model::options::ModelOptions;
    use crate::model::world::ModelWorld;
    use tenure_core::{LossReason, Nonce, RequestId};

    /// What the last of these outputs breaks, if a candidate that has not begun wanted them.
    fn broken(outputs: &[Output]) -> Vec<Law> {
        let world = ModelWorld::new(&ModelOptions::default());
        let mut step = ModelStep::from(&world, world.beginning());
        let mut node = ModelNode::clone(&step.state.nodes[0]);
        for output in outputs {
            step.state.signs = Signs::default();
            step.carry_out(0, &mut node, Instant::ZERO, output.clone());
        }
        Law::ALL.into_iter().filter(|law| step.state.signs.has_broken(*law)).collect()
    }

    fn term(number: u64) -> Term {
        Term::new(number).unwrap()
    }

    fn send(verb: Verb) -> Output {
        Output::Send(Request { id: RequestId(7), verb })
    }

    fn trust() -> Trust {
        Trust::ending_at(Instant::FAR_FUTURE)
    }

    fn elected(number: u64) -> Output {
        Output::Elected { term: term(number), trust: trust() }
    }

    fn trusted(number: u64) -> Output {
        Output::Trusted { term: term(number), trust: trust() }
    }

    fn lost(number: u64) -> Output {
        Output::Lost { term: term(number), reason: LossReason::Expired, kill_at: Instant::ZERO }
    }

    fn campaign() -> Output {
        send(Verb::Campaign { nonce: Nonce::from_bits(1) })
    }

    fn renewal(number: u64) -> Output {
        send(Verb::Renew { nonce: Nonce::from_bits(1), term: term(number) })
    }

    fn resignation(number: u64) -> Output {
        let (nonce, term, reason) = (Nonce::from_bits(1), Some(term(number)), LossReason::Resigned);
        send(Verb::Resign { nonce, term, successor: None, reason })
    }

    #[test]
    fn an_orderly_life_breaks_nothing() {
        let life = [campaign(), elected(1), renewal(1), trusted(1), lost(1), Output::KillWork { term: term(1) }];
        for end in 1..=life.len() {
            assert_eq!(broken(&life[..end]), [], "{:?}", life[end - 1]);
        }
    }

    #[test]
    fn elected_and_lost_must_alternate() {
        assert_eq!(broken(&[lost(1)]), [Law::Alternates]);
        assert_eq!(broken(&[elected(1), elected(2)]), [Law::Alternates]);
        assert_eq!(broken(&[elected(1), lost(2)]), [Law::Alternates]);
        assert_eq!(broken(&[elected(1), lost(1), trusted(1)]), [Law::Alternates]);
    }

    #[test]
    fn nothing_may_happen_under_a_term_that_was_lost() {
        assert_eq!(broken(&[elected(1), lost(1), renewal(1)]), [Law::LostStaysLost]);
        assert_eq!(broken(&[resignation(1), elected(1)]), [Law::LostStaysLost]);
    }

    #[test]
    fn terms_must_grow() {
        assert_eq!(broken(&[elected(2), elected(1)]), [Law::TermsGrow, Law::Alternates]);
    }

    #[test]
    fn work_must_end_before_a_release_or_another_campaign() {
        assert_eq!(broken(&[elected(1), lost(1), resignation(1)]), [Law::WorkEndsFirst]);
        assert_eq!(broken(&[elected(1), lost(1), campaign()]), [Law::NoRivalToItself]);
    }

    #[test]
    fn an_alarm_is_false_and_the_end_is_the_end() {
        let alarm = Output::Report(Anomaly::Regressed { seen: term(2), shown: term(1) });
        assert_eq!(broken(&[alarm]), [Law::NoFalseAlarm]);
        assert_eq!(broken(&[Output::Stopped, campaign()]), [Law::StoppedIsSilent]);
    }
}
