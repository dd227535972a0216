//! Claiming ticks, and letting their runs begin.

use tenure_core::Failure;
use tenure_core::cron::{Claim, Claimed, Finish, JobStanding, Open, Opened, Tick};

use super::endings::Standing;
use super::job::Job;
use super::news::{JobNews, JobTrouble};
use super::roster::{Running, Slot, Stage};
use super::run::{Begin, JobRun, Limit};
use super::scheduler::{Progress, Scheduler, Setback};
use super::term::{Term, Wish};
use crate::leadership::{Leadership, Work};

impl Scheduler<'_> {
    /// Says which jobs there are, and hears how they stand.
    pub(super) async fn open(&mut self, term: &mut Term) -> Progress {
        let unix_ms = self.shared.clock.unix_ms();
        self.gave_back = false;
        let standings = self.ask_standings(term, unix_ms).await?;
        let running = self.running.values().map(|running| running.index);
        term.open(self.slots.iter().map(|slot| &*slot.job), standings, running);
        term.learn_later(self.shared.clock.now());
        self.report_marks(term, unix_ms);
        Ok(())
    }

    /// Hears which ticks were given back by now.
    pub(super) async fn learn(&mut self, term: &mut Term) -> Progress {
        let unix_ms = self.shared.clock.unix_ms();
        // Should it fail, ticks that are due do not wait for it.
        term.learn_later(self.shared.clock.now());
        let standings = self.ask_standings(term, unix_ms).await?;
        term.learn(standings);
        term.learn_later(self.shared.clock.now());
        Ok(())
    }

    async fn ask_standings(&self, term: &Term, unix_ms: u64) -> Result<Vec<JobStanding>, Setback> {
        let request = Open {
            key: self.shared.key.clone(),
            nonce: term.nonce,
            term: term.leadership.term(),
            jobs: self.current().map(|slot| slot.job.open_from(unix_ms)).collect(),
        };
        match self.in_time(self.ledger.open(&request)).await.map_err(Setback::Store)? {
            Opened::Jobs(standings) => Ok(self.in_places(standings)),
            Opened::NotHolder => Err(Setback::NotHolder),
            Opened::TooMany => Err(Setback::TooMany),
        }
    }

    fn current(&self) -> impl Iterator<Item = &Slot> {
        self.slots.iter().filter(|slot| slot.is_current)
    }

    /// Puts each standing in the place of its job. What is gone stands still.
    fn in_places(&self, standings: Vec<JobStanding>) -> Vec<JobStanding> {
        let gone = JobStanding {
            mark: Tick::default(),
            interrupted: Vec::new(),
            unbegun: Vec::new(),
            is_paused: true,
            requested: None,
        };
        let mut standings = standings.into_iter();
        let mut in_place =
            |slot: &Slot| if slot.is_current { standings.next() } else { None }.unwrap_or_else(|| gone.clone());
        self.slots.iter().map(&mut in_place).collect()
    }

    /// Claims ticks, and does with each what the ledger says.
    pub(super) async fn claim(&mut self, term: &mut Term, wishes: &[Wish]) -> Progress {
        let (wishes, batch): (Vec<Wish>, Vec<Claim>) = wishes
            .iter()
            .filter_map(|wish| self.job(wish.index).map(|job| (*wish, self.claim_of(term, &job, wish))))
            .unzip();
        term.ask(&wishes);
        let own_ms = self.shared.clock.unix_ms();
        let replies = self.all_in_time(batch.len(), self.ledger.claim(&batch)).await;
        let mut progress = Ok(());
        for (wish, reply) in wishes.iter().zip(replies) {
            let unwanted = match &reply {
                Ok(claimed) => term.answered(wish, *claimed),
                Err(error) if error.failure() == Failure::Unknown => term.unanswered(wish),
                Err(_) => term.refused(wish),
            };
            for tick in unwanted {
                self.abandon(term, wish.index, tick, Standing::Doubtful);
            }
            let went = match reply {
                Ok(claimed) => self.claimed(term, wish, claimed, own_ms),
                Err(error) => Err(Setback::Store(error)),
            };
            progress = progress.and(went);
        }
        term.release();
        progress
    }

    /// Tells once of each mark that is far in the future.
    pub(super) fn report_marks(&self, term: &mut Term, unix_ms: u64) {
        for (index, mark) in term.marks_ahead(self.shared.clock.now(), unix_ms) {
            if let Some(job) = self.job(index) {
                self.trouble(JobTrouble::MarkAhead { job: job.name().clone(), mark });
            }
        }
    }

    fn claimed(&mut self, term: &mut Term, wish: &Wish, claimed: Claimed, own_ms: u64) -> Progress {
        match claimed {
            Claimed::Granted => match wish.passed {
                Some((count, why)) => self.news(wish.index, wish.tick, JobNews::Passed { count, why }),
                None => self.begin(term, wish),
            },
            Claimed::Decided { .. } | Claimed::Paused => {}
            Claimed::Early { by } => {
                // The planner allows for it from now on.
                if !std::mem::replace(&mut term.told_of_clock, true) {
                    self.trouble(JobTrouble::ClockAhead { by: by + wish.tick.age_at(own_ms) });
                }
            }
            Claimed::Unopened => term.close(),
            Claimed::NotHolder => return Err(Setback::NotHolder),
        }
        Ok(())
    }

    /// Begins a run, unless it is too late for that.
    fn begin(&mut self, term: &mut Term, wish: &Wish) {
        let Some(job) = self.job(wish.index) else { return };
        let Some(work) = term.begin(wish) else {
            term.ended(wish.index);
            self.abandon(term, wish.index, wish.tick, Standing::Claimed);
            return;
        };
        let Wish { index, tick, again, missed, late, .. } = *wish;
        let begin = Begin { job: job.name().clone(), tick, again, late, missed, retries: 0 };
        let finish = self.finish_of(term.nonce, &term.leadership, &job, tick);
        self.news(index, tick, JobNews::Fired { late, missed, again });
        self.attempt(index, begin, &term.leadership, finish, work);
    }

    /// Begins an attempt of a run.
    pub(super) fn attempt(&mut self, index: usize, begin: Begin, of: &Leadership, finish: Finish, work: Work) {
        let (tick, limit) = (begin.tick, Limit::default());
        let Some(slot) = self.slots.get(index) else { return };
        let (handler, timeout) = (slot.handler.clone(), slot.job.timeout_after());
        let deadline = timeout.map(|timeout| self.shared.clock.now() + timeout);
        let run = JobRun::new(begin.clone(), of.clone(), limit.clone());
        let id = self.roster.next_run();
        let running = Running { index, tick, limit, stage: Stage::Allowed, deadline, begin, rest: None };
        self.running.insert(id, running);
        self.roster.begin(handler, id, run, finish, work);
    }

    fn claim_of(&self, term: &Term, job: &Job, wish: &Wish) -> Claim {
        Claim {
            key: self.shared.key.clone(),
            nonce: term.nonce,
            term: term.leadership.term(),
            candidate: self.shared.candidate.clone(),
            job: job.name().clone(),
            tick: wish.tick,
            act: wish.act,
            missed: wish.missed,
        }
    }
}
