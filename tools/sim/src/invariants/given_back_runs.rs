//! While somebody leads and nothing new goes wrong, what was given back is run, if the job wants every tick.

use std::time::Duration;

use tenure_core::Term;
use tenure_core::jobs::{Act, Calendar, Claimed, Every, Interrupted, Missed, Tick};

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::clock::{SECOND, SimTime};
use crate::job::SimJob;
use crate::store::{JobReply, JobRequest};
use crate::world::{ServedJobRequest, View, ledger_rest};

#[derive(Default)]
pub(crate) struct GivenBackRuns {
    /// Who was elected last, and when, or when it last took in other jobs.
    elected: Option<(usize, Term, SimTime)>,
    /// By job: how often it has fired by the store's count, and when a tick was last given back, or taken once more.
    standings: Vec<(u64, SimTime)>,
    looked_at: SimTime,
}

/// Looking at every instant would take longer than the rest of the simulation.
const LOOK_EVERY: u64 = SECOND / 2;
/// How long it takes a leader to look for what was given back, and some time to do it.
const OPENED_AFTER: u64 = 11 * SECOND;
/// A leader may go by what it knew of a clock before it was set.
const SETTLING: u64 = 65 * SECOND;

impl GivenBackRuns {
    fn serve(&mut self, world: &View<'_>, served: &ServedJobRequest<'_>) {
        self.standings.resize(served.fired.len(), (0, 0));
        let again = match (served.request, served.reply) {
            (JobRequest::Claim(claim), JobReply::Claimed(Claimed::Granted)) if claim.act == Act::RunAgain => {
                Some(&claim.job)
            }
            _ => None,
        };
        for (((count, at), fired), job) in self.standings.iter_mut().zip(served.fired).zip(world.jobs) {
            if fired < count || again == Some(&job.policy.job) {
                *at = world.now;
            }
            *count = *fired;
        }
    }

    fn look(&self, world: &View<'_>) -> Result<(), String> {
        let Some((node, term, elected_at)) = self.elected.filter(|(node, ..)| world.can_fire(*node)) else {
            return Ok(());
        };
        let set_at = if world.wall_set_at == 0 { 0 } else { world.wall_set_at + SETTLING };
        let quiet_since = elected_at.max(world.disturbed_at).max(world.jobs_disturbed_at).max(set_at);
        for (index, (job, (_, changed_at))) in world.jobs.iter().zip(&self.standings).enumerate() {
            let Some(calendar) = world.calendar(node, index) else { continue };
            let longest = OPENED_AFTER + job.lasts * 5 / 4 + 5 * world.attempt(node) + ledger_rest() + SECOND;
            if world.now < quiet_since.max(*changed_at) + longest {
                continue;
            }
            if let Some(tick) = wanted(world, (node, term), job, calendar, Duration::from_nanos(longest)) {
                let (name, leader) = (&job.policy.job, world.name(node));
                return Err(format!("{tick} of {name} was given back, and {leader} leads and does not run it"));
            }
        }
        Ok(())
    }
}

/// A tick that was given back, has been due for so long, and is to be run by whoever leads, all that by every clock. What was
/// given back under its own term is for the next one, and a tick of a schedule that was replaced is nobody's any more.
fn wanted(
    world: &View<'_>,
    (node, term): (usize, Term),
    job: &SimJob,
    calendar: Every,
    longest: Duration,
) -> Option<Tick> {
    let policy = &job.policy;
    let wants_all = policy.missed == Missed::All || policy.interrupted == Interrupted::Again;
    if !policy.enabled || !wants_all {
        return None;
    }
    let (own_ms, store_ms) = (world.wall_ms(node), world.store_wall_ms());
    let is_due = |tick: Tick| {
        let has_been_due = tick.age_at(own_ms.min(store_ms)) > longest;
        let is_its = calendar.last_until(tick) == Some(tick);
        is_its && has_been_due && tick.age_at(own_ms.max(store_ms)) < policy.window
    };
    world.given_back(&policy.job).find(|(tick, under)| *under < term && is_due(*tick)).map(|(tick, _)| tick)
}

impl Invariant for GivenBackRuns {
    fn name(&self) -> &'static str {
        "given-back-runs"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::StoreClockIsNotSet, Assumption::StoreRemembers]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        match *seen {
            Occurrence::Elected { node, term } => self.elected = Some((node, term, world.now)),
            Occurrence::Reloaded { node } => {
                let leader = self.elected.iter_mut().filter(|(leader, ..)| *leader == node);
                leader.for_each(|(.., since)| *since = world.now);
            }
            Occurrence::Served(served) => self.serve(world, served),
            Occurrence::Passing if world.now >= self.looked_at + LOOK_EVERY => {
                self.looked_at = world.now;
                return self.look(world);
            }
            _ => (),
        }
        Ok(())
    }
}
