//! The world as stateright wants to see it.

use std::sync::mpsc::{RecvTimeoutError, sync_channel};
use std::time::{Duration, Instant};

use stateright::{Checker, HasDiscoveries, Model, Path, Property};

use super::action::ModelAction;
use super::laws::{Law, ModelSituation};
use super::options::ModelOptions;
use super::report::{LawViolation, SearchProgress, SearchReport};
use super::state::ModelState;
use super::step::ModelStep;
use super::world::ModelWorld;

/// The name of the one property that must always hold. Which laws a state breaks is written in the state.
const LAWFUL: &str = "lawful";

const BETWEEN_REPORTS: Duration = Duration::from_secs(1);

/// Searches depth first: it keeps a hash of every state, but hardly any states. A state knows how many steps are left,
/// so the order makes no difference to what is seen.
pub(super) fn run(options: &ModelOptions, progress: &mut impl FnMut(&SearchProgress)) -> SearchReport {
    let began = Instant::now();
    let finish = HasDiscoveries::AnyFailures;
    let mut checker = ModelWorld::new(options).checker().threads(options.threads).finish_when(finish).spawn_dfs();
    let workers = checker.handles();
    let so_far = || SearchProgress {
        unique: checker.unique_state_count(),
        generated: checker.state_count(),
        elapsed: began.elapsed(),
    };
    std::thread::scope(|scope| {
        let (working, is_done) = sync_channel::<()>(0);
        scope.spawn(move || {
            for worker in workers {
                worker.join().expect("no step of the model panics");
            }
            drop(working);
        });
        while is_done.recv_timeout(BETWEEN_REPORTS) == Err(RecvTimeoutError::Timeout) {
            progress(&so_far());
        }
    });
    let progress = so_far();
    let (violation, reached) = (violation(&checker), reached(&checker));
    SearchReport { candidates: options.candidates, depth: options.depth, progress, violation, reached }
}

impl Model for ModelWorld {
    type State = ModelState;
    type Action = ModelAction;

    fn init_states(&self) -> Vec<ModelState> {
        vec![self.beginning()]
    }

    fn actions(&self, state: &ModelState, actions: &mut Vec<ModelAction>) {
        self.possible(state, actions);
    }

    fn next_state(&self, state: &ModelState, action: ModelAction) -> Option<ModelState> {
        Some(ModelStep::take(self, state, action))
    }

    fn properties(&self) -> Vec<Property<Self>> {
        vec![
            Property::always(LAWFUL, |_, state: &ModelState| state.signs.is_lawful()),
            is_shown::<0>(),
            is_shown::<1>(),
            is_shown::<2>(),
            is_shown::<3>(),
            is_shown::<4>(),
            is_shown::<5>(),
            is_shown::<6>(),
            is_shown::<7>(),
            is_shown::<8>(),
        ]
    }
}

/// A property per situation. Their conditions are plain functions, so each needs one of its own.
fn is_shown<const INDEX: usize>() -> Property<ModelWorld> {
    Property::sometimes(ModelSituation::ALL[INDEX].as_str(), |_, state: &ModelState| {
        state.signs.has_shown(ModelSituation::ALL[INDEX])
    })
}

/// What has been seen to happen.
fn reached(checker: &impl Checker<ModelWorld>) -> Vec<ModelSituation> {
    let discoveries = checker.discoveries();
    ModelSituation::ALL.into_iter().filter(|situation| discoveries.contains_key(situation.as_str())).collect()
}

/// The history that broke a law, if one was found.
fn violation(checker: &impl Checker<ModelWorld>) -> Option<LawViolation> {
    checker.discovery(LAWFUL).map(|path| told(checker.model(), path))
}

fn told(world: &ModelWorld, path: Path<ModelState, ModelAction>) -> LawViolation {
    let ModelState { signs, steps_left, .. } = *path.last_state();
    let steps = world.options.depth - steps_left;
    let taken = path.into_vec().into_iter().filter_map(|(before, action)| Some((before, action?)));
    let path = taken.map(|(before, action)| {
        let seconds = Duration::from_nanos(before.now).as_secs_f64();
        format!("t={seconds:.3}s {}", ModelStep::tell(world, &before, action).join("; "))
    });
    let laws = Law::ALL.into_iter().filter(|law| signs.has_broken(*law)).collect();
    LawViolation { laws, path: path.collect(), steps }
}
