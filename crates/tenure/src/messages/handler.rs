//! Handlers of messages: each channel has a thread of its own, while there is something on it to handle.

use std::sync::Arc;

use tenure_core::ChannelName;

use super::delivery::Delivery;
use crate::blocking::block_on;
use crate::callback::{Outcome, Registered};
use crate::contain::contain;
use crate::driver::Command;
use crate::event::Trouble;
use crate::inside;
use crate::leadership::Leadership;
use crate::shared::Shared;
use crate::shift::Shift;
use crate::store::Message;

/// What the application does with the messages of one channel.
pub(crate) struct Handler {
    callback: Registered<(Message, Leadership)>,
    /// Futures of the application may need the runtime it was started on.
    runtime: Option<tokio::runtime::Handle>,
    shift: Shift,
}

impl Handler {
    pub(crate) fn new(callback: Registered<(Message, Leadership)>) -> Self {
        Self { callback, runtime: tokio::runtime::Handle::try_current().ok(), shift: Shift::default() }
    }

    pub(super) fn is_running(&self) -> bool {
        self.shift.is_on()
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
        if let Err(error) = self.shift.begin("tenure-message", run) {
            // What waits is found at the next look.
            report(&on_failure, format!("could not be run: {error}"));
        }
    }

    fn run(&self, shared: &Arc<Shared>, channel: &ChannelName) {
        let take = || shared.inbox().and_then(|inbox| inbox.take(shared, channel));
        while let Some(delivery) = self.shift.next(take) {
            self.handle(shared, delivery);
        }
    }

    fn handle(&self, shared: &Arc<Shared>, delivery: Delivery) {
        let argument = (delivery.message().clone(), delivery.leadership().clone());
        let finish = || match self.callback.call(argument) {
            Outcome::Now(failure) => Some(failure),
            Outcome::Later(future) => {
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
            Ok(Some(None)) => return delivery.done(),
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
            delivery.failed(failure);
        }
        report(shared, told);
    }
}

fn report(shared: &Shared, message: String) {
    shared.send(Command::Trouble(shared.id, Trouble::Callback { callback: "message", message }));
}
