//! Handlers of broadcasts: each channel has its own thread while it has broadcasts to handle.

use std::sync::Arc;

use tenure_core::ChannelName;

use super::queues::ReaderQueue;
use crate::callback::{Callback, run_to_end};
use crate::event::ElectionError;
use crate::on_demand_thread::OnDemandThread;
use crate::phase::Phase;
use crate::shared::Shared;
use crate::store::Broadcast;

/// The application's handler of the broadcasts on one channel.
pub(crate) struct BroadcastHandler {
    callback: Callback<Broadcast>,
    line: Arc<ReaderQueue>,
    /// Futures of the application may need the runtime it was started on.
    runtime: Option<tokio::runtime::Handle>,
    on_demand: OnDemandThread,
}

impl BroadcastHandler {
    pub(crate) fn new(channel: ChannelName, callback: Callback<Broadcast>) -> Self {
        let runtime = tokio::runtime::Handle::try_current().ok();
        Self { callback, line: Arc::new(ReaderQueue::new(channel)), runtime, on_demand: OnDemandThread::default() }
    }

    pub(super) fn line(&self) -> &Arc<ReaderQueue> {
        &self.line
    }

    /// There is something to handle.
    pub(super) fn wake(self: &Arc<Self>, shared: &Arc<Shared>) {
        let (handler, on_thread) = (Arc::clone(self), Arc::clone(shared));
        if let Err(error) = self.on_demand.begin("tenure-broadcast", move || handler.run(&on_thread)) {
            // What waits is found with the next one.
            report(shared, format!("could not be run: {error}"));
        }
    }

    fn run(&self, shared: &Shared) {
        while let Some(broadcast) = self.on_demand.next(|| self.take(shared)) {
            let Broadcast { id, channel, .. } = broadcast.clone();
            if let Some(failure) = run_to_end(|| self.callback.call(broadcast), self.runtime.as_ref()) {
                report(shared, format!("{failure} (channel {channel}, broadcast {id})"));
            }
        }
    }

    /// Nothing more once the candidate has left.
    fn take(&self, shared: &Shared) -> Option<Broadcast> {
        let has_left = shared.phase().read(|phase| matches!(phase, Phase::Stopped));
        if has_left { None } else { self.line.take(shared) }
    }
}

fn report(shared: &Shared, message: String) {
    shared.report(ElectionError::Callback { callback: "broadcast", message });
}
