//! Known mistakes about jobs, to be made on purpose. As those of electors, they exist only in builds with `--cfg mutants`.

use super::engine::JobEngine;

/// A mistake that an engine can be made to make.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[cfg_attr(not(mutants), allow(dead_code, unreachable_pub, reason = "it is public, and all of it used, with mutants"))]
pub enum JobMutant {
    /// A run begins when its tick is claimed, before the ledger has granted it.
    RunsUnclaimed,
    /// A claim that is not answered counts as granted.
    SilenceGrants,
    /// A grant is not matched with the claim that is under way.
    TakesAnyGrant,
    /// A grant that comes when leadership is over begins a run.
    RunsAfterLoss,
    /// A tick that comes due during a run is left out although the job wants all.
    SkipsInsteadOfAll,
    /// A claim that was not answered is waited for, for ever.
    AsksOnce,
    /// A run that was cut off is given back as if it had never begun.
    GivesBackBegun,
    /// A tick is given back although the same leader may still claim and begin it, while word of it is on its way.
    GivesBackWanted,
    /// A tick is given back once, although its claim may reach the store after that.
    GivesBackOnce,
    /// A leader does not look for ticks that were given back after its leadership began.
    NeverOpensAgain,
    /// A job that the leader does not have is not shown as absent.
    NeverMarksAbsent,
    /// Jobs that the leader has are marked as absent with the others.
    MarksOwnAbsent,
    /// Marking a job as absent decides all its ticks up to the present.
    AbsenceMovesMark,
    /// A job that is back begins at the present, as if its schedule had changed.
    BackAtPresent,
    /// A tick that waits for a run to end is forgotten when the jobs are given anew.
    ReloadDropsQueued,
    /// Runs that go on do not count any more when the jobs are opened again.
    ReloadForgetsRuns,
}

#[cfg(not(mutants))]
impl<C> JobEngine<C> {
    /// Whether this mistake is to be made.
    #[inline(always)]
    #[expect(clippy::unused_self, reason = "it is asked of an engine that makes mistakes")]
    pub(super) const fn has(&self, _: JobMutant) -> bool {
        false
    }
}

#[cfg(mutants)]
impl JobMutant {
    /// All of them.
    pub const ALL: [Self; 16] = [
        Self::RunsUnclaimed,
        Self::SilenceGrants,
        Self::TakesAnyGrant,
        Self::RunsAfterLoss,
        Self::SkipsInsteadOfAll,
        Self::AsksOnce,
        Self::GivesBackBegun,
        Self::GivesBackWanted,
        Self::GivesBackOnce,
        Self::NeverOpensAgain,
        Self::NeverMarksAbsent,
        Self::MarksOwnAbsent,
        Self::AbsenceMovesMark,
        Self::BackAtPresent,
        Self::ReloadDropsQueued,
        Self::ReloadForgetsRuns,
    ];
}

#[cfg(mutants)]
impl<C> JobEngine<C> {
    /// Makes this engine make a mistake.
    #[must_use]
    pub fn mutated(mut self, mutant: JobMutant) -> Self {
        self.mutant = Some(mutant);
        self
    }

    /// Whether this mistake is to be made.
    pub(super) fn has(&self, mutant: JobMutant) -> bool {
        self.mutant == Some(mutant)
    }
}
