//! Companions of a candidacy: what goes on beside its election. The driver runs them, and knows no more of them than this.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tenure_core::{Backoff, Input, Timing};

use super::DriverCommand;
use crate::contain::contain_async;
use crate::event::ElectionError;
use crate::retry::spread;
use crate::shared::Shared;
use crate::store::Store;

/// What goes on beside the election of one candidacy: its messages, its broadcasts, its jobs.
///
/// It learns from the [phase](Shared::phase) when leaderships begin and end and that the candidate has left, and answers with
/// [commands](DriverCommand), as the application does.
pub(crate) trait Companion: fmt::Debug + Send + Sync + 'static {
    /// What people call its task.
    fn task_name(&self) -> &'static str;

    /// Runs until the candidate has left the election, on the driver's thread: it must never block. It is called again after a
    /// panic.
    fn run(self: Arc<Self>, beside: Beside) -> BoxFuture<'static, ()>;

    /// Complains of code of the application that it has called, and that still runs although the time for it is up.
    fn complaint(&self, _shared: &Shared) -> Option<ElectionError> {
        None
    }
}

/// What a companion runs beside.
#[derive(Clone)]
pub(crate) struct Beside {
    pub(crate) shared: Arc<Shared>,
    pub(crate) store: Arc<dyn Store>,
    pub(crate) timing: Timing,
}

/// Runs a companion to its end, and restarts it whenever it panics. A leadership it was part of is handed over then: what it had
/// under way is lost, and the next leader finds it.
pub(super) fn spawn(companion: Arc<dyn Companion>, beside: Beside) {
    tokio::spawn(async move {
        let shared = Arc::clone(&beside.shared);
        let mut failures = 0_u32;
        while let Err(message) = contain_async(async { Arc::clone(&companion).run(beside.clone()).await }).await {
            failures = failures.saturating_add(1);
            shared.report(ElectionError::Panicked { what: companion.task_name(), message });
            shared.send(DriverCommand::Input(shared.id, Input::Resign { term: None, successor: None }));
            shared.clock.sleep_until(shared.clock.now() + Backoff::RETRY.delay(failures, spread())).await;
        }
    });
}
