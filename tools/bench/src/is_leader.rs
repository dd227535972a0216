//! What the question costs, beside a plain atomic load (which lies after a pause) and a bare clock read.

use std::error::Error;
use std::hint::black_box;
use std::sync::Barrier;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tenure::blocking::Client;
use tenure::{Clock, MemoryStore};

use crate::stats::Samples;

const CALLS: u32 = 1_000_000;
const ROUNDS: usize = 31;

pub(crate) fn run() -> Result<(), Box<dyn Error>> {
    println!("## is_leader(), ns per call (median of {ROUNDS} rounds of {CALLS} calls)");
    let client = Client::with_store(MemoryStore::new())?;
    let candidacy = client.election("bench")?.candidate().start()?;
    candidacy.elected()?;
    let word = AtomicU64::new(1);
    let clock = Clock::boottime();
    for threads in [1, 2] {
        let (mut load, mut read, mut ask) = (Samples::default(), Samples::default(), Samples::default());
        let mut ratio = Samples::default();
        // The three take turns, so that whatever else the machine does hits all of them alike.
        for _ in 0..ROUNDS {
            load.push(nanos_per_call(threads, || word.load(Ordering::Relaxed) != 0));
            let one_read = nanos_per_call(threads, || clock.now().as_nanos() != 0);
            let one_ask = nanos_per_call(threads, || candidacy.is_leader());
            read.push(one_read);
            ask.push(one_ask);
            ratio.push(one_ask / one_read);
        }
        println!(
            "{threads} thread(s): atomic load {:.2}, clock read {:.2}, is_leader {:.2}: {:.2} times a clock read",
            load.median(),
            read.median(),
            ask.median(),
            ratio.median()
        );
    }
    candidacy.stop();
    Ok(())
}

/// The slowest thread's time per call.
fn nanos_per_call(threads: usize, call: impl Fn() -> bool + Sync) -> f64 {
    let start = Barrier::new(threads);
    let measure = || {
        start.wait();
        let began = Instant::now();
        for _ in 0..CALLS {
            black_box(call());
        }
        began.elapsed().as_secs_f64() * 1e9 / f64::from(CALLS)
    };
    std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(measure)).collect();
        let mine = measure();
        others.into_iter().filter_map(|other| other.join().ok()).fold(mine, f64::max)
    })
}
