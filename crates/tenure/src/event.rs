//! Events of a candidacy, for the application to watch.

use std::fmt;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::SystemTime;

use tenure_core::{Anomaly, ChannelName, ElectionName, Instant, Leader, LossReason, Term, Trust};
use tokio::sync::mpsc;

use crate::contain::{shield, shielded};
use crate::leadership::Leadership;
use crate::store::mailbox::MAX_DEAD_LETTERS;
use crate::store::{MessageId, StoreError};
use crate::with_causes;

/// An event in the life of a candidacy.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub struct Event {
    /// Time of the event on the candidate's own clock.
    pub at: Instant,
    /// Time of the event on the wall clock; for people only.
    pub time: SystemTime,
    /// The kind of event, and its details.
    pub kind: EventKind,
}

impl Event {
    /// An event as a candidacy would report it, for tests of code that handles events.
    #[must_use]
    pub fn new(at: Instant, time: SystemTime, kind: EventKind) -> Self {
        Self { at, time, kind }
    }
}

impl fmt::Display for Event {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.kind.fmt(f)
    }
}

/// The kind of an [`Event`], and its details.
#[derive(Debug, Clone, PartialEq)]
#[non_exhaustive]
pub enum EventKind {
    /// Leadership began.
    Elected {
        /// The term: the fencing token.
        term: Term,
        /// How long it may be acted under unless renewed.
        trust: Trust,
        /// The leadership, to work under.
        leadership: Leadership,
    },
    /// Leadership was renewed.
    Renewed {
        /// The term, unchanged.
        term: Term,
        /// How long it may be acted under now.
        trust: Trust,
    },
    /// Leadership ended; work must stop. Strictly alternates with `Elected`.
    Lost {
        /// The term that ended.
        term: Term,
        /// The reason.
        reason: LossReason,
        /// The instant at which work that still runs is ended by force.
        kill_at: Instant,
    },
    /// Another candidate leads now, or none does.
    Observed {
        /// The leader, if there is one.
        leader: Option<Leader>,
    },
    /// A tick of a job fired or was passed over, or its run is retried or has ended.
    #[cfg(feature = "cron")]
    Job {
        /// The name of the job.
        job: tenure_core::JobName,
        /// The tick.
        tick: tenure_core::jobs::Tick,
        /// The kind of job event.
        job_event: crate::cron::JobEvent,
    },
    /// An error occurred. The candidacy goes on.
    Error {
        /// The error.
        error: ElectionError,
    },
    /// The candidate has left the election. No event follows.
    Stopped,
    /// The reader was too slow, and events were dropped here.
    Missed {
        /// The number of dropped events.
        count: u64,
    },
}

impl fmt::Display for EventKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Elected { term, .. } => write!(f, "elected: term {term}"),
            Self::Renewed { term, .. } => write!(f, "renewed: term {term}"),
            Self::Lost { term, reason, .. } => write!(f, "lost term {term}: {reason}"),
            Self::Observed { leader: Some(Leader { candidate, term, .. }) } => {
                write!(f, "{candidate} leads under term {term}")
            }
            Self::Observed { leader: None } => f.write_str("nobody leads"),
            #[cfg(feature = "cron")]
            Self::Job { job, job_event, .. } => write!(f, "job {job}: {job_event}"),
            Self::Error { error } => error.fmt(f),
            Self::Stopped => f.write_str("stopped"),
            Self::Missed { count } => write!(f, "{count} event(s) missed"),
        }
    }
}

/// An error during a candidacy, which goes on nevertheless.
#[derive(Debug, Clone)]
#[non_exhaustive]
pub enum ElectionError {
    /// The elector found an anomaly.
    Anomaly(Anomaly),
    /// The store failed or did not answer.
    Store(StoreError),
    /// A callback of the application panicked, failed or hung.
    Callback {
        /// The callback: `elected`, `lost`, `error`, `message` or `broadcast`.
        callback: &'static str,
        /// How it failed.
        message: String,
    },
    /// A part of this library panicked and was restarted. Its leadership has ended.
    Panicked {
        /// The part that panicked.
        what: &'static str,
        /// The message of the panic.
        message: String,
    },
    /// A callback, a handler or work of this candidacy tried to wait for the end of the candidacy, which waits for it.
    WaitsForItself {
        /// The method it called.
        verb: &'static str,
    },
    /// A message became a dead letter after too many failed attempts: people have to look at it.
    DeadLettered {
        /// The election that it was sent to.
        election: ElectionName,
        /// The channel of the message.
        channel: ChannelName,
        /// The id of the message.
        id: MessageId,
        /// The number of attempts.
        attempts: u32,
        /// The reason of the last failure.
        why: String,
    },
    /// A job failed, or cannot fire as it should.
    #[cfg(feature = "cron")]
    Job(crate::cron::JobError),
    /// There were too many dead letters, and the oldest of them were dropped.
    DeadLettersDropped {
        /// The number of dropped messages.
        count: u64,
    },
    /// Broadcasts came faster than they were read, and the oldest were dropped.
    BroadcastsMissed {
        /// The channel, if known.
        channel: Option<ChannelName>,
        /// The number of dropped broadcasts since the last report.
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
                "{verb} was called inside a callback, handler or work of the same candidacy, which it waits for; it has begun, and \
                 returned without waiting; call request_{verb}() there instead"
            ),
            Self::Panicked { what, message } => write!(f, "{what} panicked and was restarted: {message}"),
            Self::DeadLettered { election, channel, id, attempts, why } => write!(
                f,
                "message {id} on channel {channel} became a dead letter after {attempts} attempt(s): {why}; inspect it \
                 with `tenure messages {election} --dead-letters`"
            ),
            #[cfg(feature = "cron")]
            Self::Job(error) => error.fmt(f),
            Self::DeadLettersDropped { count } => {
                write!(f, "dropped the {count} oldest dead letter(s): at most {MAX_DEAD_LETTERS} are kept")
            }
            Self::BroadcastsMissed { channel: Some(channel), count } => {
                write!(f, "dropped {count} broadcast(s) on channel {channel}: the reader is too slow")
            }
            Self::BroadcastsMissed { channel: None, count } => {
                write!(f, "dropped {count} broadcast(s): they arrived faster than they could be received")
            }
        }
    }
}

impl PartialEq for ElectionError {
    /// Compares the texts: errors of database drivers cannot be compared otherwise.
    fn eq(&self, other: &Self) -> bool {
        self.to_string() == other.to_string()
    }
}

/// A [`Stream`](https://docs.rs/futures-util/latest/futures_util/stream/trait.Stream.html) of the events of one candidacy, from
/// the moment of subscription on.
///
/// At most a thousand events wait to be read. When they are full, the newest are dropped, and the reader is told how many it
/// [missed](EventKind::Missed); [`Broadcasts`](crate::Broadcasts) drop the oldest instead.
#[derive(Debug)]
pub struct Events(pub(crate) mpsc::Receiver<Event>);

impl Events {
    /// Waits for the next event; `None` after the last one.
    ///
    /// Cancel safe: no event is lost when the future is dropped.
    pub async fn next(&mut self) -> Option<Event> {
        shielded(self.0.recv()).await
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
    /// Sends an event, and returns whether a reader is still there.
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
