//! Receives broadcasts for as long as the candidate stands.
//!
//! It runs on the driver's thread, beside the elections, and waits for nothing the application does.

use std::pin::pin;
use std::sync::Arc;

use futures_util::future::{BoxFuture, Either, select};
use futures_util::{FutureExt, StreamExt};

use crate::driver::{Beside, Companion};
use crate::phase::Phase;

/// Hears broadcasts for a candidate, and hands them to its queues.
#[derive(Debug)]
pub(crate) struct BroadcastCompanion;

impl Companion for BroadcastCompanion {
    fn task_name(&self) -> &'static str {
        "the task that hears broadcasts"
    }

    fn run(self: Arc<Self>, beside: Beside) -> BoxFuture<'static, ()> {
        run(beside).boxed()
    }
}

/// Runs until the candidate has left the election.
async fn run(Beside { shared, store, .. }: Beside) {
    let (Some(broadcast_queues), Some(pubsub)) = (shared.broadcast_queues(), store.pubsub()) else { return };
    let mut heard = pubsub.listen(&shared.key);
    let mut stopped = pin!(shared.phase().wait_until(|phase| matches!(phase, Phase::Stopped)));
    while let Either::Left((Some(heard), _)) = select(heard.next(), &mut stopped).await {
        broadcast_queues.hear(&shared, heard);
    }
}
