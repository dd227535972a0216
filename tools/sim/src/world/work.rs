//! Work: it begins with an election, is told to end, and is killed when it does not.

use tenure_core::{Input, Instant, Term};

use super::node::SimWork;
use super::queue::{Incarnation, SimEvent};
use super::view::nanos;
use super::{SimOutcome, SimWorld};
use crate::assumption::Assumption;
use crate::clock::MILLI;
use crate::fault::FaultClass;
use crate::invariants::Occurrence;
use crate::mistake::{Mistake, ProcessMistake};
use crate::options::WorkStyle;
use crate::tally::Situation;

impl SimWorld {
    pub(super) fn begin_work(&mut self, node: usize, work: SimWork) -> SimOutcome {
        let (of, term, kill_at) = (work.of, work.term, work.kill_at);
        self.nodes[node].work = Some(work);
        self.see(&Occurrence::Works { node, term })?;
        if self.nodes[node].contender.style == WorkStyle::Guarded {
            self.guard_at(node, of, term, kill_at);
        }
        self.queue.put(self.now, SimEvent::Act { by: of, term });
        Ok(())
    }

    pub(super) fn work_under(&mut self, node: usize, term: Term) -> Option<&mut SimWork> {
        self.nodes[node].work.as_mut().filter(|work| work.term == term)
    }

    /// Leadership is lost: most work ends soon, some takes all the time there is, and longer.
    pub(super) fn ask_work_to_end(&mut self, node: usize, term: Term, kill_at: Instant) {
        let timing = self.nodes[node].contender.candidate.timing;
        let slow = self.options.has(FaultClass::SlowWork) && !self.healed && self.rng.percent(50);
        let Some(work) = self.work_under(node, term) else { return };
        work.kill_at = work.kill_at.min(kill_at);
        let of = work.of;
        if !slow && !work.is_stubborn {
            let longest = nanos(timing.grace()) / 2;
            let at = self.now + self.rng.up_to(longest);
            self.queue.put(at, SimEvent::WorkEnds { of, term });
        }
    }

    /// The work is killed, which takes its time, too.
    pub(super) fn kill_work(&mut self, node: usize, term: Term) {
        let max_lag = nanos(self.nodes[node].contender.candidate.timing.reaction()) / 2 - MILLI;
        let at = self.now + self.rng.up_to(max_lag);
        let never = Mistake::is_process(self.options.mistake, ProcessMistake::NoKill);
        let Some(work) = self.work_under(node, term) else { return };
        if std::mem::replace(&mut work.is_ending, true) || never {
            return;
        }
        let of = work.of;
        if work.is_stubborn {
            self.breaks(Assumption::WorkCanBeKilled);
            return;
        }
        self.count(Situation::Kill);
        self.queue.put(at, SimEvent::WorkEnds { of, term });
    }

    /// Its process is gone: work inside it is gone, too, and a guard ends what is not.
    pub(super) fn orphan_work(&mut self, node: usize) -> SimOutcome {
        let Some(work) = &self.nodes[node].work else { return Ok(()) };
        let (of, term) = (work.of, work.term);
        match self.nodes[node].contender.style {
            WorkStyle::Library => self.work_ends(of, term),
            WorkStyle::Guarded => {
                self.kill_work(node, term);
                Ok(())
            }
        }
    }

    /// Work ends, unless it stands still. Its process hears of it when it can.
    pub(super) fn work_ends(&mut self, of: Incarnation, term: Term) -> SimOutcome {
        let node = &self.nodes[of.node];
        if node.work.as_ref().is_none_or(|work| work.of != of || work.term != term) {
            return Ok(());
        }
        let is_inside = node.contender.style == WorkStyle::Library && node.elector.is_some();
        let away_until =
            if is_inside { node.away_until(&self.machines) } else { self.machines[node.machine].suspended_until };
        if self.now < away_until {
            self.queue.put(away_until, SimEvent::WorkEnds { of, term });
            return Ok(());
        }
        self.cut_off_runs(of, term);
        self.cut_off_handlers(of, term)?;
        let keeps_lease = self.keeps_lease(of, term) || self.mail_keeps_lease(of, term);
        if let Some(work) = &mut self.nodes[of.node].work
            && keeps_lease
            && !work.is_ending
        {
            work.is_done = true;
            return Ok(());
        }
        self.nodes[of.node].work = None;
        self.release_orphaned(of);
        self.end_jobs(of, term);
        self.end_mail(of, term);
        self.say(|world| format!("{}'s work of term {term} ends", world.name(of.node)));
        self.deliver(of, Input::WorkEnded { term }, self.now)
    }

    /// The guard's alarm: the deadline may have moved meanwhile.
    pub(super) fn guard(&mut self, of: Incarnation, term: Term) -> SimOutcome {
        let Some(work) = self.nodes[of.node].work.as_ref().filter(|work| work.of == of && work.term == term) else {
            return Ok(());
        };
        let machine = &self.machines[self.nodes[of.node].machine];
        if self.now < machine.suspended_until {
            self.queue.put(machine.suspended_until, SimEvent::Guard { of, term });
        } else if machine.clock.at(self.now) < work.kill_at {
            let kill_at = work.kill_at;
            self.guard_at(of.node, of, term, kill_at);
        } else {
            self.kill_work(of.node, term);
        }
        Ok(())
    }

    fn guard_at(&mut self, node: usize, of: Incarnation, term: Term, kill_at: Instant) {
        let clock = &self.machines[self.nodes[node].machine].clock;
        // Clocks change their rate, so a guard looks again before the time is over.
        let at = clock.when(kill_at).unwrap_or(self.now + MILLI).max(self.now + MILLI / 100);
        let halfway = self.now + (at - self.now) / 2;
        let next = if at - self.now > MILLI { halfway } else { at };
        self.queue.put(next, SimEvent::Guard { of, term });
    }

    /// Work that was away is excused until it has had the time to be ended. Only a suspend keeps a guard away.
    pub(super) fn excuse_work(&mut self, node: usize) {
        let was_suspended = self.machines[self.nodes[node].machine].suspended_until == self.now;
        if self.nodes[node].contender.style == WorkStyle::Guarded && !was_suspended {
            return;
        }
        let reaction = nanos(self.nodes[node].contender.candidate.timing.reaction());
        let until = self.now + reaction + reaction / 8;
        let Some(work) = &mut self.nodes[node].work else { return };
        work.excused_until = until;
        let event = SimEvent::WorkGoesOn { of: work.of, term: work.term };
        self.queue.put(until, event);
    }

    pub(super) fn work_goes_on(&mut self, of: Incarnation, term: Term) -> SimOutcome {
        let still = |work: &SimWork| work.of == of && work.term == term && self.now >= work.excused_until;
        let works = self.nodes[of.node].work.as_ref().is_some_and(still);
        let away = self.now < self.nodes[of.node].away_until(&self.machines);
        if works && !away { self.see(&Occurrence::Works { node: of.node, term }) } else { Ok(()) }
    }

    /// As long as there is work, the application asks again and again whether it may act.
    pub(super) fn act_again(&mut self, by: Incarnation, term: Term) -> SimOutcome {
        let node = &self.nodes[by.node];
        if node.work.as_ref().is_none_or(|work| work.of != by || work.term != term) {
            return Ok(());
        }
        if self.now >= node.away_until(&self.machines) {
            self.act(by.node)?;
        }
        let at = self.now + self.rng.interval(nanos(self.options.max_ttl()) / 3);
        self.queue.put(at, SimEvent::Act { by, term });
        Ok(())
    }

    pub(super) fn draws_stubborn_work(&mut self) -> bool {
        self.options.has(FaultClass::StubbornWork) && !self.healed && self.rng.percent(30)
    }
}
