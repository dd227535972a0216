//! Jobs: whoever leads asks the real planner of each what to do, claims it in the ledger, and runs what it is granted.

mod event;
mod giving;
mod runs;
mod scheduler;
mod talk;
mod walls;

use tenure_core::jobs::{Act, Finish, Passed, Tick};
use tenure_core::{Nonce, Term};

use super::queue::Incarnation;
use crate::clock::{SimClock, SimTime};
use crate::job;
use crate::options::SimOptions;
use crate::rng::SimRng;
use crate::store::{JobReply, JobRequest};

pub(super) use event::SimJobEvent;
use scheduler::SimScheduler;
pub(super) use walls::wall;

/// Everything about jobs, wherever it is.
pub(crate) struct SimJobs {
    /// A stream of its own: elections do not depend on whether there are jobs.
    rng: SimRng,
    /// By candidate.
    foremen: Vec<Option<SimScheduler>>,
    /// Those that go on.
    pub(super) runs: Vec<SimJobRun>,
    /// Ends of runs that the store has not confirmed yet.
    ends: Vec<RunEndReport>,
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
    pub(crate) term: Term,
    pub(crate) nonce: Nonce,
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
    pub(crate) at: SimTime,
    /// What the wall clock of whoever asks showed.
    pub(crate) wall_ms: u64,
    /// What that of the store showed at the same time.
    pub(crate) store_ms: u64,
    /// Whether a run of this job went on, as far as whoever asks knows.
    pub(crate) is_running: bool,
    /// Whether it was late.
    pub(crate) is_late: bool,
    /// Why a tick is to be passed over.
    pub(crate) passed: Option<Passed>,
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

/// The end of a run, as long as it has to be told.
struct RunEndReport {
    id: u64,
    finish: Finish,
    /// How often it is still told.
    left: u32,
    /// Until when its claim may yet reach the store and be granted: not to know of it before that means nothing.
    claimable_until: SimTime,
    /// When it was told last.
    told_at: SimTime,
}

impl SimJobs {
    pub(super) fn new(options: &SimOptions, mut rng: SimRng) -> Self {
        let wall = options.kind.is_remote().then(|| walls::wall(options.walls, &mut rng));
        Self {
            rng,
            foremen: options.candidates.iter().map(|_| None).collect(),
            runs: Vec::new(),
            ends: Vec::new(),
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

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }
}
