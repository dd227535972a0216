//! Queues of one candidacy's broadcasts, between the driver that receives them and the application that reads them.

use std::collections::VecDeque;
use std::fmt;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tenure_core::ChannelName;
use tokio::sync::{Notify, watch};

use super::handler::BroadcastHandler;
use crate::event::ElectionError;
use crate::shared::Shared;
use crate::store::{Broadcast, PubSubEvent};

/// The broadcasts received by one candidacy. Every reader has its own queue, so that each gets all of them.
pub(crate) struct BroadcastQueues {
    lines: Mutex<Vec<Arc<ReaderQueue>>>,
    handlers: Vec<Arc<BroadcastHandler>>,
    /// Whether what is said now is heard.
    is_listening: watch::Sender<bool>,
}

/// The broadcasts that one reader has not taken yet.
#[derive(Debug)]
pub(super) struct ReaderQueue {
    channel: ChannelName,
    waiting: Mutex<QueuedBroadcast>,
    pub(super) notify: Notify,
}

#[derive(Debug, Default)]
struct QueuedBroadcast {
    broadcasts: VecDeque<Broadcast>,
    /// How many were dropped since something was taken.
    dropped: u64,
}

/// More do not wait for a reader that does not keep up: the oldest are dropped.
const MAX_WAITING: usize = 1_000;

impl BroadcastQueues {
    pub(crate) fn new(handlers: Vec<Arc<BroadcastHandler>>) -> Self {
        let lines = handlers.iter().map(|handler| Arc::clone(handler.line())).collect();
        Self { lines: Mutex::new(lines), handlers, is_listening: watch::Sender::new(false) }
    }

    /// Adds a reader of a channel.
    pub(super) fn open(&self, channel: &ChannelName) -> Arc<ReaderQueue> {
        let line = Arc::new(ReaderQueue::new(channel.clone()));
        self.lines().push(Arc::clone(&line));
        line
    }

    /// Removes a reader.
    pub(super) fn close(&self, line: &Arc<ReaderQueue>) {
        self.lines().retain(|other| !Arc::ptr_eq(other, line));
    }

    /// Watches whether broadcasts are received now.
    pub(super) fn listening(&self) -> watch::Receiver<bool> {
        self.is_listening.subscribe()
    }

    /// Takes in an event of the store. It never waits for a reader.
    pub(super) fn hear(&self, shared: &Arc<Shared>, heard: PubSubEvent) {
        match heard {
            PubSubEvent::Listening => drop(self.is_listening.send_replace(true)),
            PubSubEvent::Broadcast(broadcast) => self.hand_out(shared, &broadcast),
            PubSubEvent::Missed(count) => report_missed(shared, None, count),
            PubSubEvent::Interrupted(error) => {
                self.is_listening.send_replace(false);
                shared.report(ElectionError::Store(error));
            }
            // What a newer contract adds is nothing that readers have asked for.
            _ => {}
        }
    }

    fn hand_out(&self, shared: &Arc<Shared>, broadcast: &Broadcast) {
        let lines: Vec<Arc<ReaderQueue>> =
            self.lines().iter().filter(|line| line.channel == broadcast.channel).cloned().collect();
        for line in lines {
            if line.put(broadcast.clone()) {
                report_missed(shared, Some(broadcast.channel.clone()), 1);
            }
        }
        for handler in self.handlers.iter().filter(|handler| handler.line().channel == broadcast.channel) {
            handler.wake(shared);
        }
    }

    /// A panic elsewhere cannot have left it half changed: every step is made of plain assignments.
    fn lines(&self) -> MutexGuard<'_, Vec<Arc<ReaderQueue>>> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl ReaderQueue {
    pub(super) fn new(channel: ChannelName) -> Self {
        Self { channel, waiting: Mutex::default(), notify: Notify::new() }
    }

    pub(super) fn channel(&self) -> &ChannelName {
        &self.channel
    }

    /// The oldest that waits. How many were dropped before it is reported, but for the first, which was already.
    pub(super) fn take(&self, shared: &Shared) -> Option<Broadcast> {
        let (next, dropped) = {
            let mut waiting = self.waiting();
            (waiting.broadcasts.pop_front(), std::mem::take(&mut waiting.dropped))
        };
        if dropped > 1 {
            report_missed(shared, Some(self.channel.clone()), dropped - 1);
        }
        next
    }

    /// Returns whether something had to be dropped for it, for the first time since something was taken: a reader that hangs
    /// is complained about once.
    fn put(&self, broadcast: Broadcast) -> bool {
        let mut waiting = self.waiting();
        let is_full = waiting.broadcasts.len() >= MAX_WAITING;
        if is_full {
            waiting.broadcasts.pop_front();
            waiting.dropped += 1;
        }
        waiting.broadcasts.push_back(broadcast);
        let is_first = is_full && waiting.dropped == 1;
        drop(waiting);
        self.notify.notify_one();
        is_first
    }

    fn waiting(&self) -> MutexGuard<'_, QueuedBroadcast> {
        self.waiting.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl fmt::Debug for BroadcastQueues {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("BroadcastQueues").field("lines", &self.lines().len()).finish_non_exhaustive()
    }
}

fn report_missed(shared: &Shared, channel: Option<ChannelName>, count: u64) {
    shared.report(ElectionError::BroadcastsMissed { channel, count });
}
