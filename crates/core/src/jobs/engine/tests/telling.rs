//! Telling the ledger how runs ended.

use super::*;
use crate::jobs::policy::Interrupted;

const UNHEARD: Result<bool, WriteOutcome> = Err(WriteOutcome::NotSent);

fn reply_to_ends(bench: &mut EngineBench, tells: &[JobOutput], replies: Vec<Result<bool, WriteOutcome>>) {
    let (call, _) = only_call(tells);
    bench.feed(JobInput::Reply { call, reply: LedgerReply::Finished(replies) });
}

#[test]
fn an_end_is_told_until_the_ledger_has_it_and_the_lease_waits_for_that() {
    let (mut bench, run) = EngineBench::running(|_| ());
    let tells = bench.ended(run, RunOutcome::Succeeded);
    reply_to_ends(&mut bench, &tells, vec![UNHEARD]);
    bench.lose();
    assert!(bench.is_held);
    let tells = bench.wake();
    bench.answer(&tells);
    assert!(!bench.is_held);
    assert_eq!(bench.outcomes(), [Some(RunOutcome::Succeeded)]);
}

#[test]
fn after_its_leadership_an_end_is_told_for_a_minute() {
    let (mut bench, run) = EngineBench::running(|_| ());
    bench.ended(run, RunOutcome::Succeeded);
    bench.end();
    let over = bench.now;
    for _ in 0..1_000 {
        let Some(_) = bench.sleeps() else { break };
        let tells = bench.wake();
        if !calls(&tells).is_empty() {
            reply_to_ends(&mut bench, &tells, vec![UNHEARD]);
        }
    }
    let told_for = bench.now.saturating_since(over);
    assert!(told_for >= s(60) && told_for < s(65), "{told_for:?}");
}

#[test]
fn what_was_cut_off_is_left_open_if_the_job_wants_it_again() {
    for (interrupted, told) in [(Interrupted::Leave, 1), (Interrupted::Again, 0)] {
        let (mut bench, run) = EngineBench::running(|policy| policy.interrupted = interrupted);
        bench.lose();
        let outputs = bench.ended(run, RunOutcome::Cancelled);
        assert_eq!(calls(&outputs).len(), told, "{interrupted}");
        assert_eq!(bench.is_held, told == 1);
    }
}

#[test]
fn an_end_that_is_not_known_any_more_is_not_told_again() {
    let (mut bench, run) = EngineBench::running(|_| ());
    let tells = bench.ended(run, RunOutcome::Succeeded);
    bench.ledger.forget(&name("report"));
    bench.answer(&tells);
    assert!(!bench.is_held);
    assert!(bench.end().is_empty());
}

#[test]
fn an_end_may_be_told_under_the_next_leadership() {
    let (mut bench, run) = EngineBench::running(|_| ());
    let tells = bench.ended(run, RunOutcome::Succeeded);
    bench.end();
    assert!(bench.elect(2).is_empty(), "one call at a time");
    let opens = bench.answer(&tells);
    assert!(matches!(only_call(&opens).1, LedgerCall::Open(_)));
    assert_eq!(bench.outcomes(), [Some(RunOutcome::Succeeded)]);
}

#[test]
fn whoever_leaves_tells_everything_once_and_is_silent() {
    let (mut bench, _) = EngineBench::asking(|_| ());
    let tells = bench.end();
    bench.answer(&tells);
    let tells = bench.feed(JobInput::Left);
    assert_eq!(finishes(&tells).len(), 1, "also what the ledger did not know");
    let outputs = bench.pass(s(1));
    assert!(matches!(outputs[..], [JobOutput::Finished]), "{outputs:?}");
    assert!(bench.elect(2).is_empty() && bench.alarm == JobAlarm::default());
}

#[test]
fn whoever_leaves_with_nothing_to_tell_has_finished() {
    let mut bench = EngineBench::open(|_| ());
    bench.end();
    assert!(matches!(bench.feed(JobInput::Left)[..], [JobOutput::Finished]));
}
