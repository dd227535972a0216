//! Store calls of one leader and nine followers when nothing happens, on a virtual clock.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use tenure::testing::{FaultyStore, Operation, VirtualClock};
use tenure::{Candidacy, Client, Clock, MemoryStore, Preset, Store};

const CANDIDATES: u32 = 10;
const STEP: Duration = Duration::from_millis(250);
const STEPS: u32 = 2_400;

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    let hands = VirtualClock::new();
    let clock = Clock::controlled_by(&hands);
    let memory = MemoryStore::with_clock(clock.clone());
    let store = FaultyStore::new(Arc::new(memory));
    let timing = Preset::Normal.timing();
    let mut elections: Vec<Candidacy> = Vec::new();
    for _ in 0..CANDIDATES {
        let handle: Arc<dyn Store> = store.clone();
        let client = Client::builder().clock(clock.clone()).with_store(handle)?;
        elections.push(client.election("bench")?.candidate().timing(timing).start()?);
    }
    let advance = |steps: u32| {
        for _ in 0..steps {
            hands.advance(STEP);
            // Ten driver threads have to notice that the time has changed.
            std::thread::sleep(Duration::from_millis(2));
        }
    };
    advance(400);
    store.forget_counts();
    advance(STEPS);
    let verbs = [Operation::Campaign, Operation::Renew, Operation::Observe];
    let calls: usize = verbs.into_iter().map(|verb| store.calls(verb)).sum();
    let seconds = (STEP * STEPS).as_secs_f64();
    #[expect(clippy::cast_precision_loss, reason = "a few hundred calls")]
    let per_second = calls as f64 / seconds;
    println!("## Store calls of one leader and nine followers at a ttl of 30 s");
    println!("{calls} calls in {seconds:.0} virtual seconds: {per_second:.3} per second");
    println!("predicted: {:.3} per second", timing.predict(CANDIDATES).requests_per_minute / 60.0);
    println!("leaders at the end: {}", elections.iter().filter(|candidacy| candidacy.is_leader()).count());
    Ok(())
}
