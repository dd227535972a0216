//! One state of the modelled world. Whatever can make a difference later is in it, and nothing else.

use tenure_core::store_rules::record::Record;
use tenure_core::{Draw, Elector, Instant, Nonce, Reply, Request, RequestId, Term, Verb, WriteOutcome};

use super::clock::ModelTime;
use super::laws::Signs;
use super::options::Budgets;
use super::shared::Interned;

/// The world at one instant.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ModelState {
    pub(super) now: ModelTime,
    /// Steps that may still be taken. It belongs to the state, so that one that is met with many steps left is not
    /// taken for one that was met with few, in whatever order the search goes.
    pub(super) steps_left: u8,
    pub(super) left: Budgets,
    pub(super) record: Interned<Record>,
    pub(super) nodes: Vec<Interned<ModelNode>>,
    /// What is under way, sorted, because its order means nothing: anything may arrive next.
    pub(super) messages: Vec<ModelMessage>,
    /// The last grant of a new term.
    pub(super) grant: Option<ModelGrant>,
    /// The last term under which anybody was elected.
    pub(super) elected: Option<Term>,
    pub(super) signs: Signs,
}

/// A candidate: its process and its work.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ModelNode {
    pub(super) elector: Elector,
    /// Grows with every crash.
    pub(super) incarnation: u8,
    /// Crashed while it led.
    pub(super) fell: bool,
    pub(super) paused: bool,
    pub(super) timeout: Option<Instant>,
    pub(super) work: Option<ModelWork>,
    pub(super) asked: Option<AwaitedRequest>,
    pub(super) last_request: RequestId,
    /// The last request that was answered in time.
    pub(super) answered: RequestId,
    /// The last term whose resignation was sent.
    pub(super) resigned: Option<Term>,
    pub(super) stopped: bool,
}

/// What a leader does.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ModelWork {
    pub(super) term: Term,
    /// When whoever guards it has seen to its end, even if its candidate sleeps.
    pub(super) until: Instant,
    pub(super) phase: WorkPhase,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum WorkPhase {
    Running,
    /// Was told to stop, and does so sooner or later.
    Stopping,
    /// Was killed, and is gone by then.
    Dying {
        by: Instant,
    },
}

/// The request whose answer is waited for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct AwaitedRequest {
    pub(super) id: RequestId,
    pub(super) given_up_at: Instant,
    /// Of a campaign.
    pub(super) nonce: Option<Nonce>,
}

/// How a term was granted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) struct ModelGrant {
    pub(super) term: Term,
    pub(super) request: RequestId,
    pub(super) origin: Origin,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(super) enum Origin {
    /// Nobody had it.
    Free,
    /// It had run out under another candidate.
    Expired,
    /// It was kept for this successor.
    Reserved,
}

/// Something under way between one incarnation of a candidate and the store.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct ModelMessage {
    pub(super) node: usize,
    pub(super) incarnation: u8,
    pub(super) body: Interned<Body>,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) enum Body {
    Hint,
    Request(Request),
    Reply(RequestId, Reply),
}

impl ModelState {
    /// Puts something under way. A link that is full loses what was sent first.
    pub(super) fn send(&mut self, message: ModelMessage, capacity: usize) {
        if *message.body == Body::Hint && self.messages.contains(&message) {
            // A second one would say nothing new.
            return;
        }
        let node = message.node;
        let at = self.messages.partition_point(|other| other.order() < message.order());
        self.messages.insert(at, message);
        let on_link = self.messages.iter().filter(|other| other.node == node).count();
        if on_link > capacity
            && let Some(oldest) = self.messages.iter().position(|other| other.node == node)
        {
            self.messages.remove(oldest);
        }
    }
}

impl ModelNode {
    pub(super) fn new(elector: Elector) -> Self {
        Self {
            elector,
            incarnation: 0,
            fell: false,
            paused: false,
            timeout: None,
            work: None,
            asked: None,
            last_request: RequestId(0),
            answered: RequestId(0),
            resigned: None,
            stopped: false,
        }
    }

    /// The chance it gets. At least one request lies between two candidacies, so no nonce is drawn for two of them; and
    /// it depends on nothing that others did, so that states do not differ by it.
    pub(super) fn draw(&self, index: usize) -> Draw {
        let bits = (index as u128) << 80 | u128::from(self.incarnation) << 64 | u128::from(self.last_request.0);
        Draw { nonce: Nonce::from_bits(bits), spread: 0 }
    }

    /// Whether it leads under this term, as far as its application was told.
    pub(super) fn runs(&self, term: Term) -> bool {
        self.work.is_some_and(|work| work.term == term && work.phase == WorkPhase::Running)
    }

    /// When it must be called, or must have seen its work end. Nothing is due to one that sleeps.
    pub(super) fn due(&self) -> Option<Instant> {
        let death = match self.work {
            Some(ModelWork { phase: WorkPhase::Dying { by }, .. }) => Some(by),
            _ => None,
        };
        if self.paused { None } else { [self.timeout, death].into_iter().flatten().min() }
    }

    /// Whether its work does something at this reading of its clock. If the candidate sleeps, that is up to whoever
    /// guards the work, who keeps the last deadline it was told.
    pub(super) fn acts(&self, now: Instant) -> bool {
        self.work.is_some_and(|work| {
            !self.paused
                || match work.phase {
                    WorkPhase::Running | WorkPhase::Stopping => now < work.until,
                    WorkPhase::Dying { by } => now < by,
                }
        })
    }
}

impl Body {
    pub(super) fn is_request(&self) -> bool {
        matches!(self, Self::Request(_))
    }

    /// The request that this is, or answers.
    pub(super) fn request(&self) -> Option<RequestId> {
        match self {
            Self::Hint => None,
            Self::Request(request) => Some(request.id),
            Self::Reply(id, _) => Some(*id),
        }
    }

    /// What a candidate hears when this is lost and it is told so.
    pub(super) fn unanswered(&self) -> Option<(RequestId, Reply)> {
        let reply = match self {
            Self::Hint => return None,
            Self::Request(Request { verb: Verb::Campaign { .. }, .. }) | Self::Reply(_, Reply::Campaign(_)) => {
                Reply::Campaign(Err(WriteOutcome::Unknown))
            }
            Self::Request(Request { verb: Verb::Renew { .. }, .. }) | Self::Reply(_, Reply::Renew(_)) => {
                Reply::Renew(Err(WriteOutcome::Unknown))
            }
            Self::Request(Request { verb: Verb::Resign { .. }, .. }) | Self::Reply(_, Reply::Resign(_)) => {
                Reply::Resign(Err(WriteOutcome::Unknown))
            }
        };
        self.request().map(|id| (id, reply))
    }
}

impl ModelMessage {
    /// The oldest first, as far as that is known.
    fn order(&self) -> (usize, u8, u64, u64) {
        let id = self.body.request().map_or(0, |id| id.0);
        (self.node, self.incarnation, id, self.body.rank())
    }
}
