//! What is told of one candidacy, on the driver's side.

use std::sync::Arc;

use tenure_core::{CampaignReply, Input, Instant, LossReason, RenewReply, Reply, Request, RequestId, Verb};

use super::board::{self, Seat};
use super::class::Class;
use super::list::{self, ELECTED};
use crate::event::Trouble;
use crate::shared::Shared;

/// Takes note of what happens to one candidacy. Without the feature `metrics` it is empty, and so is all it does.
#[derive(Debug)]
pub(crate) struct Recorder {
    class: Class,
    seat: Seat,
    /// The renewal under way, and when it was sent.
    renewal: Option<(RequestId, Instant)>,
    /// The last campaign, and when it was sent.
    campaign: Option<(RequestId, Instant)>,
    /// Since when, or from when on, nobody leads, as far as is known.
    vacant_from: Option<Instant>,
}

impl Recorder {
    pub(crate) fn new(shared: &Arc<Shared>) -> Self {
        board::changed();
        Self { class: shared.class.clone(), seat: board::sit(shared), renewal: None, campaign: None, vacant_from: None }
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
        board::changed();
    }

    /// Leadership was prolonged.
    pub(crate) fn renewed(&self) {
        list::RENEWALS.increment(&self.class);
        board::changed();
    }

    /// Leadership ended.
    pub(crate) fn lost(&self, reason: LossReason) {
        list::LOST.increment(&self.class);
        list::TRANSITIONS.count(&self.class, reason.as_str(), 1);
        board::changed();
    }

    /// Something went wrong.
    pub(crate) fn trouble(&self, trouble: &Trouble) {
        match trouble {
            Trouble::Store(error) => list::STORE_ERRORS.count(&self.class, list::kind_word(error.kind()), 1),
            Trouble::Problem(problem) => list::PROBLEMS.count(&self.class, list::problem_word(problem), 1),
            Trouble::Panicked { .. } => list::PROBLEMS.count(&self.class, list::PANICKED, 1),
            Trouble::Callback { .. }
            | Trouble::WaitsForItself { .. }
            | Trouble::SetAside { .. }
            | Trouble::AsideDropped { .. }
            | Trouble::BroadcastsMissed { .. } => {}
            #[cfg(feature = "cron")]
            Trouble::Job(_) => {}
        }
    }

    /// Something happened to a tick of a job.
    #[cfg(feature = "cron")]
    pub(crate) fn job(&self, unix_ms: u64, job: &tenure_core::JobName, news: &crate::cron::JobNews) {
        super::jobs::count(&self.class, unix_ms, job, news);
    }

    /// It has jobs that may run.
    #[cfg(feature = "cron")]
    pub(crate) fn has_jobs(&self, jobs: impl Iterator<Item = tenure_core::JobName>) {
        jobs.for_each(|job| super::jobs::begin(&self.class, &job));
    }
}

impl Drop for Recorder {
    fn drop(&mut self) {
        board::leave(self.seat);
        board::changed();
    }
}
