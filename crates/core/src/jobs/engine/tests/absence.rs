//! Jobs that the leader does not have are shown as absent, and found as they were left when they are back.

use super::*;
use crate::jobs::absence::present_schedule;
use crate::jobs::policy::Missed;

const NOTHING: [JobSpec<Every>; 0] = [];

impl EngineBench {
    /// The jobs are given anew, and opened.
    fn reload(&mut self, jobs: impl IntoIterator<Item = JobSpec<Every>>) -> Vec<JobOutput> {
        let outputs = self.feed(JobInput::Jobs(jobs.into_iter().collect()));
        self.open_all(outputs)
    }

    /// Opening is answered to its end.
    fn open_all(&mut self, mut outputs: Vec<JobOutput>) -> Vec<JobOutput> {
        while matches!(calls(&outputs)[..], [(_, LedgerCall::Open(_))]) {
            outputs = self.answer(&outputs);
        }
        outputs
    }

    fn is_absent(&self) -> bool {
        present_schedule(&self.ledger.jobs[&name("report")].schedule).is_some()
    }

    fn marked(&self) -> Tick {
        self.ledger.jobs[&name("report")].mark
    }
}

fn report(every: u64) -> JobSpec<Every> {
    spec(JobPolicy { missed: Missed::All, ..JobPolicy::new(name("report")) }, every)
}

#[test]
fn a_job_that_is_gone_is_shown_as_absent_and_keeps_its_mark_until_it_is_back() {
    let mut bench = EngineBench::open(|policy| policy.missed = Missed::All);
    let mark = bench.marked();
    bench.reload(NOTHING);
    assert!(bench.is_absent());
    bench.skip(s(30));
    let outputs = bench.reload([report(10)]);
    assert!(!bench.is_absent());
    assert_eq!(bench.marked(), mark, "nothing is decided by that");
    assert_eq!(claims(&outputs)[0].tick, at(1_010), "what was missed meanwhile is known");
}

#[test]
fn a_job_that_is_back_with_another_schedule_begins_at_the_present() {
    let mut bench = EngineBench::open(|policy| policy.missed = Missed::All);
    bench.reload(NOTHING);
    bench.skip(s(30));
    assert!(calls(&bench.reload([report(7)])).is_empty(), "nothing was missed");
    assert_eq!((bench.is_absent(), bench.marked()), (false, at(1_035)));
}

#[test]
fn what_is_known_is_asked_once_under_a_leadership_and_again_when_the_jobs_are_given_anew() {
    let mut bench = EngineBench::new(|_| ());
    bench.lists_at_once = false;
    let lists = bench.elect(1);
    assert!(matches!(only_call(&lists).1, LedgerCall::List(_)), "{lists:?}");
    let opens = bench.answer(&lists);
    assert!(calls(&bench.answer(&opens)).is_empty());
    bench.ledger.forget(&name("report"));
    let claims = bench.pass(s(5));
    let opens = bench.answer(&claims);
    assert!(matches!(only_call(&opens).1, LedgerCall::Open(_)), "{opens:?}");
    bench.answer(&opens);
    let lists = bench.feed(JobInput::Jobs(vec![report(10)]));
    assert!(matches!(only_call(&lists).1, LedgerCall::List(_)), "{lists:?}");
}

#[test]
fn nothing_is_opened_before_it_is_known_which_jobs_are_absent_unless_that_is_refused() {
    let mut bench = EngineBench::new(|_| ());
    bench.lists_at_once = false;
    let lists = bench.elect(1);
    let (call, _) = only_call(&lists);
    let outputs = bench.feed(JobInput::Reply { call, reply: LedgerReply::Listed(Err(WriteOutcome::Unknown)) });
    assert!(calls(&outputs).is_empty());
    let (call, asked) = only_call(&bench.wake());
    assert!(matches!(asked, LedgerCall::List(_)), "{asked:?}");
    let outputs = bench.feed(JobInput::Reply { call, reply: LedgerReply::Listed(Err(WriteOutcome::Refused)) });
    let LedgerCall::Open(open) = only_call(&outputs).1 else { panic!("not opened: {outputs:?}") };
    assert_eq!(open.jobs[0].job, name("report"));
}

#[test]
fn a_mark_of_absence_that_is_not_answered_is_written_again_and_one_that_is_refused_is_not() {
    for (reply, is_again) in [(Err(WriteOutcome::Unknown), true), (Err(WriteOutcome::Refused), false)] {
        let mut bench = EngineBench::open(|_| ());
        let notes = bench.feed(JobInput::Jobs(NOTHING.to_vec()));
        let (call, _) = only_call(&notes);
        let outputs = bench.feed(JobInput::Reply { call, reply: LedgerReply::Opened(reply) });
        let outputs = if is_again { bench.wake() } else { outputs };
        let LedgerCall::Open(open) = only_call(&outputs).1 else { panic!("not opened: {outputs:?}") };
        assert_eq!(!open.jobs.is_empty(), is_again, "{open:?}");
    }
}

#[test]
fn whoever_does_not_hold_the_lease_marks_nothing_and_makes_the_elector_look() {
    let mut bench = EngineBench::open(|_| ());
    bench.holder = Some(term(2));
    let notes = bench.feed(JobInput::Jobs(NOTHING.to_vec()));
    let outputs = bench.answer(&notes);
    assert!(matches!(outputs[..], [JobOutput::Hint]), "{outputs:?}");
    assert!(!bench.is_absent());
}
