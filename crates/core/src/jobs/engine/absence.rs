//! Marks known jobs that the leader does not have, so that no next tick is shown for them.
//!
//! It is written behind their schedules, under the lease and before the own jobs are opened, and moves no mark. A candidate
//! that has such a job finds it as it was left, and what it missed is known: candidates may differ for a while, as they do when
//! a new version of a file is spread.

use std::collections::{BTreeMap, BTreeSet};

use super::{JobEngine, JobSlot, LedgerCall, LedgerFailure, Question};
use crate::election::input::WriteOutcome;
use crate::id::JobName;
use crate::jobs::absence::{absent_schedule, present_schedule};
use crate::jobs::calendar::Calendar;
use crate::jobs::mutant::JobMutant;
use crate::jobs::request::{JobReport, OpenJob, OpenJobs, Opened};
use crate::jobs::tick::Tick;

/// How much the ledger knows of the jobs that this leader does not have.
#[derive(Debug, Clone)]
pub(super) enum AbsenceStage {
    /// The ledger is to be asked which jobs it knows.
    Unknown,
    /// These are absent and not shown as such.
    Unmarked(Vec<OpenJob>),
    /// All that are absent are shown as such, and the own jobs can be opened.
    Noted,
}

impl<C: Calendar> JobEngine<C> {
    /// The next call of an opening.
    pub(super) fn open_next(&mut self) {
        let Some(leadership) = &self.leadership else { return };
        let (nonce, term) = (leadership.nonce, leadership.term);
        match leadership.absence.clone() {
            AbsenceStage::Unknown => self.call(Question::List, LedgerCall::List(self.key.clone())),
            AbsenceStage::Unmarked(jobs) => {
                let request = OpenJobs { key: self.key.clone(), nonce, term, jobs };
                self.call(Question::Note, LedgerCall::Open(request));
            }
            AbsenceStage::Noted => self.ask_standings(false),
        }
    }

    /// The ledger has named the jobs it knows.
    pub(super) fn listed(&mut self, listed: Result<Vec<JobReport>, WriteOutcome>) -> Result<(), LedgerFailure> {
        let known = match listed {
            Ok(known) => known,
            // What the store will never tell, because a record is damaged, say, keeps no job from firing.
            Err(WriteOutcome::Refused) => Vec::new(),
            Err(_) => return Err(LedgerFailure::Failed),
        };
        self.note_marks(&known);
        let unmarked = self.unmarked(&known);
        self.set_absence(if unmarked.is_empty() { AbsenceStage::Noted } else { AbsenceStage::Unmarked(unmarked) });
        Ok(())
    }

    /// The ledger has written down which jobs are absent.
    pub(super) fn noted(&mut self, opened: &Result<Opened, WriteOutcome>) -> Result<(), LedgerFailure> {
        match opened {
            Ok(Opened::NotHolder) => return Err(LedgerFailure::NotHolder),
            // What the store will never write keeps no job from firing either.
            Ok(Opened::Jobs(_) | Opened::TooMany) | Err(WriteOutcome::Refused) => {}
            Err(_) => return Err(LedgerFailure::Failed),
        }
        self.set_absence(AbsenceStage::Noted);
        Ok(())
    }

    pub(super) fn set_absence(&mut self, absence: AbsenceStage) {
        if let Some(leadership) = &mut self.leadership {
            leadership.absence = absence;
        }
    }

    /// Remembers where the own jobs stand.
    fn note_marks(&mut self, known: &[JobReport]) {
        let known: BTreeMap<&JobName, &JobReport> = known.iter().map(|report| (&report.job, report)).collect();
        let of = |slot: &JobSlot<C>| {
            let report = known.get(&slot.spec.policy.job)?;
            let schedule = present_schedule(&report.schedule).unwrap_or(&report.schedule);
            (*schedule == *slot.spec.schedule).then_some(report.mark)
        };
        self.slots.iter_mut().for_each(|slot| slot.known_mark = of(slot));
    }

    /// Which of these jobs are to be marked. The mark is taken back when a job is opened.
    fn unmarked(&self, known: &[JobReport]) -> Vec<OpenJob> {
        let current = self.slots.iter().filter(|slot| slot.is_current && !self.has(JobMutant::MarksOwnAbsent));
        let own: BTreeSet<&JobName> = current.map(|slot| &slot.spec.policy.job).collect();
        let is_unmarked =
            |report: &&JobReport| !own.contains(&report.job) && present_schedule(&report.schedule).is_none();
        let change = |report: &JobReport| {
            // That moves no mark, and sets it no lower should somebody forget the job just now.
            let moves = self.has(JobMutant::AbsenceMovesMark);
            let from = if moves { Tick::at_or_before_ms(self.unix_ms) } else { report.mark };
            OpenJob { job: report.job.clone(), schedule: absent_schedule(&report.schedule), from }
        };
        known.iter().filter(is_unmarked).filter(|_| !self.has(JobMutant::NeverMarksAbsent)).map(change).collect()
    }
}
