//! Candidacies for plain threads.

use std::time::Duration;

use tenure_core::{CandidateId, ElectionName, Leader};

use super::readers::{Broadcasts, Channel, Events};
use crate::block_on::{block_on, block_on_for};
use crate::candidacy::{CandidacyState, StoreOutage};
use crate::error::Error;
use crate::leadership::Leadership;

/// A [`Candidacy`](crate::Candidacy) for plain threads. Dropping it leaves the election in the background.
#[derive(Debug)]
pub struct Candidacy(crate::Candidacy);

/// A [`CandidacyBuilder`](crate::CandidacyBuilder) whose candidacy is for plain threads.
pub type CandidacyBuilder = crate::CandidacyBuilder<Candidacy>;

wraps!(Candidacy, crate::Candidacy);

impl CandidacyBuilder {
    /// Starts the candidacy and returns it with its events, from the first campaign on.
    ///
    /// # Errors
    /// As [`start`](Self::start).
    pub fn start_with_events(self) -> Result<(Candidacy, Events), Error> {
        let (candidacy, events) = self.starting::<crate::Candidacy>().start_with_events()?;
        Ok((candidacy.into(), events.into()))
    }
}

impl Candidacy {
    forward! { crate::Candidacy:
        #[inline]
        #[must_use]
        fn is_leader(&self) -> bool;
        #[must_use]
        fn leadership(&self) -> Option<Leadership>;
        #[must_use]
        fn candidate(&self) -> &CandidateId;
        #[must_use]
        fn name(&self) -> &ElectionName;
        #[must_use]
        fn state(&self) -> CandidacyState;
        #[must_use]
        fn store_outage(&self) -> Option<StoreOutage>;
        fn stand(&self);
        fn request_resign(&self);
        fn request_stop(&self);
        fn heartbeat(&self);
        fn set_health(&self, healthy: bool);
    }

    wait_for! { crate::Candidacy:
        fn elected(&self) -> Result<Leadership, Error>;
        fn current_leader(&self) -> Result<Option<Leader>, Error>;
        fn resign(&self) -> Result<(), Error>;
        fn resign_to(&self, successor: impl TryInto<CandidateId, Error: Into<Error>>) -> Result<(), Error>;
    }

    /// Waits at most `limit` until this candidate leads; `None` when the time is up.
    ///
    /// # Errors
    /// When the candidacy is stopped.
    pub fn elected_timeout(&self, limit: Duration) -> Result<Option<Leadership>, Error> {
        block_on_for(self.0.elected(), limit).transpose()
    }

    /// [`stop`](crate::Candidacy::stop) for plain threads; it takes [as long](crate::Candidacy#how-long-stopping-takes).
    pub fn stop(&self) {
        block_on(self.0.stop());
    }

    /// [`run_while_leader`](crate::Candidacy::run_while_leader) for plain threads.
    ///
    /// The work is asked to stop through its [`Leadership`], for example by
    /// [`wait_cancelled_for`](Leadership::wait_cancelled_for); nothing can end it by force.
    ///
    /// # Errors
    /// When the candidacy is stopped.
    pub fn run_while_leader<T>(&self, mut work: impl FnMut(Leadership) -> T) -> Result<T, Error> {
        block_on(self.0.run_while_leader(|leadership| {
            let result = work(leadership);
            async { result }
        }))
    }

    /// The same as [`run_if_leader`](crate::Candidacy::run_if_leader).
    pub fn run_if_leader<T>(&self, f: impl FnOnce(&Leadership) -> T) -> Option<T> {
        self.0.run_if_leader(f)
    }

    /// Subscribes to all further events, as [`events`](crate::Candidacy::events) does.
    #[must_use]
    pub fn events(&self) -> Events {
        self.0.events().into()
    }

    /// Opens a channel to read the messages sent to the leader.
    ///
    /// A [`Delivery`](crate::Delivery) that is held when the leadership ends keeps the lease from being released:
    /// [how long that may take](crate::Candidacy#how-long-stopping-takes).
    ///
    /// # Errors
    /// As [`channel`](crate::Candidacy::channel).
    pub fn channel(&self, name: &str) -> Result<Channel, Error> {
        self.0.channel(name).map(Channel::from)
    }

    /// Subscribes to the broadcasts to all candidates of this election on a channel.
    ///
    /// # Errors
    /// As [`broadcasts`](crate::Candidacy::broadcasts).
    pub fn broadcasts(&self, channel: &str) -> Result<Broadcasts, Error> {
        self.0.broadcasts(channel).map(Broadcasts::from)
    }

    /// Replaces the jobs of this candidacy without leaving the election.
    ///
    /// # Errors
    /// As [`set_jobs`](crate::Candidacy::set_jobs).
    #[cfg(feature = "cron")]
    pub fn set_jobs(&self, jobs: crate::cron::Jobs) -> Result<(), Error> {
        self.0.set_jobs(jobs)
    }
}
