//! Drives the [engine](JobEngine) of a candidate's jobs: makes its calls to the store, starts runs, and passes events to it.
//!
//! It runs on the driver's thread, beside the elections, and waits for nothing the application does.

use std::collections::BTreeMap;
use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::FutureExt;
use futures_util::future::{BoxFuture, Either, select};
use tenure_core::jobs::{
    CallId, EndedAttempt, JobAlarm, JobAnomaly, JobAttempt, JobEngine, JobEvent, JobInput, JobMoment, JobOutput,
    LedgerCall, LedgerReply, RunId, RunOutcome, Tick,
};
use tenure_core::{Input, JobName, Timing, WriteOutcome};

use super::event::JobError;
use super::job_set::{EndedRun, JobSet};
use super::run::{JobRun, RunLimit};
use super::schedule::Schedule;
use crate::callback::Callback;
use crate::driver::DriverCommand;
use crate::event::{ElectionError, EventKind};
use crate::leadership::{Leadership, Work};
use crate::phase::Phase;
use crate::retry::spread;
use crate::shared::Shared;
use crate::store::{JobLedger, Store, StoreError, StoreErrorKind};

/// Runs until the candidate has left the election.
pub(crate) async fn run(shared: Arc<Shared>, store: Arc<dyn Store>, timing: Timing, job_set: Arc<JobSet>) {
    let Some(ledger) = store.ledger() else { return };
    let mut scheduler = Scheduler::new(&shared, ledger, &job_set, &timing);
    let mut reply = None;
    loop {
        scheduler.take_in(reply);
        if scheduler.has_finished {
            return;
        }
        reply = scheduler.wait().await;
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
    /// The leadership that is not over.
    leadership: Option<Leadership>,
    /// Keeps the lease from being released.
    hold: Option<Arc<Work>>,
    /// How runs that go on are told that they have taken too long.
    limits: BTreeMap<RunId, RunLimit>,
    call: Option<BoxFuture<'a, (CallId, LedgerAnswer)>>,
    alarm: JobAlarm,
    /// Whether the candidate has left, and all is told that will be.
    has_left: bool,
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
            leadership: None,
            hold: None,
            limits: BTreeMap::new(),
            call: None,
            alarm: JobAlarm::default(),
            has_left: false,
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
        self.follow_phase();
    }

    /// Tells the engine of leaderships that begin or are over.
    fn follow_phase(&mut self) {
        let phase = self.shared.phase().read(Phase::clone);
        if self.leadership.take_if(|leadership| leadership.is_over(&phase)).is_some() {
            self.handle(JobInput::Over);
        }
        match phase {
            Phase::Leading(grant) if self.leadership.is_none() => {
                let leadership = Leadership::new(Arc::clone(self.shared), Arc::clone(&grant));
                let term = leadership.term();
                self.leadership = Some(leadership);
                if let Some(nonce) = grant.nonce() {
                    self.handle(JobInput::Elected { nonce, term });
                }
            }
            Phase::Stopped if !self.has_left => {
                self.has_left = true;
                self.handle(JobInput::Left);
            }
            Phase::Stopped | Phase::Standing | Phase::Leading(_) | Phase::Leaving { .. } => {}
        }
    }

    fn handle(&mut self, input: JobInput<Schedule>) {
        let moment = JobMoment {
            now: self.shared.clock.now(),
            unix_ms: self.shared.clock.unix_ms(),
            leads: self.leadership.as_ref().filter(|leads| !leads.is_cancelled()).map(Leadership::term),
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
                self.call = Some(ask(self.ledger, call).map(move |answer| (id, answer)).boxed());
            }
            JobOutput::Begin(attempt) => self.begin(attempt),
            JobOutput::Stop { run } => self.limits.get(&run).into_iter().for_each(|limit| limit.passed.cancel()),
            JobOutput::Kill { run } => self.limits.get(&run).into_iter().for_each(|limit| limit.overdue.cancel()),
            JobOutput::Hold { .. } => {
                self.hold = self.leadership.as_ref().and_then(Leadership::hold).map(Arc::new);
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
        let (Some(handler), Some(leadership), Some(hold)) = (handler, &self.leadership, &self.hold) else {
            let (took, outcome) = (Duration::ZERO, RunOutcome::NotBegun);
            let attempt = EndedAttempt { run, took, outcome, may_retry: false };
            return self.job_set.tell(EndedRun { scheduler, attempt });
        };
        let limit = self.limits.entry(run).or_default().clone();
        let job_run = JobRun::new(attempt, leadership.clone(), limit);
        self.job_set.begin(handler.clone(), scheduler, run, job_run, Arc::clone(hold));
    }

    /// Waits until there is something to tell the engine. Returns what the store has answered, if it has.
    async fn wait(&mut self) -> Option<(CallId, LedgerAnswer)> {
        let Self { shared, call, alarm, has_left, .. } = self;
        let leadership = self.leadership.as_ref();
        let replied = pin!(async {
            match call {
                Some(call) => call.await,
                None => std::future::pending().await,
            }
        });
        let changed = pin!(shared.phase().wait_until(|phase| match leadership {
            Some(leadership) => leadership.is_over(phase),
            None => !*has_left && matches!(phase, Phase::Leading(_) | Phase::Stopped),
        }));
        let cancelled = pin!(async {
            match leadership.filter(|leadership| !leadership.is_cancelled()) {
                Some(leadership) => leadership.cancelled().await,
                None => std::future::pending().await,
            }
        });
        let (ended, rung) = (pin!(self.job_set.ended_some.notified()), pin!(ring(shared, *alarm)));
        match select(replied, select(select(changed, cancelled), select(ended, rung))).await {
            Either::Left((reply, _)) => {
                self.call = None;
                Some(reply)
            }
            Either::Right(_) => None,
        }
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
        let kind = EventKind::Job { job, tick, job_event };
        self.shared.send(DriverCommand::Job(self.shared.id, Box::new(kind)));
    }

    fn report(&self, error: ElectionError) {
        self.shared.send(DriverCommand::Error(self.shared.id, error));
    }
}

/// Waits for an alarm. Others have a turn meanwhile, also if its time has come.
async fn ring(shared: &Shared, alarm: JobAlarm) {
    let now = shared.clock.now();
    let ahead = |unix_ms: u64| Duration::from_millis(unix_ms.saturating_sub(shared.clock.unix_ms()));
    let by_wall = alarm.unix_ms.map(|unix_ms| now + ahead(unix_ms));
    match alarm.at.into_iter().chain(by_wall).min() {
        Some(at) if at <= now => tokio::task::yield_now().await,
        Some(at) => shared.clock.sleep_until(at).await,
        None => std::future::pending().await,
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
        let outcome = error.write_outcome();
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
