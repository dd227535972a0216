//! Records the metrics of one candidacy, on the driver's side.

use std::sync::Arc;

use tenure_core::{CampaignReply, Input, Instant, LossReason, RenewReply, Reply, Request, RequestId, Verb};

use super::class::Class;
use super::list::{self, ELECTED};
use super::registry::{self, CandidacyKey};
use crate::event::{ElectionError, EventKind};
use crate::shared::Shared;

/// Takes note of what happens to one candidacy. Without the feature `metrics` it is empty, and so is all it does.
#[derive(Debug)]
pub(crate) struct Recorder {
    class: Class,
    #[cfg(feature = "cron")]
    clock: crate::clock::Clock,
    candidacy_key: CandidacyKey,
    /// The renewal under way, and when it was sent.
    renewal: Option<(RequestId, Instant)>,
    /// The last campaign, and when it was sent.
    campaign: Option<(RequestId, Instant)>,
    /// Since when, or from when on, nobody leads, as far as is known.
    vacant_from: Option<Instant>,
}

impl Recorder {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        registry::changed();
        Self {
            class: shared.class.clone(),
            #[cfg(feature = "cron")]
            clock: shared.clock.clone(),
            candidacy_key: registry::join(shared),
            renewal: None,
            campaign: None,
            vacant_from: None,
        }
    }

    /// A request goes to the store.
    pub(crate) fn asked(&mut self, now: Instant, request: &Request) {
        match request.verb {
            Verb::Campaign { .. } => self.campaign = Some((request.id, now)),
            Verb::Renew { .. } => self.renewal = Some((request.id, now)),
            Verb::Resign { .. } => {}
        }
    }

    /// Something happened to the elector; only answers are of interest.
    pub(crate) fn heard(&mut self, now: Instant, input: &Input) {
        let Input::Reply { request, reply } = input else { return };
        match reply {
            Reply::Renew(Ok(RenewReply::Renewed { .. })) => {
                if let Some((_, sent_at)) = self.renewal.take_if(|(renewal, _)| renewal == request) {
                    list::RENEWAL_SECONDS.record(&self.class, now.saturating_since(sent_at));
                }
            }
            Reply::Renew(Ok(RenewReply::NotHolder { .. }) | Err(_)) => list::RENEWAL_FAILURES.increment(&self.class),
            Reply::Campaign(Ok(CampaignReply::Held(held))) => {
                // A late answer tells of a lease that may be over by now.
                if self.campaign.is_some_and(|(campaign, _)| campaign == *request) {
                    self.vacant_from = Some(match (&held.leader, self.vacant_from) {
                        (Some(_), _) => now + held.remaining,
                        (None, Some(known)) => known.min(now),
                        (None, None) => now,
                    });
                }
            }
            Reply::Campaign(Ok(CampaignReply::Granted { .. })) | Reply::Resign(_) => {}
            Reply::Campaign(Err(_)) => list::CAMPAIGN_FAILURES.increment(&self.class),
        }
    }

    /// Leadership began.
    pub(crate) fn elected(&mut self, now: Instant) {
        list::ACQUIRED.increment(&self.class);
        list::TRANSITIONS.count(&self.class, ELECTED, 1);
        if let (Some(vacant), Some((_, sent_at))) = (self.vacant_from.take(), self.campaign) {
            // It was free when it was asked for, at the latest: whoever held it may have resigned.
            list::FAILOVER_SECONDS.record(&self.class, now.saturating_since(vacant.min(sent_at)));
        }
        registry::changed();
    }

    /// Leadership was prolonged.
    pub(crate) fn renewed(&self) {
        list::RENEWALS.increment(&self.class);
        registry::changed();
    }

    /// Leadership ended.
    pub(crate) fn lost(&self, reason: LossReason) {
        list::LOST.increment(&self.class);
        list::TRANSITIONS.count(&self.class, reason.as_str(), 1);
        registry::changed();
    }

    /// Something happened that is no turn of the election.
    pub(crate) fn reported(&self, event: &EventKind) {
        match event {
            EventKind::Error { error } => self.error(error),
            #[cfg(feature = "cron")]
            EventKind::Job { job, job_event, .. } => {
                super::jobs::count(&self.class, self.clock.unix_ms(), job, job_event);
            }
            // The others are counted where they happen.
            _ => {}
        }
    }

    /// Something went wrong.
    fn error(&self, error: &ElectionError) {
        match error {
            ElectionError::Store(error) => list::STORE_ERRORS.count(&self.class, list::kind_word(error.kind()), 1),
            ElectionError::Anomaly(anomaly) => list::PROBLEMS.count(&self.class, list::problem_word(anomaly), 1),
            ElectionError::Panicked { .. } => list::PROBLEMS.count(&self.class, list::PANICKED, 1),
            ElectionError::Callback { .. }
            | ElectionError::WaitsForItself { .. }
            | ElectionError::DeadLettered { .. }
            | ElectionError::DeadLettersDropped { .. }
            | ElectionError::BroadcastsMissed { .. } => {}
            #[cfg(feature = "cron")]
            ElectionError::Job(_) => {}
        }
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        registry::leave(self.candidacy_key);
        registry::changed();
    }
}
