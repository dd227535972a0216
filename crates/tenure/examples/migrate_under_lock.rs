//! A migration that many instances want to run when they start: one of them does at a time, and the others wait.
//!
//! Run two of them at once:
//!
//! ```sh
//! cargo run --example migrate_under_lock -- sqlite:demo.db &
//! cargo run --example migrate_under_lock -- sqlite:demo.db
//! ```
//!
//! A second argument says how many steps the migration has.

use std::env;
use std::time::Duration;

use tenure::blocking::Client;
use tenure::{Leadership, Preset};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let steps = env::args().nth(2).map(|text| text.parse()).transpose()?.unwrap_or(10);

    let client = Client::open(&url)?;
    let lock = client.lock("migrate-under-lock")?.preset(Preset::Fast).max_wait(Duration::from_secs(60));
    let done = lock.with_lock(|leadership| migrate(&leadership, steps))?;
    println!("{done} of {steps} steps done");
    Ok(())
}

/// Stops between two steps when the lock is lost, and says how far it came.
fn migrate(leadership: &Leadership, steps: u64) -> u64 {
    for step in 0..steps {
        println!("step {step} under term {}", leadership.term());
        // Stands for a step that takes its time, and ends early when it is time to stop.
        if leadership.wait_cancelled_for(Duration::from_millis(200)) {
            return step;
        }
    }
    steps
}
