//! Somebody else's scheduler, which knows nothing of elections: its job runs everywhere and works on the leader only.
//!
//! Run two of them, then end one with Ctrl-C, or kill it, and watch the other take over:
//!
//! ```sh
//! cargo run --example gate_a_scheduler -- sqlite:demo.db
//! cargo run --example gate_a_scheduler -- sqlite:demo.db
//! ```
//!
//! A second argument makes it end by itself after that many ticks.

use std::env;
use std::thread;
use std::time::Duration;

use tenure::Preset;
use tenure::blocking::Client;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let ticks = env::args().nth(2).map(|text| text.parse()).transpose()?.unwrap_or(u64::MAX);

    let client = Client::open(&url)?;
    let candidacy = client.election("gate-a-scheduler")?.candidate().preset(Preset::Fast).start()?;
    schedule(ticks, |tick| {
        if candidacy.is_leader() {
            println!("tick {tick}: report sent");
        }
    });
    candidacy.stop();
    Ok(())
}

/// Stands for any scheduler that calls a job when it is due.
fn schedule(ticks: u64, job: impl Fn(u64)) {
    for tick in 0..ticks {
        // Waits because the job is due twice a second.
        thread::sleep(Duration::from_millis(500));
        job(tick);
    }
}
