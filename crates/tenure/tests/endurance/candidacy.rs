//! A candidate with its jobs, and what their work does.

use std::path::PathBuf;
use std::thread::JoinHandle;
use std::time::Duration;

use tenure::blocking::{Candidacy, Client};
use tenure::cron::{Job, JobRun, Missed};
use tenure_testkit::scenario::ELECTION;
use tenure_testkit::test_timing::TestTiming;

use crate::events;
use crate::journal::{RunJournal, Side};

/// Short leases, so that many of them are lost.
pub(crate) const TIMING: TestTiming = TestTiming::from_millis(3_000, 500, 500);

/// One job of each kind, named after it.
pub(crate) const JOBS: [Missed; 3] = [Missed::All, Missed::Skip, Missed::Once];

/// Where candidates write what they do.
#[derive(Debug, Clone)]
pub(crate) struct Files {
    pub(crate) journal: RunJournal,
    pub(crate) events: PathBuf,
}

/// A candidate that stands.
pub(crate) struct EnduringCandidate {
    candidacy: Candidacy,
    events: JoinHandle<()>,
}

impl EnduringCandidate {
    /// Leaves the election, and has told everything when this returns.
    pub(crate) fn end(self) {
        self.candidacy.stop();
        drop(self.candidacy);
        self.events.join().unwrap();
    }
}

/// Stands in the election under this label.
pub(crate) fn start(client: &Client, label: &str, files: &Files) -> EnduringCandidate {
    let mut builder = client.election(ELECTION).unwrap().candidate().timing(TIMING.validated());
    builder = builder.id(label);
    for missed in JOBS {
        let (journal, label) = (files.journal.clone(), label.to_owned());
        builder = builder.job(job(missed), move |run| work(&journal, &label, &run));
    }
    let candidacy = builder.start().unwrap();
    let events = events::write_down(&candidacy, files.events.clone());
    EnduringCandidate { candidacy, events }
}

/// Each second, and otherwise as jobs are that say nothing more.
fn job(missed: Missed) -> Job {
    Job::new(&missed.to_string(), "* * * * * *").unwrap().missed(missed)
}

fn work(journal: &RunJournal, label: &str, run: &JobRun) -> Result<(), &'static str> {
    if !journal.write(Side::Begin, label, run) {
        // What it would do takes time, and can be called off.
        let _ = run.wait_cancelled_for(length(run));
    }
    if journal.write(Side::End, label, run) { Err("called off") } else { Ok(()) }
}

/// Mostly so short that what was missed is soon made up for, and now and then nearly until the next tick.
fn length(run: &JobRun) -> Duration {
    let tick = run.tick().unix_s();
    Duration::from_millis(if tick.is_multiple_of(10) { 850 } else { 10 + tick % 7 * 30 })
}
