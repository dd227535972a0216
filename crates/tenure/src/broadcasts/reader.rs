//! The application's reader of broadcasts.

use std::fmt;
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::task::{Context, Poll};

use futures_util::Stream;
use futures_util::future::{Either, select};
use tenure_core::ChannelName;

use super::queues::ReaderQueue;
use crate::contain::shielded;
use crate::pending::PendingNext;
use crate::phase::Phase;
use crate::shared::Shared;
use crate::store::Broadcast;

/// A [`Stream`] of the broadcasts to all candidates of an election on one channel.
///
/// [`Stream`]: https://docs.rs/futures-util/latest/futures_util/stream/trait.Stream.html
///
/// Made by [`Candidacy::broadcasts`](crate::Candidacy::broadcasts). Every reader gets every broadcast, whether or not its
/// candidate leads. At most a thousand wait to be read; beyond that the oldest are dropped, which is
/// [reported](crate::ElectionError::BroadcastsMissed).
///
/// The stream ends when the candidacy has been stopped and nothing is left.
///
/// ```
/// # let client = tenure::blocking::Client::open("memory:")?;
/// let candidacy = client.election("nightly-report")?.candidate().start()?;
/// let mut reloads = candidacy.broadcasts("reload")?;
/// reloads.listening();
/// client.election("nightly-report")?.broadcast("reload", &["prices"])?;
///
/// let heard = reloads.next().expect("the candidacy has not been stopped");
/// let tables: Vec<String> = heard.json()?;
/// assert_eq!(tables, ["prices"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Broadcasts {
    reader: Arc<BroadcastReader>,
    pending: PendingNext<Broadcast>,
}

impl Broadcasts {
    /// Adds a reader. The candidacy must have broadcast queues.
    pub(crate) fn new(shared: Arc<Shared>, channel: ChannelName) -> Self {
        let line = match shared.broadcast_queues() {
            Some(broadcast_queues) => broadcast_queues.open(&channel),
            None => Arc::new(ReaderQueue::new(channel)),
        };
        Self { reader: Arc::new(BroadcastReader { shared, line }), pending: PendingNext::default() }
    }

    /// Returns the name of the channel.
    #[must_use]
    pub fn channel(&self) -> &ChannelName {
        self.reader.line.channel()
    }

    /// Waits for the next broadcast; `None` when the candidacy has been stopped and nothing is left.
    ///
    /// Cancel safe: nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Broadcast> {
        self.pending.clear();
        self.reader.next().await
    }

    /// Waits until this candidate receives broadcasts, which takes about one round trip from the first subscription.
    ///
    /// Earlier broadcasts are not received. Returns at once when the candidacy has been stopped. Cancel safe.
    pub async fn listening(&self) {
        let Some(broadcast_queues) =
            self.reader.shared.broadcast_queues().filter(|_| self.reader.shared.is_same_process())
        else {
            return;
        };
        let mut listening = broadcast_queues.listening();
        let stopped = pin!(self.reader.shared.phase().wait_until(|phase| matches!(phase, Phase::Stopped)));
        select(pin!(shielded(listening.wait_for(|is_listening| *is_listening))), stopped).await;
    }
}

impl Stream for Broadcasts {
    type Item = Broadcast;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Broadcast>> {
        let Self { reader, pending } = self.get_mut();
        pending.poll(cx, || {
            let reader = Arc::clone(reader);
            async move { reader.next().await }
        })
    }
}

/// A reader's subscription.
struct BroadcastReader {
    shared: Arc<Shared>,
    line: Arc<ReaderQueue>,
}

impl BroadcastReader {
    async fn next(&self) -> Option<Broadcast> {
        if !self.shared.is_same_process() {
            return None;
        }
        let mut stopped = pin!(self.shared.phase().wait_until(|phase| matches!(phase, Phase::Stopped)));
        loop {
            let mut notified = pin!(self.line.notify.notified());
            // Listening begins before looking, so that nothing falls between the two.
            notified.as_mut().enable();
            if let Some(broadcast) = self.line.take(&self.shared) {
                return Some(broadcast);
            }
            if let Either::Right(_) = select(pin!(shielded(notified)), &mut stopped).await {
                return None;
            }
        }
    }
}

impl Drop for BroadcastReader {
    fn drop(&mut self) {
        if let Some(broadcast_queues) = self.shared.broadcast_queues() {
            broadcast_queues.close(&self.line);
        }
    }
}

impl fmt::Debug for Broadcasts {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Broadcasts").field("channel", self.channel()).finish_non_exhaustive()
    }
}
