//! Says whether each tick fired as it should. Plain rules on what was written down: no clock, no store.

mod overlap;
#[cfg(test)]
mod tests;
mod unbegun;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use tenure::cron::Missed;

use crate::journal::{JournalLine, Side};
use crate::observed::{ClaimEnd, ObservedClaim, ObservedJob, ObservedJobs};
use crate::strike::{Strike, StrikeKind};

/// All that is known of what happened.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    pub(crate) lines: Vec<JournalLine>,
    pub(crate) observed: ObservedJobs,
    pub(crate) strikes: Vec<Strike>,
    /// When everybody was told to leave, on the wall clock: what is given back after that, nobody can run.
    pub(crate) left_at_unix_ms: Option<u64>,
}

/// What became of the ticks of one job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// From the first that was decided to the last.
    pub(crate) due: usize,
    /// Their work began.
    pub(crate) run: usize,
    /// Some of those had been claimed before, and given back.
    pub(crate) run_after_return: usize,
    /// Their work began more than once.
    pub(crate) twice: usize,
    /// Claimed by a leader that was killed before the work began.
    pub(crate) lost: usize,
    /// Given back, and not run: nobody wanted them any more, or nobody was left.
    pub(crate) returned: usize,
    /// Nobody claimed them to be run: they were missed, or came during a run.
    pub(crate) passed: usize,
}

/// What the judge says.
#[derive(Debug, Default)]
pub(crate) struct JudgeVerdict {
    pub(crate) counts: BTreeMap<String, Count>,
    pub(crate) violations: Vec<String>,
}

/// By how much a tick may be late and still be on time: the default of jobs.
const MAX_LATE: Duration = Duration::from_secs(1);
/// How long a busy machine may take from a decision to what follows from it, an attempt to reach the store included.
const MAX_DELAY: Duration = Duration::from_secs(4);

impl Evidence {
    /// Judges the jobs, each of which is named after what it does with missed ticks.
    pub(crate) fn judge(&self, jobs: &[Missed]) -> JudgeVerdict {
        let mut verdict = JudgeVerdict { violations: self.observed.contradictions.clone(), ..JudgeVerdict::default() };
        for missed in jobs {
            self.judge_job(*missed, &mut verdict);
        }
        verdict
    }

    fn judge_job(&self, missed: Missed, verdict: &mut JudgeVerdict) {
        let job = missed.to_string();
        let [begins, ends] = [Side::Begin, Side::End].map(|side| self.lines_of(&job, side));
        let Some(account) = self.observed.jobs.get(&job) else {
            return verdict.violations.push(format!("{job} was never opened"));
        };
        let mut wrong = once_each(&begins, "began");
        wrong.extend(once_each(&ends, "ended"));
        wrong.extend(begins.iter().filter_map(|begin| unclaimed(begin, account)));
        let unbegun = self.unbegun(&begins, account, missed);
        wrong.extend(unbegun.unexplained);
        wrong.extend(out_of_order(account));
        wrong.extend(gaps(account, missed));
        wrong.extend(self.overlaps(&begins, &ends));
        if missed != Missed::All {
            wrong.extend(self.too_late(&begins, account));
        }
        verdict.violations.extend(wrong.into_iter().map(|what| format!("{job}: {what}")));
        let begun: BTreeSet<u64> = begins.iter().map(|begin| begin.tick).collect();
        let is_second = |tick: &&u64| account.claims.get(tick).is_some_and(|claims| claims.len() > 1);
        let count = Count {
            due: due(account),
            run: begun.len(),
            run_after_return: begun.iter().filter(is_second).count(),
            twice: begins.len() - begun.len(),
            lost: unbegun.lost,
            returned: unbegun.returned,
            passed: due(account).saturating_sub(account.claims.len()),
        };
        verdict.counts.insert(job, count);
    }

    fn lines_of(&self, job: &str, side: Side) -> Vec<&JournalLine> {
        self.lines.iter().filter(|line| line.side == side && line.job == job).collect()
    }

    /// Ticks that fired although they were to be passed over by then. Whoever stood still between its claim and its work is
    /// late, and knows that it must not do anything any more.
    fn too_late(&self, begins: &[&JournalLine], account: &ObservedJob) -> Vec<String> {
        let latest = |tick: u64| tick * 1_000 + ms(MAX_LATE + MAX_DELAY);
        let stood_still =
            |begin: &JournalLine| begin.told && self.strikes.iter().any(|strike| strike.paused_before(begin));
        let begun = begins.iter().filter(|begin| begin.at.unix_ms > latest(begin.tick) && !stood_still(begin));
        let begun = begun.map(|begin| format!("tick {} began late: {begin:?}", begin.tick));
        let claims = account.claims.iter().flat_map(|(tick, claims)| claims.iter().map(move |claim| (tick, claim)));
        let claimed = claims.filter(|(tick, claim)| claim.at_unix_ms > latest(**tick));
        begun.chain(claimed.map(|(tick, claim)| format!("tick {tick} was claimed late: {claim:?}"))).collect()
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap()
}

/// What happened to a tick more than once.
fn once_each(lines: &[&JournalLine], what: &str) -> Vec<String> {
    let mut by_tick: BTreeMap<u64, Vec<&JournalLine>> = BTreeMap::new();
    lines.iter().for_each(|line| by_tick.entry(line.tick).or_default().push(line));
    let twice = by_tick.iter().filter(|(_, lines)| lines.len() > 1);
    twice.map(|(tick, lines)| format!("tick {tick} {what} {} times: {lines:?}", lines.len())).collect()
}

/// Work that began without its tick being claimed for it.
fn unclaimed(begin: &JournalLine, account: &ObservedJob) -> Option<String> {
    let tick = begin.tick;
    let last = account.claims.get(&tick).and_then(|claims| claims.last());
    match last {
        Some(claim) if claim.end == ClaimEnd::GivenBack => {
            Some(format!("tick {tick} was given back, and run: {begin:?}"))
        }
        Some(claim) if claim.term == begin.term && claim.candidate == begin.candidate => None,
        claim => Some(format!("tick {tick} was run by somebody else than who claimed it: {claim:?}, {begin:?}")),
    }
}

/// A later claim that was made under an earlier term.
fn out_of_order(account: &ObservedJob) -> Vec<String> {
    let mut claims: Vec<&ObservedClaim> = account.claims.values().flatten().collect();
    claims.sort_by_key(|claim| (claim.at_unix_ms, claim.term));
    let fallen = claims.windows(2).filter(|pair| pair[1].term < pair[0].term);
    fallen.map(|pair| format!("the term fell: {:?}, {:?}", pair[0], pair[1])).collect()
}

/// Ticks that nobody claimed, where that must not be, and claims that the evidence lacks.
fn gaps(account: &ObservedJob, missed: Missed) -> Vec<String> {
    let mut wrong = Vec::new();
    let taken = account.last_claims().filter(|(_, claim)| claim.end != ClaimEnd::GivenBack).count();
    if account.fired != taken as u64 {
        wrong.push(format!("the store counts {} ticks, and {taken} were seen", account.fired));
    }
    let (left_out, unfired) = (account.missed + account.skipped, due(account).saturating_sub(taken) as u64);
    // Whoever asks again because an answer was lost may count a tick twice.
    if left_out < unfired {
        wrong.push(format!("the store counts {left_out} ticks that were left out, and {unfired} did not fire"));
    }
    if missed == Missed::All {
        let first = account.claims.keys().next().copied().unwrap_or(account.mark);
        let unclaimed = (first..=account.mark).filter(|tick| !account.claims.contains_key(tick));
        wrong.extend(unclaimed.map(|tick| format!("tick {tick} was not claimed by anybody")));
        if account.skipped > 0 {
            wrong.push(format!("{} ticks were skipped", account.skipped));
        }
    }
    wrong
}

fn due(account: &ObservedJob) -> usize {
    let first = account.claims.keys().next().copied().unwrap_or(account.mark);
    usize::try_from((account.mark + 1).saturating_sub(first)).unwrap()
}

impl Strike {
    /// Whether it is a pause that ended not long before this line was written by whoever was paused.
    fn paused_before(&self, line: &JournalLine) -> bool {
        let latest = self.until.boot_ns + u64::try_from(MAX_DELAY.as_nanos()).unwrap();
        self.is_pause_of(&line.candidate) && (self.until.boot_ns..=latest).contains(&line.at.boot_ns)
    }

    fn is_pause_of(&self, candidate: &str) -> bool {
        self.kind == StrikeKind::Pause && self.candidate == candidate
    }
}

impl fmt::Display for JudgeVerdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (job, count) in &self.counts {
            let Count { due, run, run_after_return, twice, lost, returned, passed } = count;
            write!(f, "{job}: {due} due, {run} run ({run_after_return} after they were given back), {twice} twice, ")?;
            write!(f, "{lost} lost with a kill, {returned} given back and not run, {passed} passed over; ")?;
        }
        write!(f, "{} violations", self.violations.len())
    }
}
