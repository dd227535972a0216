//! Messages: senders leave them at the store, and each process runs the real inbox, whose calls go to the mailbox, and handles
//! what it delivers.

mod driving;
mod event;
mod handlers;
mod senders;
mod talk;

use tenure_core::Term;
use tenure_core::messages::Message;

use super::queue::Incarnation;
use crate::clock::SimTime;
use crate::mail;
use crate::options::SimOptions;
use crate::rng::SimRng;
use crate::store::{MailReply, MailRequest};

use driving::SimInbox;
pub(super) use event::SimMailEvent;
use senders::SenderState;

/// Everything about messages, wherever it is.
pub(crate) struct SimMessages {
    /// A stream of its own: elections and jobs draw the same whether or not there are messages.
    rng: SimRng,
    /// By candidate.
    inboxes: Vec<Option<SimInbox>>,
    /// Those in hand.
    pub(super) deliveries: Vec<SimDelivery>,
    senders: Vec<SenderState>,
    /// What waits until a process is there again.
    held: Vec<(usize, SimMailEvent)>,
    /// How many deliveries there were.
    numbers: u64,
    /// When something last went wrong that only messages notice.
    pub(super) disturbed_at: SimTime,
}

/// A message in somebody's hands.
#[derive(Debug, Clone)]
pub(crate) struct SimDelivery {
    pub(crate) number: u64,
    pub(crate) of: Incarnation,
    pub(crate) term: Term,
    pub(crate) message: Message,
}

/// How handling a message ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DeliveryEnd {
    Done,
    Failed,
    /// With its leadership.
    CutOff,
}

/// One request about messages, as the store has served it.
#[derive(Debug)]
pub(crate) struct ServedMail<'a> {
    pub(crate) request: &'a MailRequest,
    pub(crate) reply: &'a MailReply,
}

impl SimMessages {
    pub(super) fn new(options: &SimOptions) -> Self {
        let senders = options.mail.iter().flat_map(|mail| &mail.senders).map(|sender| SenderState::new(*sender));
        Self {
            rng: SimRng::of(options.seed, mail::STREAM + 1),
            inboxes: options.candidates.iter().map(|_| None).collect(),
            deliveries: Vec::new(),
            senders: senders.collect(),
            held: Vec::new(),
            numbers: 0,
            disturbed_at: 0,
        }
    }
}
