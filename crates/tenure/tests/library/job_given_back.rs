//! Ticks that were claimed and never begun: they are given back, and run once by whoever leads next.

use std::time::Duration;

use tenure::blocking::Candidacy;
use tenure::cron::{Interrupted, Job, JobRun, Missed, RunOutcome};
use tenure::testing::{Fault, Operation};

use crate::job_support::{MINUTE, Notes, SECOND, at_ms, kept_runs, minutely, outcomes, pair, pass_until, report};
use crate::support::{Lab, elected, eventually, timing};

fn all() -> Job {
    minutely().missed(Missed::All)
}

/// The first of two has claimed its first tick, and waits for the answer.
fn claimed(job: &Job, notes: &Notes) -> (Lab, Candidacy, Lab, Candidacy) {
    let (lab, leader, rival, follower) = pair(job, notes);
    lab.pass(SECOND * 59);
    lab.store.inject_once(Operation::Claim, Fault::HoldReply);
    pass_until(&lab, "the claim", || outcomes(&rival) == [None]);
    (lab, leader, rival, follower)
}

/// The same, of one that has no rival.
fn claimed_alone(job: &Job, notes: &Notes) -> (Lab, Candidacy) {
    let lab = Lab::new();
    let leader = elected(lab.candidate("a").job(job.clone(), notes.handler()));
    lab.pass(SECOND * 59);
    lab.store.inject_once(Operation::Claim, Fault::HoldReply);
    pass_until(&lab, "the claim", || outcomes(&lab) == [None]);
    (lab, leader)
}

/// Whoever claimed the tick hears nothing from the store any more, and loses its leadership. It has not begun the run.
fn cut_off_after_claim(job: &Job, notes: &Notes) -> (Lab, Candidacy, Lab, Candidacy) {
    let (lab, leader, rival, follower) = claimed(job, notes);
    lab.store.inject_everywhere(&Fault::BlackHole);
    pass_until(&lab, "the loss", || !leader.is_leader());
    assert_eq!((notes.ticks(), outcomes(&rival)), (vec![], vec![None]));
    (lab, leader, rival, follower)
}

fn pass_both_until(lab: &Lab, rival: &Lab, what: &str, mut holds: impl FnMut() -> bool) {
    eventually(what, || {
        lab.pass(Duration::from_millis(50));
        rival.settle();
        holds()
    });
}

fn fired(lab: &Lab) -> u64 {
    report(lab).unwrap().fired
}

#[test]
fn a_tick_whose_leader_resigns_before_it_begins_is_run_by_the_next() {
    let notes = Notes::default();
    let (lab, leader, rival, follower) = claimed(&all(), &notes);
    leader.request_resign();
    lab.settle();
    assert_eq!(lab.store.calls(Operation::Resign), 0, "the lease is kept until the tick is given back");
    lab.store.release();
    pass_both_until(&lab, &rival, "the next leader", || follower.is_leader());
    pass_both_until(&lab, &rival, "the run", || outcomes(&rival) == [Some(RunOutcome::Succeeded)]);
    let runs = notes.runs();
    assert_eq!((notes.ticks(), fired(&rival)), (vec![60], 1));
    assert!(!runs[0].is_again(), "nobody has begun it before");
    assert_eq!(kept_runs(&rival)[0].term, runs[0].term());
}

#[test]
fn a_tick_whose_leader_stops_before_it_begins_is_given_back_before_it_has_stopped() {
    let notes = Notes::default();
    let (lab, leader) = claimed_alone(&all(), &notes);
    leader.request_stop();
    lab.settle();
    lab.store.release();
    leader.stop();
    assert_eq!((outcomes(&lab), fired(&lab)), (vec![Some(RunOutcome::NotBegun)], 0));
    let _next = elected(lab.candidate("b").job(all(), notes.handler()));
    pass_until(&lab, "the run", || outcomes(&lab) == [Some(RunOutcome::Succeeded)]);
    assert_eq!((notes.ticks(), fired(&lab)), (vec![60], 1));
}

#[test]
fn a_claim_whose_answer_was_lost_is_given_back_before_its_leader_has_stopped() {
    let notes = Notes::default();
    let lab = Lab::new();
    let leader = elected(lab.candidate("a").job(all(), notes.handler()));
    lab.pass(SECOND * 59);
    lab.store.inject(Operation::Claim, Fault::LoseReply);
    pass_until(&lab, "the claim", || outcomes(&lab) == [None]);
    leader.request_stop();
    pass_until(&lab, "the release", || lab.store.calls(Operation::Resign) > 0);
    assert_eq!((outcomes(&lab), fired(&lab)), (vec![Some(RunOutcome::NotBegun)], 0));
    leader.stop();
    assert_eq!(notes.ticks(), [0; 0]);
}

#[test]
fn a_tick_whose_leader_is_cut_off_is_run_once_by_the_next() {
    let notes = Notes::default();
    let (lab, _leader, rival, _follower) = cut_off_after_claim(&all(), &notes);
    lab.store.heal();
    pass_both_until(&lab, &rival, "the run", || outcomes(&rival)[0] == Some(RunOutcome::Succeeded));
    lab.pass(SECOND * 2);
    assert_eq!((notes.ticks()[0], notes.ticks().iter().filter(|tick| **tick == 60).count()), (60, 1));
}

#[test]
fn what_a_paused_leader_gives_back_late_is_run_by_whoever_leads_by_then() {
    let notes = Notes::default();
    let (lab, _leader, rival, follower) = cut_off_after_claim(&all(), &notes);
    pass_both_until(&lab, &rival, "the next leader", || follower.is_leader());
    rival.pass(SECOND * 11);
    assert_eq!((notes.ticks(), outcomes(&rival)), (vec![], vec![None]), "it may have begun, for all the store knows");
    assert_eq!(rival.store.calls(Operation::OpenJobs), 2, "once now and then");
    lab.store.heal();
    pass_both_until(&lab, &rival, "it to be given back", || outcomes(&rival) != [None]);
    let told = lab.hands.now();
    pass_both_until(&lab, &rival, "the run", || notes.ticks() == [60]);
    assert!(lab.hands.now().saturating_since(told) <= SECOND * 11);
    pass_both_until(&lab, &rival, "the next tick", || {
        outcomes(&rival) == [Some(RunOutcome::Succeeded), Some(RunOutcome::Succeeded)]
    });
    assert_eq!((notes.ticks(), fired(&rival)), (vec![60, 120], 2));
}

#[test]
fn a_claim_that_arrives_after_its_leadership_is_given_back_all_the_same() {
    let notes = Notes::default();
    let (lab, leader, rival, follower) = pair(&all(), &notes);
    lab.pass(SECOND * 59);
    for operation in [Operation::Renew, Operation::Resign, Operation::Claim] {
        lab.store.inject(operation, Fault::BlackHole);
    }
    lab.store.inject_once(Operation::Claim, Fault::HoldRequest);
    pass_until(&lab, "the loss", || !leader.is_leader());
    pass_until(&lab, "it to be told in vain", || lab.store.calls(Operation::Finish) >= 2);
    assert_eq!(outcomes(&rival), []);
    lab.store.release();
    pass_both_until(&lab, &rival, "it to be given back", || outcomes(&rival) == [Some(RunOutcome::NotBegun)]);
    assert!(!follower.is_leader());
    lab.store.heal();
    pass_both_until(&lab, &rival, "the run", || outcomes(&rival) == [Some(RunOutcome::Succeeded)]);
    assert_eq!((notes.ticks(), fired(&rival)), (vec![60], 1));
}

#[test]
fn what_the_store_never_heard_of_is_not_given_back_for_ever() {
    let notes = Notes::default();
    let (lab, leader, _rival, _follower) = pair(&all(), &notes);
    lab.pass(SECOND * 59);
    for operation in [Operation::Renew, Operation::Claim] {
        lab.store.inject(operation, Fault::BlackHole);
    }
    pass_until(&lab, "the loss", || !leader.is_leader());
    let doubts = timing().ttl() * 3;
    lab.pass(timing().attempt_timeout() + doubts + SECOND * 2);
    let told = lab.store.calls(Operation::Finish);
    let seconds = usize::try_from(doubts.as_secs()).unwrap();
    assert!((seconds / 2..=seconds * 3 / 2).contains(&told), "about once a second: {told}");
    lab.pass(SECOND * 5);
    assert_eq!(lab.store.calls(Operation::Finish), told);
}

#[test]
fn a_tick_that_is_given_back_twice_is_run_once() {
    let notes = Notes::default();
    let (lab, leader, rival, _follower) = claimed(&all(), &notes);
    for fault in [Fault::LoseReply, Fault::Duplicate, Fault::LoseReply] {
        lab.store.inject_once(Operation::Finish, fault);
    }
    leader.request_resign();
    lab.settle();
    lab.store.release();
    pass_both_until(&lab, &rival, "the run", || outcomes(&rival) == [Some(RunOutcome::Succeeded)]);
    lab.pass(SECOND * 15);
    assert_eq!((notes.ticks(), fired(&rival)), (vec![60], 1));
}

#[test]
fn whoever_comes_back_runs_what_it_gave_back_itself() {
    let notes = Notes::default();
    let (lab, leader) = claimed_alone(&all(), &notes);
    lab.store.inject(Operation::Finish, Fault::LoseRequest);
    leader.request_resign();
    lab.settle();
    lab.store.release();
    pass_until(&lab, "the loss", || !leader.is_leader());
    pass_until(&lab, "another term", || leader.is_leader());
    assert_eq!((notes.ticks(), outcomes(&lab)), (vec![], vec![None]));
    lab.store.heal();
    pass_until(&lab, "the run", || outcomes(&lab) == [Some(RunOutcome::Succeeded)]);
    assert_eq!((notes.ticks(), fired(&lab)), (vec![60], 1));
}

#[test]
fn a_clock_that_is_set_back_runs_once_what_was_asked_for_in_vain() {
    let notes = Notes::default();
    let lab = Lab::new();
    let leader = elected(lab.candidate("a").job(minutely(), notes.handler()));
    lab.pass(SECOND * 59);
    lab.store.inject(Operation::Claim, Fault::BlackHole);
    // Meanwhile it asks for the second instead of the first.
    lab.pass(MINUTE + SECOND * 10);
    assert_eq!(lab.store.calls(Operation::Finish), 0, "neither is decided, and what is given back is not begun");
    lab.hands.set_unix_ms(at_ms(70));
    lab.store.heal();
    pass_until(&lab, "the run", || outcomes(&lab) == [Some(RunOutcome::Succeeded)]);
    assert_eq!((notes.ticks(), fired(&lab)), (vec![60], 1));
    leader.stop();
    assert_eq!(outcomes(&lab), [Some(RunOutcome::Succeeded)]);
}

#[test]
fn what_was_given_back_follows_the_policy_of_missed_ticks() {
    let once = minutely().missed(Missed::Once);
    for (job, wanted) in [(once.clone(), true), (once.clone().window(SECOND), false), (once.enabled(false), false)] {
        check_policy(&job, wanted);
    }
    let skip = minutely().missed(Missed::Skip);
    check_policy(&skip, false);
    check_policy(&skip.interrupted(Interrupted::Again), true);
}

/// The job of the second candidate; the first always claims.
fn check_policy(job: &Job, wanted: bool) {
    let notes = Notes::default();
    let (lab, leader) = claimed_alone(&minutely(), &notes);
    leader.request_stop();
    lab.settle();
    lab.store.release();
    leader.stop();
    lab.pass(SECOND * 5);
    let _next = elected(lab.candidate("b").job(job.clone(), notes.handler()));
    lab.pass(SECOND * 12);
    if wanted {
        notes.wait_for(1);
        assert_eq!((notes.ticks(), fired(&lab)), (vec![60], 1), "{job:?}");
    } else {
        assert_eq!((notes.ticks(), fired(&lab)), (vec![], 0), "{job:?}");
        assert_eq!(outcomes(&lab), [Some(RunOutcome::NotBegun)], "{job:?}");
    }
}

#[test]
fn a_handler_that_finds_it_too_late_gives_its_tick_back() {
    let notes = Notes::default();
    let lab = Lab::new();
    let noted = notes.clone();
    let leader = elected(lab.candidate("a").job(all(), move |run: JobRun| {
        noted.note(&run);
        run.wait_cancelled();
        run.give_back();
        Err("whatever it says")
    }));
    lab.pass(MINUTE);
    notes.wait_for(1);
    leader.stop();
    assert_eq!((outcomes(&lab), fired(&lab)), (vec![Some(RunOutcome::NotBegun)], 0));
    let _next = elected(lab.candidate("b").job(all(), notes.handler()));
    pass_until(&lab, "the run", || outcomes(&lab) == [Some(RunOutcome::Succeeded)]);
    assert_eq!((notes.ticks(), fired(&lab)), (vec![60, 60], 1));
}

#[test]
fn a_run_that_has_begun_is_never_given_back() {
    let notes = Notes::default();
    let lab = Lab::new();
    let noted = notes.clone();
    let leader = elected(lab.candidate("a").job(all(), move |run: JobRun| {
        noted.note(&run);
        run.wait_cancelled();
        Err("only half done")
    }));
    lab.pass(MINUTE);
    notes.wait_for(1);
    leader.stop();
    assert_eq!((outcomes(&lab), fired(&lab)), (vec![Some(RunOutcome::Cancelled)], 1));
    let _next = elected(lab.candidate("b").job(all(), notes.handler()));
    lab.pass(SECOND * 12);
    assert_eq!(notes.ticks(), [60]);
}

#[test]
fn a_leader_asks_how_its_jobs_stand_every_ten_seconds_and_not_more_often() {
    let (lab, notes) = (Lab::new(), Notes::default());
    let _election = elected(lab.candidate("a").job(all(), notes.handler()));
    lab.settle();
    let before = lab.store.calls(Operation::OpenJobs);
    lab.pass(SECOND * 55);
    let asked = lab.store.calls(Operation::OpenJobs) - before;
    assert!((4..=6).contains(&asked), "{asked}");
}
