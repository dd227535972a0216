//! Jobs by the calendar: what handlers are given, and what is known of their runs.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use tenure::cron::{Job, JobError, JobEvent, Passed, RunOutcome};
use tenure::testing::Operation;
use tenure::{ElectionError, Error, ErrorKind, EventKind};

use crate::job_support::{
    MINUTE, Notes, SECOND, at, kept_runs, minutely, outcomes, pass_idly, pass_until, report, secondly,
};
use crate::support::{Lab, elected, eventually, next, next_trouble};

#[test]
fn a_job_fires_at_each_tick_and_its_runs_are_written_down() {
    let lab = Lab::new();
    let notes = Notes::default();
    let candidacy = elected(lab.candidate("a").job(minutely(), notes.handler()));
    pass_idly(&lab, MINUTE * 3);
    assert_eq!(notes.ticks(), [60, 120, 180]);
    let run = &notes.runs()[0];
    assert_eq!(
        (run.job().as_str(), run.tick(), run.term()),
        ("report", at(60), candidacy.leadership().unwrap().term())
    );
    assert_eq!((run.is_late(), run.late_by(), run.missed(), run.is_again()), (false, None, 0, false));
    assert_eq!(outcomes(&lab), [(); 3].map(|()| Some(RunOutcome::Succeeded)));
    let report = report(&lab).unwrap();
    assert_eq!((report.fired, report.missed, &*report.schedule), (3, 0, "* * * * * UTC"));
    assert_eq!(kept_runs(&lab)[0].candidate.as_str(), "a");
}

#[test]
fn a_new_job_begins_at_the_present() {
    let lab = Lab::new();
    let notes = Notes::default();
    lab.pass(SECOND * 30);
    let _election = elected(lab.candidate("a").job(minutely(), notes.handler()));
    pass_idly(&lab, SECOND * 35);
    assert_eq!(notes.ticks(), [60], "the one at zero was before its time");
}

#[test]
fn a_future_runs_where_the_candidacy_was_started_or_anywhere() {
    let lab = Lab::new();
    let runtime = tokio::runtime::Runtime::new().unwrap();
    let notes = Notes::default();
    let (on_runtime, elsewhere) = (notes.clone(), notes.clone());
    let builder = lab.candidate("a").job_async(minutely(), move |run| {
        let notes = on_runtime.clone();
        async move {
            tokio::task::yield_now().await;
            tokio::runtime::Handle::try_current().map_err(|error| error.to_string())?;
            notes.note(&run);
            Ok::<(), String>(())
        }
    });
    let election = {
        let _inside = runtime.enter();
        elected(builder)
    };
    pass_idly(&lab, MINUTE);
    assert_eq!(outcomes(&lab), [Some(RunOutcome::Succeeded)]);
    election.stop();
    let _without = elected(lab.candidate("a").job_async(minutely(), move |run| {
        elsewhere.note(&run);
        async {}
    }));
    pass_idly(&lab, MINUTE);
    assert_eq!(notes.ticks(), [60, 120]);
}

#[test]
fn an_error_or_a_panic_is_how_a_run_ended_and_nothing_more() {
    let lab = Lab::new();
    let count = AtomicUsize::new(0);
    let handler = move |_| match count.fetch_add(1, Ordering::AcqRel) {
        0 => Err("no paper"),
        1 => panic!("on purpose"),
        _ => Ok(()),
    };
    let candidacy = elected(lab.candidate("a").job(minutely(), handler));
    let mut events = lab.events(&candidacy);
    let term = candidacy.leadership().unwrap().term();
    pass_idly(&lab, MINUTE * 3);
    let failed = |why: &str| Some(RunOutcome::Failed { why: why.to_owned() });
    assert_eq!(
        outcomes(&lab),
        [failed("failed: no paper"), failed("panicked: on purpose"), Some(RunOutcome::Succeeded)]
    );
    let error = next_trouble(&mut events, |_| true);
    assert_eq!(error.to_string(), "job report, due 2030-01-01T00:01:00Z, failed: no paper");
    let error = next_trouble(&mut events, |_| true);
    assert!(error.to_string().ends_with("panicked: on purpose"), "{error}");
    assert_eq!(candidacy.leadership().unwrap().term(), term, "it goes on leading");
}

#[test]
fn events_tell_what_happens_to_each_tick() {
    let lab = Lab::new();
    let candidacy = elected(lab.candidate("a").job(minutely(), |_| ()));
    let mut events = lab.events(&candidacy);
    pass_idly(&lab, MINUTE);
    let mut job_event = || match next(&mut events, |kind| matches!(kind, EventKind::Job { .. })).kind {
        EventKind::Job { job, tick, job_event } => (job.to_string(), tick, job_event),
        _ => unreachable!("only jobs are of interest"),
    };
    assert_eq!(job_event(), ("report".to_owned(), at(60), JobEvent::Fired { late: None, missed: 0, again: false }));
    let (_, tick, ended) = job_event();
    assert_eq!(tick, at(60));
    assert!(matches!(ended, JobEvent::Ended { outcome: RunOutcome::Succeeded, .. }), "{ended:?}");
}

#[test]
fn a_job_that_is_not_enabled_passes_over_its_ticks() {
    let lab = Lab::new();
    let notes = Notes::default();
    let candidacy = elected(lab.candidate("a").job(minutely().enabled(false), notes.handler()));
    let mut events = lab.events(&candidacy);
    pass_idly(&lab, MINUTE * 2);
    let passed = next(&mut events, |kind| matches!(kind, EventKind::Job { .. }));
    let EventKind::Job { job_event, .. } = passed.kind else { unreachable!() };
    assert_eq!(job_event, JobEvent::Passed { count: 1, why: Passed::Disabled });
    candidacy.stop();
    let _enabled = elected(lab.candidate("a").job(minutely(), notes.handler()));
    pass_idly(&lab, MINUTE);
    assert_eq!(notes.ticks(), [180], "what it passed over is not missed");
}

#[test]
fn jitter_delays_each_tick_within_its_bound() {
    let lab = Lab::new();
    let notes = Notes::default();
    let job = minutely().jitter(SECOND * 20);
    let due_ms: Vec<u64> = [60, 120].map(|second| job.policy().due_ms(at(second))).to_vec();
    let _election = elected(lab.candidate("a").job(job, notes.handler()));
    let mut fired_ms = Vec::new();
    for count in 1..=2 {
        pass_until(&lab, "a run", || notes.runs().len() >= count);
        fired_ms.push(lab.hands.unix_ms());
    }
    assert_eq!(notes.ticks(), [60, 120]);
    for (fired, due) in fired_ms.iter().zip(&due_ms) {
        assert!(fired >= due, "not before its moment: {fired_ms:?} {due_ms:?}");
    }
    assert!(!notes.runs()[0].is_late(), "the delay does not make it late");
}

#[test]
fn a_job_that_was_forgotten_begins_anew() {
    let lab = Lab::new();
    let notes = Notes::default();
    let _election = elected(lab.candidate("a").job(minutely(), notes.handler()));
    pass_idly(&lab, MINUTE);
    assert!(lab.client.election("x").unwrap().forget_job("report").unwrap());
    assert!(!lab.client.election("x").unwrap().forget_job("other").unwrap());
    assert_eq!(lab.client.election("x").unwrap().jobs(10).unwrap(), []);
    pass_idly(&lab, MINUTE * 2);
    let report = report(&lab).unwrap();
    assert!(notes.ticks().ends_with(&[180]), "{:?}", notes.ticks());
    assert!(report.fired >= 1 && report.mark == at(180), "{report:?}");
}

#[test]
fn jobs_that_cannot_be_kept_are_refused() {
    let lab = Lab::new();
    let twins = lab.candidate("a").job(minutely(), |_| ()).job(secondly(), |_| ());
    let error = twins.start().unwrap_err();
    assert!(matches!(error, Error::SameJob { .. }), "{error:?}");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    let hurried = lab.candidate("a").job(minutely().timeout(Duration::ZERO), |_| ()).start().unwrap_err();
    assert_eq!(
        (hurried.kind(), hurried.to_string().contains("report is zero")),
        (ErrorKind::Invalid, true),
        "{hurried}"
    );
    let many = (0..1_001).fold(lab.candidate("a"), |builder, number| {
        builder.job(Job::new(&format!("job-{number}"), "@daily").unwrap(), |_| ())
    });
    assert!(matches!(many.start().unwrap_err(), Error::TooManyJobs { count: 1_001 }));
}

#[test]
fn an_election_that_had_too_many_jobs_is_told_what_to_do() {
    let lab = Lab::new();
    let with = |prefix: &str, count: usize| {
        (0..count).fold(lab.candidate("a"), |builder, number| {
            builder.job(Job::new(&format!("{prefix}-{number}"), "@daily").unwrap(), |_| ())
        })
    };
    let first = elected(with("old", 1_000));
    eventually("the jobs to be known", || lab.client.election("x").unwrap().jobs(0).unwrap().len() == 1_000);
    first.stop();
    let second = elected(with("new", 1));
    let mut events = lab.events(&second);
    lab.pass(SECOND);
    let error = next_trouble(&mut events, |_| true);
    assert_eq!(error, ElectionError::Job(JobError::TooMany));
    assert!(error.to_string().contains("tenure cron forget"), "{error}");
    for job in ["old-0", "old-1"] {
        assert!(lab.client.election("x").unwrap().forget_job(job).unwrap());
    }
    pass_until(&lab, "the new job", || {
        lab.client.election("x").unwrap().jobs(0).unwrap().iter().any(|known| known.job.as_str() == "new-0")
    });
}

#[test]
fn a_thousand_jobs_are_claimed_in_a_few_calls_and_cost_a_look_every_ten_seconds_between_their_ticks() {
    let lab = Lab::new();
    let fired = Arc::new(AtomicUsize::new(0));
    let builder = (0..1_000).fold(lab.candidate("a"), |builder, number| {
        let fired = Arc::clone(&fired);
        builder.job(Job::new(&format!("job-{number}"), "* * * * *").unwrap(), move |_| {
            fired.fetch_add(1, Ordering::AcqRel);
        })
    });
    let _election = elected(builder);
    lab.pass(SECOND * 30);
    assert!(lab.store.calls(Operation::OpenJobs) <= 4, "{}", lab.store.calls(Operation::OpenJobs));
    assert_eq!(lab.store.calls(Operation::Claim), 0);
    pass_until(&lab, "all to fire", || fired.load(Ordering::Acquire) == 1_000);
    assert_eq!((lab.store.requests(Operation::Claim), lab.store.calls(Operation::Claim)), (1_000, 10));
    eventually("all ends to be told", || lab.store.requests(Operation::Finish) == 1_000);
    lab.pass(Duration::from_secs(5));
    assert_eq!((lab.store.requests(Operation::Claim), lab.store.requests(Operation::Finish)), (1_000, 1_000));
}
