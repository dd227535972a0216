//! Commands from the application to the driver.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tenure_core::Input;
use tokio::sync::mpsc::UnboundedSender;

use super::{Companion, DrivenCandidacy};
use crate::event::{ElectionError, EventKind, Subscriber};
use crate::store::Store;

/// Identifies one candidacy of this process, for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct CandidacyId(pub(crate) u64);

pub(crate) type CommandSender = UnboundedSender<DriverCommand>;

/// Something to do with the store on the driver's runtime.
pub(crate) type StoreCall = Box<dyn FnOnce(Arc<dyn Store>) -> BoxFuture<'static, ()> + Send>;

pub(crate) enum DriverCommand {
    /// Stand in an election.
    Add(Box<DrivenCandidacy>),
    /// Something happened on the application's side.
    Input(CandidacyId, Input),
    /// The candidacy's work has ended: do not stand until told to.
    Pause(CandidacyId),
    /// Stand again.
    Resume(CandidacyId),
    /// Something happened on the application's side, or beside the election, that listeners are told.
    Report(CandidacyId, Box<EventKind>),
    /// Add a subscriber to events.
    Subscribe(CandidacyId, Subscriber),
    /// Let a companion run beside the election.
    Attach(CandidacyId, Arc<dyn Companion>),
    /// Use the store.
    Call(StoreCall),
}

impl DriverCommand {
    /// Reports an error.
    pub(crate) fn error(id: CandidacyId, error: ElectionError) -> Self {
        Self::Report(id, Box::new(EventKind::Error { error }))
    }
}

impl fmt::Debug for DriverCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Add(_) => "Add",
            Self::Input(..) => "Input",
            Self::Pause(_) => "Pause",
            Self::Resume(_) => "Resume",
            Self::Report(..) => "Report",
            Self::Subscribe(..) => "Subscribe",
            Self::Attach(..) => "Attach",
            Self::Call(_) => "Call",
        })
    }
}
