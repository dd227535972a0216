//! What an application can watch happen.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};

use tenure_core::{Anomaly, ChannelName, Instant, Leader, LossReason, Term, Trust};
use tokio::sync::mpsc;

use crate::blocking::block_on;
use crate::contain::{shield, shielded};
use crate::store::mailbox::MAX_DEAD_LETTERS;
use crate::store::{MessageId, StoreError};
use crate::with_causes;

/// Something that happened to a candidacy.
#[derive(Debug, Clone, PartialEq)]
pub struct Event {
    /// When, on the candidate's own clock.
    pub at: Instant,
    /// When, in milliseconds since the Unix epoch. For people only.
    pub at_unix_ms: u64,
    /// What.
    pub kind: EventKind,
}

/// What happened.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum EventKind {
    /// Leadership began.
    Elected {
        /// The term: the fencing token.
        term: Term,
        /// Until when it may be acted under unless renewed.
        trust: Trust,
    },
    /// Leadership was prolonged.
    Renewed {
        /// The term, unchanged.
        term: Term,
        /// Until when it may be acted under now.
        trust: Trust,
    },
    /// Leadership ended; work must stop. Strictly alternates with `Elected`.
    Lost {
        /// The term that ended.
        term: Term,
        /// Why.
        reason: LossReason,
        /// When work that still runs is ended by force.
        kill_at: Instant,
    },
    /// Somebody else leads now, or nobody.
    Observed {
        /// Who.
        leader: Option<Leader>,
    },
    /// Something happened to a tick of a job.
    #[cfg(feature = "cron")]
    Job {
        /// Of which job.
        job: tenure_core::JobName,
        /// Which tick.
        tick: tenure_core::jobs::Tick,
        /// What.
        job_event: crate::cron::JobEvent,
    },
    /// Something went wrong. The candidacy goes on.
    Error {
        /// What.
        error: ElectionError,
    },
    /// The candidate has left the election. Nothing follows.
    Stopped,
    /// The reader was too slow: this many events were dropped here.
    Missed {
        /// How many.
        count: u64,
    },
}

/// What went wrong.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ElectionError {
    /// The elector noticed it.
    Anomaly(Anomaly),
    /// The store failed.
    Store(StoreError),
    /// A callback of the application panicked, failed or hung.
    Callback {
        /// Which one: `elected`, `lost`, `error`, `message` or `broadcast`.
        callback: &'static str,
        /// What it did.
        message: String,
    },
    /// A part of this library panicked. Nobody leads by it any more, and it has begun anew.
    Panicked {
        /// Which part.
        what: &'static str,
        /// What the panic said.
        message: String,
    },
    /// A callback, a handler or work of this candidacy was about to wait for the end of the candidacy, which waits for it.
    WaitsForItself {
        /// What it called.
        verb: &'static str,
    },
    /// A message could not be handled, too often. It is kept for people.
    DeadLettered {
        /// On which channel.
        channel: ChannelName,
        /// Which message.
        id: MessageId,
        /// How often it was tried.
        attempts: u32,
        /// Why it failed the last time.
        why: String,
    },
    /// Something is wrong with a job.
    #[cfg(feature = "cron")]
    Job(crate::cron::JobError),
    /// So many messages have been set aside that the oldest of them were dropped.
    DeadLettersDropped {
        /// How many.
        count: u64,
    },
    /// Broadcasts came faster than they were read, and the oldest were dropped.
    BroadcastsMissed {
        /// On which channel, if that is known.
        channel: Option<ChannelName>,
        /// How many, since this was last said.
        count: u64,
    },
}

impl fmt::Display for ElectionError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Anomaly(anomaly) => anomaly.fmt(f),
            // The causes are what people look for: "disk full", "permission denied".
            Self::Store(error) => f.write_str(&with_causes(error)),
            Self::Callback { callback, message } => write!(f, "the {callback} callback {message}"),
            Self::WaitsForItself { verb } => write!(
                f,
                "{verb} was called by a callback, a handler or work of the same candidacy, which it waits for; it has begun and \
                 was not waited for; call request_{verb}() there"
            ),
            Self::Panicked { what, message } => write!(f, "{what} panicked, and begins anew: {message}"),
            Self::DeadLettered { channel, id, attempts, why } => write!(
                f,
                "message {id} on channel {channel} was set aside after {attempts} attempt(s): {why}; look at it with \
                 `tenure messages NAME --aside`"
            ),
            #[cfg(feature = "cron")]
            Self::Job(error) => error.fmt(f),
            Self::DeadLettersDropped { count } => {
                write!(f, "{count} of the oldest messages set aside were dropped: only {MAX_DEAD_LETTERS} are kept")
            }
            Self::BroadcastsMissed { channel: Some(channel), count } => {
                write!(f, "{count} broadcast(s) on channel {channel} were dropped: whoever reads them is too slow")
            }
            Self::BroadcastsMissed { channel: None, count } => {
                write!(f, "{count} broadcast(s) were dropped: they came faster than they could be taken in")
            }
        }
    }
}

impl PartialEq for ElectionError {
    /// Troubles are equal when they read the same: errors of drivers cannot be compared otherwise.
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

/// The events of one election from the moment of subscription on.
///
/// At most a thousand wait to be read; a slower reader is told how many it missed.
#[derive(Debug)]
pub struct Events(pub(crate) mpsc::Receiver<Event>);

impl Events {
    /// The next event; `None` after the last one.
    ///
    /// Cancel safe: no event is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Event> {
        shielded(self.0.recv()).await
    }

    /// The next event, for plain threads; `None` after the last one.
    pub fn next_blocking(&mut self) -> Option<Event> {
        block_on(self.0.recv())
    }
}

impl futures_util::Stream for Events {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        self.get_mut().0.poll_recv(&mut Context::from_waker(&shield(cx.waker())))
    }
}

/// The sending side: never waits for a slow reader.
#[derive(Debug)]
pub(crate) struct Subscriber {
    sender: mpsc::Sender<Event>,
    missed: u64,
    /// What was missed last.
    last: Option<Event>,
}

const EVENTS_KEPT: usize = 1_000;

pub(crate) fn subscription() -> (Subscriber, Events) {
    // One more, so that a reader who missed the last events can still be told so.
    let (sender, receiver) = mpsc::channel(EVENTS_KEPT + 1);
    (Subscriber { sender, missed: 0, last: None }, Events(receiver))
}

impl Subscriber {
    /// Returns whether somebody still reads.
    pub(crate) fn tell(&mut self, event: &Event) -> bool {
        let needed = 1 + usize::from(self.missed > 0);
        if self.sender.capacity() <= needed {
            self.missed += 1;
            self.last = Some(event.clone());
            return !self.sender.is_closed();
        }
        self.tell_missed();
        self.sender.try_send(event.clone()).is_ok()
    }

    fn tell_missed(&mut self) {
        if let Some(last) = self.last.take() {
            let kind = EventKind::Missed { count: std::mem::take(&mut self.missed) };
            // There is room, or nobody reads.
            let _ = self.sender.try_send(Event { kind, ..last });
        }
    }
}

impl Drop for Subscriber {
    fn drop(&mut self) {
        self.tell_missed();
    }
}
