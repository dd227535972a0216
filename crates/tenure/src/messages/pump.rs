//! Fetches messages from the store while its candidate leads, and tells the store what became of them.
//!
//! It runs on the driver's thread, beside the elections, and waits for nothing the application does.

use std::pin::pin;
use std::sync::Arc;
use std::time::Duration;

use futures_util::future::{BoxFuture, select};
use tenure_core::{Input, Instant, Nonce, Timing};

use super::inbox::Inbox;
use super::term_inbox::TermInbox;
use crate::driver::DriverCommand;
use crate::event::ElectionError;
use crate::leadership::Leadership;
use crate::phase::Phase;
use crate::retry::{retry_after, spread};
use crate::shared::Shared;
use crate::store::{Ack, AckReply, Mailbox, Receive, Received, Store, StoreError, StoreErrorKind};

/// How many messages are asked for at once.
const RECEIVED_TOGETHER: usize = 64;
/// How often somebody looks where the store cannot push.
const LOOK_EVERY_UNPUSHED: Duration = Duration::from_secs(1);

/// Runs until the candidate has left the election.
pub(crate) async fn run(shared: Arc<Shared>, store: Arc<dyn Store>, timing: Timing) {
    let (Some(inbox), Some(mailbox)) = (shared.inbox(), store.mailbox()) else { return };
    // If this is not the first time, the last one panicked, and what it held may keep a lease.
    drop(inbox.end());
    loop {
        let led = |phase: &Phase| match phase {
            Phase::Leading(grant) => Some(Some(Arc::clone(grant))),
            Phase::Stopped => Some(None),
            Phase::Standing | Phase::Leaving { .. } => None,
        };
        let Some(grant) = shared.phase().wait_for(led).await else { return };
        let leadership = Leadership::new(Arc::clone(&shared), Arc::clone(&grant));
        inbox.begin(&grant);
        if let Some(nonce) = grant.nonce() {
            let term = MessageTerm {
                shared: &shared,
                inbox,
                mailbox,
                leadership: &leadership,
                nonce,
                store: &*store,
                ttl: timing.ttl(),
            };
            select(pin!(term.serve(timing.attempt_timeout())), pin!(leadership.overdue())).await;
        }
        drop(inbox.end());
        leadership.overdue().await;
    }
}

/// One term of leadership.
struct MessageTerm<'a> {
    shared: &'a Arc<Shared>,
    inbox: &'a Inbox,
    mailbox: &'a dyn Mailbox,
    leadership: &'a Leadership,
    nonce: Nonce,
    store: &'a dyn Store,
    ttl: Duration,
}

/// What a call to the store came to.
enum PumpStep {
    /// Well.
    Good,
    /// The store failed.
    Failed(StoreError),
    /// The store says that somebody else holds the lease.
    NotHolder,
}

impl MessageTerm<'_> {
    /// How long to wait for a push. Whether there are any may turn out late.
    fn look_every(&self) -> Duration {
        if self.store.capabilities().pushes { self.ttl } else { self.ttl.min(LOOK_EVERY_UNPUSHED) }
    }

    /// Runs until it is dropped.
    async fn serve(&self, patience: Duration) {
        let mut failures: u32 = 0;
        let mut not_before = Instant::ZERO;
        let mut look_at = Instant::ZERO;
        loop {
            let now = self.shared.clock.now();
            self.inbox.ripen(self.shared, now);
            let step = if now < not_before {
                None
            } else {
                match self.tell(patience).await {
                    None if self.is_time_to_look(now, &mut look_at) => self.fetch(patience).await,
                    step => step,
                }
            };
            match step {
                Some(PumpStep::Good) => {
                    failures = 0;
                    continue;
                }
                None => {
                    self.wait(now, not_before, look_at).await;
                    continue;
                }
                Some(PumpStep::Failed(error)) => self.report(ElectionError::Store(error)),
                // The elector finds out for itself whether it is so; this makes it ask now.
                Some(PumpStep::NotHolder) => self.shared.send(DriverCommand::Input(self.shared.id, Input::Hint)),
            }
            failures = failures.saturating_add(1);
            not_before = self.shared.clock.now() + retry_after(failures, spread());
        }
    }

    /// Tells the store what became of messages; `None` when there is nothing to tell.
    async fn tell(&self, patience: Duration) -> Option<PumpStep> {
        let outcomes = self.inbox.with_term_inbox(TermInbox::tell);
        if outcomes.is_empty() {
            return None;
        }
        let (key, nonce, term) = (self.shared.key.clone(), self.nonce, self.leadership.term());
        let request = Ack { key, nonce, term, outcomes };
        let step = match self.in_time(patience, self.mailbox.ack(&request)).await {
            Ok(AckReply::Accepted { dropped }) => {
                drop(self.inbox.with_term_inbox(TermInbox::told));
                if dropped > 0 {
                    self.report(ElectionError::DeadLettersDropped { count: dropped });
                }
                return Some(PumpStep::Good);
            }
            Ok(AckReply::NotHolder) => PumpStep::NotHolder,
            Err(error) => PumpStep::Failed(error),
        };
        self.inbox.with_term_inbox(TermInbox::untold);
        Some(step)
    }

    /// At least once in a while, whether or not there was a hint. Work that must not begin any more is not fetched.
    fn is_time_to_look(&self, now: Instant, look_at: &mut Instant) -> bool {
        if self.leadership.is_cancelled() {
            return false;
        }
        if now >= *look_at {
            *look_at = now + self.look_every();
            self.inbox.with_term_inbox(TermInbox::look);
        }
        self.inbox.with_term_inbox(|term_inbox| term_inbox.wants_look())
    }

    /// Fetches messages; `None` when there is no room for any.
    async fn fetch(&self, patience: Duration) -> Option<PumpStep> {
        let (channels, except) = self.inbox.with_term_inbox(TermInbox::ask)?;
        let (key, nonce, term) = (self.shared.key.clone(), self.nonce, self.leadership.term());
        let request = Receive { key, nonce, term, channels, except, limit: RECEIVED_TOGETHER };
        Some(match self.in_time(patience, self.mailbox.receive(&request)).await {
            Ok(Received::Messages(messages)) => {
                let more = messages.len() >= RECEIVED_TOGETHER;
                self.inbox.with_term_inbox(|term_inbox| term_inbox.arrived(messages, more));
                PumpStep::Good
            }
            failed => {
                self.inbox.with_term_inbox(TermInbox::look);
                failed.map_or_else(PumpStep::Failed, |_| PumpStep::NotHolder)
            }
        })
    }

    /// Waits until something changed here, or until it is time to try, to look or to tell again.
    async fn wait(&self, now: Instant, not_before: Instant, look_at: Instant) {
        let is_over = self.leadership.is_cancelled();
        let retry = self.inbox.with_term_inbox(|term_inbox| term_inbox.next_retry());
        let times = [Some(look_at).filter(|_| !is_over), retry.filter(|_| !is_over), Some(not_before)];
        let next = times.into_iter().flatten().filter(|at| *at > now).min();
        let changed = pin!(self.inbox.changed.notified());
        match next {
            Some(at) => {
                select(changed, pin!(self.shared.clock.sleep_until(at))).await;
            }
            None => changed.await,
        }
    }

    /// No call is waited for longer than a renewal would be.
    async fn in_time<T>(
        &self,
        patience: Duration,
        call: BoxFuture<'_, Result<T, StoreError>>,
    ) -> Result<T, StoreError> {
        self.shared.clock.within(patience, call).await.unwrap_or_else(|| {
            let message = "the store did not answer in time when it was asked about messages";
            Err(StoreError::unknown(StoreErrorKind::TimedOut, message))
        })
    }

    fn report(&self, error: ElectionError) {
        self.shared.send(DriverCommand::Error(self.shared.id, error));
    }
}
