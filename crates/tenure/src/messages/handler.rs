//! Handlers of messages: each channel has a thread of its own, while there is something on it to handle.

use std::sync::Arc;

use tenure_core::ChannelName;

use super::delivery::Delivery;
use crate::block_on::block_on;
use crate::callback::{Callback, CallbackOutcome};
use crate::contain::contain;
use crate::event::ElectionError;
use crate::inside;
use crate::leadership::Leadership;
use crate::on_demand_thread::OnDemandThread;
use crate::shared::Shared;
use crate::store::Message;

/// What the application does with the messages of one channel.
pub(crate) struct MessageHandler {
    callback: Callback<(Message, Leadership)>,
    /// Futures of the application may need the runtime it was started on.
    runtime: Option<tokio::runtime::Handle>,
    on_demand: OnDemandThread,
}

impl MessageHandler {
    pub(crate) fn new(callback: Callback<(Message, Leadership)>) -> Self {
        Self { callback, runtime: tokio::runtime::Handle::try_current().ok(), on_demand: OnDemandThread::default() }
    }

    pub(super) fn is_running(&self) -> bool {
        self.on_demand.is_on()
    }

    /// There is something to handle. A thread that runs already will find it.
    pub(super) fn wake(&self, shared: &Arc<Shared>, channel: &ChannelName) {
        let (shared, channel) = (Arc::clone(shared), channel.clone());
        let on_failure = Arc::clone(&shared);
        let run = move || {
            if let Some(handler) = shared.inbox().and_then(|inbox| inbox.handlers.get(&channel)) {
                handler.run(&shared, &channel);
            }
        };
        if let Err(error) = self.on_demand.begin("tenure-message", run) {
            // What waits is found at the next look.
            report(&on_failure, format!("could not be run: {error}"));
        }
    }

    fn run(&self, shared: &Arc<Shared>, channel: &ChannelName) {
        let take = || shared.inbox().and_then(|inbox| inbox.take(shared, channel));
        while let Some(delivery) = self.on_demand.next(take) {
            self.handle(shared, delivery);
        }
    }

    fn handle(&self, shared: &Arc<Shared>, delivery: Delivery) {
        let argument = (delivery.message().clone(), delivery.leadership().clone());
        let finish = || match self.callback.call(argument) {
            CallbackOutcome::Now(failure) => Some(failure),
            CallbackOutcome::Later(future) => {
                let bounded = delivery.while_valid(future);
                match &self.runtime {
                    Some(runtime) => runtime.block_on(bounded),
                    None => block_on(bounded),
                }
            }
        };
        let ended = {
            let _inside = inside::enter(shared);
            contain(finish)
        };
        let failure = match ended {
            Ok(Some(None)) => return delivery.ack(),
            Ok(None) => return delivery.interrupted(),
            Ok(Some(Some(failure))) => format!("failed: {failure}"),
            Err(panic) => format!("panicked: {panic}"),
        };
        let Message { channel, id, .. } = delivery.message();
        let told = format!("{failure} (channel {channel}, message {id})");
        if delivery.leadership().is_cancelled() {
            // Whether it failed because it was told to stop, nobody knows; the next leader tries again.
            delivery.interrupted();
        } else {
            delivery.nack(failure);
        }
        report(shared, told);
    }
}

fn report(shared: &Shared, message: String) {
    shared.report(ElectionError::Callback { callback: "message", message });
}
