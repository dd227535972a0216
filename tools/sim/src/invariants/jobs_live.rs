//! While somebody leads and nothing new goes wrong, no job is left behind: what is due is decided.

use tenure_core::jobs::{Calendar, Claimed, Tick};

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::clock::{MILLI, SECOND, SimTime};
use crate::store::{JobReply, JobRequest};
use crate::world::{View, ledger_rest};

#[derive(Default)]
pub(crate) struct JobsLive {
    /// Who was elected last, and when, or when it last took in other jobs.
    elected: Option<(usize, SimTime)>,
    /// By job: its mark, and when something was last decided.
    standings: Vec<(Option<Tick>, SimTime)>,
    looked_at: SimTime,
}

/// Looking at every instant would take longer than the rest of the simulation.
const LOOK_EVERY: u64 = SECOND / 2;
/// A leader may go by what it knew of a clock before it was set.
const SETTLING: u64 = 65 * SECOND;

impl JobsLive {
    fn look(&self, world: &View<'_>) -> Result<(), String> {
        let Some((node, elected_at)) = self.elected.filter(|(node, _)| world.can_fire(*node)) else { return Ok(()) };
        let set_at = if world.wall_set_at == 0 { 0 } else { world.wall_set_at + SETTLING };
        let disturbed_at = world.disturbed_at.max(world.jobs_disturbed_at).max(set_at);
        let quiet_since = elected_at.max(disturbed_at);
        // The clock that is behind: whoever is ahead waits for it.
        let shown_ms = world.wall_ms(node).min(world.store_wall_ms());
        for (index, job) in world.jobs.iter().enumerate() {
            let Some(calendar) = world.calendar(node, index) else { continue };
            let (mark, decided_at) = self.standings.get(index).copied().unwrap_or_default();
            let longest = job.lasts * 5 / 4 + 5 * world.attempt(node) + ledger_rest() + SECOND;
            let since = quiet_since.max(decided_at);
            if world.now < since + longest {
                continue;
            }
            let name = &job.policy.job;
            let Some(mark) = mark else {
                return Err(format!("{} has led for long, and not opened {name}", world.name(node)));
            };
            let due = calendar.next_after(mark).unwrap_or(Tick::MAX);
            let late = due.age_at(shown_ms).saturating_sub(job.policy.jitter);
            if late.as_nanos() > u128::from(longest) {
                let seconds = (world.now - since) / MILLI;
                let leader = world.name(node);
                return Err(format!("{due} of {name} is due, and {leader} has done nothing for {seconds} ms"));
            }
        }
        Ok(())
    }
}

impl Invariant for JobsLive {
    fn name(&self) -> &'static str {
        "jobs-live"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::StoreClockIsNotSet, Assumption::StoreRemembers]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        match *seen {
            Occurrence::Elected { node, .. } => self.elected = Some((node, world.now)),
            Occurrence::Reloaded { node } => {
                self.elected.iter_mut().filter(|(leader, _)| *leader == node).for_each(|(_, since)| *since = world.now);
            }
            Occurrence::Served(served) => {
                self.standings.resize(served.after.len(), (None, 0));
                let granted = match (served.request, served.reply) {
                    (JobRequest::Claim(claim), JobReply::Claimed(Claimed::Granted)) => Some(&claim.job),
                    _ => None,
                };
                let standings = self.standings.iter_mut().zip(served.after).zip(world.jobs);
                for (((mark, decided_at), after), job) in standings {
                    if mark != after || granted == Some(&job.policy.job) {
                        (*mark, *decided_at) = (*after, world.now);
                    }
                }
            }
            Occurrence::Passing if world.now >= self.looked_at + LOOK_EVERY => {
                self.looked_at = world.now;
                return self.look(world);
            }
            _ => (),
        }
        Ok(())
    }
}
