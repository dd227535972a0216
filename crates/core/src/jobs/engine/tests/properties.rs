//! Whatever happens in whatever order: no tick begins twice under one term, and none is lost.

use std::collections::{BTreeMap, BTreeSet};

use proptest::prelude::*;

use super::*;
use crate::jobs::policy::{Interrupted, Missed, Overlap};

#[derive(Debug, Clone, Copy)]
enum Happening {
    Elect,
    Lose,
    End,
    /// Time passes, in milliseconds.
    Pass(u64),
    /// Somebody sets the wall clock, by so many seconds.
    SetClock(i64),
    /// The ledger is asked, and heard.
    Answer,
    /// The ledger is asked, and nobody hears what it says.
    LoseAnswer,
    /// The ledger is not asked, and that is known.
    Refuse,
    /// The oldest attempt ends so.
    EndRun(bool),
    /// A call that was given up arrives after all.
    Straggler,
    /// The jobs are given anew: this often, or not at all.
    Reload(Option<u64>),
}

fn happening() -> impl Strategy<Value = Happening> {
    prop_oneof![
        1 => Just(Happening::Elect),
        1 => Just(Happening::Lose),
        1 => Just(Happening::End),
        6 => (1_u64..4_000).prop_map(Happening::Pass),
        1 => (-20_i64..20).prop_map(Happening::SetClock),
        8 => Just(Happening::Answer),
        2 => Just(Happening::LoseAnswer),
        1 => Just(Happening::Refuse),
        3 => any::<bool>().prop_map(Happening::EndRun),
        1 => Just(Happening::Straggler),
        1 => proptest::option::of(3_u64..5).prop_map(Happening::Reload),
    ]
}

fn policy() -> impl Strategy<Value = JobPolicy> {
    let missed = prop_oneof![Just(Missed::Skip), Just(Missed::Once), Just(Missed::All)];
    let overlap = prop_oneof![Just(Overlap::Skip), Just(Overlap::Queue), Just(Overlap::Allow)];
    let interrupted = prop_oneof![Just(Interrupted::Leave), Just(Interrupted::Again)];
    (missed, overlap, interrupted, 0_u32..3).prop_map(|(missed, overlap, interrupted, retries)| JobPolicy {
        missed,
        overlap,
        interrupted,
        retries,
        retry_after: s(1),
        ..JobPolicy::new(name("report"))
    })
}

struct EngineCourse {
    bench: EngineBench,
    policy: JobPolicy,
    terms: u64,
    call: Option<(CallId, LedgerCall)>,
    given_up: Option<LedgerCall>,
    /// Attempts that go on.
    running: BTreeMap<RunId, (Tick, Term)>,
    begun: BTreeSet<(Tick, Term)>,
}

impl EngineCourse {
    fn take(&mut self, outputs: &[JobOutput]) {
        for attempt in begun(outputs) {
            let key = (attempt.tick, attempt.term);
            assert_eq!(self.bench.leads, Some(attempt.term), "it begins while it leads");
            assert!(self.bench.is_held, "the lease is kept");
            assert_eq!(self.begun.insert(key), attempt.retries == 0, "{key:?} begins once");
            self.running.insert(attempt.run, key);
        }
        if let Some(call) = calls(outputs).pop() {
            self.given_up = self.call.replace(call).map(|(_, call)| call).or(self.given_up.take());
        }
    }

    fn happen(&mut self, happening: Happening) {
        let outputs = match happening {
            Happening::Elect if self.bench.holder.is_none() => {
                self.terms += 1;
                self.bench.elect(self.terms)
            }
            Happening::Elect => Vec::new(),
            Happening::Lose => self.bench.lose(),
            Happening::End => self.bench.end(),
            Happening::Pass(millis) => self.bench.pass(Duration::from_millis(millis)),
            Happening::SetClock(by) => {
                self.bench.unix_ms = self.bench.unix_ms.saturating_add_signed(by * 1_000).max(900_000);
                self.bench.feed(JobInput::Timeout)
            }
            Happening::Answer => self.answer(),
            Happening::LoseAnswer => {
                let call = self.call.take();
                call.into_iter().for_each(|(_, call)| drop(self.bench.serve(&call)));
                Vec::new()
            }
            Happening::Refuse => self.refuse(),
            Happening::EndRun(well) => match self.running.pop_first() {
                Some((run, _)) => self.bench.ended(run, if well { RunOutcome::Succeeded } else { failed() }),
                None => Vec::new(),
            },
            Happening::Straggler => {
                let call = self.given_up.take();
                call.into_iter().for_each(|call| drop(self.bench.serve(&call)));
                Vec::new()
            }
            Happening::Reload(every) => {
                let jobs = every.map(|every| spec(self.policy.clone(), every)).into_iter().collect();
                self.bench.feed(JobInput::Jobs(jobs))
            }
        };
        self.take(&outputs);
    }

    fn answer(&mut self) -> Vec<JobOutput> {
        let Some((call, asked)) = self.call.take() else { return Vec::new() };
        let reply = self.bench.serve(&asked);
        self.bench.feed(JobInput::Reply { call, reply })
    }

    fn refuse(&mut self) -> Vec<JobOutput> {
        let Some((call, asked)) = self.call.take() else { return Vec::new() };
        let refused = WriteOutcome::Refused;
        let reply = match asked {
            LedgerCall::List(_) => LedgerReply::Listed(Err(refused)),
            LedgerCall::Open(_) => LedgerReply::Opened(Err(refused)),
            LedgerCall::Claim(batch) => LedgerReply::Claimed(vec![Err(refused); batch.len()]),
            LedgerCall::Finish(batch) => LedgerReply::Finished(vec![Err(refused); batch.len()]),
        };
        self.bench.feed(JobInput::Reply { call, reply })
    }

    /// All is well again, and nobody leads: whatever is left to be told is told.
    fn come_to_rest(&mut self) {
        while let Some((run, _)) = self.running.pop_first() {
            let outputs = self.bench.ended(run, RunOutcome::Succeeded);
            self.take(&outputs);
        }
        self.happen(Happening::End);
        for _ in 0..200 {
            self.happen(Happening::Answer);
            if self.call.is_none() {
                let Some(sleeps) = self.bench.sleeps() else { return };
                let outputs = self.bench.pass(sleeps);
                self.take(&outputs);
            }
        }
        panic!("it does not come to rest")
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 500, ..ProptestConfig::default() })]

    #[test]
    fn what_is_claimed_begins_once_or_is_given_back(
        policy in policy(),
        happenings in proptest::collection::vec(happening(), 1..150),
    ) {
        let mut bench = EngineBench::with(vec![spec(policy.clone(), 3)]);
        bench.lists_at_once = false;
        let mut course = EngineCourse {
            bench,
            policy,
            terms: 0,
            call: None,
            given_up: None,
            running: BTreeMap::new(),
            begun: BTreeSet::new(),
        };
        happenings.into_iter().for_each(|happening| course.happen(happening));
        course.come_to_rest();
        prop_assert!(!course.bench.is_held, "the lease is free");
        for known in course.bench.ledger.jobs.values().flat_map(|job| &job.runs) {
            let key = (known.run.tick, known.run.term);
            let is_given_back = known.run.end.as_ref().is_some_and(|end| end.outcome == RunOutcome::NotBegun);
            prop_assert_eq!(course.begun.contains(&key), !is_given_back, "{:?}", known.run);
        }
    }
}
