//! What a proxy has seen and done, so that a test can tell that its fault happened.

use super::Direction;

/// All that a proxy counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Counts {
    /// Connections accepted since the start.
    pub accepted: u64,
    /// Connections open now.
    pub open: u64,
    /// Connections that ended with a reset: by order, by truncation, or because an end was broken.
    pub resets: u64,
    /// How often the link has gone down.
    pub outages: u64,
    /// What went from the clients to the server.
    pub requests: Traffic,
    /// What came back.
    pub replies: Traffic,
}

/// One direction, in bytes unless it says otherwise. What arrived has been delivered or swallowed, or is waiting.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Traffic {
    /// Read by the proxy.
    pub arrived: u64,
    /// Written by the proxy; a duplicate counts again.
    pub delivered: u64,
    /// Read and thrown away.
    pub swallowed: u64,
    /// Read and not yet written: delayed, held, or stopped by a link that is down. A duplicate counts again.
    pub waiting: u64,
    /// How many senders have closed their side.
    pub closes: u64,
    /// How many chunks had something done to them.
    pub struck: u64,
}

impl Counts {
    /// The traffic of one direction.
    pub fn traffic(&self, direction: Direction) -> &Traffic {
        match direction {
            Direction::Requests => &self.requests,
            Direction::Replies => &self.replies,
        }
    }

    pub(super) fn traffic_mut(&mut self, direction: Direction) -> &mut Traffic {
        match direction {
            Direction::Requests => &mut self.requests,
            Direction::Replies => &mut self.replies,
        }
    }
}
