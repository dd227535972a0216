//! Elections for plain threads.

use serde::Serialize;
use tenure_core::{CandidateId, ElectionName, Sender};

use super::candidacy::CandidacyBuilder;
use crate::block_on::block_on;
use crate::error::Error;
use crate::store::{Forgetting, Message, MessageId, MessageState, Observation, Transition};

/// An [`Election`](crate::Election) for plain threads.
#[derive(Debug, Clone)]
pub struct Election(crate::Election);

wraps!(Election, crate::Election);

impl Election {
    forward! { crate::Election:
        #[must_use]
        fn name(&self) -> &ElectionName;
    }

    wait_for! { crate::Election:
        fn observe(&self) -> Result<Observation, Error>;
        fn history(&self, limit: usize) -> Result<Vec<Transition>, Error>;
        fn request_handover(&self) -> Result<bool, Error>;
        fn request_handover_to(&self, successor: impl TryInto<CandidateId, Error: Into<Error>>) -> Result<bool, Error>;
        fn forget(&self) -> Result<Forgetting, Error>;
        fn send_json(&self, channel: &str, json: &str) -> Result<MessageId, Error>;
        fn send_with_id(&self, id: MessageId, channel: &str, json: &str) -> Result<(), Error>;
        fn broadcast_json(&self, channel: &str, json: &str) -> Result<MessageId, Error>;
        fn messages(&self, state: MessageState, limit: usize) -> Result<Vec<Message>, Error>;
        fn requeue(&self, ids: Option<&[MessageId]>) -> Result<u64, Error>;
    }

    #[cfg(feature = "cron")]
    wait_for! { crate::Election:
        fn jobs(&self, max_runs: usize) -> Result<Vec<crate::cron::JobReport>, Error>;
        fn pause_job(&self, job: &str) -> Result<bool, Error>;
        fn resume_job(&self, job: &str) -> Result<bool, Error>;
        fn run_job_now(&self, job: &str) -> Result<bool, Error>;
        fn forget_job(&self, job: &str) -> Result<bool, Error>;
    }

    /// Returns a builder of a candidacy of this process, as [`candidate`](crate::Election::candidate) does.
    pub fn candidate(&self) -> CandidacyBuilder {
        self.0.candidate().starting()
    }

    /// Returns the same election with another sender of messages, as [`with_sender`](crate::Election::with_sender) does.
    ///
    /// # Errors
    /// As there.
    pub fn with_sender(&self, sender: impl TryInto<Sender, Error: Into<Error>>) -> Result<Self, Error> {
        self.0.with_sender(sender).map(Self)
    }

    /// [`send`](crate::Election::send) for plain threads.
    ///
    /// # Errors
    /// As there.
    pub fn send<T: Serialize + ?Sized>(&self, channel: &str, payload: &T) -> Result<MessageId, Error> {
        block_on(self.0.send(channel, payload))
    }

    /// [`broadcast`](crate::Election::broadcast) for plain threads.
    ///
    /// # Errors
    /// As there.
    pub fn broadcast<T: Serialize + ?Sized>(&self, channel: &str, payload: &T) -> Result<MessageId, Error> {
        block_on(self.0.broadcast(channel, payload))
    }
}
