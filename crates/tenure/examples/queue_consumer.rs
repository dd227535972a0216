//! A queue with a single consumer, which finishes its item before somebody else goes on.
//!
//! Run two of them, then end one with Ctrl-C, or kill it, and watch the other take over:
//!
//! ```sh
//! cargo run --example queue_consumer -- sqlite:demo.db
//! cargo run --example queue_consumer -- sqlite:demo.db
//! ```
//!
//! A second argument makes it end by itself after that many items.

use std::convert::Infallible;
use std::env;
use std::time::Duration;

use tenure::{Client, Leadership, Preset};
use tokio::sync::{Mutex, mpsc};

#[tokio::main]
async fn main() -> Result<(), Box<dyn std::error::Error>> {
    let url = env::args().nth(1).unwrap_or_else(|| "memory:".to_owned());
    let items = env::args().nth(2).map(|text| text.parse()).transpose()?.unwrap_or(u64::MAX);

    let client = Client::open(&url)?;
    let candidacy = client.election("queue-consumer")?.candidate().preset(Preset::Fast).start()?;
    println!("{} stands by", candidacy.candidate());

    // Stands for a queue that all instances share.
    let (sender, queue) = mpsc::channel(1);
    tokio::spawn(async move {
        for item in 0..items {
            if sender.send(item).await.is_err() {
                // Nobody consumes any more.
                return;
            }
        }
    });
    let queue = Mutex::new(queue);
    // Asked only while leading, and dropped when that ends.
    candidacy.consume(|| async { queue.lock().await.recv().await }, consume).await??;
    println!("done after {items} items");
    candidacy.stop().await;
    Ok(())
}

/// An item takes much less than the grace, so it is finished rather than torn apart when leadership ends.
async fn consume(item: u64, leadership: Leadership) -> Result<(), Infallible> {
    // Waits because items take time.
    tokio::time::sleep(Duration::from_millis(200)).await;
    println!("consumed item {item} under term {}", leadership.term());
    Ok(())
}
