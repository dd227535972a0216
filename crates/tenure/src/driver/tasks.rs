//! Tasks beside the elections, each for one candidacy.

use std::sync::Arc;

use tenure_core::{Backoff, Input};

use super::DriverCommand;
use crate::contain::contain_async;
use crate::event::ElectionError;
use crate::retry::spread;
use crate::shared::Shared;

/// Runs a task on the driver's runtime to its end, and restarts it whenever it panics. A leadership it was part of is handed
/// over then: what it had under way is lost, and the next leader finds it.
pub(super) fn spawn<F>(shared: Arc<Shared>, what: &'static str, begin: impl Fn() -> F + Send + Sync + 'static)
where
    F: Future<Output = ()> + Send + 'static,
{
    tokio::spawn(async move {
        let mut failures = 0_u32;
        while let Err(message) = contain_async(async { begin().await }).await {
            failures = failures.saturating_add(1);
            shared.send(DriverCommand::Error(shared.id, ElectionError::Panicked { what, message }));
            shared.send(DriverCommand::Input(shared.id, Input::Resign { term: None, successor: None }));
            shared.clock.sleep_until(shared.clock.now() + Backoff::RETRY.delay(failures, spread())).await;
        }
    });
}
