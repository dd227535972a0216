//! What the test, the listener and the connections share: orders one way, counts the other.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use tokio::sync::watch;

use super::{Counts, Direction, Framing, ProxyFault, Stretch};

/// The middle of a proxy.
#[derive(Debug)]
pub(super) struct ProxyLink {
    pub(super) upstream: SocketAddr,
    pub(super) framing: Option<Framing>,
    pub(super) plan: watch::Sender<ProxyPlan>,
    pub(super) counts: watch::Sender<Counts>,
    /// Whether new connections are taken now; the plan only says whether they shall be.
    pub(super) is_listening: watch::Sender<bool>,
}

/// What the test wants. Numbers that only grow are orders: whoever began at a smaller number obeys.
#[derive(Debug, Default)]
pub(super) struct ProxyPlan {
    pub(super) is_stopped: bool,
    pub(super) is_refusing: bool,
    pub(super) is_down: bool,
    pub(super) rhythm: Option<Rhythm>,
    pub(super) resets: u64,
    requests: DirectionPlan,
    replies: DirectionPlan,
}

/// How long a flapping link is down, and how long it is up.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Rhythm {
    pub(super) down: Duration,
    pub(super) up: Duration,
}

/// What is to happen in one direction.
#[derive(Debug, Default)]
pub(super) struct DirectionPlan {
    pub(super) lasting: Option<ProxyFault>,
    /// Faults for one chunk each, which come before the lasting one.
    pub(super) strikes: VecDeque<ProxyFault>,
    pub(super) releases: u64,
    pub(super) half_closes: u64,
}

impl ProxyLink {
    pub(super) fn new(upstream: SocketAddr, framing: Option<Framing>) -> Self {
        let (plan, counts) = (watch::Sender::default(), watch::Sender::default());
        Self { upstream, framing, plan, counts, is_listening: watch::Sender::new(false) }
    }

    /// The fault of a chunk that has just arrived, and the number that a release must pass to free it.
    pub(super) fn next_fault(&self, direction: Direction) -> (Option<ProxyFault>, u64) {
        let mut next = (None, 0);
        self.plan.send_if_modified(|plan| {
            let course = plan.course_mut(direction);
            next = (course.strikes.pop_front().or(course.lasting), course.releases);
            // Nobody waits for the end of a list of strikes.
            false
        });
        next
    }

    /// Waits for the plan to be as `is_met` wants it.
    pub(super) async fn planned(&self, is_met: impl FnMut(&ProxyPlan) -> bool) {
        // The sender is ours, so it cannot be gone.
        let _ = self.plan.subscribe().wait_for(is_met).await;
    }

    /// The bytes of the first chunk, if it is complete.
    pub(super) fn cut(&self, stretch: Stretch, bytes: &mut Vec<u8>) -> Option<Vec<u8>> {
        let length = match self.framing {
            None => bytes.len(),
            Some(framing) => framing(stretch, bytes)?.min(bytes.len()),
        };
        (length > 0).then(|| bytes.drain(..length).collect())
    }
}

impl ProxyPlan {
    pub(super) fn course(&self, direction: Direction) -> &DirectionPlan {
        match direction {
            Direction::Requests => &self.requests,
            Direction::Replies => &self.replies,
        }
    }

    pub(super) fn course_mut(&mut self, direction: Direction) -> &mut DirectionPlan {
        match direction {
            Direction::Requests => &mut self.requests,
            Direction::Replies => &mut self.replies,
        }
    }
}

impl DirectionPlan {
    /// Ends all faults and lets go of what they held.
    pub(super) fn clear(&mut self) {
        self.lasting = None;
        self.strikes.clear();
        self.releases += 1;
    }
}
