//! From what is due to what begins.

use super::*;
use crate::jobs::policy::{Missed, Passed};
use crate::jobs::request::JobOrder;

#[test]
fn a_tick_is_claimed_when_it_is_due_and_runs_when_it_is_granted() {
    let mut bench = EngineBench::open(|_| ());
    assert_eq!(bench.alarm.unix_ms, Some(1_010_000));
    assert_eq!(bench.sleeps(), Some(s(5)), "as soon as it is due, and no later than a clock may have been set");
    let claims = bench.wake();
    assert!(bench.is_held && begun(&claims).is_empty());
    let outputs = bench.answer(&claims);
    let JobAttempt { job, tick, term: under, retries, missed, late, again, .. } = only_begun(&outputs);
    assert_eq!((job, tick, under), (name("report"), at(1_010), term(1)));
    assert_eq!((retries, missed, late, again), (0, 0, None, false));
    assert_eq!(events(&outputs), [JobEvent::Fired { late: None, missed: 0, again: false }]);
    assert!(bench.is_held, "the lease is kept until its end is told");
}

#[test]
fn nothing_is_asked_before_leadership_begins_nor_after_it_ends() {
    let mut bench = EngineBench::new(|_| ());
    assert!(bench.pass(s(60)).is_empty());
    assert_eq!(bench.alarm, JobAlarm::default(), "there is nothing to wait for");
    let opens = bench.elect(1);
    bench.answer(&opens);
    bench.lose();
    assert!(bench.pass(s(60)).is_empty());
    assert!(bench.end().is_empty() && !bench.is_held);
}

#[test]
fn leadership_that_ended_before_anybody_said_so_asks_nothing() {
    let mut bench = EngineBench::new(|_| ());
    let outputs = bench.feed(JobInput::Elected { nonce: nonce(1), term: term(1) });
    assert!(outputs.is_empty(), "{outputs:?}");
}

#[test]
fn a_call_that_is_not_answered_is_asked_again_after_a_while() {
    let mut bench = EngineBench::new(|_| ());
    bench.elect(1);
    let outputs = bench.wake();
    assert_eq!(bench.now, Instant::ZERO + s(101), "an attempt takes a second");
    assert_eq!(reports(&outputs), [JobAnomaly::Unanswered]);
    assert!(calls(&outputs).is_empty());
    assert_eq!(bench.sleeps(), Some(Duration::from_millis(50)));
    assert!(matches!(only_call(&bench.wake()).1, LedgerCall::Open(_)));
}

#[test]
fn an_answer_that_comes_too_late_or_twice_changes_nothing() {
    let (mut bench, claims) = EngineBench::asking(|_| ());
    let (call, asked) = only_call(&claims);
    let reply = bench.serve(&asked);
    let outputs = bench.pass(s(1));
    assert_eq!(reports(&outputs), [JobAnomaly::Unanswered]);
    assert!(begun(&bench.feed(JobInput::Reply { call, reply: reply.clone() })).is_empty());
    let again = bench.pass(s(1));
    let outputs = bench.answer(&again);
    assert_eq!(only_begun(&outputs).tick, at(1_010), "the claim is found again");
    assert!(begun(&bench.feed(JobInput::Reply { call, reply })).is_empty());
}

#[test]
fn an_answer_to_another_question_is_none() {
    let (mut bench, claims) = EngineBench::asking(|_| ());
    let (call, _) = only_call(&claims);
    let outputs = bench.feed(JobInput::Reply { call, reply: LedgerReply::Finished(vec![Ok(true)]) });
    assert!(outputs.is_empty());
    assert_eq!(begun(&bench.answer(&claims)).len(), 1);
}

#[test]
fn whoever_does_not_hold_the_lease_makes_the_elector_look() {
    let (mut bench, claims) = EngineBench::asking(|_| ());
    let outputs = bench.answer_claims(&claims, Ok(Claimed::NotHolder));
    assert!(matches!(outputs[..], [JobOutput::Hint]), "{outputs:?}");
    assert!(!bench.is_held, "surely nothing was claimed");
    assert_eq!(bench.sleeps(), Some(Duration::from_millis(50)));
}

#[test]
fn jobs_that_the_ledger_forgot_are_opened_again() {
    let (mut bench, claims) = EngineBench::asking(|_| ());
    bench.ledger.forget(&name("report"));
    let opens = bench.answer(&claims);
    assert!(matches!(only_call(&opens).1, LedgerCall::Open(_)));
    assert!(calls(&bench.answer(&opens)).is_empty(), "it begins anew, at the present");
}

#[test]
fn a_clock_that_is_ahead_is_reported_once_and_corrected() {
    let mut bench = EngineBench::open(|_| ());
    let claims = bench.pass(s(5));
    let outputs = bench.answer_claims(&claims, Ok(Claimed::Early { by: s(5) }));
    assert_eq!(reports(&outputs), [JobAnomaly::ClockAhead { by: s(5) }]);
    assert!(calls(&outputs).is_empty() && !bench.is_held);
    let again = bench.wake();
    assert!(bench.unix_ms >= 1_014_000, "it waits for the store's clock");
    assert!(reports(&bench.answer_claims(&again, Ok(Claimed::Early { by: s(1) }))).is_empty());
}

#[test]
fn a_mark_in_the_future_is_reported_once_and_asked_after() {
    let mut bench = EngineBench::new(|_| ());
    let opens = bench.elect(1);
    bench.answer(&opens);
    bench.ledger.jobs.get_mut(&name("report")).unwrap().mark = at(100_000);
    bench.end();
    let opens = bench.elect(2);
    let outputs = bench.answer(&opens);
    assert_eq!(reports(&outputs), [JobAnomaly::MarkAhead { job: name("report"), mark: at(100_000) }]);
    bench.ledger.forget(&name("report"));
    let mut said = Vec::new();
    for _ in 0..30 {
        let mut outputs = bench.wake();
        while !calls(&outputs).is_empty() {
            outputs = bench.answer(&outputs);
            said.extend(outputs.clone());
        }
    }
    assert!(reports(&said).is_empty());
    assert!(!begun(&said).is_empty(), "it fires again");
}

#[test]
fn what_somebody_wants_of_a_job_is_learnt_within_ten_seconds() {
    let mut bench = EngineBench::open(|_| ());
    bench.ledger.steer(&name("report"), JobOrder::Pause, 0);
    bench.skip(s(9));
    bench.unix_ms -= 9_000;
    assert!(bench.feed(JobInput::Timeout).is_empty());
    let learns = bench.pass(s(1));
    assert!(matches!(only_call(&learns).1, LedgerCall::Open(_)));
    assert!(calls(&bench.answer(&learns)).is_empty());
    assert!(calls(&bench.pass(s(9))).is_empty(), "it is paused");
}

#[test]
fn many_jobs_are_planned_a_few_at_a_time_and_claimed_together() {
    let jobs = |index| spec(JobPolicy::new(name(&format!("job-{index}"))), 10);
    let mut bench = EngineBench::with((0..230).map(jobs).collect());
    let opens = bench.elect(1);
    let mut outputs = bench.answer(&opens);
    let mut looks = 0;
    let mut rest = |bench: &mut EngineBench| {
        while bench.sleeps() == Some(Duration::ZERO) {
            looks += 1;
            assert!(bench.wake().is_empty() || looks > 20);
        }
    };
    rest(&mut bench);
    let mut batches = Vec::new();
    outputs.extend(bench.pass(s(5)));
    for _ in 0..100 {
        if !calls(&outputs).is_empty() {
            batches.push(claims(&outputs).len());
            outputs = bench.answer(&outputs);
        } else if bench.sleeps() == Some(Duration::ZERO) {
            outputs = bench.wake();
        } else {
            break;
        }
    }
    assert_eq!(batches, [100, 100, 30]);
}

#[test]
fn a_wall_clock_that_is_set_makes_every_job_looked_at() {
    let mut bench = EngineBench::open(|policy| policy.missed = Missed::Skip);
    bench.unix_ms += 3_600_000;
    let claims = claims(&bench.pass(s(1)));
    assert_eq!((claims[0].tick, claims[0].missed), (at(4_600), 360), "what is due is asked for");
}

#[test]
fn what_is_passed_over_is_told_when_the_ledger_has_it() {
    let mut bench = EngineBench::open(|policy| policy.enabled = false);
    let claims = bench.pass(s(5));
    assert!(events(&claims).is_empty());
    let outputs = bench.answer(&claims);
    assert_eq!(events(&outputs), [JobEvent::Passed { count: 1, why: Passed::Disabled }]);
    assert!(!bench.is_held && begun(&outputs).is_empty());
}

#[test]
fn jobs_that_change_are_opened_again_once_nothing_is_under_way() {
    let (mut bench, claims) = EngineBench::asking(|_| ());
    let other = JobPolicy::new(name("payout"));
    assert!(bench.feed(JobInput::Jobs(vec![spec(other, 10)])).is_empty(), "the claim is waited for");
    let outputs = bench.answer(&claims);
    let run = only_begun(&outputs).run;
    let LedgerCall::Open(open) = only_call(&outputs).1 else { panic!("not opened: {outputs:?}") };
    assert_eq!(open.jobs.iter().map(|job| job.job.clone()).collect::<Vec<_>>(), [name("report")], "it is absent now");
    let outputs = bench.answer(&outputs);
    let LedgerCall::Open(open) = only_call(&outputs).1 else { panic!("not opened: {outputs:?}") };
    assert_eq!(open.jobs.iter().map(|job| job.job.clone()).collect::<Vec<_>>(), [name("payout")]);
    bench.answer(&outputs);
    let tells = bench.ended(run, RunOutcome::Succeeded);
    assert_eq!(finishes(&tells)[0].job, name("report"), "its end is told although it is gone");
}

#[test]
fn an_election_with_too_many_jobs_says_so() {
    let mut bench = EngineBench::new(|_| ());
    let (call, _) = only_call(&bench.elect(1));
    let outputs = bench.feed(JobInput::Reply { call, reply: LedgerReply::Opened(Ok(Opened::TooMany)) });
    assert_eq!(reports(&outputs), [JobAnomaly::TooMany]);
}
