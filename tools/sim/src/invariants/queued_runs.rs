//! A tick that came due while a run of its job went on, and that may wait for its end, is not missed: not even if the jobs are
//! given anew meanwhile.

use tenure_core::Term;
use tenure_core::jobs::{Act, Claim, Claimed, Every, Interrupted, Missed, Overlap};

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::clock::{SECOND, SimTime};
use crate::job::SimJob;
use crate::store::{JobReply, JobRequest};
use crate::world::{ServedJobRequest, View, ledger_rest, nanos};

#[derive(Default)]
pub(crate) struct QueuedRuns {
    /// Who was elected last, under which term.
    leader: Option<(usize, Term)>,
    /// By job: when it is due by that leader's jobs, and since when that is so.
    calendars: Vec<(Option<Every>, SimTime)>,
    elected_at: SimTime,
    /// When one of its calls was hit, it began or ceased to be away, or it took in other jobs.
    upsets: Vec<SimTime>,
    /// What was last seen of calls, and of its being away.
    hit_at: SimTime,
    away_until: SimTime,
}

/// A leader may go by what it knew of a clock before it was set.
const SETTLING: u64 = 65 * SECOND;
/// How much a leader's wall clock may be ahead of the store's without being corrected.
const AHEAD_MAX_MS: u64 = 900;

impl QueuedRuns {
    fn elect(&mut self, world: &View<'_>, node: usize, term: Term) {
        self.leader = Some((node, term));
        (self.elected_at, self.upsets) = (world.now, Vec::new());
        self.calendars = (0..world.jobs.len()).map(|job| (world.calendar(node, job), world.now)).collect();
    }

    fn reload(&mut self, world: &View<'_>, node: usize) {
        if self.leader.is_none_or(|(leader, _)| leader != node) {
            return;
        }
        self.upsets.push(world.now);
        for (job, (calendar, since)) in self.calendars.iter_mut().enumerate() {
            let now = world.calendar(node, job);
            if *calendar != now {
                (*calendar, *since) = (now, world.now);
            }
        }
    }

    fn notice(&mut self, world: &View<'_>) {
        let Some((leader, _)) = self.leader else { return };
        if std::mem::replace(&mut self.hit_at, world.jobs_disturbed_at) != world.jobs_disturbed_at {
            self.upsets.push(world.jobs_disturbed_at);
        }
        let away_until = world.away_until(leader);
        if std::mem::replace(&mut self.away_until, away_until) != away_until {
            self.upsets.extend([world.now, away_until]);
        }
    }

    fn pass(&self, world: &View<'_>, served: &ServedJobRequest<'_>, claim: &Claim) -> Result<(), String> {
        let Some(index) = world.jobs.iter().position(|job| job.policy.job == claim.job) else { return Ok(()) };
        let (job, asked, node) = (&world.jobs[index], &served.asked, served.from.node);
        let is_new = served.before[index].is_some_and(|mark| mark < claim.tick);
        let is_ahead = asked.wall_ms > asked.store_ms + AHEAD_MAX_MS;
        if !lets_wait(job) || !asked.is_running || !is_new || is_ahead || self.leader != Some((node, claim.term)) {
            return Ok(());
        }
        let age = nanos(claim.tick.age_at(asked.wall_ms));
        // Wall clocks run at rates of their own.
        let slack = SECOND + age / 20;
        let calm = 3 * world.attempt(node) + ledger_rest() + slack;
        let due_at = world.now.saturating_sub(age);
        let (from, until) = (due_at.saturating_sub(calm), due_at + nanos(job.patience()) + slack);
        let is_settled = world.wall_set_at == 0 || world.wall_set_at + SETTLING < from;
        let had_it = self.calendars.get(index).is_some_and(|(calendar, since)| calendar.is_some() && *since < from);
        let was_led = self.elected_at < from;
        if !is_settled || !had_it || !was_led || self.upsets.iter().any(|at| (from..until).contains(at)) {
            return Ok(());
        }
        let (tick, name, leader) = (claim.tick, &job.policy.job, world.name(node));
        Err(format!("{tick} of {name} waited for a run to end, and {leader} passes over it as if it had been missed"))
    }
}

/// Whether a tick waits for a run to end, and none that is late fires but for that.
fn lets_wait(job: &SimJob) -> bool {
    let policy = &job.policy;
    let is_strict = policy.missed == Missed::Skip && policy.interrupted == Interrupted::Leave;
    policy.enabled && policy.overlap == Overlap::Queue && is_strict
}

impl Invariant for QueuedRuns {
    fn name(&self) -> &'static str {
        "queued-runs"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &Assumption::ALL
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        self.notice(world);
        match *seen {
            Occurrence::Elected { node, term } => self.elect(world, node, term),
            Occurrence::Reloaded { node } => self.reload(world, node),
            Occurrence::Served(served) => {
                if let (JobRequest::Claim(claim), JobReply::Claimed(Claimed::Granted)) = (served.request, served.reply)
                    && claim.act == Act::Pass
                {
                    return self.pass(world, served, claim);
                }
            }
            _ => (),
        }
        Ok(())
    }
}
