//! Messages to the leader, on the leader's side.

use std::future::Future;
use std::sync::Arc;

use tenure_core::ChannelName;

use super::{Candidacy, CandidacyBuilder};
use crate::callback::{Callback, CallbackResult};
use crate::error::Error;
use crate::leadership::Leadership;
use crate::messages::{Channel, MessageCompanion, MessageHandler};
use crate::store::Message;

impl<C> CandidacyBuilder<C> {
    /// Sets the handler of the messages on a channel while this candidate leads; [`start`](Self::start) fails when a channel has
    /// two.
    ///
    /// It is called with one message at a time per channel, on a thread of its own. Returning without an error settles the
    /// message. A panic or an error is reported and counts as a failed attempt: the message is tried again after a while, and
    /// becomes a dead letter after [too many](Self::max_attempts). Meanwhile other senders' messages, and other channels, go
    /// on. When the leadership ends, the handler is told through its [`Leadership`], and the lease is not released
    /// [before it has returned](Candidacy#how-long-stopping-takes); unfinished messages go to the next leader. So a message may
    /// come more than once; [`Message::id`] identifies it.
    ///
    /// ```
    /// use tenure::blocking::Client;
    /// # let (sender, receiver) = std::sync::mpsc::channel();
    ///
    /// let client = Client::open("memory:")?;
    /// let candidacy = client
    ///     .election("nightly-report")?
    ///     .candidate()
    ///     .on_message("refresh", move |message, leadership| {
    ///         println!("refresh {} under term {}", message.payload, leadership.term());
    /// #       sender.send(()).ok();
    ///     })
    ///     .start()?;
    /// client.election("nightly-report")?.send("refresh", "monday")?;
    /// # receiver.recv().ok();
    /// # candidacy.stop();
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn on_message<R: CallbackResult>(
        mut self,
        channel: impl TryInto<ChannelName, Error: Into<Error>>,
        handler: impl Fn(Message, Leadership) -> R + Send + Sync + 'static,
    ) -> Self {
        self.plan.handle_messages(channel, Callback::sync(move |(message, leadership)| handler(message, leadership)));
        self
    }

    /// Sets an async [handler of messages](Self::on_message); its future runs on the runtime `start` was called on, if any.
    ///
    /// That runtime must live as long as the candidacy. The future is dropped when the leadership has ended and the grace is over.
    pub fn on_message_async<F>(
        mut self,
        channel: impl TryInto<ChannelName, Error: Into<Error>>,
        handler: impl Fn(Message, Leadership) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output: CallbackResult> + Send + 'static,
    {
        self.plan.handle_messages(channel, Callback::future(move |(message, leadership)| handler(message, leadership)));
        self
    }

    /// Sets the number of failed attempts after which a message becomes a dead letter. Default: 5.
    ///
    /// [`start`](Self::start) fails when it is zero.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.plan.max_attempts = attempts;
        self
    }
}

impl Candidacy {
    /// Opens a channel to read the messages sent to the leader.
    ///
    /// A [`Delivery`](crate::Delivery) that is held when the leadership ends keeps the lease from being released:
    /// [how long that may take](Self#how-long-stopping-takes), and [how to let go in time](Channel).
    ///
    /// # Errors
    /// When the name breaks the rule for names, or the store has no mailbox.
    pub fn channel(&self, name: &str) -> Result<Channel, Error> {
        let name = ChannelName::new(name)?;
        self.client.check_mailbox()?;
        if self.shared.open_inbox(std::collections::BTreeMap::new) {
            self.shared.attach(MessageCompanion::new(self.client.message_hints()));
        }
        Ok(Channel::new(Arc::clone(&self.shared), name))
    }
}

/// Handlers run on the runtime that is there when the candidacy begins.
pub(super) fn handlers(
    registered: std::collections::BTreeMap<ChannelName, Callback<(Message, Leadership)>>,
) -> std::collections::BTreeMap<ChannelName, MessageHandler> {
    registered.into_iter().map(|(channel, callback)| (channel, MessageHandler::new(callback))).collect()
}
