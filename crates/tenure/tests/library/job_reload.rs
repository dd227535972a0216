//! Jobs that are replaced while their candidate leads.

use tenure::cron::{Job, Jobs};
use tenure::{Error, JobName};

use crate::job_support::{MINUTE, Notes, SECOND, minutely};
use crate::support::{Lab, block_on, elected, eventually};

fn named(name: &str) -> Job {
    Job::new(name, "* * * * *").unwrap()
}

#[test]
fn jobs_can_be_replaced_without_leaving_the_election() {
    let (lab, [first, second, added]) = (Lab::new(), [(); 3].map(|()| Notes::default()));
    let gone = named("gone");
    let election = elected(lab.candidate("a").job(minutely(), first.handler()).job(gone, first.handler()));
    lab.pass(MINUTE);
    first.wait_for(2);
    election.set_jobs(Jobs::new().job(minutely(), second.handler()).job(named("added"), added.handler())).unwrap();
    lab.pass(MINUTE);
    second.wait_for(1);
    added.wait_for(1);
    assert_eq!((first.ticks(), second.ticks(), added.ticks()), (vec![60, 60], vec![120], vec![120]));
    lab.pass(SECOND * 30);
    let known = block_on(lab.client.election("x").unwrap().jobs(9)).unwrap();
    let fired: Vec<_> = known.iter().map(|job| (job.job.as_str(), job.fired)).collect();
    assert_eq!(fired, [("added", 1), ("gone", 1), ("report", 2)]);
    let twins = Jobs::new().job(named("a"), |_| ()).job(named("a"), |_| ());
    assert!(matches!(election.set_jobs(twins), Err(Error::SameJob { job }) if job == JobName::new("a").unwrap()));
}

#[test]
fn a_candidate_without_jobs_may_get_some() {
    let (lab, notes) = (Lab::new(), Notes::default());
    let election = elected(lab.candidate("a"));
    election.set_jobs(Jobs::new().job(minutely(), notes.handler())).unwrap();
    lab.settle();
    eventually("the job", || !block_on(lab.client.election("x").unwrap().jobs(0)).unwrap().is_empty());
    lab.pass(MINUTE);
    notes.wait_for(1);
    assert_eq!(notes.ticks(), [60]);
}
