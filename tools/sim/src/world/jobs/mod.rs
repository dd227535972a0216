//! Jobs: whoever leads asks the real planner of each what to do, claims it in the ledger, and runs what it is granted.

mod event;
mod foreman;
mod giving;
mod runs;
mod talk;
mod walls;

use tenure_core::cron::{Act, Finish, Passed, Tick};
use tenure_core::{Nonce, Term};

use super::queue::Life;
use crate::chance::Chance;
use crate::clock::{Clock, True};
use crate::job;
use crate::options::Options;
use crate::store::{JobReply, JobRequest};

pub(super) use event::JobEvent;
use foreman::Foreman;
pub(super) use walls::wall;

/// Everything about jobs, wherever it is.
pub(crate) struct Jobs {
    /// A stream of its own: elections do not depend on whether there are jobs.
    chance: Chance,
    /// By candidate.
    foremen: Vec<Option<Foreman>>,
    /// Those that go on.
    pub(super) runs: Vec<Run>,
    /// Ends of runs that the store has not confirmed yet.
    ends: Vec<End>,
    /// What waits until a process is there again.
    held: Vec<(usize, JobEvent)>,
    /// How many requests and runs there were.
    numbers: u64,
    /// The store's wall clock; that of the candidates' own machine if there is none.
    wall: Option<Clock>,
    /// When something last went wrong that only jobs notice.
    pub(super) disturbed_at: True,
    pub(super) wall_set_at: True,
}

/// A run of a job.
#[derive(Debug, Clone)]
pub(crate) struct Run {
    pub(crate) id: u64,
    pub(crate) of: Life,
    pub(crate) term: Term,
    pub(crate) nonce: Nonce,
    pub(crate) job: usize,
    pub(crate) tick: Tick,
    pub(crate) act: Act,
    pub(crate) began: True,
    /// When its tick was asked for.
    pub(crate) asked: Asked,
}

/// The circumstances of a request, for those who judge it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Asked {
    pub(crate) at: True,
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
pub(crate) struct Served<'a> {
    pub(crate) from: Life,
    /// The number of the request; one that comes twice is served twice.
    pub(crate) id: u64,
    pub(crate) request: &'a JobRequest,
    pub(crate) reply: &'a JobReply,
    pub(crate) asked: Asked,
    /// The marks of all jobs before it and after it.
    pub(crate) before: &'a [Option<Tick>],
    pub(crate) after: &'a [Option<Tick>],
    /// How often each job has fired by the store's count.
    pub(crate) fired: &'a [u64],
    pub(crate) store_ms: u64,
}

/// The end of a run, as long as it has to be told.
struct End {
    id: u64,
    finish: Finish,
    /// How often it is still told.
    left: u32,
    /// Until when its claim may yet reach the store and be granted: not to know of it before that means nothing.
    claimable_until: True,
    /// When it was told last.
    told_at: True,
}

impl Jobs {
    pub(super) fn new(options: &Options, mut chance: Chance) -> Self {
        let wall = options.kind.is_remote().then(|| walls::wall(options.walls, &mut chance));
        Self {
            chance,
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
    pub(super) fn chance(options: &Options) -> Chance {
        Chance::of(options.seed, job::STREAM + 1)
    }

    fn number(&mut self) -> u64 {
        self.numbers += 1;
        self.numbers
    }
}
