//! Commands from the application to the driver.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tenure_core::Input;
use tokio::sync::mpsc::UnboundedSender;

use super::DrivenCandidacy;
use crate::event::{ElectionError, Subscriber};
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
    /// An error occurred on the application's side.
    Error(CandidacyId, ElectionError),
    /// Add a subscriber to events.
    Subscribe(CandidacyId, Subscriber),
    /// Fetch messages.
    Listen(CandidacyId),
    /// Receive broadcasts.
    Hear(CandidacyId),
    /// Run jobs by the calendar.
    #[cfg(feature = "cron")]
    Schedule(CandidacyId, Arc<crate::cron::JobSet>),
    /// A job event occurred.
    #[cfg(feature = "cron")]
    Job(CandidacyId, Box<crate::event::EventKind>),
    /// Use the store.
    Call(StoreCall),
}

impl fmt::Debug for DriverCommand {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Add(_) => "Add",
            Self::Input(..) => "Input",
            Self::Pause(_) => "Pause",
            Self::Resume(_) => "Resume",
            Self::Error(..) => "Trouble",
            Self::Subscribe(..) => "Subscribe",
            Self::Listen(_) => "Listen",
            Self::Hear(_) => "Hear",
            #[cfg(feature = "cron")]
            Self::Schedule(..) => "Schedule",
            #[cfg(feature = "cron")]
            Self::Job(..) => "Job",
            Self::Call(_) => "Call",
        })
    }
}
