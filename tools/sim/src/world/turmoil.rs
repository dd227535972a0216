//! The faults: when they strike, and what they do.

use std::time::Duration;

use tenure_core::{Drift, ElectorPhase, Input};

use super::queue::SimEvent;
use super::view::nanos;
use super::{SimOutcome, SimWorld, part};
use crate::assumption::Assumption;
use crate::clock::{MILLI, Rate, SECOND};
use crate::fault::FaultClass;
use crate::invariants::Occurrence;
use crate::kind::StoreKind;
use crate::mistake::{Mistake, ProcessMistake};
use crate::rng::SimRng;
use crate::store::SimStore;
use crate::tally::Situation;

/// How many ttls there are between two editions of the jobs, on average.
const RELOAD_EVERY_TTLS: u64 = 6;

impl SimWorld {
    pub(super) fn schedule_turmoil(&mut self) {
        let faults: Vec<FaultClass> = self.options.faults.iter().copied().filter(|fault| fault.is_event()).collect();
        for fault in faults {
            self.schedule(fault);
        }
    }

    pub(super) fn schedule(&mut self, fault: FaultClass) {
        // Jobs change at a pace of their own: what that does is seen best while little else happens.
        let own_pace = RELOAD_EVERY_TTLS * nanos(self.options.max_ttl());
        let pace = if fault == FaultClass::Reload { own_pace } else { self.options.pace };
        let at = self.now + self.chance_of(fault).interval(pace);
        self.queue.put(at, SimEvent::Fault(fault));
    }

    pub(super) fn chance_of(&mut self, fault: FaultClass) -> &mut SimRng {
        &mut self.fault_chance[fault as usize]
    }

    pub(super) fn strike(&mut self, fault: FaultClass) -> SimOutcome {
        self.schedule(fault);
        self.disturb();
        let count = self.nodes.len();
        let ttl = nanos(self.options.max_ttl());
        let rng = self.chance_of(fault);
        let mut node = rng.index(count);
        // Half of all faults strike where it hurts.
        let at_leader = rng.percent(50);
        // Most pass before anything runs out, some last for several leases.
        let lasts = if rng.percent(60) { rng.up_to(ttl / 2) } else { rng.up_to(5 * ttl) };
        if let Some(leader) = self.leader.filter(|_| at_leader) {
            node = leader.node;
        }
        self.say(|world| format!("* {fault} at {}, {:?}", world.name(node), Duration::from_nanos(lasts)));
        match fault {
            FaultClass::Pause => self.pause(node, lasts),
            FaultClass::Suspend => self.suspend(node, lasts),
            FaultClass::VmPause => self.stop_clock(node, lasts),
            FaultClass::Crash => return self.strike_dead(node, lasts),
            FaultClass::CutRequests | FaultClass::CutAnswers | FaultClass::CutBoth => self.cut(fault, node, lasts),
            FaultClass::FalseHints => self.hint_falsely(node),
            FaultClass::StoreDown => {
                self.store_refuses = self.chance_of(fault).percent(50);
                self.store_down_until = self.now + lasts;
                self.ease_at(self.store_down_until);
            }
            FaultClass::StoreSlow => {
                self.store_slow_until = self.now + lasts;
                self.store_slow_by = self.chance_of(fault).up_to(ttl);
                self.ease_at(self.store_slow_until);
            }
            FaultClass::ClockRate => self.change_rate(node),
            FaultClass::Illness => self.fall_ill(node, lasts),
            FaultClass::Resign => {
                let successor = self.chance_of(fault).percent(30).then(|| {
                    let next = (node + 1) % count;
                    self.nodes[next].contender.candidate.id.clone()
                });
                self.tell(node, Input::Resign { term: None, successor });
            }
            FaultClass::Handover => self.ask_for_handover(node),
            FaultClass::Leave => return self.leave(node, lasts),
            FaultClass::ClockStep => self.step_clock(),
            FaultClass::Failover => self.fail_over(lasts),
            FaultClass::QuorumChange => self.change_quorum(),
            FaultClass::Replacement => {
                self.breaks(Assumption::StoreRemembers);
                self.store.replace();
            }
            FaultClass::WallStep => self.step_wall(node),
            FaultClass::HeadOfLine => return self.strike_head_of_line(),
            // It strikes nobody.
            FaultClass::Reload
            | FaultClass::Loss
            | FaultClass::Duplication
            | FaultClass::Delay
            | FaultClass::SlowAnswers
            | FaultClass::LostHints
            | FaultClass::StoreErrors
            | FaultClass::UnsureGrants
            | FaultClass::SlowWork
            | FaultClass::StubbornWork
            | FaultClass::GuardRelease => (),
        }
        Ok(())
    }

    /// It is silent for an election, and then all leases begin anew.
    fn change_quorum(&mut self) {
        self.store_down_until = self.now + self.chance_of(FaultClass::QuorumChange).up_to(2 * SECOND);
        self.ease_at(self.store_down_until);
        let shown = self.store_shows();
        self.store.change_quorum(shown);
    }

    pub(super) fn pause(&mut self, node: usize, lasts: u64) {
        let process = &mut self.nodes[node];
        process.paused_until = process.paused_until.max(self.now + lasts);
        let until = process.paused_until;
        self.set_alarm(node);
        self.queue.put(until, SimEvent::Resume { node });
    }

    fn suspend(&mut self, node: usize, lasts: u64) {
        let machine = self.nodes[node].machine;
        let until = self.machines[machine].suspended_until.max(self.now + lasts);
        self.machines[machine].suspended_until = until;
        if Mistake::is_process(self.options.mistake, ProcessMistake::ClockStopsInSuspend) {
            self.machines[machine].clock.stop(self.now);
            self.queue.put(until, SimEvent::ClockGoesOn { machine });
        }
        for node in (0..self.nodes.len()).filter(|node| self.nodes[*node].machine == machine) {
            self.queue.put(until, SimEvent::Resume { node });
        }
        self.set_alarms();
    }

    /// Paused from outside, with its clock.
    fn stop_clock(&mut self, node: usize, lasts: u64) {
        self.breaks(Assumption::ClocksGoOn);
        let machine = self.nodes[node].machine;
        self.machines[machine].clock.stop(self.now);
        let until = self.machines[machine].suspended_until.max(self.now + lasts);
        self.machines[machine].suspended_until = until;
        self.queue.put(until, SimEvent::ClockGoesOn { machine });
        self.queue.put(until, SimEvent::Resume { node });
        self.set_alarms();
    }

    pub(super) fn strike_dead(&mut self, node: usize, lasts: u64) -> SimOutcome {
        let leads = self.nodes[node].told.is_some();
        if leads {
            self.count(Situation::LeaderCrash);
        }
        self.crash(node)?;
        self.queue.put(self.now + lasts, SimEvent::Restart { node });
        Ok(())
    }

    fn cut(&mut self, fault: FaultClass, node: usize, lasts: u64) {
        let until = self.now + lasts;
        let refuses = self.chance_of(fault).percent(30);
        let link = &mut self.nodes[node].link;
        link.refuses = refuses;
        if fault != FaultClass::CutAnswers {
            link.requests_cut_until = link.requests_cut_until.max(until);
        }
        if fault != FaultClass::CutRequests {
            link.answers_cut_until = link.answers_cut_until.max(until);
        }
        self.ease_at(until);
    }

    fn ease_at(&mut self, until: u64) {
        self.queue.put(until, SimEvent::Eased);
    }

    fn hint_falsely(&mut self, node: usize) {
        let to = self.nodes[node].life(node);
        let count = self.chance_of(FaultClass::FalseHints).below(30);
        for _ in 0..count {
            let at = self.now + self.chance_of(FaultClass::FalseHints).up_to(200 * MILLI);
            self.queue.put(at, SimEvent::AtProcess { to, input: Input::Hint, sent: self.now });
        }
    }

    fn change_rate(&mut self, node: usize) {
        let rate = Rate::drifting(Drift::ONE_NINTH, part(self.chance_of(FaultClass::ClockRate)));
        let of_store = self.chance_of(FaultClass::ClockRate).percent(30);
        match &mut self.store.clock {
            Some(clock) if of_store => clock.set_rate(self.now, rate),
            _ => {
                let machine = self.nodes[node].machine;
                self.machines[machine].clock.set_rate(self.now, rate);
                self.set_alarms();
            }
        }
    }

    fn fall_ill(&mut self, node: usize, lasts: u64) {
        self.nodes[node].is_ill = true;
        self.tell(node, Input::Health { healthy: false });
        let of = self.nodes[node].life(node);
        self.queue.put(self.now + lasts, SimEvent::Recover { of });
    }

    fn tell(&mut self, node: usize, input: Input) {
        let to = self.nodes[node].life(node);
        self.queue.put(self.now, SimEvent::AtProcess { to, input, sent: self.now });
    }

    fn ask_for_handover(&mut self, node: usize) {
        let by = self.nodes[node].life(node);
        let wake = self.with_caller(by, Duration::ZERO, SimStore::ask_for_handover);
        self.wake(&wake);
    }

    pub(super) fn leave(&mut self, node: usize, lasts: u64) -> SimOutcome {
        let standing = self.nodes[node].elector.as_ref().map(tenure_core::Elector::phase);
        if standing.is_none_or(|standing| standing == ElectorPhase::Stopped) {
            return Ok(());
        }
        self.queue.put(self.now + lasts + SECOND, SimEvent::Restart { node });
        if self.now < self.nodes[node].away_until(&self.machines) {
            return Ok(());
        }
        self.see(&Occurrence::ToldToStop { node })?;
        self.feed(node, Input::Stop)
    }

    fn step_clock(&mut self) {
        self.breaks(Assumption::StoreClockIsNotSet);
        let ttl = i64::try_from(nanos(self.options.max_ttl())).unwrap_or(i64::MAX);
        let factor = self.chance_of(FaultClass::ClockStep).pick(&[-3, -1, 1, 1, 10]);
        if let Some(clock) = &mut self.store.clock {
            clock.step(self.now, ttl * factor);
        }
        self.step_store_wall(ttl * factor);
    }

    /// The copy takes over. Some still reach the old primary for a while.
    fn fail_over(&mut self, lasts: u64) {
        debug_assert_eq!(self.options.kind, StoreKind::Replicated);
        self.breaks(Assumption::StoreRemembers);
        let lag = self.chance_of(FaultClass::Failover).up_to(2 * SECOND);
        self.store.fail_over(self.now, lag);
        let until = self.now + lasts;
        for node in 0..self.nodes.len() {
            if self.chance_of(FaultClass::Failover).percent(25) {
                self.nodes[node].link.at_old_primary_until = until;
            }
        }
        self.ease_at(until);
    }
}
