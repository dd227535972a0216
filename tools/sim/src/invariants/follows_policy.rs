//! What becomes of each tick is what its job wants: of missed ones all fire, or the latest, or none, and nothing is passed
//! over without a reason. Clocks of leaders and of the store may differ; what is right by either of them is right.

use std::time::Duration;

use tenure_core::jobs::{Act, Calendar, Claim, Claimed, Interrupted, Missed, Overlap, Tick};

use super::{Invariant, Occurrence};
use crate::assumption::Assumption;
use crate::clock::SECOND;
use crate::job::SimJob;
use crate::store::{JobReply, JobRequest};
use crate::world::{ServedJobRequest, SimJobRun, View};

pub(crate) struct FollowsPolicy;

/// What a clock that is corrected may still be wrong.
const SLACK: Duration = Duration::from_millis(500);
/// How long after a clock was set a leader may still go by what it knew before.
const SETTLED: u64 = 65 * SECOND;

impl Invariant for FollowsPolicy {
    fn name(&self) -> &'static str {
        "follows-policy"
    }

    fn rests_on(&self) -> &'static [Assumption] {
        &[Assumption::StoreRemembers]
    }

    fn see(&mut self, world: &View<'_>, seen: &Occurrence<'_>) -> Result<(), String> {
        match seen {
            Occurrence::RunBegan(run) => begins_in_time(world, run),
            Occurrence::Served(served) => {
                let (JobRequest::Claim(claim), JobReply::Claimed(Claimed::Granted)) = (served.request, served.reply)
                else {
                    return Ok(());
                };
                let Some(index) = world.jobs.iter().position(|job| job.policy.job == claim.job) else { return Ok(()) };
                let (job, mark) = (&world.jobs[index], served.before[index]);
                match claim.act {
                    // It was granted before.
                    Act::Run if mark.is_none_or(|mark| mark >= claim.tick) => Ok(()),
                    Act::Run => is_right_to_run(world, job, claim, served, mark),
                    Act::Pass | Act::Skip => is_right_to_pass(job, claim, served, mark),
                    Act::RunAgain => is_right_to_run_again(job, claim),
                }
            }
            _ => Ok(()),
        }
    }
}

/// A job that does not want missed ticks does not fire late, unless it waited for a run to end.
fn begins_in_time(world: &View<'_>, run: &SimJobRun) -> Result<(), String> {
    let job = &world.jobs[run.job];
    let may_wait = job.policy.overlap == Overlap::Queue;
    if job.policy.missed != Missed::Skip || run.act != Act::Run || may_wait || !is_settled(world) {
        return Ok(());
    }
    let late = run.tick.age_at(run.asked.wall_ms.min(run.asked.store_ms));
    // A machine that was paused with its clock cannot know better.
    let late = late + world.shows(run.of.node).saturating_since(run.asked.shown);
    if late <= job.patience() + SLACK + Duration::from_nanos(world.attempt(run.of.node)) {
        return Ok(());
    }
    Err(format!("{} of {} fires {late:?} late although it should be skipped then", run.tick, job.policy.job))
}

fn is_settled(world: &View<'_>) -> bool {
    world.wall_set_at == 0 || world.now > world.wall_set_at + SETTLED
}

/// Whoever fires all leaves out none; whoever fires once fires for the latest.
fn is_right_to_run(
    world: &View<'_>,
    job: &SimJob,
    claim: &Claim,
    served: &ServedJobRequest<'_>,
    mark: Option<Tick>,
) -> Result<(), String> {
    let (name, tick) = (&job.policy.job, claim.tick);
    if !job.policy.enabled {
        return Err(format!("{tick} of {name} is to run although the job is not enabled"));
    }
    let calendar = served.asked.calendar.unwrap_or(job.calendar);
    let first = mark.and_then(|mark| calendar.next_after(mark));
    if job.policy.missed == Missed::All && first.is_some_and(|first| first < tick) {
        return Err(format!("{tick} of {name} is to run, and {first:?} is left out"));
    }
    let surely_ms = served.asked.wall_ms.min(served.asked.store_ms);
    let is_late = tick.age_at(surely_ms) > job.patience() + SLACK;
    let next = calendar.next_after(tick).filter(|next| next.age_at(surely_ms) > job.policy.jitter + SLACK);
    match next {
        Some(next) if job.policy.missed != Missed::All && is_late && is_settled(world) => {
            Err(format!("{tick} of {name} is to run late although {next} is due as well"))
        }
        _ => Ok(()),
    }
}

/// Whoever wants neither what was cut off nor what is late does not want what was given back either.
fn is_right_to_run_again(job: &SimJob, claim: &Claim) -> Result<(), String> {
    if job.policy.interrupted == Interrupted::Again || job.policy.missed != Missed::Skip {
        return Ok(());
    }
    Err(format!("{} of {} is to run although it was decided", claim.tick, job.policy.job))
}

/// A tick is passed over because the job is not enabled, beside a run, because a later one took its place while it waited for a
/// run to end, or because it is too old.
fn is_right_to_pass(
    job: &SimJob,
    claim: &Claim,
    served: &ServedJobRequest<'_>,
    mark: Option<Tick>,
) -> Result<(), String> {
    // Whoever wants all ticks leaves out none because of a run: it waits.
    let may_skip = job.policy.overlap == Overlap::Skip && job.policy.missed != Missed::All;
    let beside_run = served.asked.is_running && may_skip;
    if !job.policy.enabled || beside_run || mark.is_some_and(|mark| mark >= claim.tick) {
        return Ok(());
    }
    let latest_ms = served.asked.wall_ms.max(served.asked.store_ms);
    let may_replace =
        job.policy.overlap == Overlap::Queue && job.policy.missed != Missed::All && claim.act == Act::Skip;
    let calendar = served.asked.calendar.unwrap_or(job.calendar);
    let later = calendar.next_after(claim.tick).filter(|later| later.unix_ms() <= latest_ms);
    if may_replace && later.is_some() {
        return Ok(());
    }
    let age = claim.tick.age_at(latest_ms);
    let wanted = if job.policy.missed == Missed::Skip { job.patience() } else { job.policy.window };
    if age > wanted {
        return Ok(());
    }
    Err(format!("{} of {} is passed over, {age:?} after it, although it is wanted", claim.tick, job.policy.job))
}
