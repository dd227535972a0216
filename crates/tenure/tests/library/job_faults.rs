//! Jobs when the store's answers are lost, or it is away.

use std::time::Duration;

use tenure::ElectionError;
use tenure::cron::{Missed, Overlap, RunOutcome};
use tenure::testing::{Fault, Operation};

use crate::job_support::{MINUTE, Notes, SECOND, minutely, outcomes, pass_idly, pass_until, report, secondly};
use crate::support::{Lab, elected, eventually, next_trouble};

#[test]
fn a_claim_whose_answer_was_lost_fires_once() {
    for fault in [Fault::LoseReply, Fault::SwallowReply, Fault::Duplicate, Fault::LoseRequest, Fault::BlackHole] {
        let lab = Lab::new();
        let notes = Notes::default();
        let _election = elected(lab.candidate("a").job(minutely(), notes.handler()));
        lab.pass(SECOND * 30);
        lab.store.inject_once(Operation::Claim, fault.clone());
        pass_until(&lab, "the run", || !notes.runs().is_empty());
        pass_until(&lab, "its end", || outcomes(&lab) == [Some(RunOutcome::Succeeded)]);
        lab.pass(SECOND * 30);
        assert_eq!(notes.ticks(), [60], "{fault:?}");
        assert_eq!(report(&lab).unwrap().fired, 1, "{fault:?}");
    }
}

#[test]
fn answers_that_are_lost_again_and_again_fire_each_tick_at_most_once() {
    let lab = Lab::new();
    let notes = Notes::default();
    // A run that is still going on when the next tick is due must not be a reason to leave that out.
    let job = secondly().missed(Missed::All).overlap(Overlap::Queue);
    let _election = elected(lab.candidate("a").job(job, notes.handler()));
    for round in 0..400 {
        if round % 3 == 0 {
            lab.store.inject_once(Operation::Claim, Fault::LoseReply);
            lab.store.inject_once(Operation::Finish, Fault::LoseReply);
        }
        lab.pass(Duration::from_millis(50));
    }
    lab.store.heal();
    pass_until(&lab, "it to go on", || notes.ticks().last().is_some_and(|last| *last >= 20));
    pass_until(&lab, "all runs to end", || outcomes(&lab).iter().all(Option::is_some));
    let ticks = notes.ticks();
    assert!(ticks.is_sorted_by(|one, next| one < next), "{ticks:?}");
    let (first, last) = (ticks[0], *ticks.last().unwrap());
    assert_eq!(ticks, (first..=last).collect::<Vec<u64>>(), "none is left out");
    assert!(outcomes(&lab).iter().all(|outcome| *outcome == Some(RunOutcome::Succeeded)));
}

#[test]
fn a_tick_of_which_nobody_knows_whether_it_was_claimed_does_not_look_as_if_it_ran() {
    let lab = Lab::new();
    let notes = Notes::default();
    let _election = elected(lab.candidate("a").job(minutely().missed(Missed::Skip), notes.handler()));
    lab.pass(SECOND * 59);
    for operation in [Operation::Claim, Operation::Finish] {
        lab.store.inject(operation, Fault::LoseReply);
    }
    lab.store.inject_once(Operation::Claim, Fault::SwallowReply);
    // Every attempt takes so long that the tick is not on time any more.
    lab.pass(SECOND * 5);
    lab.store.inject(Operation::Claim, Fault::LoseRequest);
    lab.pass(SECOND * 5);
    lab.store.heal();
    pass_until(&lab, "the next tick", || notes.ticks().ends_with(&[120]));
    assert_eq!(notes.ticks(), [120]);
    pass_until(&lab, "both ends", || outcomes(&lab) == [Some(RunOutcome::NotBegun), Some(RunOutcome::Succeeded)]);
}

#[test]
fn an_end_is_told_until_the_store_has_it() {
    let lab = Lab::new();
    let notes = Notes::default();
    let candidacy = elected(lab.candidate("a").job(minutely(), notes.handler()));
    let mut events = lab.events(&candidacy);
    lab.store.inject(Operation::Finish, Fault::LoseRequest);
    lab.pass(MINUTE);
    notes.wait_for(1);
    pass_until(&lab, "several attempts", || lab.store.calls(Operation::Finish) >= 3);
    assert_eq!(outcomes(&lab), [None]);
    let error = next_trouble(&mut events, |_| true);
    assert!(matches!(error, ElectionError::Store(_)), "{error}");
    lab.store.heal();
    pass_until(&lab, "the end to be told", || outcomes(&lab) == [Some(RunOutcome::Succeeded)]);
}

#[test]
fn an_end_is_told_even_after_the_leadership() {
    let lab = Lab::new();
    let notes = Notes::default();
    let candidacy = elected(lab.candidate("a").job(minutely(), notes.handler()));
    lab.store.inject(Operation::Finish, Fault::LoseRequest);
    lab.pass(MINUTE);
    notes.wait_for(1);
    eventually("an attempt", || lab.store.calls(Operation::Finish) >= 1);
    candidacy.request_resign();
    pass_until(&lab, "the release", || !candidacy.is_leader() && lab.store.calls(Operation::Resign) > 0);
    lab.store.heal();
    pass_until(&lab, "the end to be told", || outcomes(&lab) == [Some(RunOutcome::Succeeded)]);
}

#[test]
fn an_outage_makes_ticks_late_and_not_lost() {
    let lab = Lab::new();
    let notes = Notes::default();
    let job = secondly().missed(Missed::All).overlap(Overlap::Queue);
    let candidacy = elected(lab.candidate("a").job(job, notes.handler()));
    pass_idly(&lab, SECOND * 3);
    for operation in [Operation::OpenJobs, Operation::Claim, Operation::Finish] {
        lab.store.inject(operation, Fault::BlackHole);
    }
    lab.pass(SECOND * 15);
    lab.store.heal();
    pass_until(&lab, "it to go on", || notes.ticks().last().is_some_and(|last| *last >= 20));
    pass_until(&lab, "all runs to end", || outcomes(&lab).iter().all(Option::is_some));
    assert!(candidacy.is_leader());
    let ticks = notes.ticks();
    assert_eq!(ticks, (1..=*ticks.last().unwrap()).collect::<Vec<u64>>());
}

#[test]
fn jobs_are_opened_as_soon_as_the_store_is_back() {
    let lab = Lab::new();
    let notes = Notes::default();
    lab.store.inject(Operation::OpenJobs, Fault::LoseRequest);
    let _election = elected(lab.candidate("a").job(secondly(), notes.handler()));
    lab.pass(SECOND * 3);
    assert!(lab.store.calls(Operation::OpenJobs) >= 3);
    assert_eq!(notes.ticks(), [0; 0]);
    lab.store.heal();
    pass_until(&lab, "a run", || !notes.runs().is_empty());
}
