//! A queue with a single consumer, which finishes its item before somebody else goes on.
//!
//! Run two of them, then end one with Ctrl-C, or kill it, and watch the other take over:
//!
//! ```text
//! cargo run --example queue_consumer -- sqlite:demo.db
//! cargo run --example queue_consumer -- sqlite:demo.db
//! ```
//!
//! A second argument makes it end by itself after that many items.

use std::env;
use std::time::Duration;

use tenure::{Leadership, Preset, Tenure};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let items = env::args().nth(2).map(|text| text.parse()).transpose()?;

    let tenure = Tenure::open(&url)?;
    let election = tenure.election("queue-consumer")?.preset(Preset::Fast).start()?;
    println!("{} stands by", election.candidate());

    let consumed = election.run_while_leader(|leadership| consume(leadership, items.unwrap_or(u64::MAX))).await?;
    println!("done after {consumed} items");
    election.stop().await;
    Ok(())
}

/// Consumes until there is nothing left or leadership ends. It must return within the grace then: an item takes much
/// less than that, so it is finished rather than torn apart.
async fn consume(leadership: Leadership, items: u64) -> u64 {
    println!("leading under term {}", leadership.term());
    for item in 0..items {
        if leadership.is_cancelled() {
            println!("told to stop after {item} items");
            return item;
        }
        // Waits because items take time.
        tokio::time::sleep(Duration::from_millis(200)).await;
        println!("consumed item {item} under term {}", leadership.term());
    }
    items
}
