//! Drives the [engine](JobEngine) of a candidate's jobs: makes its calls to the store, starts runs, and passes events to it.
//!
//! It runs on the driver's thread, beside the elections, and waits for nothing the application does.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use tenure_core::jobs::{
    CallId, EndedAttempt, JobAlarm, JobAnomaly, JobAttempt, JobEngine, JobEvent, JobInput, JobMoment, JobOutput,
    LedgerCall, LedgerReply, RunId, RunOutcome, Tick,
};
use tenure_core::{Input, Instant, JobName, Timing, WriteOutcome};

use super::event::JobError;
use super::job_set::{EndedRun, JobSet};
use super::run::{JobRun, RunLimit};
use super::schedule::Schedule;
use crate::callback::Callback;
use crate::driver::{Beside, Companion, DriverCommand};
use crate::event::{ElectionError, EventKind};
use crate::leadership::{Leadership, Work};
use crate::machine_loop::{CandidacyTurn, MachineLoop};
use crate::metrics;
use crate::retry::spread;
use crate::shared::Shared;
use crate::store::{JobLedger, StoreError, StoreErrorKind};

/// Runs the jobs of a candidate by the calendar.
#[derive(Debug)]
pub(crate) struct JobCompanion {
    job_set: Arc<JobSet>,
}

impl JobCompanion {
    pub(crate) fn new(job_set: &Arc<JobSet>) -> Self {
        Self { job_set: Arc::clone(job_set) }
    }
}

impl Companion for JobCompanion {
    fn task_name(&self) -> &'static str {
        "the task that runs jobs"
    }

    fn run(self: Arc<Self>, beside: Beside) -> BoxFuture<'static, ()> {
        run(Arc::clone(&self.job_set), beside).boxed()
    }
}

/// Runs until the candidate has left the election.
async fn run(job_set: Arc<JobSet>, Beside { shared, store, timing }: Beside) {
    metrics::has_jobs(&shared.class, &job_set.names());
    let Some(ledger) = store.ledger() else { return };
    let mut scheduler = Scheduler::new(&shared, ledger, &job_set, &timing);
    let mut reply = None;
    loop {
        scheduler.take_in(reply);
        if scheduler.has_finished {
            return;
        }
        let due = scheduler.due();
        reply = scheduler.machine_loop.wait(&job_set.ended_some, due).await;
    }
}

/// The jobs of one candidacy, under all its leaderships.
struct Scheduler<'a> {
    shared: &'a Arc<Shared>,
    ledger: &'a dyn JobLedger,
    job_set: &'a Arc<JobSet>,
    engine: JobEngine<Schedule>,
    /// Tells its runs from those of a scheduler before it that broke down.
    number: u64,
    /// Which edition of the jobs it has.
    edition: u64,
    /// Also of jobs that are gone: their runs may be tried again.
    handlers: BTreeMap<JobName, Callback<JobRun>>,
    machine_loop: MachineLoop<'a, (CallId, LedgerAnswer)>,
    /// Keeps the lease from being released.
    hold: Option<Arc<Work>>,
    /// How runs that go on are told that they have taken too long.
    limits: BTreeMap<RunId, RunLimit>,
    alarm: JobAlarm,
    has_finished: bool,
}

/// What a store has answered, and the first error in it.
struct LedgerAnswer {
    reply: LedgerReply,
    error: Option<StoreError>,
}

impl<'a> Scheduler<'a> {
    fn new(shared: &'a Arc<Shared>, ledger: &'a dyn JobLedger, job_set: &'a Arc<JobSet>, timing: &Timing) -> Self {
        Self {
            shared,
            ledger,
            job_set,
            engine: JobEngine::new(shared.key.clone(), shared.candidate.clone(), timing),
            number: job_set.next_scheduler(),
            edition: 0,
            handlers: BTreeMap::new(),
            machine_loop: MachineLoop::new(shared),
            hold: None,
            limits: BTreeMap::new(),
            alarm: JobAlarm::default(),
            has_finished: false,
        }
    }

    /// Tells the engine everything that has happened, and carries out what it wants.
    fn take_in(&mut self, reply: Option<(CallId, LedgerAnswer)>) {
        if let Some((jobs, edition)) = self.job_set.newer_than(self.edition) {
            self.edition = edition;
            let specs = jobs.0.iter().map(|(job, _)| job.spec()).collect();
            self.handlers.extend(jobs.0.into_iter().map(|(job, handler)| (job.name().clone(), handler)));
            self.handle(JobInput::Jobs(specs));
        }
        let ended = self.job_set.take_ended().into_iter().filter(|ended| ended.scheduler == self.number);
        let ended: Vec<EndedAttempt> = ended.map(|ended| ended.attempt).collect();
        if !ended.is_empty() {
            ended.iter().for_each(|ended| drop(self.limits.remove(&ended.run)));
            self.handle(JobInput::RunsEnded(ended));
        }
        match reply {
            Some((call, LedgerAnswer { reply, error })) => {
                error.into_iter().for_each(|error| self.report(ElectionError::Store(error)));
                self.handle(JobInput::Reply { call, reply });
            }
            None => self.handle(JobInput::Timeout),
        }
        self.follow_turns();
    }

    /// Tells the engine of leaderships that begin or are over.
    fn follow_turns(&mut self) {
        while let Some(turn) = self.machine_loop.next_turn() {
            match turn {
                CandidacyTurn::Elected(grant) => {
                    if let Some(nonce) = grant.nonce() {
                        self.handle(JobInput::Elected { nonce, term: grant.term });
                    }
                }
                CandidacyTurn::Over => self.handle(JobInput::Over),
                CandidacyTurn::Left => self.handle(JobInput::Left),
            }
        }
    }

    fn handle(&mut self, input: JobInput<Schedule>) {
        let moment = JobMoment {
            now: self.shared.clock.now(),
            unix_ms: self.shared.clock.unix_ms(),
            leads: self.machine_loop.leadership().filter(|leads| !leads.is_cancelled()).map(Leadership::term),
            spread: spread(),
        };
        self.engine.handle(moment, input);
        loop {
            match self.engine.poll_output() {
                JobOutput::Timeout(alarm) => {
                    self.alarm = alarm;
                    return;
                }
                output => self.carry_out(output),
            }
        }
    }

    fn carry_out(&mut self, output: JobOutput) {
        match output {
            JobOutput::Call { id, call } => {
                self.machine_loop.call(ask(self.ledger, call).map(move |answer| (id, answer)));
            }
            JobOutput::Begin(attempt) => self.begin(attempt),
            JobOutput::Stop { run } => self.limits.get(&run).into_iter().for_each(|limit| limit.passed.cancel()),
            JobOutput::Kill { run } => self.limits.get(&run).into_iter().for_each(|limit| limit.overdue.cancel()),
            JobOutput::Hold { .. } => {
                self.hold = self.machine_loop.leadership().and_then(Leadership::hold).map(Arc::new);
            }
            JobOutput::Release { .. } => self.hold = None,
            JobOutput::Event { job, tick, event } => self.tell(job, tick, event),
            JobOutput::Report(anomaly) => self.report(error_of(anomaly)),
            JobOutput::Hint => self.shared.send(DriverCommand::Input(self.shared.id, Input::Hint)),
            JobOutput::Finished => self.has_finished = true,
            // An engine that is newer than this says more.
            _ => {}
        }
    }

    /// Begins an attempt of a run. If that cannot be done, it never began.
    fn begin(&mut self, attempt: JobAttempt) {
        let (run, scheduler) = (attempt.run, self.number);
        let handler = self.handlers.get(&attempt.job);
        let leadership = self.machine_loop.leadership();
        let (Some(handler), Some(leadership), Some(hold)) = (handler, leadership, &self.hold) else {
            let (took, outcome) = (Duration::ZERO, RunOutcome::NotBegun);
            let attempt = EndedAttempt { run, took, outcome, may_retry: false };
            return self.job_set.tell(EndedRun { scheduler, attempt });
        };
        let limit = self.limits.entry(run).or_default().clone();
        let job_run = JobRun::new(attempt, leadership.clone(), limit);
        self.job_set.begin(handler.clone(), scheduler, run, job_run, Arc::clone(hold));
    }

    /// When the engine wants to be called again, on the candidate's own clock.
    fn due(&self) -> Option<Instant> {
        let clock = &self.shared.clock;
        let ahead = |unix_ms: u64| Duration::from_millis(unix_ms.saturating_sub(clock.unix_ms()));
        let by_wall = self.alarm.unix_ms.map(|unix_ms| clock.now() + ahead(unix_ms));
        self.alarm.at.into_iter().chain(by_wall).min()
    }

    fn tell(&self, job: JobName, tick: Tick, job_event: JobEvent) {
        if let JobEvent::Ended { outcome, .. } = &job_event {
            let job = job.clone();
            match outcome {
                RunOutcome::Failed { why } => {
                    self.report(ElectionError::Job(JobError::Failed { job, tick, why: why.clone() }));
                }
                RunOutcome::TimedOut => self.report(ElectionError::Job(JobError::TimedOut { job, tick })),
                // The others are no errors.
                _ => {}
            }
        }
        let event = EventKind::Job { job, tick, job_event };
        log!(debug, election = %self.shared.key, candidate = %self.shared.candidate, job_event = ?event, "job event");
        self.shared.send(DriverCommand::Report(self.shared.id, Box::new(event)));
    }

    fn report(&self, error: ElectionError) {
        self.shared.report(error);
    }
}

/// One call to the store.
async fn ask(ledger: &dyn JobLedger, call: LedgerCall) -> LedgerAnswer {
    let mut first = None;
    let reply = match call {
        LedgerCall::List(key) => {
            let listed = failed(ledger.jobs(&key, 0).await, &mut first);
            // A record that is damaged, say, keeps no job from firing, and whoever looks at the jobs is told of it.
            first.take_if(|_| listed == Err(WriteOutcome::Refused));
            LedgerReply::Listed(listed)
        }
        LedgerCall::Open(request) => LedgerReply::Opened(failed(ledger.open(&request).await, &mut first)),
        LedgerCall::Claim(batch) => {
            let replies = ledger.claim(&batch).await;
            LedgerReply::Claimed(replies.into_iter().map(|reply| failed(reply, &mut first)).collect())
        }
        LedgerCall::Finish(batch) => {
            let replies = ledger.finish(&batch).await;
            LedgerReply::Finished(replies.into_iter().map(|reply| failed(reply, &mut first)).collect())
        }
    };
    LedgerAnswer { reply, error: first }
}

/// What became of the write; the first error is kept for people.
fn failed<T>(reply: Result<T, StoreError>, first: &mut Option<StoreError>) -> Result<T, WriteOutcome> {
    reply.map_err(|error| {
        let outcome = error.failure();
        first.get_or_insert(error);
        outcome
    })
}

fn error_of(anomaly: JobAnomaly) -> ElectionError {
    ElectionError::Job(match anomaly {
        JobAnomaly::Stuck { job, tick } => JobError::Stuck { job, tick },
        JobAnomaly::ClockAhead { by } => JobError::ClockAhead { by },
        JobAnomaly::MarkAhead { job, mark } => JobError::MarkAhead { job, mark },
        JobAnomaly::TooMany => JobError::TooMany,
        // An engine that is newer than this says more.
        _ => return ElectionError::Store(silence()),
    })
}

fn silence() -> StoreError {
    StoreError::unknown(StoreErrorKind::TimedOut, "the store did not answer a request about jobs in time")
}
