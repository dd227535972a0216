//! The messages of one run: who sends them, and how they are handled.

use std::fmt;
use std::time::Duration;

use tenure_core::ChannelName;
use tenure_core::messages::InboxLimits;
use tenure_core::store_rules::mailbox::MailboxLimits;

use crate::clock::{MILLI, SECOND};
use crate::kind::StoreKind;
use crate::rng::SimRng;

/// The messages to whoever leads.
#[derive(Debug, Clone)]
pub struct SimMail {
    /// On which channels they are sent.
    pub channels: Vec<ChannelName>,
    /// Who sends.
    pub senders: Vec<SimSender>,
    /// How long handling one takes at most, in nanoseconds.
    pub lasts: u64,
    /// How many of one channel are handled at once, in one process.
    pub readers: usize,
    /// How many of a thousand attempts fail.
    pub failing: u32,
    /// How many of a thousand messages can never be handled.
    pub hopeless: u32,
    /// After how many attempts a message becomes a dead letter.
    pub max_attempts: u32,
    /// Whether the store tells the leader of new messages.
    pub pushes: bool,
    /// How many the leader deals with at once.
    pub inbox_limits: InboxLimits,
    /// How many the store takes.
    pub mailbox_limits: MailboxLimits,
}

/// One sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SimSender {
    /// The candidate in whose process it is; `None` for one of its own, which never dies.
    pub inside: Option<usize>,
    /// The mean time between two messages, in nanoseconds.
    pub every: u64,
    /// How many it sends.
    pub count: u32,
}

/// The stream of its own that messages draw from: a run without messages has the same candidates, clocks, faults and jobs.
pub(crate) const STREAM: u64 = 300;
/// The bits of an id that make a message the same for its sender.
pub(crate) const SAME_MESSAGE: u128 = (1 << 96) - 1;
/// In how many of a hundred runs there are messages.
const SHARE: u32 = 50;

impl SimMail {
    /// The messages of an election at this kind of store. Not every store has a mailbox.
    pub(crate) fn of(seed: u64, kind: StoreKind, candidates: usize, ttl: u64) -> Option<Self> {
        let mut rng = SimRng::of(seed, STREAM);
        if !rng.percent(SHARE) || kind == StoreKind::Quorum {
            return None;
        }
        let channel = |name: &str| ChannelName::new(name).expect("a word is a valid name");
        let channels = [channel("orders"), channel("refresh")][..rng.pick(&[1, 2])].to_vec();
        let senders = (0..rng.pick(&[1, 2, 2, 3])).map(|_| SimSender::of(&mut rng, candidates, ttl)).collect();
        let held = rng.pick(&[2, 4, 64]);
        Some(Self {
            channels,
            senders,
            lasts: rng.pick(&[200 * MILLI, SECOND, SECOND, 4 * SECOND]),
            readers: rng.pick(&[1, 3]),
            failing: rng.pick(&[0, 100, 300]),
            hopeless: rng.pick(&[0, 50]),
            max_attempts: rng.pick(&[2, 3]),
            pushes: rng.percent(70),
            inbox_limits: InboxLimits {
                held_per_channel: held,
                received_together: rng.pick(&[2, 64]),
                told_together: 3,
            },
            mailbox_limits: MailboxLimits { max_pending: rng.pick(&[6, 10_000]), ..MailboxLimits::default() },
        })
    }
}

impl SimSender {
    fn of(rng: &mut SimRng, candidates: usize, ttl: u64) -> Self {
        let inside = rng.percent(50).then(|| rng.index(candidates));
        Self { inside, every: rng.pick(&[ttl / 4, ttl, 3 * ttl]), count: rng.pick(&[4, 8, 12]) }
    }
}

impl fmt::Display for SimMail {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let sender = |sender: &SimSender| {
            let place =
                sender.inside.map_or_else(|| "outside".to_owned(), |node| format!("in {}", crate::words::name(node)));
            format!("{} {place} about every {:?}", sender.count, Duration::from_nanos(sender.every))
        };
        let senders: Vec<String> = self.senders.iter().map(sender).collect();
        write!(
            f,
            "{} channel(s), {}; handled by {} for up to {:?}, {} of 1,000 attempts fail, dead letters after {}, {}",
            self.channels.len(),
            senders.join(", "),
            self.readers,
            Duration::from_nanos(self.lasts),
            self.failing,
            self.max_attempts,
            if self.pushes { "pushed" } else { "not pushed" },
        )
    }
}
