//! Receives broadcasts for as long as the candidate stands.
//!
//! It runs on the driver's thread, beside the elections, and waits for nothing the application does.

use std::pin::pin;
use std::sync::Arc;

use futures_util::StreamExt;
use futures_util::future::{Either, select};

use crate::phase::Phase;
use crate::shared::Shared;
use crate::store::Store;

/// Runs until the candidate has left the election.
pub(crate) async fn run(shared: Arc<Shared>, store: Arc<dyn Store>) {
    let (Some(broadcast_queues), Some(pubsub)) = (shared.broadcast_queues(), store.pubsub()) else { return };
    let mut heard = pubsub.listen(&shared.key);
    let mut stopped = pin!(shared.phase().wait_until(|phase| matches!(phase, Phase::Stopped)));
    while let Either::Left((Some(heard), _)) = select(heard.next(), &mut stopped).await {
        broadcast_queues.hear(&shared, heard);
    }
}
