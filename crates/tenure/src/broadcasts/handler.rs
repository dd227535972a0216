//! Handlers of broadcasts: each channel has a thread of its own, while there is something on it to handle.

use std::sync::Arc;

use tenure_core::ChannelName;

use super::board::Line;
use crate::callback::{Registered, run_to_end};
use crate::driver::Command;
use crate::event::Trouble;
use crate::phase::Phase;
use crate::shared::Shared;
use crate::shift::Shift;
use crate::store::Broadcast;

/// What the application does with the broadcasts on one channel.
pub(crate) struct Handler {
    callback: Registered<Broadcast>,
    line: Arc<Line>,
    /// Futures of the application may need the runtime it was started on.
    runtime: Option<tokio::runtime::Handle>,
    shift: Shift,
}

impl Handler {
    pub(crate) fn new(channel: ChannelName, callback: Registered<Broadcast>) -> Self {
        let runtime = tokio::runtime::Handle::try_current().ok();
        Self { callback, line: Arc::new(Line::new(channel)), runtime, shift: Shift::default() }
    }

    pub(super) fn line(&self) -> &Arc<Line> {
        &self.line
    }

    /// There is something to handle.
    pub(super) fn wake(self: &Arc<Self>, shared: &Arc<Shared>) {
        let (handler, on_thread) = (Arc::clone(self), Arc::clone(shared));
        if let Err(error) = self.shift.begin("tenure-broadcast", move || handler.run(&on_thread)) {
            // What waits is found with the next one.
            report(shared, format!("could not be run: {error}"));
        }
    }

    fn run(&self, shared: &Shared) {
        while let Some(broadcast) = self.shift.next(|| self.take(shared)) {
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
    shared.send(Command::Trouble(shared.id, Trouble::Callback { callback: "broadcast", message }));
}
