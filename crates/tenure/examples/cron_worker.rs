//! A job that runs once a second on one of many workers.
//!
//! Run two of them, then end one with Ctrl-C, or kill it, and watch the other take over:
//!
//! ```sh
//! cargo run --example cron_worker -- sqlite:demo.db
//! cargo run --example cron_worker -- sqlite:demo.db
//! ```
//!
//! A second argument makes it end by itself after that many seconds.

use std::env;
use std::thread;
use std::time::{Duration, Instant};

use tenure::blocking::Client;
use tenure::{Leadership, Preset};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let seconds = env::args().nth(2).map(|text| text.parse()).transpose()?;

    let client = Client::open(&url)?;
    let candidacy = client
        .election("cron-worker")?
        .candidate()
        .preset(Preset::Fast)
        .on_lost(|term, reason| println!("lost term {term}: {reason}"))
        .start()?;
    println!("{} stands by", candidacy.candidate());

    let started = Instant::now();
    while seconds.is_none_or(|seconds| started.elapsed() < Duration::from_secs(seconds)) {
        // Waits because the job is due once a second.
        thread::sleep(Duration::from_secs(1));
        // Nobody else can begin while this runs: a resignation waits for it.
        candidacy.run_if_leader(run_job);
    }
    candidacy.stop();
    Ok(())
}

fn run_job(leadership: &Leadership) {
    // Whatever the job writes should carry the term, so that its target can refuse a leader of the past.
    println!("job runs under term {}", leadership.term());
}
