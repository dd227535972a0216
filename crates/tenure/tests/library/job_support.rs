//! Jobs whose runs are written down, in a world where time passes only when a test says so.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use tenure::blocking::Candidacy;
use tenure::cron::{Job, JobReport, JobRun, RunOutcome, RunReport, Tick};

use crate::support::{Lab, elected, eventually};

/// The wall clock shows this when a lab begins: 2030-01-01 00:00:00 UTC.
const BEGINNING: u64 = 1_893_456_000;

pub(crate) const SECOND: Duration = Duration::from_secs(1);
pub(crate) const MINUTE: Duration = Duration::from_secs(60);

/// So many seconds after the beginning.
pub(crate) fn at(seconds: u64) -> Tick {
    Tick::from_unix_s(BEGINNING + seconds)
}

/// So many seconds after the beginning, for the wall clock.
pub(crate) fn at_ms(seconds: u64) -> u64 {
    at(seconds).unix_ms()
}

pub(crate) fn since_beginning(tick: Tick) -> u64 {
    tick.unix_s() - BEGINNING
}

pub(crate) fn minutely() -> Job {
    Job::new("report", "* * * * *").unwrap()
}

pub(crate) fn secondly() -> Job {
    Job::new("report", "* * * * * *").unwrap()
}

/// What handlers were given.
#[derive(Debug, Clone, Default)]
pub(crate) struct Notes(Arc<Mutex<Vec<JobRun>>>);

impl Notes {
    /// A handler that notes what it is given, and nothing more.
    pub(crate) fn handler(&self) -> impl Fn(JobRun) + Send + Sync + use<> {
        let notes = self.clone();
        move |run| notes.note(&run)
    }

    pub(crate) fn note(&self, run: &JobRun) {
        self.0.lock().unwrap().push(run.clone());
    }

    pub(crate) fn runs(&self) -> Vec<JobRun> {
        self.0.lock().unwrap().clone()
    }

    /// For which ticks, in seconds after the beginning.
    pub(crate) fn ticks(&self) -> Vec<u64> {
        self.runs().iter().map(|run| since_beginning(run.tick())).collect()
    }

    pub(crate) fn wait_for(&self, count: usize) {
        eventually("the runs to begin", || self.runs().len() >= count);
    }
}

/// Two processes that stand in the same election with the same job, of which the first leads.
pub(crate) fn pair(job: &Job, notes: &Notes) -> (Lab, Candidacy, Lab, Candidacy) {
    let lab = Lab::new();
    let leader = elected(lab.candidate("a").job(job.clone(), notes.handler()));
    let rival = lab.rival();
    let follower = rival.candidate("b").job(job.clone(), notes.handler()).start().unwrap();
    rival.settle();
    (lab, leader, rival, follower)
}

/// What the store knows of the one job of the election that all tests hold.
pub(crate) fn report(lab: &Lab) -> Option<JobReport> {
    lab.client.election("x").unwrap().jobs(100).unwrap().pop()
}

/// Its runs, the oldest first.
pub(crate) fn kept_runs(lab: &Lab) -> Vec<RunReport> {
    let mut runs = report(lab).map(|report| report.runs).unwrap_or_default();
    runs.reverse();
    runs
}

/// How its runs ended; `None` for those of which it is not known.
pub(crate) fn outcomes(lab: &Lab) -> Vec<Option<RunOutcome>> {
    kept_runs(lab).into_iter().map(|run| run.end.map(|end| end.outcome)).collect()
}

/// Lets time pass, and lets every run end before it goes on.
pub(crate) fn pass_idly(lab: &Lab, time: Duration) {
    let step = Duration::from_millis(500);
    let mut left = time;
    while left > Duration::ZERO {
        let by = left.min(step);
        lab.hands.advance(by);
        lab.settle();
        eventually("all runs to end", || outcomes(lab).iter().all(Option::is_some));
        lab.settle();
        left -= by;
    }
}

/// Lets time pass until something holds.
pub(crate) fn pass_until(lab: &Lab, what: &str, mut holds: impl FnMut() -> bool) {
    eventually(what, || {
        lab.pass(Duration::from_millis(50));
        holds()
    });
}
