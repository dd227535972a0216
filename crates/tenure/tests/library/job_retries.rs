//! Runs that fail, and are tried again for the same tick.

use std::time::Duration;

use tenure::EventKind;
use tenure::cron::{Interrupted, Job, JobEvent, JobRun, RunOutcome};

use crate::job_support::{MINUTE, Notes, SECOND, at, kept_runs, minutely, outcomes, pass_until};
use crate::support::{Lab, elected, eventually, next};

/// A handler that fails so often.
fn failing(notes: &Notes, times: u32) -> impl Fn(JobRun) -> Result<(), &'static str> + Send + Sync + use<> {
    let notes = notes.clone();
    move |run| {
        notes.note(&run);
        if run.retries() < times { Err("no luck") } else { Ok(()) }
    }
}

fn retried() -> Job {
    minutely().retries(2).retry_after(SECOND * 10)
}

fn failed() -> Option<RunOutcome> {
    Some(RunOutcome::Failed { why: "failed: no luck".to_owned() })
}

#[test]
fn a_run_that_failed_is_tried_again_after_twice_as_long_each_time() {
    let (lab, notes) = (Lab::new(), Notes::default());
    let candidacy = elected(lab.candidate("a").job(retried(), failing(&notes, 2)));
    let mut events = lab.events(&candidacy);
    lab.pass(MINUTE);
    for (retry, after) in [(1, SECOND * 10), (2, SECOND * 20)] {
        let is_retrying =
            |kind: &EventKind| matches!(kind, EventKind::Job { job_event: JobEvent::Retrying { .. }, .. });
        let EventKind::Job { tick, job_event, .. } = next(&mut events, is_retrying).kind else { unreachable!() };
        let why = "failed: no luck".to_owned();
        assert_eq!((tick, job_event), (at(60), JobEvent::Retrying { retry, after, why }));
        assert_eq!(outcomes(&lab), [None], "it still goes on");
        lab.pass(after - Duration::from_millis(1));
        assert_eq!(notes.ticks().len(), usize::try_from(retry).unwrap());
        lab.pass(Duration::from_millis(1));
        notes.wait_for(usize::try_from(retry).unwrap() + 1);
    }
    eventually("the run to end", || outcomes(&lab) == [Some(RunOutcome::Succeeded)]);
    assert_eq!(notes.ticks(), [60; 3]);
    assert_eq!(notes.runs().iter().map(JobRun::retries).collect::<Vec<_>>(), [0, 1, 2]);
    assert_eq!(kept_runs(&lab)[0].end.as_ref().unwrap().retries, 2);
}

#[test]
fn a_run_that_keeps_failing_has_failed() {
    let (lab, notes) = (Lab::new(), Notes::default());
    let _election = elected(lab.candidate("a").job(retried(), failing(&notes, u32::MAX)));
    lab.pass(MINUTE);
    pass_until(&lab, "the run to end", || outcomes(&lab).first() == Some(&failed()));
    assert_eq!(notes.ticks().iter().filter(|tick| **tick == 60).count(), 3);
}

/// A leader that stops while its run waits to be tried again, and what it has told of it.
fn stopped_between_attempts(job: Job) -> Vec<Option<RunOutcome>> {
    let (lab, notes) = (Lab::new(), Notes::default());
    let candidacy = elected(lab.candidate("a").job(job, failing(&notes, u32::MAX)));
    let mut events = lab.events(&candidacy);
    lab.pass(MINUTE);
    next(&mut events, |kind| matches!(kind, EventKind::Job { job_event: JobEvent::Retrying { .. }, .. }));
    candidacy.stop();
    assert_eq!(notes.ticks(), [60]);
    outcomes(&lab)
}

#[test]
fn a_leader_that_leaves_between_attempts_tells_that_the_run_failed_or_leaves_it_to_the_next() {
    assert_eq!(stopped_between_attempts(retried()), [failed()]);
    assert_eq!(stopped_between_attempts(retried().interrupted(Interrupted::Again)), [None]);
}

#[test]
fn a_run_that_took_too_long_is_not_tried_again() {
    let (lab, notes) = (Lab::new(), Notes::default());
    let wait = {
        let notes = notes.clone();
        move |run: JobRun| {
            notes.note(&run);
            run.wait_cancelled();
            Err("told to stop")
        }
    };
    let _election = elected(lab.candidate("a").job(retried().timeout(SECOND * 5), wait));
    lab.pass(MINUTE);
    notes.wait_for(1);
    lab.pass(SECOND * 5);
    eventually("the run to end", || outcomes(&lab) == [Some(RunOutcome::TimedOut)]);
    lab.pass(SECOND * 40);
    assert_eq!(notes.ticks(), [60]);
}
