//! No tick is lost with a process that lives: what was granted under a leadership begins under it, or is given back soon after.

use std::collections::{BTreeMap, BTreeSet};

use tenure_core::Term;
use tenure_core::jobs::{Claimed as Reply, Tick};

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::clock::{SECOND, SimTime};
use crate::store::{JobReply, JobRequest};
use crate::world::{Incarnation, ServedJobRequest, View, ledger_rest};

#[derive(Default)]
pub(crate) struct NothingLost {
    /// Ticks that were granted and have not begun.
    granted: BTreeMap<ClaimKey, GrantedTick>,
    begun: BTreeSet<ClaimKey>,
    /// The numbers of requests that were refused.
    refused: BTreeSet<u64>,
    looked_at: SimTime,
}

/// By job, tick and term.
type ClaimKey = (usize, Tick, Term);

struct GrantedTick {
    to: Incarnation,
    /// The number of the request.
    id: u64,
    /// When it was made, or when its leadership ended if that was later.
    since: SimTime,
}

/// Looking at every instant would take longer than the rest of the simulation.
const LOOK_EVERY: u64 = SECOND / 2;

impl NothingLost {
    fn serve(&mut self, world: &View<'_>, served: &ServedJobRequest<'_>) {
        let (JobRequest::Claim(claim), JobReply::Claimed(reply)) = (served.request, served.reply) else { return };
        let Some(job) = world.jobs.iter().position(|job| job.policy.job == claim.job) else { return };
        let (claimed, id) = ((job, claim.tick, claim.term), served.id);
        match reply {
            Reply::Granted if claim.act.is_run() && !self.begun.contains(&claimed) && !self.refused.contains(&id) => {
                self.granted.insert(claimed, GrantedTick { to: served.from, id, since: world.now });
            }
            Reply::Granted | Reply::Decided { .. } => (),
            // Requests come twice here, which connections rule out: whoever hears that one copy was refused cannot know that
            // the other one was not.
            Reply::Early { .. } | Reply::Paused | Reply::Unopened | Reply::NotHolder => {
                self.refused.insert(id);
                self.granted.retain(|_, grant| grant.id != id);
            }
        }
    }

    fn look(&mut self, world: &View<'_>) -> Result<(), String> {
        // What the store knows of it tells the rest: it was given back, taken over, or is too long ago.
        let is_open = |(job, tick, term): &ClaimKey| world.is_open(&world.jobs[*job].policy.job, *tick, *term);
        self.granted.retain(|claimed, grant| world.lives(grant.to) && is_open(claimed));
        let quiet_since = world.disturbed_at.max(world.jobs_disturbed_at);
        for ((job, tick, term), GrantedTick { to, since, .. }) in &self.granted {
            let is_over = world.leads_under(to.node) != Some(*term) && world.is_answered(to.node);
            let longest = 5 * world.attempt(to.node) + ledger_rest() + 2 * SECOND;
            if is_over && world.now > quiet_since.max(*since).max(world.away_until(to.node)) + longest {
                let (job, name) = (&world.jobs[*job].policy.job, world.name(to.node));
                return Err(format!(
                    "{tick} of {job} was granted to {name} under term {term}: not begun, nor given back"
                ));
            }
        }
        Ok(())
    }
}

impl Invariant for NothingLost {
    fn name(&self) -> &'static str {
        "nothing-lost"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::StoreClockIsNotSet, Assumption::StoreRemembers]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        match *seen {
            Occurrence::Served(served) => self.serve(world, served),
            Occurrence::RunBegan(run) => {
                self.granted.remove(&(run.job, run.tick, run.term));
                self.begun.insert((run.job, run.tick, run.term));
            }
            // It knows now that nothing more begins.
            Occurrence::Lost { node, term, .. } => {
                let ended =
                    self.granted.iter_mut().filter(|((.., under), grant)| *under == term && grant.to.node == node);
                ended.for_each(|(_, grant)| grant.since = world.now);
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
