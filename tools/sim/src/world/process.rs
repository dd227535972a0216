//! What a process does around its elector: feeds it, carries out what it asks for, and asks it whether it leads.

use tenure_core::{Anomaly, Draw, Elector, Input, Nonce, Output};

use super::node::SimWork;
use super::queue::{Incarnation, SimEvent};
use super::view::nanos;
use super::{SimOutcome, SimWorld};
use crate::clock::{MILLI, SECOND};
use crate::invariants::Occurrence;
use crate::mistake::{Mistake, ProcessMistake};
use crate::tally::Situation;
use crate::words;

/// How long whoever left stays away when all is well.
pub(super) const RESTS: u64 = 10 * SECOND;

impl SimWorld {
    /// A process begins to stand.
    pub(super) fn start(&mut self, node: usize) -> SimOutcome {
        if self.nodes[node].elector.is_some() {
            return Ok(());
        }
        let elector = Elector::new(self.nodes[node].contender.candidate.clone());
        #[cfg(mutants)]
        let elector = match self.options.mistake {
            Some(Mistake::Elector(mutant)) => elector.mutated(mutant),
            _ => elector,
        };
        let process = &mut self.nodes[node];
        process.elector = Some(elector);
        process.life += 1;
        process.told = None;
        process.held = None;
        process.is_ill = false;
        process.watches.clear();
        self.disturb();
        self.say(|world| format!("{} starts", world.name(node)));
        self.see(&Occurrence::Started { node })?;
        self.start_jobs(node)?;
        self.start_mail(node)?;
        self.feed(node, Input::Start)
    }

    /// A process is gone, and nothing else may be expected for a while.
    pub(super) fn crash(&mut self, node: usize) -> SimOutcome {
        self.disturb();
        self.die(node)
    }

    /// A process is gone from one instant to the next. What it had started is ended by its guard.
    pub(super) fn die(&mut self, node: usize) -> SimOutcome {
        if self.nodes[node].elector.take().is_none() {
            return Ok(());
        }
        let process = &mut self.nodes[node];
        (process.timeout, process.wake_at) = (None, None);
        process.told = None;
        self.say(|world| format!("{} dies", world.name(node)));
        self.stop_jobs(node, false)?;
        self.stop_mail(node);
        self.see(&Occurrence::Crashed { node })?;
        self.orphan_work(node)?;
        self.leave_to_guard(node)
    }

    /// Something reaches a process, or waits until it is there again.
    pub(super) fn deliver(&mut self, to: Incarnation, input: Input, sent: u64) -> SimOutcome {
        let node = &self.nodes[to.node];
        if node.life != to.life || node.elector.is_none() {
            return Ok(());
        }
        let away_until = node.away_until(&self.machines);
        if self.now < away_until {
            self.queue.put(away_until, SimEvent::AtProcess { to, input, sent });
            return Ok(());
        }
        let input = match input {
            // An application says how it is, and not how it was when it stood still.
            Input::Health { .. } => Input::Health { healthy: !node.is_ill },
            input => input,
        };
        if let Input::Reply { .. } = input
            && self.now - sent > nanos(node.contender.candidate.timing.attempt_timeout().mul_f64(1.15))
        {
            self.count(Situation::LateAnswer);
        }
        self.feed(to.node, input)
    }

    pub(super) fn feed(&mut self, node: usize, input: Input) -> SimOutcome {
        if input != Input::Timeout {
            self.say(|world| format!("{} {}", world.name(node), words::heard(&input)));
        }
        let draw = Draw {
            nonce: Nonce::from_bits(u128::from(self.rng.next()) << 64 | u128::from(self.rng.next())),
            spread: u32::try_from(self.rng.below(1 << 32)).unwrap_or_default(),
        };
        let process = &mut self.nodes[node];
        let shown = self.machines[process.machine].clock.at(self.now);
        let Some(elector) = &mut process.elector else { return Ok(()) };
        elector.handle(shown, input, draw);
        let mut outputs = Vec::new();
        process.timeout = loop {
            match elector.poll_output() {
                Output::Timeout(at) => break at,
                output => outputs.push(output),
            }
        };
        // Alarms ring late, but not by more than half of what is allowed for; killing takes the other half.
        let max_lag = if self.healed { MILLI } else { nanos(process.contender.candidate.timing.reaction()) / 2 };
        process.lag = if self.rng.percent(50) { 0 } else { self.rng.up_to(max_lag) };
        self.set_alarm(node);
        for output in outputs {
            self.carry_out(node, output)?;
        }
        Ok(())
    }

    pub(super) fn set_alarms(&mut self) {
        for node in 0..self.nodes.len() {
            self.set_alarm(node);
        }
        self.set_job_alarms();
        self.set_mail_alarms();
    }

    /// When it will be woken, if its clock goes on as it does.
    pub(super) fn set_alarm(&mut self, node: usize) {
        let process = &self.nodes[node];
        let rings_at = process.timeout.and_then(|at| self.machines[process.machine].clock.when(at));
        let away_until = process.away_until(&self.machines);
        let wake_at = rings_at.map(|at| at.saturating_add(process.lag).max(away_until).max(self.now));
        self.nodes[node].wake_at = wake_at;
    }

    fn carry_out(&mut self, node: usize, output: Output) -> SimOutcome {
        if !matches!(output, Output::Send(_)) {
            self.say(|world| {
                let shown = world.machines[world.nodes[node].machine].clock.at(world.now);
                format!("{} {}", world.name(node), words::wanted(&output, shown))
            });
        }
        match output {
            Output::Send(request) => {
                self.see(&Occurrence::Sent { node, request: &request })?;
                self.send(node, &request);
                Ok(())
            }
            Output::Elected { term, trust } => {
                self.count_election(node);
                self.see(&Occurrence::Elected { node, term })?;
                let of = self.nodes[node].life(node);
                let is_stubborn = self.draws_stubborn_work();
                self.nodes[node].told = Some(term);
                let nonce = self.nodes[node].elector.as_ref().and_then(Elector::nonce);
                self.nodes[node].held = nonce.map(|nonce| (nonce, term));
                let work = SimWork::new(of, term, trust.kill_at, is_stubborn);
                self.begin_work(node, work)?;
                self.begin_jobs(node, term)?;
                self.begin_mail(node, term)
            }
            Output::Trusted { term, trust } => {
                self.see(&Occurrence::Trusted { node, term })?;
                if let Some(work) = self.work_under(node, term) {
                    work.kill_at = trust.kill_at;
                }
                Ok(())
            }
            Output::Lost { term, reason, kill_at } => {
                self.nodes[node].told = None;
                self.see(&Occurrence::Lost { node, term, reason })?;
                self.ask_work_to_end(node, term, kill_at);
                self.stop_beginning_jobs(node)
            }
            Output::KillWork { term } => {
                self.end_jobs(self.nodes[node].life(node), term);
                self.end_mail(self.nodes[node].life(node), term);
                self.kill_work(node, term);
                Ok(())
            }
            Output::Report(Anomaly::Regressed { .. }) => {
                self.count(Situation::Regression);
                Ok(())
            }
            Output::Stopped => {
                self.see(&Occurrence::Stopped { node })?;
                self.stop_jobs(node, true)?;
                self.stop_mail(node);
                self.nodes[node].elector = None;
                self.nodes[node].wake_at = None;
                self.nodes[node].timeout = None;
                if self.healed && self.now >= self.store_down_until {
                    self.queue.put(self.now + RESTS, SimEvent::Restart { node });
                }
                self.orphan_work(node)
            }
            _ => Ok(()),
        }
    }

    fn count_election(&mut self, node: usize) {
        let life = self.nodes[node].life(node);
        self.count(Situation::Election);
        if self.leader.replace(life).is_some_and(|before| before != life) {
            self.count(Situation::Takeover);
        }
    }

    /// The application asks whether it leads. If so it acts, and what it does takes its time to arrive.
    pub(super) fn act(&mut self, node: usize) -> SimOutcome {
        let process = &self.nodes[node];
        let shown = self.machines[process.machine].clock.at(self.now);
        let cached = Mistake::is_process(self.options.mistake, ProcessMistake::CachedAnswer);
        let answer = if cached { process.told } else { process.leads_at(shown) };
        let Some(term) = answer else { return Ok(()) };
        self.count(Situation::Act);
        self.see(&Occurrence::Acted { node, term })?;
        let longest = if self.rng.percent(10) { nanos(self.options.max_ttl()) } else { self.options.latency };
        let at = self.now + self.rng.up_to(longest);
        let by = self.nodes[node].life(node);
        self.queue.put(at, SimEvent::Write { by, term });
        Ok(())
    }

    pub(super) fn write(&mut self, by: Incarnation, term: tenure_core::Term) -> SimOutcome {
        if self.newest_write.is_some_and(|newest| term < newest) {
            self.count(Situation::StaleWrite);
        }
        self.newest_write = self.newest_write.max(Some(term));
        self.see(&Occurrence::Written { node: by.node, life: by.life, term })
    }

    /// A process goes on. The first thing that runs may be the application, before any deadline is looked at.
    pub(super) fn resume(&mut self, node: usize) -> SimOutcome {
        self.excuse_work(node);
        let process = &self.nodes[node];
        if process.away_until(&self.machines) > self.now {
            return Ok(());
        }
        let shown = self.machines[process.machine].clock.at(self.now);
        let leads = process.elector.as_ref().and_then(tenure_core::Elector::leads_under);
        if leads.is_some_and(|(_, trust)| shown >= trust.until) {
            self.count(Situation::LostWhileAway);
        }
        self.disturb();
        self.say(|world| format!("{} is back", world.name(node)));
        self.resume_jobs(node);
        self.resume_messages(node);
        self.act(node)
    }

    pub(super) fn recover(&mut self, of: Incarnation) -> SimOutcome {
        self.disturb();
        if self.nodes[of.node].life == of.life {
            self.nodes[of.node].is_ill = false;
            self.queue
                .put(self.now, SimEvent::AtProcess { to: of, input: Input::Health { healthy: true }, sent: self.now });
        }
        Ok(())
    }
}
