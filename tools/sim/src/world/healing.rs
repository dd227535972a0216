//! Peace: whatever was wrong is mended, and then everything has to work as it should.

use tenure_core::Input;
use tenure_core::jobs::{Calendar, Missed, Tick};

use super::node::SimLink;
use super::queue::SimEvent;
use super::view::nanos;
use super::{SimOutcome, SimWorld};
use crate::clock::SECOND;
use crate::invariants::Occurrence;
use crate::job::SimJob;
use crate::options::WorkStyle;
use crate::tally::Situation;

/// Longer than what was given back may lie there.
const MAX_CATCHING_UP: u64 = 200 * SECOND;

impl SimWorld {
    pub(super) fn heal(&mut self) -> SimOutcome {
        self.mend();
        self.leave_one_unheard();
        self.run_until(self.now + self.healing_time())?;
        self.see(&Occurrence::LongHealed)?;
        // Nothing happens, and so nothing changes.
        self.run_until(self.now + 2 * nanos(self.options.max_ttl()))?;
        self.let_jobs_catch_up()?;
        self.let_mail_be_handled()?;
        self.mend_links();
        self.hand_over()?;
        self.lose_head_of_line()?;
        self.kill_leader()?;
        self.stop_all()
    }

    fn mend(&mut self) {
        self.healed = true;
        self.disturb();
        self.say(|_| "* all is mended".to_owned());
        self.queue.retain(|event| !matches!(event, SimEvent::Fault(_) | SimEvent::Go { .. }));
        self.store_down_until = self.now;
        self.store_slow_until = self.now;
        for machine in &mut self.machines {
            machine.suspended_until = machine.suspended_until.min(self.now);
            machine.clock.go_on(self.now);
        }
        for node in 0..self.nodes.len() {
            let process = &mut self.nodes[node];
            process.paused_until = process.paused_until.min(self.now);
            if let Some(work) = &mut process.work {
                work.is_stubborn = false;
                let (of, term, is_ending) = (work.of, work.term, work.is_ending);
                // What waited for the end of a suspend would wait until the end that it was to have.
                if process.contender.style == WorkStyle::Guarded {
                    self.queue.put(self.now, SimEvent::Guard { of, term });
                }
                if is_ending || self.nodes[node].told != Some(term) {
                    self.queue.put(self.now, SimEvent::WorkEnds { of, term });
                }
            }
            self.queue.put(self.now, SimEvent::Resume { node });
            self.queue.put(self.now, SimEvent::Restart { node });
            let of = self.nodes[node].life(node);
            self.queue.put(self.now, SimEvent::Recover { of });
        }
        self.mend_links();
        self.set_alarms();
    }

    fn mend_links(&mut self) {
        for node in &mut self.nodes {
            node.link = SimLink::default();
        }
    }

    /// Now and then one candidate's requests arrive, but no answer ever reaches it. The others must not suffer from it.
    fn leave_one_unheard(&mut self) {
        if self.options.kind.is_remote() && self.rng.percent(30) {
            let node = self.rng.index(self.nodes.len());
            self.nodes[node].link.answers_cut_until = u64::MAX;
            self.say(|world| format!("* {} still hears no answers", world.name(node)));
        }
    }

    /// What is still on its way arrives, what is left of a lease runs out, and a store that forgot its terms climbs
    /// back one term at a time.
    fn healing_time(&self) -> u64 {
        let late = nanos(self.options.max_ttl()) * 2;
        let climbing = if self.broken == crate::assumption::Broken::default() {
            0
        } else {
            (20 + self.tally.of(Situation::Election)) * nanos(self.options.max_ttl())
        };
        late + self.limits.patience + climbing
    }

    /// Whatever was given back and is wanted is run, however long that may take.
    fn let_jobs_catch_up(&mut self) -> SimOutcome {
        let until = self.now + MAX_CATCHING_UP;
        while self.now < until && self.has_something_back() {
            self.run_until(self.now + SECOND)?;
        }
        Ok(())
    }

    /// Whatever waits is handled, or becomes a dead letter.
    fn let_mail_be_handled(&mut self) -> SimOutcome {
        let until = self.now + MAX_CATCHING_UP;
        while self.now < until && self.leading().is_some() && !self.store.mailbox().pending.is_empty() {
            self.run_until(self.now + SECOND)?;
        }
        Ok(())
    }

    fn has_something_back(&self) -> bool {
        let wants = |(_, job): &(usize, &SimJob)| job.policy.missed == Missed::All && job.policy.enabled;
        // Whoever leads may not have the job, or not have that tick any more.
        let has = |job: usize, tick: Tick| {
            let calendar = |node| self.jobs.calendar(node, job);
            self.leading().is_none_or(|node| calendar(node).is_some_and(|every| every.last_until(tick) == Some(tick)))
        };
        let mut jobs = self.options.jobs.iter().enumerate().filter(wants);
        jobs.any(|(index, job)| self.store.given_back(&job.policy.job).any(|(tick, _)| has(index, tick)))
    }

    pub(super) fn leading(&self) -> Option<usize> {
        (0..self.nodes.len()).find(|node| self.nodes[*node].told.is_some())
    }

    /// The leader resigns; with somebody standing by, that one leads soon.
    fn hand_over(&mut self) -> SimOutcome {
        let Some(leader) = self.leading() else { return Ok(()) };
        self.see(&Occurrence::LeaderKilled)?;
        self.feed(leader, Input::Resign { term: None, successor: None })?;
        self.run_until(self.now + self.limits.failover + SECOND)?;
        self.see(&Occurrence::LongWithoutLeader)?;
        if self.leading().is_some_and(|next| next != leader) {
            self.count(Situation::Handover);
        }
        Ok(())
    }

    fn kill_leader(&mut self) -> SimOutcome {
        let Some(leader) = self.leading() else { return Ok(()) };
        self.count(Situation::LeaderCrash);
        self.die(leader)?;
        self.see(&Occurrence::LeaderKilled)?;
        self.run_until(self.now + self.limits.failover + SECOND)?;
        self.see(&Occurrence::LongWithoutLeader)
    }

    /// The store is gone for good, and everybody leaves all the same.
    fn stop_all(&mut self) -> SimOutcome {
        self.store_down_until = u64::MAX;
        self.store_refuses = false;
        for node in 0..self.nodes.len() {
            if self.nodes[node].elector.is_some() {
                self.see(&Occurrence::ToldToStop { node })?;
                self.feed(node, Input::Stop)?;
            }
        }
        self.run_until(self.now + 2 * nanos(self.options.max_ttl()) + 10 * SECOND)
    }
}
