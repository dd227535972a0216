//! What is said to all candidates, on their side.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use tenure_core::ChannelName;

use super::{Candidacy, CandidacyBuilder};
use crate::broadcasts::{BroadcastHandler, Broadcasts};
use crate::callback::{Callback, CallbackResult};
use crate::driver::DriverCommand;
use crate::error::Error;
use crate::store::Broadcast;

impl CandidacyBuilder {
    /// Called with each [broadcast](crate::Election::broadcast) on a channel, whether or not this candidate leads; one at a time
    /// per channel, on a thread of its own.
    ///
    /// A panic or an error is reported and changes nothing else. A handler that is slow holds up neither renewals nor other
    /// channels; at most a thousand broadcasts wait for it, and beyond that the oldest are dropped, which is
    /// [reported](crate::ElectionError::BroadcastsMissed).
    ///
    /// ```
    /// use tenure::{ChannelName, Client};
    /// # let (sender, receiver) = std::sync::mpsc::channel();
    ///
    /// let client = Client::open("memory:")?;
    /// let election = client
    ///     .election("nightly-report")?
    ///     .candidate()
    ///     .on_broadcast(ChannelName::new("reload")?, move |broadcast| {
    ///         println!("{} wants all to reload {}", broadcast.sender, broadcast.payload);
    /// #       sender.send(()).ok();
    ///     })
    ///     .start()?;
    /// # election.broadcasts("reload")?.listening_blocking();
    /// client.election("nightly-report")?.broadcast_blocking("reload", "prices")?;
    /// # receiver.recv().ok();
    /// # election.stop_blocking();
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn on_broadcast<R: CallbackResult>(
        mut self,
        channel: ChannelName,
        handler: impl Fn(Broadcast) -> R + Send + Sync + 'static,
    ) -> Self {
        self.broadcast_handlers.insert(channel, Callback::sync(handler));
        self
    }

    /// [`on_broadcast`](Self::on_broadcast) with a future, which runs on the runtime `start` was called on, if there is one.
    pub fn on_broadcast_async<F>(
        mut self,
        channel: ChannelName,
        handler: impl Fn(Broadcast) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output: CallbackResult> + Send + 'static,
    {
        self.broadcast_handlers.insert(channel, Callback::future(handler));
        self
    }
}

impl Candidacy {
    /// Begins to read what is [broadcast](crate::Election::broadcast) to all candidates of this election on a channel.
    ///
    /// # Errors
    /// When the name breaks the rule for names, or the store cannot broadcast.
    pub fn broadcasts(&self, channel: &str) -> Result<Broadcasts, Error> {
        let channel = ChannelName::new(channel)?;
        self.client.check_pubsub()?;
        if self.shared.open_board(Vec::new) {
            self.shared.send(DriverCommand::Hear(self.shared.id));
        }
        Ok(Broadcasts::new(Arc::clone(&self.shared), channel))
    }
}

/// Handlers run on the runtime that is there when the candidacy begins.
pub(super) fn handlers(registered: BTreeMap<ChannelName, Callback<Broadcast>>) -> Vec<Arc<BroadcastHandler>> {
    registered.into_iter().map(|(channel, callback)| Arc::new(BroadcastHandler::new(channel, callback))).collect()
}
