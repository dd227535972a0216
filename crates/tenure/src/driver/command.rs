//! What applications ask of the driver.

use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;
use tenure_core::Input;
use tokio::sync::mpsc::UnboundedSender;

use super::Entry;
use crate::event::{Subscriber, Trouble};
use crate::store::Store;

/// Identifies one candidacy of this process, for ever.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct EntryId(pub(crate) u64);

pub(crate) type CommandSender = UnboundedSender<Command>;

/// Something to do with the store on the driver's runtime.
pub(crate) type StoreCall = Box<dyn FnOnce(Arc<dyn Store>) -> BoxFuture<'static, ()> + Send>;

pub(crate) enum Command {
    /// Stand in an election.
    Add(Box<Entry>),
    /// Something happened on the application's side.
    Input(EntryId, Input),
    /// Something went wrong on the application's side.
    Trouble(EntryId, Trouble),
    /// Somebody wants to hear of events.
    Subscribe(EntryId, Subscriber),
    /// Somebody reads messages.
    Listen(EntryId),
    /// Somebody wants to hear broadcasts.
    Hear(EntryId),
    /// There are jobs to be run by the calendar.
    #[cfg(feature = "cron")]
    Schedule(EntryId, Arc<crate::cron::Roster>),
    /// Something happened to a job.
    #[cfg(feature = "cron")]
    Job(EntryId, Box<crate::event::EventKind>),
    /// Use the store.
    Call(StoreCall),
}

impl fmt::Debug for Command {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Add(_) => "Add",
            Self::Input(..) => "Input",
            Self::Trouble(..) => "Trouble",
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
