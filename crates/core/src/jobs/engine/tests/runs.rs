//! Attempts: their limits, and trying again.

use super::*;
use crate::jobs::policy::{Interrupted, Missed, Overlap};
use crate::jobs::request::Act;

fn limited(timeout: Option<Duration>) -> (EngineBench, RunId) {
    let mut policy = JobPolicy::new(name("report"));
    policy.overlap = Overlap::Queue;
    let mut bench = EngineBench::with(vec![JobSpec { timeout, ..spec(policy, 10) }]);
    let opens = bench.elect(1);
    bench.answer(&opens);
    let claims = bench.pass(s(5));
    let outputs = bench.answer(&claims);
    let run = only_begun(&outputs).run;
    (bench, run)
}

/// Goes on until the engine says something else than that it asks how jobs stand.
fn until_said(bench: &mut EngineBench) -> Vec<JobOutput> {
    for _ in 0..100 {
        let outputs = bench.wake();
        if calls(&outputs).is_empty() && !outputs.is_empty() {
            return outputs;
        }
        if !calls(&outputs).is_empty() {
            bench.answer(&outputs);
        }
    }
    panic!("it says nothing")
}

#[test]
fn an_attempt_that_takes_too_long_is_told_then_ended_and_then_reported() {
    let (mut bench, run) = limited(Some(s(3)));
    let outputs = until_said(&mut bench);
    assert!(matches!(outputs[..], [JobOutput::Stop { run: of }] if of == run), "{outputs:?}");
    let told = bench.now;
    let outputs = until_said(&mut bench);
    assert!(matches!(outputs[..], [JobOutput::Kill { run: of }] if of == run), "{outputs:?}");
    assert_eq!(bench.now.saturating_since(told), s(3), "the grace");
    let outputs = until_said(&mut bench);
    assert_eq!(reports(&outputs), [JobAnomaly::Stuck { job: name("report"), tick: at(1_010) }]);
}

/// A job whose tick of second 1020 has waited for its run for 5 s when its jobs are given anew, and then its run ends.
fn reloaded(missed: Missed, window: Duration, every: u64) -> (EngineBench, Vec<JobOutput>) {
    let mut policy = JobPolicy::new(name("report"));
    (policy.overlap, policy.missed, policy.window) = (Overlap::Queue, missed, window);
    let (mut bench, run) = EngineBench::running(|usual| *usual = policy.clone());
    let learns = bench.pass(s(10));
    assert!(claims_in(&learns).is_empty(), "it waits: {learns:?}");
    assert!(calls(&bench.answer(&learns)).is_empty(), "it still waits");
    bench.skip(s(5));
    let opens = bench.feed(JobInput::Jobs(vec![spec(policy, every)]));
    assert!(matches!(only_call(&opens).1, LedgerCall::Open(_)), "{opens:?}");
    let outputs = bench.answer(&opens);
    assert!(claims_in(&outputs).is_empty(), "its run goes on: {outputs:?}");
    let tells = bench.ended(run, RunOutcome::Succeeded);
    let outputs = bench.answer(&tells);
    (bench, outputs)
}

fn claims_in(outputs: &[JobOutput]) -> Vec<Claim> {
    let is_claim = |(_, call): &(CallId, LedgerCall)| matches!(call, LedgerCall::Claim(_));
    if calls(outputs).iter().any(is_claim) { claims(outputs) } else { Vec::new() }
}

#[test]
fn a_tick_that_waits_for_a_run_is_not_missed_when_the_jobs_are_given_anew() {
    for (missed, window) in [(Missed::Skip, s(3_600)), (Missed::Once, s(1)), (Missed::Once, s(3_600))] {
        let (_, outputs) = reloaded(missed, window, 10);
        let claims = claims_in(&outputs);
        assert_eq!(claims.iter().map(|claim| (claim.tick, claim.act)).collect::<Vec<_>>(), [(at(1_020), Act::Run)]);
    }
    let (_, outputs) = reloaded(Missed::Skip, s(3_600), 15);
    assert!(claims_in(&outputs).iter().all(|claim| claim.tick != at(1_020)), "the schedule has no such tick any more");
}

#[test]
fn an_attempt_without_a_limit_is_reported_when_it_outlives_its_leadership() {
    let (mut bench, _) = limited(None);
    bench.lose();
    assert!(bench.pass(s(60)).is_empty(), "it has the time that all work has");
    bench.end();
    assert_eq!(bench.sleeps(), Some(s(1)));
    assert_eq!(reports(&bench.wake()).len(), 1);
}

#[test]
fn a_run_that_failed_rests_and_is_tried_again() {
    let (mut bench, run) = EngineBench::running(|policy| {
        (policy.retries, policy.retry_after) = (1, s(3));
    });
    let outputs = bench.ended(run, failed());
    assert_eq!(events(&outputs), [JobEvent::Retrying { retry: 1, after: s(3), why: "no paper".to_owned() }]);
    assert!(bench.is_held);
    bench.skip(s(3));
    let outputs = bench.feed(JobInput::Timeout);
    let attempt = only_begun(&outputs);
    assert_eq!((attempt.retries, attempt.tick), (1, at(1_010)));
    assert!(bench.ended(run, RunOutcome::Succeeded).is_empty(), "the first attempt has ended once");
    let tells = bench.ended(attempt.run, failed());
    let finish = &finishes(&tells)[0];
    assert_eq!((finish.retries, finish.took, &finish.outcome), (1, s(4), &failed()));
    assert_eq!(events(&tells), [JobEvent::Ended { took: s(4), outcome: failed() }]);
}

#[test]
fn what_could_not_be_run_at_all_is_not_tried_again() {
    let (mut bench, run) = EngineBench::running(|policy| policy.retries = 5);
    let ended = EndedAttempt { run, took: s(0), outcome: failed(), may_retry: false };
    let tells = bench.feed(JobInput::RunsEnded(vec![ended]));
    assert_eq!(finishes(&tells)[0].outcome, failed());
}

#[test]
fn a_run_that_rests_when_leadership_ends_has_failed_or_is_left_to_the_next() {
    for (interrupted, told) in [(Interrupted::Leave, 1), (Interrupted::Again, 0)] {
        let (mut bench, run) = EngineBench::running(|policy| {
            (policy.retries, policy.interrupted) = (5, interrupted);
        });
        bench.ended(run, failed());
        let outputs = bench.lose();
        assert_eq!(calls(&outputs).len(), told, "{interrupted}");
        assert_eq!(events(&outputs).len(), 1);
        assert_eq!(bench.is_held, told == 1);
    }
}

#[test]
fn ticks_wait_for_a_run_of_an_earlier_leadership_that_still_goes_on() {
    let (mut bench, run) = limited(None);
    bench.end();
    let opens = bench.elect(2);
    bench.answer(&opens);
    bench.skip(s(8));
    assert!(calls(&bench.pass(s(1))).is_empty());
    let outputs = bench.pass(s(1));
    assert!(matches!(only_call(&outputs).1, LedgerCall::Open(_)), "it only asks how jobs stand");
    bench.answer(&outputs);
    let tells = bench.ended(run, RunOutcome::Cancelled);
    assert_eq!(finishes(&tells)[0].term, term(1));
    let claims = bench.answer(&tells);
    assert_eq!(only_begun(&bench.answer(&claims)).tick, at(1_020));
}

#[test]
fn a_run_that_the_ledger_forgot_is_not_begun_beside_itself() {
    let (mut bench, run) = EngineBench::running(|policy| policy.overlap = Overlap::Allow);
    bench.forget();
    let claims = bench.pass(s(1));
    assert!(begun(&bench.answer(&claims)).is_empty());
    let tells = bench.ended(run, RunOutcome::Succeeded);
    bench.answer(&tells);
    assert_eq!(bench.outcomes(), [Some(RunOutcome::Succeeded)]);
}
