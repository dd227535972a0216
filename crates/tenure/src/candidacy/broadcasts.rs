//! Broadcasts, on the candidate's side.

use std::collections::BTreeMap;
use std::future::Future;
use std::sync::Arc;

use tenure_core::ChannelName;

use super::{Candidacy, CandidacyBuilder};
use crate::broadcasts::{BroadcastCompanion, BroadcastHandler, Broadcasts};
use crate::callback::{Callback, CallbackResult};
use crate::error::Error;
use crate::store::Broadcast;

impl<C> CandidacyBuilder<C> {
    /// Sets the handler of the [broadcasts](crate::Election::broadcast) on a channel; [`start`](Self::start) fails when a channel
    /// has two.
    ///
    /// It is called whether or not this candidate leads, with one broadcast at a time per channel, on a thread of its own. A
    /// panic or an error is reported and changes nothing else. A slow handler holds up neither renewals nor other
    /// channels; at most a thousand broadcasts wait for it, and beyond that the oldest are dropped, which is
    /// [reported](crate::ElectionError::BroadcastsMissed).
    ///
    /// ```
    /// use tenure::blocking::Client;
    /// # let (sender, receiver) = std::sync::mpsc::channel();
    ///
    /// let client = Client::open("memory:")?;
    /// let candidacy = client
    ///     .election("nightly-report")?
    ///     .candidate()
    ///     .on_broadcast("reload", move |broadcast| {
    ///         println!("{} wants all to reload {}", broadcast.sender, broadcast.payload);
    /// #       sender.send(()).ok();
    ///     })
    ///     .start()?;
    /// # candidacy.broadcasts("reload")?.listening();
    /// client.election("nightly-report")?.broadcast("reload", "prices")?;
    /// # receiver.recv().ok();
    /// # candidacy.stop();
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn on_broadcast<R: CallbackResult>(
        mut self,
        channel: impl TryInto<ChannelName, Error: Into<Error>>,
        handler: impl Fn(Broadcast) -> R + Send + Sync + 'static,
    ) -> Self {
        self.plan.handle_broadcasts(channel, Callback::sync(handler));
        self
    }

    /// Sets an async [handler of broadcasts](Self::on_broadcast); its future runs on the runtime `start` was called on, if any.
    pub fn on_broadcast_async<F>(
        mut self,
        channel: impl TryInto<ChannelName, Error: Into<Error>>,
        handler: impl Fn(Broadcast) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output: CallbackResult> + Send + 'static,
    {
        self.plan.handle_broadcasts(channel, Callback::future(handler));
        self
    }
}

impl Candidacy {
    /// Subscribes to the [broadcasts](crate::Election::broadcast) to all candidates of this election on a channel.
    ///
    /// # Errors
    /// When the name breaks the rule for names, or the store cannot broadcast.
    pub fn broadcasts(&self, channel: &str) -> Result<Broadcasts, Error> {
        let channel = ChannelName::new(channel)?;
        self.client.check_pubsub()?;
        if self.shared.open_broadcast_queues(Vec::new) {
            self.shared.attach(BroadcastCompanion);
        }
        Ok(Broadcasts::new(Arc::clone(&self.shared), channel))
    }
}

/// Handlers run on the runtime that is there when the candidacy begins.
pub(super) fn handlers(registered: BTreeMap<ChannelName, Callback<Broadcast>>) -> Vec<Arc<BroadcastHandler>> {
    registered.into_iter().map(|(channel, callback)| Arc::new(BroadcastHandler::new(channel, callback))).collect()
}
