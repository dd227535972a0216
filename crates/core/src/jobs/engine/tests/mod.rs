//! One file per side of the engine, then a property over all of it. Every test runs on [`EngineBench`]: an engine, its clocks,
//! and a ledger that it may be answered from.

mod absence;
mod claims;
mod giving_back;
mod properties;
mod runs;
mod telling;

use std::num::NonZeroU64;
use std::time::Duration;

use super::*;
use crate::election::input::WriteOutcome;
use crate::id::{ElectionName, JobName, Namespace};
use crate::jobs::calendar::Every;
use crate::jobs::outcome::RunOutcome;
use crate::jobs::policy::JobPolicy;
use crate::jobs::request::{Claim, Claimed, Finish, Opened};
use crate::lease::Nonce;
use crate::store_rules::ledger::Ledger;

/// An engine on a bench: it is fed inputs at chosen instants, and every feeding gives back what it asked for.
struct EngineBench {
    engine: JobEngine<Every>,
    now: Instant,
    unix_ms: u64,
    leads: Option<Term>,
    /// Who holds the lease, as the store knows it.
    holder: Option<Term>,
    ledger: Ledger,
    alarm: JobAlarm,
    is_held: bool,
    /// Whether the ledger names the jobs it knows as soon as it is asked: most tests begin with what follows.
    lists_at_once: bool,
}

impl EngineBench {
    /// An engine with one job, due every ten seconds. The wall clock shows 1005 s.
    fn new(change: impl FnOnce(&mut JobPolicy)) -> Self {
        let mut policy = JobPolicy::new(name("report"));
        change(&mut policy);
        Self::with(vec![spec(policy, 10)])
    }

    fn with(jobs: Vec<JobSpec<Every>>) -> Self {
        let key = ElectionKey { namespace: Namespace::new("test").unwrap(), name: ElectionName::new("jobs").unwrap() };
        let engine = JobEngine::new(key, CandidateId::new("me").unwrap(), &timing());
        let mut bench = Self {
            engine,
            now: Instant::ZERO + s(100),
            unix_ms: 1_005_000,
            leads: None,
            holder: None,
            ledger: Ledger::default(),
            alarm: JobAlarm::default(),
            is_held: false,
            lists_at_once: true,
        };
        bench.feed(JobInput::Jobs(jobs));
        bench
    }

    /// Leads under term 1, and knows how its jobs stand.
    fn open(change: impl FnOnce(&mut JobPolicy)) -> Self {
        let mut bench = Self::new(change);
        let opens = bench.elect(1);
        assert!(matches!(only_call(&opens).1, LedgerCall::Open(_)));
        let outputs = bench.answer(&opens);
        assert!(calls(&outputs).is_empty(), "nothing is due: {outputs:?}");
        bench
    }

    /// Five seconds later: the claim of the tick that is due, under way.
    fn asking(change: impl FnOnce(&mut JobPolicy)) -> (Self, Vec<JobOutput>) {
        let mut bench = Self::open(change);
        let claims = bench.pass(s(5));
        let LedgerCall::Claim(batch) = only_call(&claims).1 else { panic!("not a claim: {claims:?}") };
        assert_eq!((batch.len(), batch[0].tick), (1, at(1_010)));
        (bench, claims)
    }

    /// Its tick of second 1010 runs.
    fn running(change: impl FnOnce(&mut JobPolicy)) -> (Self, RunId) {
        let (mut bench, claims) = Self::asking(change);
        let outputs = bench.answer(&claims);
        let run = only_begun(&outputs).run;
        (bench, run)
    }

    fn elect(&mut self, number: u64) -> Vec<JobOutput> {
        (self.leads, self.holder) = (Some(term(number)), Some(term(number)));
        self.feed(JobInput::Elected { nonce: nonce(number), term: term(number) })
    }

    /// Work has to stop.
    fn lose(&mut self) -> Vec<JobOutput> {
        self.leads = None;
        self.feed(JobInput::Timeout)
    }

    /// The time of the work is over, and the lease is free.
    fn end(&mut self) -> Vec<JobOutput> {
        (self.leads, self.holder) = (None, None);
        self.feed(JobInput::Over)
    }

    fn feed(&mut self, input: JobInput<Every>) -> Vec<JobOutput> {
        let mut outputs = self.feed_only(input);
        let is_list = |output: &JobOutput| matches!(output, JobOutput::Call { call: LedgerCall::List(_), .. });
        if let Some(index) = outputs.iter().position(is_list).filter(|_| self.lists_at_once) {
            let (call, asked) = only_call(&[outputs.remove(index)]);
            let reply = self.serve(&asked);
            outputs.extend(self.feed_only(JobInput::Reply { call, reply }));
        }
        outputs
    }

    fn feed_only(&mut self, input: JobInput<Every>) -> Vec<JobOutput> {
        let moment = JobMoment { now: self.now, unix_ms: self.unix_ms, leads: self.leads, spread: 0 };
        self.engine.handle(moment, input);
        let mut outputs = Vec::new();
        loop {
            match self.engine.poll_output() {
                JobOutput::Timeout(alarm) => {
                    self.alarm = alarm;
                    return outputs;
                }
                JobOutput::Hold { .. } => {
                    assert!(!std::mem::replace(&mut self.is_held, true), "it is held already");
                }
                JobOutput::Release { .. } => {
                    assert!(std::mem::replace(&mut self.is_held, false), "it is not held");
                }
                output @ (JobOutput::Call { .. }
                | JobOutput::Begin(_)
                | JobOutput::Stop { .. }
                | JobOutput::Kill { .. }
                | JobOutput::Event { .. }
                | JobOutput::Report(_)
                | JobOutput::Hint
                | JobOutput::Finished) => outputs.push(output),
            }
            assert!(outputs.len() < 1_000, "it does not stop talking: {outputs:?}");
        }
    }

    /// Time passes without anybody looking.
    fn skip(&mut self, duration: Duration) {
        self.now = self.now + duration;
        self.unix_ms += u64::try_from(duration.as_millis()).unwrap();
    }

    /// Time passes, and then the engine looks.
    fn pass(&mut self, duration: Duration) -> Vec<JobOutput> {
        self.skip(duration);
        self.feed(JobInput::Timeout)
    }

    /// How long the engine wants to sleep, on whichever clock.
    fn sleeps(&self) -> Option<Duration> {
        let by_own = self.alarm.at.map(|at| at.saturating_since(self.now));
        let by_wall = self.alarm.unix_ms.map(|unix_ms| Duration::from_millis(unix_ms.saturating_sub(self.unix_ms)));
        by_own.into_iter().chain(by_wall).min()
    }

    /// Goes to the moment that the engine asked for.
    fn wake(&mut self) -> Vec<JobOutput> {
        let sleeps = self.sleeps().expect("it waits for something");
        self.pass(sleeps)
    }

    /// The ledger answers the one call there is.
    fn answer(&mut self, outputs: &[JobOutput]) -> Vec<JobOutput> {
        let (call, asked) = only_call(outputs);
        let reply = self.serve(&asked);
        self.feed(JobInput::Reply { call, reply })
    }

    /// The same answer to all that was claimed.
    fn answer_claims(&mut self, outputs: &[JobOutput], answer: Result<Claimed, WriteOutcome>) -> Vec<JobOutput> {
        let (call, asked) = only_call(outputs);
        let LedgerCall::Claim(batch) = asked else { panic!("not a claim: {asked:?}") };
        self.feed(JobInput::Reply { call, reply: LedgerReply::Claimed(vec![answer; batch.len()]) })
    }

    /// What the ledger does with a call, and says.
    fn serve(&mut self, call: &LedgerCall) -> LedgerReply {
        let (holder, unix_ms) = (self.holder, self.unix_ms);
        match call {
            LedgerCall::List(_) => LedgerReply::Listed(Ok(self.ledger.report(0))),
            LedgerCall::Open(open) if holder != Some(open.term) => LedgerReply::Opened(Ok(Opened::NotHolder)),
            LedgerCall::Open(open) => LedgerReply::Opened(Ok(self.ledger.open(&open.jobs, open.term, unix_ms))),
            LedgerCall::Claim(batch) => {
                let mut claim = |claim: &Claim| {
                    let is_held = holder == Some(claim.term);
                    Ok(if is_held { self.ledger.claim(claim, unix_ms) } else { Claimed::NotHolder })
                };
                LedgerReply::Claimed(batch.iter().map(&mut claim).collect())
            }
            LedgerCall::Finish(batch) => {
                LedgerReply::Finished(batch.iter().map(|finish| Ok(self.ledger.finish(finish, unix_ms))).collect())
            }
        }
    }

    /// Somebody makes the ledger forget the job, and sets the clock back to second 1009. Then it begins anew.
    fn forget(&mut self) {
        self.ledger.forget(&name("report"));
        self.unix_ms = 1_009_000;
        let policy = self.engine.slots[0].spec.policy.clone();
        let opens = self.feed(JobInput::Jobs(vec![spec(policy, 10)]));
        assert!(calls(&self.answer(&opens)).is_empty());
    }

    fn ended(&mut self, run: RunId, outcome: RunOutcome) -> Vec<JobOutput> {
        self.feed(JobInput::RunsEnded(vec![EndedAttempt { run, took: s(2), outcome, may_retry: true }]))
    }

    fn outcomes(&self) -> Vec<Option<RunOutcome>> {
        let runs = &self.ledger.jobs[&name("report")].runs;
        runs.iter().map(|known| known.run.end.as_ref().map(|end| end.outcome.clone())).collect()
    }
}

fn timing() -> Timing {
    let attempt = Duration::from_secs(1);
    Timing::builder(s(15)).renew_every(s(2)).attempt_timeout(attempt).grace(s(3)).build().unwrap()
}

fn spec(policy: JobPolicy, every: u64) -> JobSpec<Every> {
    let calendar = Every(NonZeroU64::new(every).unwrap());
    JobSpec { policy, calendar, schedule: format!("every {every}").into(), timeout: None }
}

fn name(text: &str) -> JobName {
    JobName::new(text).unwrap()
}

fn s(seconds: u64) -> Duration {
    Duration::from_secs(seconds)
}

fn at(seconds: u64) -> Tick {
    Tick::from_unix_s(seconds)
}

fn term(number: u64) -> Term {
    Term::new(number).unwrap()
}

fn nonce(number: u64) -> Nonce {
    Nonce::from_bits(number.into())
}

fn failed() -> RunOutcome {
    RunOutcome::Failed { why: "no paper".to_owned() }
}

fn calls(outputs: &[JobOutput]) -> Vec<(CallId, LedgerCall)> {
    let call =
        |output: &JobOutput| if let JobOutput::Call { id, call } = output { Some((*id, call.clone())) } else { None };
    outputs.iter().filter_map(call).collect()
}

fn only_call(outputs: &[JobOutput]) -> (CallId, LedgerCall) {
    let [call] = calls(outputs).try_into().unwrap_or_else(|calls| panic!("not one call but {calls:?}"));
    call
}

fn claims(outputs: &[JobOutput]) -> Vec<Claim> {
    let LedgerCall::Claim(batch) = only_call(outputs).1 else { panic!("not a claim: {outputs:?}") };
    batch
}

fn finishes(outputs: &[JobOutput]) -> Vec<Finish> {
    let LedgerCall::Finish(batch) = only_call(outputs).1 else { panic!("not an end: {outputs:?}") };
    batch
}

fn begun(outputs: &[JobOutput]) -> Vec<JobAttempt> {
    let begun = |output: &JobOutput| if let JobOutput::Begin(attempt) = output { Some(attempt.clone()) } else { None };
    outputs.iter().filter_map(begun).collect()
}

fn only_begun(outputs: &[JobOutput]) -> JobAttempt {
    let [attempt] = begun(outputs).try_into().unwrap_or_else(|begun| panic!("not one attempt but {begun:?}"));
    attempt
}

fn events(outputs: &[JobOutput]) -> Vec<JobEvent> {
    let event =
        |output: &JobOutput| if let JobOutput::Event { event, .. } = output { Some(event.clone()) } else { None };
    outputs.iter().filter_map(event).collect()
}

fn reports(outputs: &[JobOutput]) -> Vec<JobAnomaly> {
    let report =
        |output: &JobOutput| if let JobOutput::Report(anomaly) = output { Some(anomaly.clone()) } else { None };
    outputs.iter().filter_map(report).collect()
}
