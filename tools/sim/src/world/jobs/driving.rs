//! What a process does around the engine of its jobs: feeds it, carries out what it wants, and wakes it.

use std::collections::BTreeMap;
use std::sync::Arc;

use tenure_core::jobs::{
    Act, CallId, EndedAttempt, Every, Interrupted, JobAlarm, JobEngine, JobInput, JobMoment, JobOutput, JobPolicy,
    JobSpec, LedgerCall, Missed, Overlap, Tick,
};
use tenure_core::{Elector, Term};

use super::{JobRequestContext, SimEdition, SimJobEvent};
use crate::clock::{MILLI, SimTime};
use crate::job::SimJob;
use crate::mistake::{JobMistake, Mistake};
use crate::store::{JobRequest, key};
use crate::world::queue::{Incarnation, SimEvent};
use crate::world::{SimOutcome, SimWorld};

/// The engine of one process.
pub(super) struct SimEngine {
    pub(super) of: Incarnation,
    engine: JobEngine<Every>,
    /// What it has taken in, and how often it did.
    pub(super) edition: SimEdition,
    pub(super) editions: u64,
    /// The leadership that is not over.
    pub(super) term: Option<Term>,
    /// The term whose lease it keeps from being released.
    holds: Option<Term>,
    /// By job: how many runs go on, as far as it knows.
    pub(super) running: Vec<usize>,
    /// How, and in which circumstances, it last asked for a tick, by the place of its job.
    asked: BTreeMap<(usize, Tick), (Act, JobRequestContext)>,
    alarm: JobAlarm,
    /// The number of the alarm that counts.
    alarms: u64,
}

impl SimWorld {
    pub(super) fn errs(&self, mistake: JobMistake) -> bool {
        self.options.mistake == Some(Mistake::Job(mistake))
    }

    /// A process begins, and with it the engine of its jobs.
    pub(in crate::world) fn start_jobs(&mut self, node: usize) -> SimOutcome {
        if self.options.jobs.is_empty() {
            return Ok(());
        }
        let candidate = &self.nodes[node].contender.candidate;
        let engine = JobEngine::new(key(), candidate.id.clone(), &candidate.timing);
        #[cfg(mutants)]
        let engine = match self.options.mistake {
            Some(Mistake::Engine(mutant)) => engine.mutated(mutant),
            _ => engine,
        };
        self.jobs.engines[node] = Some(SimEngine {
            of: self.nodes[node].life(node),
            engine,
            edition: Arc::clone(&self.jobs.files[node]),
            editions: 1,
            term: None,
            holds: None,
            running: vec![0; self.options.jobs.len()],
            asked: BTreeMap::new(),
            alarm: JobAlarm::default(),
            alarms: 0,
        });
        let jobs = self.loaded(node);
        self.feed_jobs(node, JobInput::Jobs(jobs))
    }

    /// A process is gone, or its candidate has left: then what has not been told is told once.
    pub(in crate::world) fn stop_jobs(&mut self, node: usize, leaves: bool) -> SimOutcome {
        if leaves {
            self.feed_jobs(node, JobInput::Left)?;
        }
        self.jobs.engines[node] = None;
        Ok(())
    }

    /// Leadership begins, and jobs with it.
    pub(in crate::world) fn begin_jobs(&mut self, node: usize, term: Term) -> SimOutcome {
        let Some(nonce) = self.nodes[node].elector.as_ref().and_then(Elector::nonce) else { return Ok(()) };
        if let Some(engine) = &mut self.jobs.engines[node] {
            engine.term = Some(term);
        }
        self.feed_jobs(node, JobInput::Elected { nonce, term })
    }

    /// Work has to stop: nothing more begins.
    pub(in crate::world) fn stop_beginning_jobs(&mut self, node: usize) -> SimOutcome {
        self.feed_jobs(node, JobInput::Timeout)
    }

    /// The work of a leadership has had its time, or has ended. Its process hears of it when it can.
    pub(in crate::world) fn end_jobs(&mut self, of: Incarnation, term: Term) {
        self.queue.put(self.now, SimEvent::Jobs(SimJobEvent::Over { of, term }));
    }

    pub(super) fn over(&mut self, of: Incarnation, term: Term) -> SimOutcome {
        let Some(engine) = self.engine_of(of) else { return Ok(()) };
        if engine.term.take_if(|under| *under == term).is_none() {
            return Ok(());
        }
        self.feed_jobs(of.node, JobInput::Over)
    }

    /// Whether the engine of a process keeps the lease of this term from being released.
    pub(in crate::world) fn keeps_lease(&self, of: Incarnation, term: Term) -> bool {
        self.jobs.engines[of.node].as_ref().is_some_and(|engine| engine.of == of && engine.holds == Some(term))
    }

    /// The engine of a process that is still there.
    pub(super) fn engine_of(&mut self, of: Incarnation) -> Option<&mut SimEngine> {
        self.jobs.engines[of.node].as_mut().filter(|engine| engine.of == of)
    }

    pub(in crate::world) fn leads_under(&self, node: usize) -> Option<Term> {
        let process = &self.nodes[node];
        process.leads_at(self.machines[process.machine].clock.at(self.now))
    }

    /// An alarm rings; only the last that was set counts.
    pub(super) fn look(&mut self, of: Incarnation, alarm: u64) -> SimOutcome {
        if self.engine_of(of).is_none_or(|engine| engine.alarms != alarm) {
            return Ok(());
        }
        self.feed_jobs(of.node, JobInput::Timeout)
    }

    pub(super) fn feed_jobs(&mut self, node: usize, input: JobInput<Every>) -> SimOutcome {
        let spread = u32::try_from(self.jobs.rng.below(1 << 32)).unwrap_or_default();
        let moment = JobMoment {
            now: self.machines[self.nodes[node].machine].clock.at(self.now),
            unix_ms: self.wall_ms(node),
            leads: self.leads_under(node),
            spread,
        };
        let Some(engine) = &mut self.jobs.engines[node] else { return Ok(()) };
        engine.engine.handle(moment, input);
        let mut outputs = Vec::new();
        engine.alarm = loop {
            match engine.engine.poll_output() {
                JobOutput::Timeout(alarm) => break alarm,
                output => outputs.push(output),
            }
        };
        self.set_job_alarm(node);
        for output in outputs {
            self.carry_out_of_jobs(node, output)?;
        }
        Ok(())
    }

    /// Clocks run at other rates than before, and so alarms ring at other times.
    pub(in crate::world) fn set_job_alarms(&mut self) {
        for node in 0..self.nodes.len() {
            self.set_job_alarm(node);
        }
    }

    fn set_job_alarm(&mut self, node: usize) {
        let machine = &self.machines[self.nodes[node].machine];
        let Some(engine) = &mut self.jobs.engines[node] else { return };
        engine.alarms += 1;
        let JobAlarm { at, unix_ms } = engine.alarm;
        let by_own = at.and_then(|at| machine.clock.when(at));
        let wall = |unix_ms: u64| machine.wall.when(tenure_core::Instant::from_nanos(unix_ms.saturating_mul(MILLI)));
        let rings_at: Option<SimTime> = by_own.into_iter().chain(unix_ms.and_then(wall)).min();
        let (of, look) = (engine.of, engine.alarms);
        if let Some(at) = rings_at {
            self.queue.put(at.max(self.now), SimEvent::Jobs(SimJobEvent::Look { of, look }));
        }
    }

    fn carry_out_of_jobs(&mut self, node: usize, output: JobOutput) -> SimOutcome {
        match output {
            JobOutput::Call { id, call } => self.call(node, id, call),
            JobOutput::Begin(attempt) => {
                let job = self.options.jobs.iter().position(|job| job.policy.job == attempt.job).unwrap_or_default();
                let Some(engine) = &mut self.jobs.engines[node] else { return Ok(()) };
                let Some((act, asked)) = engine.asked.get(&(job, attempt.tick)).copied() else { return Ok(()) };
                engine.running[job] += 1;
                let of = engine.of;
                return self.begin_run(of, job, &attempt, act, asked);
            }
            JobOutput::Hold { term } => self.hold_lease(node, Some(term)),
            JobOutput::Release { term } => {
                self.hold_lease(node, None);
                self.lease_may_go(node, term);
            }
            _ => (),
        }
        Ok(())
    }

    fn hold_lease(&mut self, node: usize, term: Option<Term>) {
        if let Some(engine) = &mut self.jobs.engines[node] {
            engine.holds = term;
        }
    }

    fn call(&mut self, node: usize, id: CallId, call: LedgerCall) {
        let of = self.nodes[node].life(node);
        let requests: Vec<JobRequest> = match call {
            LedgerCall::List(_) => vec![JobRequest::List],
            LedgerCall::Open(open) => vec![JobRequest::Open(open)],
            LedgerCall::Claim(batch) => batch.into_iter().map(JobRequest::Claim).collect(),
            LedgerCall::Finish(batch) => batch.into_iter().map(JobRequest::Finish).collect(),
        };
        let asked: Vec<_> = requests.iter().map(|request| self.circumstances(node, request)).collect();
        self.ask(of, id, &Arc::from(requests), &Arc::from(asked));
    }

    /// The circumstances in which it asks.
    fn circumstances(&mut self, node: usize, request: &JobRequest) -> JobRequestContext {
        let shown = self.machines[self.nodes[node].machine].clock.at(self.now);
        let (wall_ms, store_ms) = (self.wall_ms(node), self.store_wall_ms());
        let editions = self.jobs.editions(node);
        let mut asked = JobRequestContext { shown, wall_ms, store_ms, is_running: false, calendar: None, editions };
        let JobRequest::Claim(claim) = request else { return asked };
        let job = self.options.jobs.iter().position(|job| job.policy.job == claim.job).unwrap_or_default();
        if let Some(engine) = &mut self.jobs.engines[node] {
            asked.is_running = engine.running[job] > 0;
            asked.calendar = engine.edition[job];
            engine.asked.insert((job, claim.tick), (claim.act, asked));
        }
        asked
    }

    /// A process sees that a run has ended.
    pub(super) fn attempt_ended(&mut self, of: Incarnation, job: usize, ended: EndedAttempt) -> SimOutcome {
        let Some(engine) = self.engine_of(of) else { return Ok(()) };
        engine.running[job] = engine.running[job].saturating_sub(1);
        self.feed_jobs(of.node, JobInput::RunsEnded(vec![ended]))
    }

    /// A job as the engine is given it: as it is, unless a mistake is made.
    pub(super) fn spec(&self, job: &SimJob, calendar: Every) -> JobSpec<Every> {
        let schedule = format!("every {}", calendar.0).into();
        JobSpec { policy: self.policy_used(&job.policy), calendar, schedule, timeout: None }
    }

    fn policy_used(&self, wanted: &JobPolicy) -> JobPolicy {
        let mut policy = wanted.clone();
        let Some(Mistake::Job(mistake)) = self.options.mistake else { return policy };
        match (mistake, policy.missed) {
            (JobMistake::OnceInsteadOfAll, Missed::All) => policy.missed = Missed::Once,
            (JobMistake::AllInsteadOfOnce, Missed::Once) => policy.missed = Missed::All,
            (JobMistake::OnceInsteadOfSkip, Missed::Skip) => policy.missed = Missed::Once,
            (JobMistake::SkipInsteadOfOnce, Missed::Once) => policy.missed = Missed::Skip,
            (JobMistake::IgnoresOverlap, _) => policy.overlap = Overlap::Allow,
            (JobMistake::AgainUnasked, _) => policy.interrupted = Interrupted::Again,
            _ => (),
        }
        policy
    }
}
