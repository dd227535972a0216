//! Runs that take longer than they should, and ticks that come meanwhile.

use std::sync::mpsc::{Receiver, Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::cron::{Job, JobError, JobEvent, JobRun, Overlap, Passed, RunOutcome};
use tenure::{ElectionError, EventKind};

use crate::job_support::{MINUTE, Notes, SECOND, at, minutely, outcomes, pass_until, report};
use crate::support::{Lab, elected, eventually, next, next_trouble, timing};

/// A handler whose runs end when a test says so.
struct HeldRuns {
    notes: Notes,
    open: Sender<()>,
    opened: Arc<Mutex<Receiver<()>>>,
}

impl HeldRuns {
    fn new() -> Self {
        let (open, opened) = channel();
        Self { notes: Notes::default(), open, opened: Arc::new(Mutex::new(opened)) }
    }

    fn handler(&self) -> impl Fn(JobRun) + Send + Sync + use<> {
        let (notes, opened) = (self.notes.clone(), Arc::clone(&self.opened));
        move |run| {
            notes.note(&run);
            let _ = opened.lock().unwrap().recv();
        }
    }

    fn let_one_end(&self) {
        self.open.send(()).unwrap();
    }
}

/// A lab whose first run goes on while two more ticks come.
fn busy(job: Job) -> (Lab, tenure::blocking::Candidacy, HeldRuns) {
    let (lab, held_runs) = (Lab::new(), HeldRuns::new());
    let candidacy = elected(lab.candidate("a").job(job, held_runs.handler()));
    lab.pass(MINUTE);
    held_runs.notes.wait_for(1);
    lab.pass(MINUTE * 2);
    (lab, candidacy, held_runs)
}

fn ended(lab: &Lab, count: usize) -> bool {
    outcomes(lab).iter().flatten().count() == count
}

#[test]
fn ticks_during_a_run_are_passed_over() {
    let (lab, election, held_runs) = busy(minutely());
    let mut events = lab.events(&election);
    held_runs.let_one_end();
    eventually("the run to end", || ended(&lab, 1));
    lab.pass(SECOND * 30);
    assert_eq!(held_runs.notes.ticks(), [60], "nothing is made up for");
    lab.pass(SECOND * 30);
    held_runs.notes.wait_for(2);
    assert_eq!(held_runs.notes.ticks(), [60, 240]);
    lab.pass(MINUTE);
    let passed = |kind: &EventKind| matches!(kind, EventKind::Job { job_event: JobEvent::Passed { .. }, .. });
    let EventKind::Job { tick, job_event, .. } = next(&mut events, passed).kind else { unreachable!() };
    assert_eq!((tick, job_event), (at(300), JobEvent::Passed { count: 1, why: Passed::Overlap }));
    held_runs.let_one_end();
}

#[test]
fn of_ticks_that_wait_for_a_run_the_latest_fires() {
    let (lab, election, held_runs) = busy(minutely().overlap(Overlap::Queue));
    let mut events = lab.events(&election);
    assert_eq!(held_runs.notes.ticks(), [60]);
    held_runs.let_one_end();
    held_runs.notes.wait_for(2);
    assert_eq!(held_runs.notes.ticks(), [60, 180]);
    assert_eq!(held_runs.notes.runs()[1].missed(), 0, "somebody led, so nothing was missed");
    let passed = |kind: &EventKind| matches!(kind, EventKind::Job { job_event: JobEvent::Passed { .. }, .. });
    let EventKind::Job { tick, job_event, .. } = next(&mut events, passed).kind else { unreachable!() };
    assert_eq!((tick, job_event), (at(120), JobEvent::Passed { count: 1, why: Passed::Replaced }));
    let report = report(&lab).unwrap();
    assert_eq!((report.missed, report.skipped), (0, 1), "and it is counted");
    held_runs.let_one_end();
    eventually("both to end", || ended(&lab, 2));
}

#[test]
fn ticks_may_fire_beside_a_run() {
    let (lab, _election, held_runs) = busy(minutely().overlap(Overlap::Allow));
    held_runs.notes.wait_for(3);
    assert_eq!(held_runs.notes.ticks(), [60, 120, 180]);
    for _ in 0..3 {
        held_runs.let_one_end();
    }
    eventually("all to end", || ended(&lab, 3));
}

#[test]
fn a_future_that_takes_too_long_is_told_and_then_dropped() {
    struct DropNotice(Sender<Duration>, JobRun);
    impl Drop for DropNotice {
        fn drop(&mut self) {
            let _ = self.0.send(self.1.leadership().remaining());
        }
    }
    let lab = Lab::new();
    let (dropped, is_dropped) = channel();
    let (told, is_told) = channel();
    let job = minutely().timeout(SECOND * 5);
    let candidacy = elected(lab.candidate("a").job_async(job, move |run: JobRun| {
        let (flag, told) = (DropNotice(dropped.clone(), run.clone()), told.clone());
        async move {
            let _flag = flag;
            run.cancelled().await;
            let _ = told.send(run.is_cancelled());
            std::future::pending::<()>().await;
        }
    }));
    let mut events = lab.events(&candidacy);
    lab.pass(MINUTE + SECOND * 4);
    assert!(is_told.try_recv().is_err(), "it has time yet");
    lab.pass(SECOND);
    assert!(is_told.recv().unwrap());
    assert!(is_dropped.try_recv().is_err(), "it has the grace to end by itself");
    lab.pass(timing().grace());
    is_dropped.recv().unwrap();
    eventually("the store to be told", || outcomes(&lab) == [Some(RunOutcome::TimedOut)]);
    let error = next_trouble(&mut events, |_| true);
    assert_eq!(error.to_string(), "job report, due 2030-01-01T00:01:00Z, exceeded its timeout and was ended");
    assert!(candidacy.is_leader(), "it goes on leading");
}

#[test]
fn a_blocking_handler_that_takes_too_long_is_told_and_reported() {
    let lab = Lab::new();
    let held_runs = HeldRuns::new();
    let handler = held_runs.handler();
    let job = minutely().timeout(SECOND * 5);
    let candidacy = elected(lab.candidate("a").job(job, move |run: JobRun| {
        run.wait_cancelled();
        handler(run);
    }));
    let mut events = lab.events(&candidacy);
    lab.pass(MINUTE + SECOND * 5);
    held_runs.notes.wait_for(1);
    assert!(held_runs.notes.runs()[0].wait_cancelled_for(Duration::ZERO));
    lab.pass(timing().grace() + SECOND * 2);
    let stuck = next_trouble(&mut events, |error| matches!(error, ElectionError::Job(_)));
    assert!(matches!(stuck, ElectionError::Job(JobError::Stuck { .. })), "{stuck}");
    held_runs.let_one_end();
    eventually("the store to be told", || outcomes(&lab) == [Some(RunOutcome::TimedOut)]);
}

#[test]
fn a_resignation_waits_for_a_run_and_for_its_end_to_be_told() {
    let lab = Lab::new();
    let held_runs = HeldRuns::new();
    let candidacy = elected(lab.candidate("a").job(minutely(), held_runs.handler()));
    lab.pass(MINUTE);
    held_runs.notes.wait_for(1);
    let run = &held_runs.notes.runs()[0];
    candidacy.request_resign();
    run.wait_cancelled();
    lab.pass(SECOND);
    assert!(lab.client.election("x").unwrap().observe().unwrap().lease.is_some(), "not released under it");
    held_runs.let_one_end();
    eventually("the release", || lab.client.election("x").unwrap().observe().unwrap().lease.is_none());
    assert_eq!(outcomes(&lab), [Some(RunOutcome::Succeeded)], "told before the release");
}

#[test]
fn nothing_fires_while_the_leadership_ends() {
    let lab = Lab::new();
    let held_runs = HeldRuns::new();
    let job = minutely().overlap(Overlap::Allow);
    let candidacy = elected(lab.candidate("a").job(job, held_runs.handler()));
    lab.pass(MINUTE);
    held_runs.notes.wait_for(1);
    lab.pass(SECOND * 59);
    candidacy.request_resign();
    held_runs.notes.runs()[0].wait_cancelled();
    pass_until(&lab, "the next tick", || lab.hands.unix_ms() > at(121).unix_ms());
    assert_eq!(held_runs.notes.ticks(), [60]);
    held_runs.let_one_end();
}
