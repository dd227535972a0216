//! Leader election without an async runtime. Run two, then end one with Ctrl-C, or kill it, and watch the other take over:
//! `cargo run --bin plain-threads -- sqlite:demo.db`. A second argument makes it end after that many turns of work.

use std::{env, thread, time::Duration};

use tenure::Preset;
use tenure::blocking::Client;

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let turns = env::args().nth(2).map(|text| text.parse()).transpose()?.unwrap_or(u64::MAX);

    let client = Client::open(&store)?;
    let candidacy = client.election("plain-threads")?.candidate().preset(Preset::Fast).start()?;
    let events = candidacy.events();
    let watcher = thread::spawn(move || {
        for event in events {
            println!("{event}");
        }
    });

    candidacy.run_while_leader(|leadership| {
        for turn in 0..turns {
            println!("turn {turn} under term {}", leadership.term());
            // Sleeps for a while, but not when it is time to stop.
            if leadership.wait_cancelled_for(Duration::from_millis(500)) {
                return;
            }
        }
    })?;
    candidacy.stop();
    watcher.join().map_err(|_| "the watcher panicked")?;
    Ok(())
}
