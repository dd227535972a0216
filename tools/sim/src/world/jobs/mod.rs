//! Jobs: each process runs the real engine, whose calls go to the ledger, and runs what it begins.

mod driving;
mod editions;
mod event;
mod runs;
mod talk;
mod walls;

use tenure_core::jobs::{Act, Every, RunId, Tick};
use tenure_core::{Instant, Term};

use super::queue::Incarnation;
use crate::clock::{SimClock, SimTime};
use crate::job;
use crate::options::SimOptions;
use crate::rng::SimRng;
use crate::store::{JobReply, JobRequest};

use driving::SimEngine;
use editions::{SimEdition, first_edition};
pub(super) use event::SimJobEvent;
pub(super) use walls::wall;

/// Everything about jobs, wherever it is.
pub(crate) struct SimJobs {
    /// A stream of its own: elections draw the same whether or not there are jobs.
    rng: SimRng,
    /// By candidate.
    engines: Vec<Option<SimEngine>>,
    /// By candidate: what is written in its file.
    files: Vec<SimEdition>,
    /// Those that go on.
    pub(super) runs: Vec<SimJobRun>,
    /// What waits until a process is there again.
    held: Vec<(usize, SimJobEvent)>,
    /// How many requests and runs there were.
    numbers: u64,
    /// The store's wall clock; that of the candidates' own machine if there is none.
    wall: Option<SimClock>,
    /// When something last went wrong that only jobs notice.
    pub(super) disturbed_at: SimTime,
    pub(super) wall_set_at: SimTime,
}

/// A run of a job.
#[derive(Debug, Clone)]
pub(crate) struct SimJobRun {
    pub(crate) id: u64,
    pub(crate) of: Incarnation,
    /// What its engine knows it as.
    pub(crate) run: RunId,
    pub(crate) term: Term,
    pub(crate) job: usize,
    pub(crate) tick: Tick,
    pub(crate) act: Act,
    pub(crate) began: SimTime,
    /// When its tick was asked for.
    pub(crate) asked: JobRequestContext,
}

/// The circumstances of a request, for those who judge it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct JobRequestContext {
    /// What the clock of whoever asks showed.
    pub(crate) shown: Instant,
    /// What the wall clock of whoever asks showed.
    pub(crate) wall_ms: u64,
    /// What that of the store showed at the same time.
    pub(crate) store_ms: u64,
    /// Whether a run of this job went on, as far as whoever asks knows.
    pub(crate) is_running: bool,
    /// When the job is due by what whoever asks has taken in, if a tick of it is claimed.
    pub(crate) calendar: Option<Every>,
    /// How many editions of its jobs whoever asks has taken in.
    pub(crate) editions: u64,
}

/// One request about jobs, as the store has served it.
#[derive(Debug)]
pub(crate) struct ServedJobRequest<'a> {
    pub(crate) from: Incarnation,
    /// The number of the request; one that comes twice is served twice.
    pub(crate) id: u64,
    pub(crate) request: &'a JobRequest,
    pub(crate) reply: &'a JobReply,
    pub(crate) asked: JobRequestContext,
    /// The marks of all jobs before it and after it.
    pub(crate) before: &'a [Option<Tick>],
    pub(crate) after: &'a [Option<Tick>],
    /// How often each job has fired by the store's count.
    pub(crate) fired: &'a [u64],
    pub(crate) store_ms: u64,
}

impl SimJobs {
    pub(super) fn new(options: &SimOptions, mut rng: SimRng) -> Self {
        let wall = options.kind.is_remote().then(|| walls::wall(options.walls, &mut rng));
        let edition = first_edition(&options.jobs);
        Self {
            rng,
            engines: options.candidates.iter().map(|_| None).collect(),
            files: vec![edition; options.candidates.len()],
            runs: Vec::new(),
            held: Vec::new(),
            numbers: 0,
            wall,
            disturbed_at: 0,
            wall_set_at: 0,
        }
    }

    /// The chance of wall clocks and of whatever happens to jobs.
    pub(super) fn rng(options: &SimOptions) -> SimRng {
        SimRng::of(options.seed, job::STREAM + 1)
    }

    /// The first of so many numbers that nothing else has.
    fn numbers(&mut self, count: usize) -> u64 {
        let first = self.numbers + 1;
        self.numbers += u64::try_from(count).unwrap_or_default();
        first
    }
}
