//! Leader election without an async runtime. Run two, then end one with Ctrl-C, or kill it, and watch the other take over:
//! `cargo run --bin plain-threads -- sqlite:demo.db`. A second argument makes it end after that many turns of work.

use std::{env, thread, time::Duration};

use tenure::{Client, Preset};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let store = env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let turns = env::args().nth(2).map(|text| text.parse()).transpose()?.unwrap_or(u64::MAX);

    let client = Client::open(&store)?;
    let election = client.election("plain-threads")?.candidate().preset(Preset::Fast).start()?;
    let mut events = election.events();
    let watcher = thread::spawn(move || {
        while let Some(event) = events.next_blocking() {
            println!("{:?}", event.kind);
        }
    });

    election.run_while_leader_blocking(|leadership| {
        for turn in 0..turns {
            println!("turn {turn} under term {}", leadership.term());
            // Sleeps for a while, but not when it is time to stop.
            if leadership.wait_cancelled_for(Duration::from_millis(500)) {
                return;
            }
        }
    })?;
    election.stop_blocking();
    watcher.join().map_err(|_| "the watcher panicked")?;
    Ok(())
}
