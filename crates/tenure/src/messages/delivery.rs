//! A message in the application's hands, and where it gets them.

use std::fmt;
use std::future::Future;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::Stream;
use futures_util::future::{Either, select};
use serde::de::DeserializeOwned;
use tenure_core::messages::HandlingOutcome;
use tenure_core::{ChannelName, Term};
use tokio::sync::Notify;

use crate::contain::shielded;
use crate::leadership::{Leadership, Work};
use crate::pending::PendingNext;
use crate::phase::Phase;
use crate::shared::Shared;
use crate::store::Message;

/// A channel of messages to the leader, as this candidate reads it. Made by
/// [`Candidacy::channel`](crate::Candidacy::channel).
///
/// It is silent while this candidate does not lead, and begins again when it does. Several readers of one channel share
/// its messages. Dropping the last one ends the reading: what was not taken waits in the store.
///
/// It is a [`Stream`], too, which ends when the candidacy has been stopped.
///
/// [`Stream`]: https://docs.rs/futures-util/latest/futures_util/stream/trait.Stream.html
///
/// ```
/// # let client = tenure::blocking::Client::open("memory:")?;
/// let candidacy = client.election("nightly-report")?.candidate().start()?;
/// let mut refreshes = candidacy.channel("refresh")?;
/// client.election("nightly-report")?.send("refresh", &["monday", "tuesday"])?;
///
/// let delivery = refreshes.next().expect("the candidacy has not been stopped");
/// let days: Vec<String> = delivery.json()?;
/// assert_eq!(days, ["monday", "tuesday"]);
/// delivery.ack();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// A delivery keeps the lease from being released. Handling that may take longer than the grace stops when leadership ends, and
/// drops the delivery; that counts no attempt, and the next leader gets the message:
///
/// ```
/// # #[tokio::main(flavor = "current_thread")] async fn main() -> Result<(), tenure::Error> {
/// # async fn refresh(_: &tenure::store::Message) { std::future::pending().await }
/// # let client = tenure::Client::open("memory:")?;
/// # let election = client.election("nightly-report")?;
/// # let candidacy = election.candidate().start()?;
/// # election.send("refresh", "monday").await?;
/// let mut refreshes = candidacy.channel("refresh")?;
/// while let Some(delivery) = refreshes.next().await {
///     # candidacy.request_stop();
///     let leadership = delivery.leadership().clone();
///     tokio::select! {
///         () = refresh(delivery.message()) => delivery.ack(),
///         () = leadership.cancelled() => drop(delivery),
///     }
/// }
/// # let waiting = election.messages(tenure::MessageState::Pending, 10).await?;
/// # assert_eq!((waiting.len(), waiting[0].attempts), (1, 0));
/// # Ok(()) }
/// ```
pub struct Channel {
    reader: Arc<ChannelReader>,
    pending: PendingNext<Delivery>,
}

impl Channel {
    /// Begins to read. The candidacy must have an inbox.
    pub(crate) fn new(shared: Arc<Shared>, name: ChannelName) -> Self {
        let notify = shared.inbox().map(|inbox| inbox.open(&shared, &name)).unwrap_or_default();
        Self { reader: Arc::new(ChannelReader { shared, name, notify }), pending: PendingNext::default() }
    }

    /// Returns the name of the channel.
    #[must_use]
    pub fn name(&self) -> &ChannelName {
        &self.reader.name
    }

    /// Waits for the next message to handle; `None` when the candidacy has been stopped.
    ///
    /// Cancel safe: no message is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Delivery> {
        self.pending.clear();
        self.reader.next().await
    }
}

impl Stream for Channel {
    type Item = Delivery;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Delivery>> {
        let Self { reader, pending } = self.get_mut();
        pending.poll(cx, || {
            let reader = Arc::clone(reader);
            async move { reader.next().await }
        })
    }
}

/// One who reads a channel.
struct ChannelReader {
    shared: Arc<Shared>,
    name: ChannelName,
    notify: Arc<Notify>,
}

impl ChannelReader {
    async fn next(&self) -> Option<Delivery> {
        let inbox = self.shared.inbox().filter(|_| self.shared.is_same_process())?;
        let mut stopped = pin!(self.shared.phase().wait_until(|phase| matches!(phase, Phase::Stopped)));
        loop {
            let mut notified = pin!(self.notify.notified());
            // Listening begins before looking, so that no message falls between the two.
            notified.as_mut().enable();
            if let Some(delivery) = inbox.take(&self.shared, &self.name) {
                return Some(delivery);
            }
            if let Either::Right(_) = select(pin!(shielded(notified)), &mut stopped).await {
                return None;
            }
        }
    }
}

impl Drop for ChannelReader {
    fn drop(&mut self) {
        if let Some(inbox) = self.shared.inbox() {
            inbox.close(&self.shared, &self.name);
        }
    }
}

impl fmt::Debug for Channel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Channel").field("name", self.name()).finish_non_exhaustive()
    }
}

/// A message to handle, under the leadership that received it.
///
/// Say what became of it with [`ack`](Self::ack) or [`nack`](Self::nack); dropping it counts as a failed attempt while its
/// leadership lasts, and as none after that. Until it is settled or dropped, no later message of the same sender on the same
/// channel is handed out, and the lease is not released: a delivery that is held for longer than the grace after its leadership
/// has ended [delays the next leader](crate::Candidacy#how-long-stopping-takes). [`Channel`] shows how to let go in time.
///
/// A message whose leadership ended before it was settled goes to the next leader; that is no failed attempt, and so a message
/// may be handled more than once. A handler that must not act twice remembers [`Message::id`].
#[must_use = "a delivery that is dropped counts as a failed attempt"]
pub struct Delivery {
    message: Message,
    leadership: Leadership,
    /// Gone when it is settled.
    work: Option<Work>,
}

impl Delivery {
    pub(super) fn new(message: Message, leadership: Leadership, work: Work) -> Self {
        Self { message, leadership, work: Some(work) }
    }

    /// Returns the message.
    #[must_use]
    pub fn message(&self) -> &Message {
        &self.message
    }

    /// Returns the term to handle it under: the fencing token.
    #[must_use]
    pub fn term(&self) -> Term {
        self.leadership.term()
    }

    /// Returns the leadership to handle it under. Stop when it is [cancelled](Leadership::cancelled).
    #[must_use]
    pub fn leadership(&self) -> &Leadership {
        &self.leadership
    }

    /// Parses the payload.
    ///
    /// # Errors
    /// When it is something else than `T`.
    pub fn json<T: DeserializeOwned>(&self) -> Result<T, serde_json::Error> {
        serde_json::from_str(&self.message.payload)
    }

    /// Acknowledges the message: it was handled. The store is told in the background, for as long as this term lasts.
    pub fn ack(mut self) {
        self.settle(HandlingOutcome::Done);
    }

    /// Reports that the message could not be handled now. It is retried after a while, or becomes a dead letter after too many
    /// attempts.
    pub fn nack(mut self, why: impl Into<String>) {
        self.settle(HandlingOutcome::Failed(why.into()));
    }

    /// It was not finished, because the leadership ended.
    pub(super) fn interrupted(mut self) {
        self.settle(HandlingOutcome::Interrupted);
    }

    /// Runs a future until it is done or its time is over.
    pub(super) async fn while_valid<T>(&self, future: impl Future<Output = T>) -> Option<T> {
        match select(pin!(future), pin!(self.leadership.overdue())).await {
            Either::Left((output, _)) => Some(output),
            Either::Right(_) => None,
        }
    }

    fn settle(&mut self, outcome: HandlingOutcome) {
        let shared = self.leadership.shared();
        if let (Some(work), Some(inbox)) = (self.work.take(), shared.inbox()) {
            inbox.finish(shared, &self.message, outcome, work);
        }
    }
}

impl Drop for Delivery {
    fn drop(&mut self) {
        if self.work.is_some() {
            let interrupted = self.leadership.is_cancelled();
            let dropped = || HandlingOutcome::Failed("it was dropped without a word".to_owned());
            self.settle(if interrupted { HandlingOutcome::Interrupted } else { dropped() });
        }
    }
}

impl fmt::Debug for Delivery {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Delivery").field("message", &self.message).field("term", &self.term()).finish_non_exhaustive()
    }
}
