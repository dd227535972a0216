//! Jobs that are replaced while their candidate leads.

use tenure::cron::{Job, JobReport, Jobs, WrittenSchedule};
use tenure::{Error, JobName};

use crate::job_support::{MINUTE, Notes, SECOND, minutely, pass_idly};
use crate::support::{Lab, elected, eventually};

fn named(name: &str) -> Job {
    Job::new(name, "* * * * *").unwrap()
}

#[test]
fn jobs_can_be_replaced_without_leaving_the_election() {
    let (lab, [first, second, added]) = (Lab::new(), [(); 3].map(|()| Notes::default()));
    let gone = named("gone");
    let candidacy = elected(lab.candidate("a").job(minutely(), first.handler()).job(gone, first.handler()));
    lab.pass(MINUTE);
    first.wait_for(2);
    candidacy.set_jobs(Jobs::new().job(minutely(), second.handler()).job(named("added"), added.handler())).unwrap();
    lab.pass(MINUTE);
    second.wait_for(1);
    added.wait_for(1);
    assert_eq!((first.ticks(), second.ticks(), added.ticks()), (vec![60, 60], vec![120], vec![120]));
    lab.pass(SECOND * 30);
    let known = lab.client.election("x").unwrap().jobs(9).unwrap();
    let fired: Vec<_> = known.iter().map(|job| (job.job.as_str(), job.fired)).collect();
    assert_eq!(fired, [("added", 1), ("gone", 1), ("report", 2)]);
    let twins = Jobs::new().job(named("a"), |_| ()).job(named("a"), |_| ());
    assert!(matches!(candidacy.set_jobs(twins), Err(Error::SameJob { job }) if job == JobName::new("a").unwrap()));
}

#[test]
fn a_candidate_without_jobs_may_get_some() {
    let (lab, notes) = (Lab::new(), Notes::default());
    let candidacy = elected(lab.candidate("a"));
    candidacy.set_jobs(Jobs::new().job(minutely(), notes.handler())).unwrap();
    lab.settle();
    eventually("the job", || !lab.client.election("x").unwrap().jobs(0).unwrap().is_empty());
    lab.pass(MINUTE);
    notes.wait_for(1);
    assert_eq!(notes.ticks(), [60]);
}

#[test]
fn a_job_that_whoever_leads_does_not_have_shows_as_absent_and_misses_nothing_by_that() {
    let (lab, notes) = (Lab::new(), Notes::default());
    let first = elected(lab.candidate("a").job(minutely(), notes.handler()));
    pass_idly(&lab, MINUTE);
    first.stop();
    let report = || -> JobReport {
        let jobs = lab.client.election("x").unwrap().jobs(9).unwrap();
        jobs.into_iter().find(|job| job.job.as_str() == "report").unwrap()
    };
    assert!(!WrittenSchedule::of(&report()).is_absent(), "nobody leads, and nobody has said so");
    let other = elected(lab.candidate("b").job(named("other"), |_| ()));
    eventually("the leader to say so", || WrittenSchedule::of(&report()).is_absent());
    let written = WrittenSchedule::of(&report());
    assert_eq!((written.text(), written.is_enabled()), ("* * * * * UTC", true));
    lab.pass(MINUTE * 3);
    other.stop();
    let _last = elected(lab.candidate("c").job(minutely(), notes.handler()));
    pass_idly(&lab, SECOND * 5);
    assert!(!WrittenSchedule::of(&report()).is_absent());
    assert_eq!(notes.ticks(), [60, 240], "it goes on where it was");
    assert_eq!(report().missed, 2, "what nobody ran is counted");
}
