//! Ticks that were claimed, or may have been, and do not begin.

use super::*;
use crate::jobs::policy::Missed;

const LOST: Result<Claimed, WriteOutcome> = Err(WriteOutcome::Unknown);

#[test]
fn a_claim_whose_answer_was_lost_is_asked_again_and_begins_once() {
    let (mut bench, claims) = EngineBench::asking(|_| ());
    bench.serve(&only_call(&claims).1);
    bench.answer_claims(&claims, LOST);
    assert!(bench.is_held, "it may have been claimed");
    let again = bench.wake();
    assert_eq!(begun(&bench.answer(&again)).len(), 1);
    assert_eq!(bench.outcomes(), [None]);
}

#[test]
fn a_grant_that_comes_when_leadership_is_over_is_given_back() {
    let (mut bench, claims) = EngineBench::asking(|_| ());
    bench.lose();
    let tells = bench.answer(&claims);
    assert!(begun(&tells).is_empty() && events(&tells).is_empty());
    assert_eq!(finishes(&tells)[0].outcome, RunOutcome::NotBegun);
    assert!(bench.is_held);
    assert!(bench.answer(&tells).is_empty());
    assert!(!bench.is_held, "the lease waits for nothing more");
    assert_eq!(bench.outcomes(), [Some(RunOutcome::NotBegun)]);
}

#[test]
fn a_tick_in_doubt_is_given_back_when_leadership_ends() {
    let (mut bench, claims) = EngineBench::asking(|_| ());
    bench.serve(&only_call(&claims).1);
    bench.answer_claims(&claims, LOST);
    bench.lose();
    let tells = bench.wake();
    assert_eq!(finishes(&tells)[0].outcome, RunOutcome::NotBegun);
    bench.answer(&tells);
    assert!(!bench.is_held);
    assert_eq!(bench.outcomes(), [Some(RunOutcome::NotBegun)]);
}

#[test]
fn a_claim_that_is_under_way_when_leadership_is_over_is_given_back_until_it_cannot_come_any_more() {
    let (mut bench, claims) = EngineBench::asking(|_| ());
    let (call, asked) = only_call(&claims);
    let mut tells = bench.end();
    assert!(!bench.is_held, "the lease is not waited for");
    for _ in 0..3 {
        assert_eq!(finishes(&tells)[0].tick, at(1_010));
        assert!(bench.answer(&tells).is_empty(), "the ledger does not know it yet");
        assert_eq!(bench.sleeps(), Some(s(1)));
        tells = bench.wake();
    }
    bench.holder = Some(term(1));
    let reply = bench.serve(&asked);
    bench.holder = None;
    assert!(bench.feed(JobInput::Reply { call, reply }).is_empty(), "nobody waits for it any more");
    bench.answer(&tells);
    assert_eq!(bench.outcomes(), [Some(RunOutcome::NotBegun)]);
    assert_eq!(bench.alarm, JobAlarm::default());
}

#[test]
fn what_the_ledger_never_hears_of_is_not_given_back_for_ever() {
    let (mut bench, _) = EngineBench::asking(|_| ());
    let mut tells = bench.end();
    let mut told = 0;
    while !calls(&tells).is_empty() {
        told += 1;
        bench.answer(&tells);
        tells = if bench.sleeps().is_some() { bench.wake() } else { Vec::new() };
    }
    assert_eq!(told, 46, "every second, for three ttls");
}

#[test]
fn a_tick_in_doubt_that_is_passed_over_is_given_back() {
    let (mut bench, claims) = EngineBench::asking(|policy| policy.missed = Missed::Skip);
    bench.serve(&only_call(&claims).1);
    bench.answer_claims(&claims, LOST);
    let passes = bench.pass(s(4));
    assert_eq!(only_call_tick(&passes), at(1_010), "it is late by now");
    let tells = bench.answer(&passes);
    assert_eq!(finishes(&tells)[0].tick, at(1_010));
    bench.answer(&tells);
    assert_eq!(bench.outcomes(), [Some(RunOutcome::NotBegun)]);
}

#[test]
fn a_tick_that_was_given_back_is_not_begun_under_the_same_term() {
    let (mut bench, claims) = EngineBench::asking(|policy| policy.missed = Missed::Skip);
    bench.serve(&only_call(&claims).1);
    bench.answer_claims(&claims, LOST);
    let passes = bench.pass(s(4));
    let tells = bench.answer(&passes);
    let learns = bench.answer(&tells);
    bench.answer(&learns);
    bench.forget();
    let claims = bench.pass(s(1));
    let tells = bench.answer(&claims);
    assert!(begun(&tells).is_empty());
    assert_eq!(finishes(&tells)[0].outcome, RunOutcome::NotBegun);
}

#[test]
fn the_next_leader_runs_what_was_given_back() {
    let (mut bench, claims) = EngineBench::asking(|policy| policy.missed = Missed::All);
    bench.lose();
    let tells = bench.answer(&claims);
    bench.answer(&tells);
    bench.end();
    let opens = bench.elect(2);
    let claims = bench.answer(&opens);
    let attempt = only_begun(&bench.answer(&claims));
    assert_eq!((attempt.tick, attempt.term, attempt.again), (at(1_010), term(2), false));
}

#[test]
fn what_is_given_back_late_is_learnt_at_once_by_the_one_that_gave_it_back() {
    let (mut bench, claims) = EngineBench::asking(|policy| policy.missed = Missed::All);
    bench.serve(&only_call(&claims).1);
    let tells = bench.end();
    let (call, _) = only_call(&tells);
    let failed = LedgerReply::Finished(vec![Err(WriteOutcome::NotSent)]);
    bench.feed(JobInput::Reply { call, reply: failed });
    bench.elect(2);
    let tells = bench.wake();
    let opens = bench.answer(&tells);
    let outputs = bench.answer(&opens);
    assert_eq!(claims_of(&outputs), [at(1_010)]);
}

#[test]
fn a_refusal_leaves_nothing_to_give_back() {
    let (mut bench, claims) = EngineBench::asking(|_| ());
    bench.answer_claims(&claims, Err(WriteOutcome::NotSent));
    assert!(!bench.is_held);
    bench.lose();
    assert!(bench.end().is_empty());
}

fn only_call_tick(outputs: &[JobOutput]) -> Tick {
    claims(outputs)[0].tick
}

fn claims_of(outputs: &[JobOutput]) -> Vec<Tick> {
    claims(outputs).iter().map(|claim| claim.tick).collect()
}
