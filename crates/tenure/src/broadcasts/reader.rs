//! Where the application reads what is said to all candidates.

use std::fmt;
use std::pin::pin;
use std::sync::Arc;

use futures_util::Stream;
use futures_util::future::{Either, select};
use futures_util::stream::unfold;
use tenure_core::ChannelName;

use super::queues::ReaderQueue;
use crate::blocking::block_on;
use crate::contain::shielded;
use crate::phase::Phase;
use crate::shared::Shared;
use crate::store::Broadcast;

/// What is broadcast to all candidates of an election on one channel, as this candidate hears it. Made by
/// [`Candidacy::broadcasts`](crate::Candidacy::broadcasts).
///
/// Every reader gets every broadcast, whether or not its candidate leads. At most a thousand wait to be read; beyond that
/// the oldest are dropped, which is [reported](crate::ElectionError::BroadcastsMissed).
///
/// ```
/// # let client = tenure::Client::open("memory:")?;
/// let election = client.election("nightly-report")?.candidate().start()?;
/// let mut reloads = election.broadcasts("reload")?;
/// reloads.listening_blocking();
/// client.election("nightly-report")?.broadcast_blocking("reload", &["prices"])?;
///
/// let heard = reloads.next_blocking().expect("the election has not been stopped");
/// let tables: Vec<String> = heard.json()?;
/// assert_eq!(tables, ["prices"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct Broadcasts {
    shared: Arc<Shared>,
    line: Arc<ReaderQueue>,
}

impl Broadcasts {
    /// Begins to read. The candidacy must have a board.
    pub(crate) fn new(shared: Arc<Shared>, channel: ChannelName) -> Self {
        let line = match shared.broadcast_queues() {
            Some(broadcast_queues) => broadcast_queues.open(&channel),
            None => Arc::new(ReaderQueue::new(channel)),
        };
        Self { shared, line }
    }

    /// The channel's name.
    #[must_use]
    pub fn channel(&self) -> &ChannelName {
        self.line.channel()
    }

    /// The next broadcast; `None` when the election has been stopped and nothing is left.
    ///
    /// Cancel safe: nothing is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Broadcast> {
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

    /// [`next`](Self::next) for plain threads.
    pub fn next_blocking(&mut self) -> Option<Broadcast> {
        block_on(self.next())
    }

    /// Waits until this candidate hears what is said, which takes about one round trip after it has begun to listen. What was
    /// said before is not heard. Returns at once when the election has been stopped. Cancel safe.
    pub async fn listening(&self) {
        let Some(broadcast_queues) = self.shared.broadcast_queues().filter(|_| self.shared.is_same_process()) else {
            return;
        };
        let mut listening = broadcast_queues.listening();
        let stopped = pin!(self.shared.phase().wait_until(|phase| matches!(phase, Phase::Stopped)));
        select(pin!(shielded(listening.wait_for(|is_listening| *is_listening))), stopped).await;
    }

    /// [`listening`](Self::listening) for plain threads.
    pub fn listening_blocking(&self) {
        block_on(self.listening());
    }

    /// The broadcasts as a stream, which ends when the election has been stopped.
    pub fn into_stream(self) -> impl Stream<Item = Broadcast> + Send {
        unfold(self, |mut reader| async { reader.next().await.map(|broadcast| (broadcast, reader)) })
    }
}

impl Drop for Broadcasts {
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
