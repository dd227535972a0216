//! Jobs when leaders come and go: each tick fires once, and what was missed follows the job's policy.

use std::sync::mpsc::{Sender, channel};
use std::time::Duration;

use tenure::blocking::Candidacy;
use tenure::cron::{Interrupted, Job, JobRun, Missed, RunOutcome};
use tenure::testing::Fault;

use crate::job_support::{MINUTE, Notes, SECOND, kept_runs, minutely, outcomes, pair, pass_idly, pass_until, report};
use crate::support::{Lab, elected, eventually, timing};

/// Lets time pass for both of them.
fn pass_both(lab: &Lab, rival: &Lab, time: Duration) {
    let mut left = time;
    while left > Duration::ZERO {
        let by = left.min(Duration::from_millis(500));
        lab.hands.advance(by);
        for one in [lab, rival] {
            one.settle();
        }
        eventually("all runs to end", || outcomes(rival).iter().all(Option::is_some));
        for one in [lab, rival] {
            one.settle();
        }
        left -= by;
    }
}

#[test]
fn a_hand_over_between_two_ticks_loses_none_and_repeats_none() {
    let notes = Notes::default();
    let (lab, leader, rival, follower) = pair(&minutely(), &notes);
    for hand_over in 0..4 {
        pass_both(&lab, &rival, MINUTE);
        let leads = if leader.is_leader() { &leader } else { &follower };
        leads.resign().unwrap();
        pass_both(&lab, &rival, SECOND * 3);
        assert!(leader.is_leader() != follower.is_leader(), "hand-over {hand_over}");
    }
    assert_eq!(notes.ticks(), [60, 120, 180, 240]);
    let terms: Vec<u64> = notes.runs().iter().map(|run| run.term().get()).collect();
    assert!(terms.is_sorted_by(|one, next| one < next), "{terms:?}");
    assert_eq!(outcomes(&lab), [(); 4].map(|()| Some(RunOutcome::Succeeded)));
}

/// The leader vanishes for five ticks, and for as long nobody leads.
fn nobody_for_five_ticks(job: &Job) -> (Vec<u64>, Notes, Lab) {
    let notes = Notes::default();
    let lab = Lab::new();
    let leader = elected(lab.candidate("a").job(job.clone(), notes.handler()));
    pass_idly(&lab, MINUTE);
    leader.stop();
    lab.pass(MINUTE * 5 + SECOND * 10);
    let _next = elected(lab.candidate("b").job(job.clone(), notes.handler()));
    pass_idly(&lab, SECOND * 5);
    (notes.ticks(), notes, lab)
}

#[test]
fn what_was_missed_fires_once_unless_the_job_wants_it_otherwise() {
    let (ticks, notes, lab) = nobody_for_five_ticks(&minutely());
    assert_eq!(ticks, [60, 360]);
    let late = &notes.runs()[1];
    assert_eq!(late.missed(), 4);
    assert!(late.late_by().is_some_and(|by| by >= SECOND * 10 && by < SECOND * 15), "{:?}", late.late_by());
    assert_eq!(report(&lab).unwrap().missed, 4);
}

#[test]
fn what_was_missed_may_be_skipped() {
    let (ticks, _, lab) = nobody_for_five_ticks(&minutely().missed(Missed::Skip));
    assert_eq!(ticks, [60]);
    assert_eq!(report(&lab).unwrap().missed, 5);
}

#[test]
fn what_was_missed_may_fire_tick_by_tick_within_a_window() {
    let (ticks, ..) = nobody_for_five_ticks(&minutely().missed(Missed::All));
    assert_eq!(ticks, [60, 120, 180, 240, 300, 360]);
    let (ticks, ..) = nobody_for_five_ticks(&minutely().missed(Missed::All).window(SECOND * 150));
    assert_eq!(ticks, [60, 240, 300, 360]);
    let (ticks, ..) = nobody_for_five_ticks(&minutely().window(SECOND * 5));
    assert_eq!(ticks, [60], "the latest is too old as well");
}

#[test]
fn a_job_with_another_schedule_has_missed_nothing() {
    let notes = Notes::default();
    let lab = Lab::new();
    let leader = elected(lab.candidate("a").job(minutely(), notes.handler()));
    pass_idly(&lab, MINUTE);
    leader.stop();
    lab.pass(MINUTE * 5);
    let changed = Job::new("report", "*/2 * * * *").unwrap().missed(Missed::All);
    let _next = elected(lab.candidate("a").job(changed, notes.handler()));
    pass_idly(&lab, MINUTE * 2);
    assert_eq!(notes.ticks(), [60, 480]);
}

/// Tells that it was dropped.
struct DropFlag(Sender<()>);

impl Drop for DropFlag {
    fn drop(&mut self) {
        let _ = self.0.send(());
    }
}

/// A run goes on when its leader is cut off from the store for longer than its lease.
fn cut_off_mid_run(job: &Job, notes: &Notes) -> (Lab, Lab, Candidacy) {
    let lab = Lab::new();
    let (dropped, is_dropped) = channel();
    let (noted, job_of_first) = (notes.clone(), job.clone());
    let _leader = elected(lab.candidate("a").job_async(job_of_first, move |run: JobRun| {
        noted.note(&run);
        let flag = DropFlag(dropped.clone());
        async move {
            let _flag = flag;
            std::future::pending::<()>().await;
        }
    }));
    lab.pass(MINUTE);
    notes.wait_for(1);
    lab.store.inject_everywhere(&Fault::BlackHole);
    let rival = lab.rival();
    let follower = rival.candidate("b").job(job.clone(), notes.handler()).start().unwrap();
    lab.pass(timing().ttl());
    is_dropped.recv().unwrap();
    pass_until(&rival, "the next leader", || follower.is_leader());
    (lab, rival, follower)
}

#[test]
fn a_run_whose_leader_was_cut_off_is_ended_in_time_and_not_repeated() {
    let notes = Notes::default();
    let (_lab, rival, _follower) = cut_off_mid_run(&minutely(), &notes);
    pass_idly_apart(&rival, MINUTE);
    let ticks = notes.ticks();
    assert_eq!((ticks[0], ticks.iter().filter(|tick| **tick == 60).count()), (60, 1), "{ticks:?}");
    assert_eq!(kept_runs(&rival)[0].end, None, "nobody could tell of it");
}

#[test]
fn a_run_that_was_cut_off_is_run_again_if_the_job_wants_that() {
    let notes = Notes::default();
    let (_lab, rival, _follower) = cut_off_mid_run(&minutely().interrupted(Interrupted::Again), &notes);
    notes.wait_for(2);
    assert_eq!(notes.ticks()[..2], [60, 60]);
    assert!(notes.runs()[1].is_again() && notes.runs()[1].term() > notes.runs()[0].term());
    eventually("it to end", || outcomes(&rival)[0] == Some(RunOutcome::Succeeded));
}

/// Lets time pass where one run stays open for ever.
fn pass_idly_apart(lab: &Lab, time: Duration) {
    let mut left = time;
    while left > Duration::ZERO {
        lab.pass(Duration::from_millis(500));
        eventually("all other runs to end", || outcomes(lab).iter().skip(1).all(Option::is_some));
        left = left.saturating_sub(Duration::from_millis(500));
    }
}

#[test]
fn a_run_that_is_told_to_stop_and_fails_was_cancelled() {
    let lab = Lab::new();
    let notes = Notes::default();
    let noted = notes.clone();
    let candidacy = elected(lab.candidate("a").job(minutely(), move |run: JobRun| {
        noted.note(&run);
        run.wait_cancelled();
        Err("only half done")
    }));
    lab.pass(MINUTE);
    notes.wait_for(1);
    candidacy.stop();
    assert_eq!(outcomes(&lab), [Some(RunOutcome::Cancelled)]);
}

#[test]
fn a_run_that_was_handed_over_is_run_again_if_the_job_wants_that() {
    let lab = Lab::new();
    let notes = Notes::default();
    let noted = notes.clone();
    let job = minutely().interrupted(Interrupted::Again);
    let first = elected(lab.candidate("a").job(job.clone(), move |run: JobRun| {
        noted.note(&run);
        run.wait_cancelled();
        Err("only half done")
    }));
    lab.pass(MINUTE);
    notes.wait_for(1);
    first.stop();
    let _second = elected(lab.candidate("b").job(job, notes.handler()));
    pass_idly(&lab, SECOND);
    assert_eq!(notes.ticks(), [60, 60]);
    assert_eq!(outcomes(&lab), [Some(RunOutcome::Succeeded)]);
}
