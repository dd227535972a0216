//! Says whether each tick fired as it should. Plain rules on what was written down: no clock, no store.

mod overlap;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::fmt;
use std::time::Duration;

use tenure::cron::Missed;

use crate::books::{Account, Books, Claim};
use crate::journal::{Line, Side};
use crate::strike::{Kind, Strike};

/// All that is known of what happened.
#[derive(Debug, Clone, Default)]
pub(crate) struct Evidence {
    pub(crate) lines: Vec<Line>,
    pub(crate) books: Books,
    pub(crate) strikes: Vec<Strike>,
}

/// What became of the ticks of one job.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Count {
    /// From the first that was decided to the last.
    pub(crate) due: usize,
    /// Their work began, once.
    pub(crate) fired: usize,
    /// Claimed by a leader that was gone, or cut off, before the work began.
    pub(crate) lost: usize,
    /// Nobody claimed them to be run: they were missed, or came during a run.
    pub(crate) passed: usize,
}

/// What the judge says.
#[derive(Debug, Default)]
pub(crate) struct Verdict {
    pub(crate) counts: BTreeMap<String, Count>,
    /// With which faults ticks were lost, of all jobs.
    pub(crate) lost_with: Vec<Kind>,
    pub(crate) violations: Vec<String>,
}

/// By how much a tick may be late and still be on time: the default of jobs.
const LATE_MAX: Duration = Duration::from_secs(1);
/// How long a busy machine may take from a decision to what follows from it, an attempt to reach the store included.
const DELAY_MAX: Duration = Duration::from_secs(4);
/// How long before a strike a claim may have been made whose work did not begin because of it: as long as its answer may take.
const ON_ITS_WAY_MAX: Duration = Duration::from_secs(2);

impl Evidence {
    /// Judges the jobs, each of which is named after what it does with missed ticks.
    pub(crate) fn judge(&self, jobs: &[Missed]) -> Verdict {
        let mut verdict = Verdict { violations: self.books.contradictions.clone(), ..Verdict::default() };
        for missed in jobs {
            self.judge_job(*missed, &mut verdict);
        }
        verdict
    }

    fn judge_job(&self, missed: Missed, verdict: &mut Verdict) {
        let job = missed.to_string();
        let of_job = |side: Side| self.lines.iter().filter(move |line| line.side == side);
        let begins: Vec<&Line> = of_job(Side::Begin).filter(|line| line.job == job).collect();
        let ends: Vec<&Line> = of_job(Side::End).filter(|line| line.job == job).collect();
        let Some(account) = self.books.jobs.get(&job) else {
            return verdict.violations.push(format!("{job} was never opened"));
        };
        let mut wrong = once_each(&begins, "began");
        wrong.extend(once_each(&ends, "ended"));
        wrong.extend(begins.iter().filter_map(|begin| unclaimed(begin, account)));
        let (lost_with, unexplained) = self.lost(&begins, account);
        let lost = lost_with.len() + unexplained.len();
        wrong.extend(unexplained);
        verdict.lost_with.extend(lost_with);
        if lost > self.strikes.len() {
            wrong.push(format!("{lost} ticks were lost by {} faults", self.strikes.len()));
        }
        wrong.extend(out_of_order(account));
        wrong.extend(gaps(account, missed));
        wrong.extend(self.overlaps(&begins, &ends));
        if missed != Missed::All {
            wrong.extend(self.too_late(&begins, account));
        }
        verdict.violations.extend(wrong.into_iter().map(|what| format!("{job}: {what}")));
        let due = due(account);
        let passed = due.saturating_sub(account.claims.len());
        verdict.counts.insert(job, Count { due, fired: begins.len(), lost, passed });
    }

    /// The faults with which ticks were lost that were claimed and did not begin, and ticks that no fault explains.
    fn lost(&self, begins: &[&Line], account: &Account) -> (Vec<Kind>, Vec<String>) {
        let (mut with, mut unexplained) = (Vec::new(), Vec::new());
        for (tick, claim) in &account.claims {
            if begins.iter().any(|begin| begin.tick == *tick) {
                continue;
            }
            // If there are two, it was the later one: after the earlier one it could still claim.
            match self.strikes.iter().rev().find(|strike| strike.explains(claim)) {
                Some(strike) => with.push(strike.kind),
                None => unexplained.push(format!("tick {tick} never began, and no fault tells why: {claim:?}")),
            }
        }
        (with, unexplained)
    }

    /// Ticks that fired although they were to be passed over by then. Whoever stood still between its claim and its work is
    /// late, and knows that it must not do anything any more.
    fn too_late(&self, begins: &[&Line], account: &Account) -> Vec<String> {
        let latest = |tick: u64| tick * 1_000 + ms(LATE_MAX + DELAY_MAX);
        let stood_still = |begin: &Line| begin.told && self.strikes.iter().any(|strike| strike.paused_before(begin));
        let begun = begins.iter().filter(|begin| begin.at.unix_ms > latest(begin.tick) && !stood_still(begin));
        let begun = begun.map(|begin| format!("tick {} began late: {begin:?}", begin.tick));
        let claimed = account.claims.iter().filter(|(tick, claim)| claim.at_unix_ms > latest(**tick));
        begun.chain(claimed.map(|(tick, claim)| format!("tick {tick} was claimed late: {claim:?}"))).collect()
    }
}

fn ms(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap()
}

/// What happened to a tick more than once.
fn once_each(lines: &[&Line], what: &str) -> Vec<String> {
    let mut by_tick: BTreeMap<u64, Vec<&Line>> = BTreeMap::new();
    lines.iter().for_each(|line| by_tick.entry(line.tick).or_default().push(line));
    let twice = by_tick.iter().filter(|(_, lines)| lines.len() > 1);
    twice.map(|(tick, lines)| format!("tick {tick} {what} {} times: {lines:?}", lines.len())).collect()
}

/// Work that began without its tick being claimed for it.
fn unclaimed(begin: &Line, account: &Account) -> Option<String> {
    let tick = begin.tick;
    match account.claims.get(&tick) {
        Some(claim) if claim.term == begin.term && claim.candidate == begin.candidate => None,
        claim => Some(format!("tick {tick} was run by somebody else than who claimed it: {claim:?}, {begin:?}")),
    }
}

/// A later tick that was claimed under an earlier term.
fn out_of_order(account: &Account) -> Vec<String> {
    let pairs = account.claims.iter().zip(account.claims.iter().skip(1));
    let fallen = pairs.filter(|((_, before), (_, after))| after.term < before.term);
    fallen.map(|(before, after)| format!("the term fell: {before:?}, {after:?}")).collect()
}

/// Ticks that nobody claimed, where that must not be, and claims that the evidence lacks.
fn gaps(account: &Account, missed: Missed) -> Vec<String> {
    let mut wrong = Vec::new();
    if account.fired != account.claims.len() as u64 {
        wrong.push(format!("the store counts {} ticks, and {} were seen", account.fired, account.claims.len()));
    }
    if missed == Missed::All {
        let first = account.claims.keys().next().copied().unwrap_or(account.mark);
        let unclaimed = (first..=account.mark).filter(|tick| !account.claims.contains_key(tick));
        wrong.extend(unclaimed.map(|tick| format!("tick {tick} was not claimed by anybody")));
        if account.missed > 0 {
            wrong.push(format!("{} ticks were passed over", account.missed));
        }
    }
    wrong
}

fn due(account: &Account) -> usize {
    let first = account.claims.keys().next().copied().unwrap_or(account.mark);
    usize::try_from((account.mark + 1).saturating_sub(first)).unwrap()
}

impl Strike {
    /// Whether it befell whoever made this claim, at a time at which the work may not have begun because of it.
    fn explains(&self, claim: &Claim) -> bool {
        let is_at_that_time = claim.at_unix_ms + ms(ON_ITS_WAY_MAX) >= self.from.unix_ms
            && claim.at_unix_ms <= self.until.unix_ms + ms(ON_ITS_WAY_MAX);
        self.candidate == claim.candidate && is_at_that_time
    }

    /// Whether it is a pause that ended not long before this line was written by whoever was paused.
    fn paused_before(&self, line: &Line) -> bool {
        let latest = self.until.boot_ns + u64::try_from(DELAY_MAX.as_nanos()).unwrap();
        self.is_pause_of(&line.candidate) && (self.until.boot_ns..=latest).contains(&line.at.boot_ns)
    }

    fn is_pause_of(&self, candidate: &str) -> bool {
        self.kind == Kind::Pause && self.candidate == candidate
    }
}

impl fmt::Display for Verdict {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (job, Count { due, fired, lost, passed }) in &self.counts {
            write!(f, "{job}: {due} due, {fired} fired, {lost} lost, {passed} passed over; ")?;
        }
        let lost_with = Kind::tally(self.lost_with.iter().copied());
        write!(f, "lost with a leader that was: {lost_with}; {} violations", self.violations.len())
    }
}
