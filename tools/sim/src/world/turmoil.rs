//! The faults: when they strike, and what they do.

use std::time::Duration;

use tenure_core::{Drift, Input, Standing};

use super::queue::Event;
use super::view::nanos;
use super::{Outcome, World, part};
use crate::assumption::Assumption;
use crate::chance::Chance;
use crate::clock::{MILLI, Rate, SECOND};
use crate::fault::Fault;
use crate::invariants::Seen;
use crate::kind::Kind;
use crate::mistake::{Mistake, ProcessMistake};
use crate::store::Store;
use crate::tally::Situation;

impl World {
    pub(super) fn schedule_turmoil(&mut self) {
        let faults: Vec<Fault> = self.options.faults.iter().copied().filter(|fault| fault.is_event()).collect();
        for fault in faults {
            self.schedule(fault);
        }
    }

    fn schedule(&mut self, fault: Fault) {
        let pace = self.options.pace;
        let at = self.now + self.chance_of(fault).interval(pace);
        self.queue.put(at, Event::Fault(fault));
    }

    pub(super) fn chance_of(&mut self, fault: Fault) -> &mut Chance {
        &mut self.fault_chance[fault as usize]
    }

    pub(super) fn strike(&mut self, fault: Fault) -> Outcome {
        self.schedule(fault);
        self.disturb();
        let count = self.nodes.len();
        let ttl = nanos(self.options.ttl_max());
        let chance = self.chance_of(fault);
        let mut node = chance.index(count);
        // Half of all faults strike where it hurts.
        let at_leader = chance.percent(50);
        // Most pass before anything runs out, some last for several leases.
        let lasts = if chance.percent(60) { chance.up_to(ttl / 2) } else { chance.up_to(5 * ttl) };
        if let Some(leader) = self.leader.filter(|_| at_leader) {
            node = leader.node;
        }
        self.say(|world| format!("* {fault} at {}, {:?}", world.name(node), Duration::from_nanos(lasts)));
        match fault {
            Fault::Pause => self.pause(node, lasts),
            Fault::Suspend => self.suspend(node, lasts),
            Fault::VmPause => self.stop_clock(node, lasts),
            Fault::Crash => return self.strike_dead(node, lasts),
            Fault::CutRequests | Fault::CutAnswers | Fault::CutBoth => self.cut(fault, node, lasts),
            Fault::FalseHints => self.hint_falsely(node),
            Fault::StoreDown => {
                self.store_refuses = self.chance_of(fault).percent(50);
                self.store_down_until = self.now + lasts;
                self.ease_at(self.store_down_until);
            }
            Fault::StoreSlow => {
                self.store_slow_until = self.now + lasts;
                self.store_slow_by = self.chance_of(fault).up_to(ttl);
                self.ease_at(self.store_slow_until);
            }
            Fault::ClockRate => self.change_rate(node),
            Fault::Illness => self.fall_ill(node, lasts),
            Fault::Resign => {
                let successor = self.chance_of(fault).percent(30).then(|| {
                    let next = (node + 1) % count;
                    self.nodes[next].contender.candidate.id.clone()
                });
                self.tell(node, Input::Resign { term: None, successor });
            }
            Fault::Handover => self.ask_for_handover(node),
            Fault::Leave => return self.leave(node, lasts),
            Fault::ClockStep => self.step_clock(),
            Fault::Failover => self.fail_over(lasts),
            Fault::QuorumChange => {
                // It is silent for an election, and then all leases begin anew.
                self.store_down_until = self.now + self.chance_of(fault).up_to(2 * SECOND);
                self.ease_at(self.store_down_until);
                let shown = self.store_shows();
                self.store.change_quorum(shown);
            }
            Fault::Replacement => {
                self.breaks(Assumption::StoreRemembers);
                self.store.replace();
            }
            Fault::WallStep => self.step_wall(node),
            Fault::HeadOfLine => return self.strike_head_of_line(),
            Fault::Loss
            | Fault::Duplication
            | Fault::Delay
            | Fault::SlowAnswers
            | Fault::LostHints
            | Fault::StoreErrors
            | Fault::UnsureGrants
            | Fault::SlowWork
            | Fault::StubbornWork => (),
        }
        Ok(())
    }

    pub(super) fn pause(&mut self, node: usize, lasts: u64) {
        let process = &mut self.nodes[node];
        process.paused_until = process.paused_until.max(self.now + lasts);
        let until = process.paused_until;
        self.set_alarm(node);
        self.queue.put(until, Event::Resume { node });
    }

    fn suspend(&mut self, node: usize, lasts: u64) {
        let machine = self.nodes[node].machine;
        let until = self.machines[machine].suspended_until.max(self.now + lasts);
        self.machines[machine].suspended_until = until;
        if Mistake::is_process(self.options.mistake, ProcessMistake::ClockStopsInSuspend) {
            self.machines[machine].clock.stop(self.now);
            self.queue.put(until, Event::ClockGoesOn { machine });
        }
        for node in (0..self.nodes.len()).filter(|node| self.nodes[*node].machine == machine) {
            self.queue.put(until, Event::Resume { node });
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
        self.queue.put(until, Event::ClockGoesOn { machine });
        self.queue.put(until, Event::Resume { node });
        self.set_alarms();
    }

    pub(super) fn strike_dead(&mut self, node: usize, lasts: u64) -> Outcome {
        let leads = self.nodes[node].told.is_some();
        if leads {
            self.count(Situation::LeaderCrash);
        }
        self.crash(node)?;
        self.queue.put(self.now + lasts, Event::Restart { node });
        Ok(())
    }

    fn cut(&mut self, fault: Fault, node: usize, lasts: u64) {
        let until = self.now + lasts;
        let refuses = self.chance_of(fault).percent(30);
        let link = &mut self.nodes[node].link;
        link.refuses = refuses;
        if fault != Fault::CutAnswers {
            link.requests_cut_until = link.requests_cut_until.max(until);
        }
        if fault != Fault::CutRequests {
            link.answers_cut_until = link.answers_cut_until.max(until);
        }
        self.ease_at(until);
    }

    fn ease_at(&mut self, until: u64) {
        self.queue.put(until, Event::Eased);
    }

    fn hint_falsely(&mut self, node: usize) {
        let to = self.nodes[node].life(node);
        let count = self.chance_of(Fault::FalseHints).below(30);
        for _ in 0..count {
            let at = self.now + self.chance_of(Fault::FalseHints).up_to(200 * MILLI);
            self.queue.put(at, Event::AtProcess { to, input: Input::Hint, sent: self.now });
        }
    }

    fn change_rate(&mut self, node: usize) {
        let rate = Rate::drifting(Drift::ONE_NINTH, part(self.chance_of(Fault::ClockRate)));
        let of_store = self.chance_of(Fault::ClockRate).percent(30);
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
        self.tell(node, Input::Health { well: false });
        let of = self.nodes[node].life(node);
        self.queue.put(self.now + lasts, Event::Recover { of });
    }

    fn tell(&mut self, node: usize, input: Input) {
        let to = self.nodes[node].life(node);
        self.queue.put(self.now, Event::AtProcess { to, input, sent: self.now });
    }

    fn ask_for_handover(&mut self, node: usize) {
        let by = self.nodes[node].life(node);
        let wake = self.with_caller(by, Duration::ZERO, Store::ask_for_handover);
        self.wake(&wake);
    }

    pub(super) fn leave(&mut self, node: usize, lasts: u64) -> Outcome {
        let standing = self.nodes[node].elector.as_ref().map(tenure_core::Elector::standing);
        if standing.is_none_or(|standing| standing == Standing::Stopped) {
            return Ok(());
        }
        self.queue.put(self.now + lasts + SECOND, Event::Restart { node });
        if self.now < self.nodes[node].away_until(&self.machines) {
            return Ok(());
        }
        self.see(&Seen::ToldToStop { node })?;
        self.feed(node, Input::Stop)
    }

    fn step_clock(&mut self) {
        self.breaks(Assumption::StoreClockIsNotSet);
        let ttl = i64::try_from(nanos(self.options.ttl_max())).unwrap_or(i64::MAX);
        let factor = self.chance_of(Fault::ClockStep).pick(&[-3, -1, 1, 1, 10]);
        if let Some(clock) = &mut self.store.clock {
            clock.step(self.now, ttl * factor);
        }
        self.step_store_wall(ttl * factor);
    }

    /// The copy takes over. Some still reach the old primary for a while.
    fn fail_over(&mut self, lasts: u64) {
        debug_assert_eq!(self.options.kind, Kind::Replicated);
        self.breaks(Assumption::StoreRemembers);
        let lag = self.chance_of(Fault::Failover).up_to(2 * SECOND);
        self.store.fail_over(self.now, lag);
        let until = self.now + lasts;
        for node in 0..self.nodes.len() {
            if self.chance_of(Fault::Failover).percent(25) {
                self.nodes[node].link.at_old_primary_until = until;
            }
        }
        self.ease_at(until);
    }
}
