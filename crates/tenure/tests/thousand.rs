//! A thousand elections in one process cost the store little more than one. Alone in its process, to count threads.

#![expect(clippy::unwrap_used, reason = "all of this is a test, its helpers too")]

use std::sync::Arc;
use std::time::Duration;

use tenure::testing::{FaultyStore, Operation, VirtualClock};
use tenure::{Candidacy, Client, Clock, MemoryStore, Timing};

const MANY: usize = 1_000;

fn driver_threads() -> usize {
    let tasks = std::fs::read_dir("/proc/self/task").unwrap();
    let names = tasks.filter_map(|task| std::fs::read_to_string(task.unwrap().path().join("comm")).ok());
    names.filter(|name| name.trim() == "tenure-driver").count()
}

#[tokio::test]
async fn they_share_a_thread_and_their_requests() {
    let hands = VirtualClock::new();
    let clock = Clock::controlled_by(&hands);
    let store = FaultyStore::with_clock(Arc::new(MemoryStore::with_clock(clock.clone())), clock.clone());
    let client = Client::builder().clock(clock).with_store(Arc::clone(&store) as _).unwrap();
    let timing = Timing::from_ttl(Duration::from_secs(30)).unwrap();
    let pass = async |time: Duration| {
        for _ in 0..time.as_millis() / 100 {
            hands.advance(Duration::from_millis(100));
            client.store().examine().await.unwrap();
            client.store().examine().await.unwrap();
        }
    };

    let start =
        |number| client.election(&format!("election-{number}")).unwrap().candidate().timing(timing).start().unwrap();
    let elections: Vec<Candidacy> = (0..MANY).map(start).collect();
    for candidacy in &elections {
        candidacy.elected().await.unwrap();
    }
    assert_eq!(driver_threads(), 1);
    assert_eq!(store.requests(Operation::Campaign), MANY);
    assert!(store.calls(Operation::Campaign) < MANY / 10, "{} calls", store.calls(Operation::Campaign));

    // Every grant is a hint to look again, so that the first renewal comes early.
    pass(timing.renew_every() * 2).await;
    store.forget_counts();
    let intervals = 20;
    pass(timing.renew_every() * intervals).await;
    let (calls, requests) = (store.calls(Operation::Renew), store.requests(Operation::Renew));
    // Jitter makes the first of so many come a tenth early, and all join it.
    assert!(calls <= 24, "{calls} calls in {intervals} intervals");
    assert_eq!(requests, calls * MANY, "all renew together");
    assert_eq!(store.calls(Operation::Campaign) + store.calls(Operation::Resign), 0);
    assert!(elections.iter().all(Candidacy::is_leader));

    elections.iter().for_each(Candidacy::request_stop);
    for candidacy in &elections {
        candidacy.stop().await;
    }
    assert_eq!(store.requests(Operation::Resign), MANY);
    assert!(store.calls(Operation::Resign) < MANY / 10, "{} calls", store.calls(Operation::Resign));
}
