//! Administration of a store on plain threads.

use std::os::fd::OwnedFd;
use std::time::Duration;

use tenure_core::ElectionName;

use super::readers::Hints;
use crate::error::Error;
use crate::store::{Capabilities, Finding, MailboxPromises, MessageCount, PubSubPromises, Replies};

/// A [`StoreHandle`](crate::StoreHandle) for plain threads.
#[derive(Debug, Clone)]
pub struct StoreHandle(crate::StoreHandle);

wraps!(StoreHandle, crate::StoreHandle);

impl StoreHandle {
    forward! { crate::StoreHandle:
        #[must_use]
        fn capabilities(&self) -> Capabilities;
        #[must_use]
        fn mailbox(&self) -> Option<MailboxPromises>;
        #[must_use]
        fn pubsub(&self) -> Option<PubSubPromises>;
        #[must_use]
        fn life_line(&self) -> Option<OwnedFd>;
    }

    /// Checks that the store has a ledger for jobs. Does not contact the store.
    ///
    /// # Errors
    /// As [`check_ledger`](crate::StoreHandle::check_ledger).
    #[cfg(feature = "cron")]
    pub fn check_ledger(&self) -> Result<(), Error> {
        self.0.check_ledger()
    }

    /// Subscribes to hints of every change of leadership in the store, as [`hints`](crate::StoreHandle::hints) does.
    #[must_use]
    pub fn hints(&self) -> Hints {
        self.0.hints().into()
    }

    wait_for! { crate::StoreHandle:
        fn examine(&self) -> Result<Vec<Finding>, Error>;
        fn message_counts(&self, name: Option<&str>) -> Result<Replies<MessageCount>, Error>;
        fn forget_abandoned(&self, idle_for: Duration) -> Result<Vec<ElectionName>, Error>;
    }
}
