//! Readers of events, hints, messages and broadcasts for plain threads.

use std::time::Duration;

use tenure_core::ChannelName;

use crate::block_on::{ReadTimedOut, block_on, block_on_for};
use crate::event::Event;
use crate::messages::Delivery;
use crate::store::{Broadcast, Hint};

/// Defines `next` with a limit: every reader is cancel safe, so giving up loses nothing.
macro_rules! next_timeout {
    ($name:ident, $item:ty) => {
        impl $name {
            /// Waits at most `limit` for the next one; `Ok(None)` when there will be no more, as
            /// [`next`](Iterator::next) says.
            ///
            /// # Errors
            /// When the time is up.
            pub fn next_timeout(&mut self, limit: Duration) -> Result<Option<$item>, ReadTimedOut> {
                block_on_for(self.0.next(), limit).ok_or(ReadTimedOut)
            }
        }
    };
}

/// [`Events`](crate::Events) for plain threads: an iterator that waits for the next one.
#[derive(Debug)]
pub struct Events(crate::Events);

wraps!(Events, crate::Events);
next_timeout!(Events, Event);

impl Iterator for Events {
    type Item = Event;

    /// Waits for the next event; `None` after the last one.
    fn next(&mut self) -> Option<Event> {
        block_on(self.0.next())
    }
}

/// [`Hints`](crate::Hints) for plain threads: an iterator that waits for the next one.
#[derive(Debug)]
pub struct Hints(crate::Hints);

wraps!(Hints, crate::Hints);
next_timeout!(Hints, Hint);

impl Iterator for Hints {
    type Item = Hint;

    /// Waits for the next hint; `None` when the store sends no more.
    fn next(&mut self) -> Option<Hint> {
        block_on(self.0.next())
    }
}

/// A [`Channel`](crate::Channel) for plain threads: an iterator that waits for the next message.
///
/// A delivery keeps the lease from being released. Between two steps of longer handling ask
/// `delivery.leadership().is_cancelled()`, and drop the delivery if so: that counts no attempt, and the next leader gets
/// the message.
///
/// ```
/// # let client = tenure::blocking::Client::open("memory:")?;
/// let report = client.election("nightly-report")?;
/// let candidacy = report.candidate().start()?;
/// let mut refreshes = candidacy.channel("refresh")?;
/// report.send("refresh", &["monday", "tuesday"])?;
///
/// let delivery = refreshes.next().expect("the candidacy has not been stopped");
/// let days: Vec<String> = delivery.json()?;
/// assert_eq!(days, ["monday", "tuesday"]);
/// delivery.ack();
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Channel(crate::Channel);

wraps!(Channel, crate::Channel);
next_timeout!(Channel, Delivery);

impl Channel {
    forward! { crate::Channel:
        #[must_use]
        fn name(&self) -> &ChannelName;
    }
}

impl Iterator for Channel {
    type Item = Delivery;

    /// Waits for the next message to handle; `None` when the candidacy has been stopped.
    fn next(&mut self) -> Option<Delivery> {
        block_on(self.0.next())
    }
}

/// [`Broadcasts`](crate::Broadcasts) for plain threads: an iterator that waits for the next one.
///
/// ```
/// # let client = tenure::blocking::Client::open("memory:")?;
/// let report = client.election("nightly-report")?;
/// let candidacy = report.candidate().start()?;
/// let mut reloads = candidacy.broadcasts("reload")?;
/// reloads.listening();
/// report.broadcast("reload", &["prices"])?;
///
/// let heard = reloads.next().expect("the candidacy has not been stopped");
/// let tables: Vec<String> = heard.json()?;
/// assert_eq!(tables, ["prices"]);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Debug)]
pub struct Broadcasts(crate::Broadcasts);

wraps!(Broadcasts, crate::Broadcasts);
next_timeout!(Broadcasts, Broadcast);

impl Broadcasts {
    forward! { crate::Broadcasts:
        #[must_use]
        fn channel(&self) -> &ChannelName;
    }

    /// [`listening`](crate::Broadcasts::listening) for plain threads: waits until this candidate receives broadcasts.
    pub fn listening(&self) {
        block_on(self.0.listening());
    }
}

impl Iterator for Broadcasts {
    type Item = Broadcast;

    /// Waits for the next broadcast; `None` when the candidacy has been stopped and nothing is left.
    fn next(&mut self) -> Option<Broadcast> {
        block_on(self.0.next())
    }
}
