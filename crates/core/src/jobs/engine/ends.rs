//! Telling the ledger how runs ended, and giving back ticks that do not begin.

use std::time::Duration;

use super::tick_record::{TickKey, TickRecord, TickStage, UnreportedEnd};
use super::{JobEngine, LedgerCall, LedgerFailure, Question, TOGETHER};
use crate::election::input::WriteOutcome;
use crate::jobs::calendar::Calendar;
use crate::jobs::mutant::JobMutant;
use crate::jobs::outcome::RunOutcome;
use crate::jobs::request::Finish;

/// How long after a leadership the ledger is still told how its runs ended.
const TELL_FOR: Duration = Duration::from_secs(60);
/// The same for ticks that are given back: somebody waits for them.
const GIVE_BACK_FOR: Duration = Duration::from_secs(60 * 60);
/// When a tick is given back once more that the ledger did not know.
const TELL_AGAIN_AFTER: Duration = Duration::from_secs(1);
/// For so many ttls after a leadership its lease may be alive in the store, which grants a claim that comes so late: a renewal
/// that was on its way as well may have made it last longer.
const DOUBT_TTLS: u32 = 3;

impl<C: Calendar> JobEngine<C> {
    /// Tells how runs have ended; false when there is nothing to tell.
    pub(super) fn tell(&mut self) -> bool {
        let now = self.now;
        self.tell_doubted(|tell_at| tell_at <= now);
        let unreported = |(key, record): (&TickKey, &TickRecord)| {
            let TickStage::Unreported(end) = &record.stage else { return None };
            Some((end.turn, *key))
        };
        let mut keys: Vec<(u64, TickKey)> = self.ticks.iter().filter_map(unreported).collect();
        keys.sort_unstable();
        keys.truncate(TOGETHER);
        let keys: Vec<TickKey> = keys.into_iter().map(|(_, key)| key).collect();
        let batch: Vec<Finish> = keys.iter().filter_map(|key| self.finish_of(*key)).collect();
        if batch.is_empty() {
            return false;
        }
        self.call(Question::Finish(keys), LedgerCall::Finish(batch));
        true
    }

    fn finish_of(&self, key: TickKey) -> Option<Finish> {
        let TickRecord { nonce, stage: TickStage::Unreported(end) } = self.ticks.get(&key)? else { return None };
        Some(Finish {
            key: self.key.clone(),
            nonce: *nonce,
            term: key.term,
            job: self.slots[key.job].spec.policy.job.clone(),
            tick: key.tick,
            took: end.took,
            retries: end.retries,
            outcome: end.outcome.clone(),
        })
    }

    pub(super) fn finished(
        &mut self,
        keys: &[TickKey],
        replies: &[Result<bool, WriteOutcome>],
        told_at: crate::Instant,
    ) -> Result<(), LedgerFailure> {
        let mut went = Ok(());
        for (index, key) in keys.iter().enumerate() {
            let Some(TickStage::Unreported(mut end)) = self.ticks.get(key).map(|record| record.stage.clone()) else {
                continue;
            };
            match replies.get(index) {
                Some(Ok(true)) => {
                    self.gave_back |= end.outcome == RunOutcome::NotBegun;
                    self.told(*key);
                }
                Some(Ok(false))
                    if end.doubt_until.is_some_and(|until| told_at < until) && !self.has(JobMutant::GivesBackOnce) =>
                {
                    // The lease does not wait for what may never come.
                    end.holds_lease = false;
                    self.set_stage(*key, TickStage::Doubted { tell_at: told_at + TELL_AGAIN_AFTER, end });
                }
                // Known no more: there is nothing left to tell.
                Some(Ok(false)) => self.told(*key),
                failed @ (Some(Err(_)) | None) => {
                    end.turn = self.next_turn();
                    self.set_stage(*key, TickStage::Unreported(end));
                    went = went.and(Err(failed.map_or(LedgerFailure::Unanswered, |_| LedgerFailure::Failed)));
                }
            }
        }
        went
    }

    /// The ledger knows. What was given back is not begun under the same term, should it be granted once more.
    fn told(&mut self, key: TickKey) {
        let is_of_leadership = self.leadership.as_ref().is_some_and(|leadership| leadership.term == key.term);
        if is_of_leadership && self.ticks.get(&key).is_some_and(TickRecord::is_given_back) {
            self.set_stage(key, TickStage::GivenBack);
        } else {
            self.ticks.remove(&key);
        }
    }

    pub(super) fn tell_all_doubted(&mut self) {
        self.tell_doubted(|_| true);
    }

    fn tell_doubted(&mut self, is_time: impl Fn(crate::Instant) -> bool) {
        for record in self.ticks.values_mut() {
            if let TickStage::Doubted { tell_at, end } = &record.stage
                && is_time(*tell_at)
            {
                self.last_turn += 1;
                record.stage = TickStage::Unreported(UnreportedEnd { turn: self.last_turn, ..end.clone() });
            }
        }
    }

    /// Nothing begins any more: what may have been claimed is given back.
    pub(super) fn give_back_doubtful(&mut self) {
        self.give_back_where(|_| true);
    }

    pub(super) fn give_back_where(&mut self, is_meant: impl Fn(&TickKey) -> bool) {
        let is_doubtful = |record: &TickRecord| matches!(record.stage, TickStage::Doubtful);
        let doubtful = self.ticks.iter().filter(|(key, record)| is_doubtful(record) && is_meant(key));
        for key in doubtful.map(|(key, _)| *key).collect::<Vec<_>>() {
            self.abandon(key, true);
        }
    }

    /// Gives back a tick that is not run although it was claimed, or may have been.
    pub(super) fn abandon(&mut self, key: TickKey, is_doubtful: bool) {
        self.tell_later(key, Duration::ZERO, 0, RunOutcome::NotBegun);
        let doubt_until = is_doubtful.then(|| self.now + self.ttl * DOUBT_TTLS);
        if let Some(TickStage::Unreported(end)) = self.ticks.get_mut(&key).map(|record| &mut record.stage) {
            end.doubt_until = doubt_until;
        }
    }

    pub(super) fn tell_later(&mut self, key: TickKey, took: Duration, retries: u32, outcome: RunOutcome) {
        let holds_lease = self.leadership.as_ref().is_some_and(|leadership| leadership.term == key.term);
        let turn = self.next_turn();
        let end = UnreportedEnd { took, retries, outcome, turn, holds_lease, until: None, doubt_until: None };
        self.set_stage(key, TickStage::Unreported(end));
    }

    /// What has not been told does not keep a lease any more, and is not told for ever.
    pub(super) fn grow_old(&mut self) {
        let now = self.now;
        self.ticks.retain(|_, record| {
            let TickStage::Unreported(end) = &mut record.stage else { return true };
            let tell_for = if end.outcome == RunOutcome::NotBegun { GIVE_BACK_FOR } else { TELL_FOR };
            end.holds_lease = false;
            now < *end.until.get_or_insert(now + tell_for)
        });
    }

    fn next_turn(&mut self) -> u64 {
        self.last_turn += 1;
        self.last_turn
    }
}
