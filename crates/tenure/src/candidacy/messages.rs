//! Messages to whoever leads, on the leader's side.

use std::future::Future;
use std::sync::Arc;

use tenure_core::ChannelName;

use super::{Candidacy, CandidacyBuilder};
use crate::callback::{Callback, CallbackResult};
use crate::driver::DriverCommand;
use crate::error::Error;
use crate::leadership::Leadership;
use crate::messages::{Channel, MessageHandler};
use crate::store::Message;

impl CandidacyBuilder {
    /// Called with each message on a channel while this candidate leads, one at a time per channel, on a thread of its
    /// own. Returning without an error settles the message.
    ///
    /// A panic or an error is reported and counts as a failed attempt: the message is tried again after a while, and set
    /// aside after [too many](Self::max_attempts). Meanwhile other senders' messages, and other channels, go on. When
    /// the leadership ends, the handler is told through its [`Leadership`]; what it does not finish goes to the next
    /// leader. So a message may come more than once; [`Message::id`] tells.
    ///
    /// ```
    /// use tenure::{ChannelName, Client};
    /// # let (sender, receiver) = std::sync::mpsc::channel();
    ///
    /// let client = Client::open("memory:")?;
    /// let election = client
    ///     .election("nightly-report")?
    ///     .candidate()
    ///     .on_message(ChannelName::new("refresh")?, move |(message, leadership)| {
    ///         println!("refresh {} under term {}", message.payload, leadership.term());
    /// #       sender.send(()).ok();
    ///     })
    ///     .start()?;
    /// client.election("nightly-report")?.send_blocking("refresh", "monday")?;
    /// # receiver.recv().ok();
    /// # election.stop_blocking();
    /// # Ok::<(), tenure::Error>(())
    /// ```
    pub fn on_message<R: CallbackResult>(
        mut self,
        channel: ChannelName,
        handler: impl Fn((Message, Leadership)) -> R + Send + Sync + 'static,
    ) -> Self {
        self.handlers.insert(channel, Callback::sync(handler));
        self
    }

    /// [`on_message`](Self::on_message) with a future, which runs on the runtime `start` was called on, if there is one.
    /// It is dropped when the leadership has ended and the grace is over.
    pub fn on_message_async<F>(
        mut self,
        channel: ChannelName,
        handler: impl Fn((Message, Leadership)) -> F + Send + Sync + 'static,
    ) -> Self
    where
        F: Future<Output: CallbackResult> + Send + 'static,
    {
        self.handlers.insert(channel, Callback::future(handler));
        self
    }

    /// After how many failed attempts a message is set aside; at least one. Default: 5.
    pub fn max_attempts(mut self, attempts: u32) -> Self {
        self.max_attempts = attempts.max(1);
        self
    }
}

impl Candidacy {
    /// Begins to read a channel of messages to whoever leads.
    ///
    /// # Errors
    /// When the name breaks the rule for names, or the store has no mailbox.
    pub fn channel(&self, name: &str) -> Result<Channel, Error> {
        let name = ChannelName::new(name)?;
        self.client.check_mailbox()?;
        if self.shared.open_inbox(std::collections::BTreeMap::new) {
            self.shared.send(DriverCommand::Listen(self.shared.id));
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
