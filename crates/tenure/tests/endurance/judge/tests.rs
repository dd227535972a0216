//! The judge, on histories that are good and on such that are not: one that finds nothing proves nothing.

use tenure::cron::Missed;

use super::{Count, Evidence, JudgeVerdict};
use crate::journal::{JournalLine, Side};
use crate::observed::{ClaimEnd, ObservedClaim, ObservedJob};
use crate::stamp::Stamp;
use crate::strike::{Strike, StrikeKind};

/// The tick at which everything begins; the shared clock shows nothing then.
const FIRST: u64 = 1_000;

fn stamp(ms: u64) -> Stamp {
    Stamp { boot_ns: ms * 1_000_000, unix_ms: FIRST * 1_000 + ms }
}

/// A line of the candidate `a` under term 1, so many milliseconds after the beginning.
fn line(side: Side, tick: u64, ms: u64) -> JournalLine {
    let (job, candidate) = ("all".to_owned(), "a".to_owned());
    JournalLine { side, job, tick: FIRST + tick, term: 1, candidate, pid: 1, at: stamp(ms), told: false }
}

fn by(candidate: &str, term: u64, line: JournalLine) -> JournalLine {
    JournalLine { candidate: candidate.to_owned(), term, ..line }
}

fn strike(kind: StrikeKind, candidate: &str, from_ms: u64, until_ms: u64) -> Strike {
    let from = stamp(from_ms);
    Strike { kind, candidate: candidate.to_owned(), from, done: from, until: stamp(until_ms) }
}

/// A claim that was made so many milliseconds after the beginning, and whose run has ended.
fn claim(candidate: &str, term: u64, ms: u64) -> ObservedClaim {
    ObservedClaim { term, candidate: candidate.to_owned(), at_unix_ms: stamp(ms).unix_ms, end: ClaimEnd::Ran }
}

/// The last claim of a tick.
fn last(account: &mut ObservedJob, tick: u64) -> &mut ObservedClaim {
    account.claims.get_mut(&(FIRST + tick)).unwrap().last_mut().unwrap()
}

/// Ten ticks, each claimed when it is due, and run for half a second. Those from the sixth on are run by `b`.
fn good(job: &str) -> Evidence {
    let mut evidence = Evidence::default();
    let mut account = ObservedJob { mark: FIRST + 9, fired: 10, ..ObservedJob::default() };
    for tick in 0..10 {
        let (candidate, term) = if tick < 5 { ("a", 1) } else { ("b", 2) };
        for (side, after_ms) in [(Side::Begin, 10), (Side::End, 500)] {
            evidence.lines.push(by(candidate, term, line(side, tick, tick * 1_000 + after_ms)));
        }
        account.claims.insert(FIRST + tick, vec![claim(candidate, term, tick * 1_000 + 5)]);
    }
    evidence.lines.iter_mut().for_each(|line| job.clone_into(&mut line.job));
    evidence.observed.jobs.insert(job.to_owned(), account);
    evidence
}

/// The same with something changed.
fn with(change: impl FnOnce(&mut Evidence, &mut ObservedJob)) -> JudgeVerdict {
    changed(Missed::All, change)
}

fn changed(missed: Missed, change: impl FnOnce(&mut Evidence, &mut ObservedJob)) -> JudgeVerdict {
    let job = missed.to_string();
    let mut evidence = good(&job);
    let mut account = evidence.observed.jobs.remove(&job).unwrap();
    change(&mut evidence, &mut account);
    evidence.observed.jobs.insert(job, account);
    evidence.judge(&[missed])
}

#[track_caller]
fn finds(verdict: &JudgeVerdict, what: &str) {
    assert!(verdict.violations.iter().any(|violation| violation.contains(what)), "no {what:?} in {verdict:?}");
}

#[track_caller]
fn finds_nothing(verdict: &JudgeVerdict) {
    assert_eq!(verdict.violations, Vec::<String>::new());
}

#[test]
fn a_good_history_is_good() {
    let verdict = with(|_, _| ());
    finds_nothing(&verdict);
    assert_eq!(verdict.counts["all"], Count { due: 10, run: 10, ..Count::default() });
    assert_eq!(
        verdict.to_string(),
        "all: 10 due, 10 run (0 after they were given back), 0 twice, 0 lost with a kill, 0 given back and not run, \
         0 passed over; 0 violations"
    );
}

#[test]
fn a_job_that_nobody_opened_is_found() {
    finds(&Evidence::default().judge(&[Missed::All]), "never opened");
}

#[test]
fn a_tick_that_fires_twice_is_found_whoever_fires_it() {
    finds(&with(|evidence, _| evidence.lines.push(line(Side::Begin, 3, 3_900))), "began 2 times");
    let verdict = with(|evidence, _| evidence.lines.push(by("b", 2, line(Side::Begin, 3, 6_900))));
    finds(&verdict, "began 2 times");
    assert_eq!(verdict.counts["all"], Count { due: 10, run: 10, twice: 1, ..Count::default() });
    finds(&with(|evidence, _| evidence.lines.push(line(Side::End, 3, 3_900))), "ended 2 times");
}

#[test]
fn a_tick_that_two_have_claimed_is_found() {
    let verdict = with(|evidence, _| evidence.observed.contradictions.push("claimed twice".to_owned()));
    finds(&verdict, "claimed twice");
}

#[test]
fn work_that_nobody_claimed_is_found() {
    finds(&with(|_, account| drop(account.claims.remove(&(FIRST + 3)))), "somebody else than who claimed it: None");
    let verdict = with(|_, account| last(account, 3).candidate = "b".to_owned());
    finds(&verdict, "somebody else than who claimed it: Some");
    let verdict = with(|_, account| last(account, 4).term = 2);
    finds(&verdict, "somebody else than who claimed it: Some");
}

#[test]
fn a_gap_is_found_where_every_tick_is_wanted_and_only_there() {
    let gap = |evidence: &mut Evidence, account: &mut ObservedJob| {
        evidence.lines.retain(|line| line.tick != FIRST + 3);
        account.claims.remove(&(FIRST + 3));
        (account.fired, account.missed) = (account.fired - 1, account.missed + 1);
    };
    finds(&with(gap), "tick 1003 was not claimed by anybody");
    let verdict = changed(Missed::Once, gap);
    finds_nothing(&verdict);
    assert_eq!(verdict.counts["once"], Count { due: 10, run: 9, passed: 1, ..Count::default() });
    let uncounted = changed(Missed::Once, |evidence, account| {
        gap(evidence, account);
        account.missed = 0;
    });
    finds(&uncounted, "the store counts 0 ticks that were left out, and 1 did not fire");
    finds(&with(|_, account| account.mark += 1), "tick 1010 was not claimed by anybody");
    finds(&with(|_, account| account.skipped = 1), "1 ticks were skipped");
}

#[test]
fn claims_that_were_not_seen_are_found() {
    finds(&with(|_, account| account.fired += 1), "the store counts 11 ticks, and 10 were seen");
}

/// The fifth tick was claimed and never begun, and this is what the store was told of it.
fn unbegun(missed: Missed, end: ClaimEnd, strikes: Vec<Strike>, left_ms: Option<u64>) -> JudgeVerdict {
    changed(missed, |evidence, account| {
        evidence.lines.retain(|line| line.tick != FIRST + 4);
        evidence.strikes = strikes;
        evidence.left_at_unix_ms = left_ms.map(|ms| stamp(ms).unix_ms);
        last(account, 4).end = end;
        let back = u64::from(end == ClaimEnd::GivenBack);
        (account.fired, account.missed) = (account.fired - back, account.missed + back);
    })
}

fn lost(strikes: Vec<Strike>) -> JudgeVerdict {
    unbegun(Missed::All, ClaimEnd::Untold, strikes, None)
}

#[test]
fn a_tick_is_lost_only_with_a_leader_that_was_killed() {
    let verdict = lost(vec![strike(StrikeKind::Kill, "a", 4_006, 4_010)]);
    finds_nothing(&verdict);
    assert_eq!(verdict.counts["all"], Count { due: 10, run: 9, lost: 1, ..Count::default() });
    for kind in [StrikeKind::Pause, StrikeKind::BlackHole, StrikeKind::Refused, StrikeKind::Deaf, StrikeKind::Leave] {
        finds(&lost(vec![strike(kind, "a", 4_006, 4_010)]), "tick 1004 never began, and nobody was killed");
    }
    finds(&lost(vec![]), "never began");
    finds(&lost(vec![strike(StrikeKind::Kill, "b", 4_006, 4_010)]), "never began");
    finds(&lost(vec![strike(StrikeKind::Kill, "a", 7_000, 7_000)]), "never began");
    finds(&lost(vec![strike(StrikeKind::Kill, "a", 1_000, 1_000)]), "never began");
    let told = unbegun(Missed::All, ClaimEnd::Ran, vec![strike(StrikeKind::Kill, "a", 4_006, 4_010)], None);
    finds(&told, "tick 1004 never began");
}

#[test]
fn more_ticks_lost_than_there_were_kills_are_found() {
    let verdict = with(|evidence, account| {
        evidence.lines.retain(|line| line.tick != FIRST + 4 && line.tick != FIRST + 3);
        evidence.strikes = vec![strike(StrikeKind::Kill, "a", 4_006, 4_010)];
        [3, 4].iter().for_each(|tick| last(account, *tick).end = ClaimEnd::Untold);
    });
    finds(&verdict, "2 ticks were lost by 1 kills");
}

#[test]
fn what_was_given_back_has_to_be_run_if_every_tick_is_wanted_and_somebody_is_left() {
    let pause = || vec![strike(StrikeKind::Pause, "a", 4_006, 9_000)];
    finds(&unbegun(Missed::All, ClaimEnd::GivenBack, pause(), None), "tick 1004 was given back, and not run");
    finds(&unbegun(Missed::All, ClaimEnd::GivenBack, pause(), Some(9_900)), "given back, and not run");
    let left = unbegun(Missed::All, ClaimEnd::GivenBack, pause(), Some(4_500));
    finds_nothing(&left);
    assert_eq!(left.counts["all"], Count { due: 10, run: 9, returned: 1, ..Count::default() });
    finds_nothing(&unbegun(Missed::Skip, ClaimEnd::GivenBack, pause(), None));
    finds_nothing(&unbegun(Missed::Once, ClaimEnd::GivenBack, pause(), None));
}

/// The fifth tick was given back by `a`, and run by `b` between two others.
fn second_claim(change: impl FnOnce(&mut Evidence, &mut ObservedJob)) -> JudgeVerdict {
    with(|evidence, account| {
        for line in evidence.lines.iter_mut().filter(|line| line.tick == FIRST + 4) {
            let ms = if line.side == Side::Begin { 5_610 } else { 5_700 };
            *line = by("b", 2, JournalLine { at: stamp(ms), ..line.clone() });
        }
        last(account, 4).end = ClaimEnd::GivenBack;
        account.claims.get_mut(&(FIRST + 4)).unwrap().push(claim("b", 2, 5_605));
        change(evidence, account);
    })
}

#[test]
fn a_tick_that_was_given_back_may_be_run_by_the_next_leader_and_nobody_else() {
    let verdict = second_claim(|_, _| ());
    finds_nothing(&verdict);
    assert_eq!(verdict.counts["all"], Count { due: 10, run: 10, run_after_return: 1, ..Count::default() });
    let by_the_first = second_claim(|evidence, _| {
        let own = evidence.lines.iter_mut().filter(|line| line.tick == FIRST + 4);
        own.for_each(|line| *line = by("a", 1, line.clone()));
    });
    finds(&by_the_first, "run by somebody else than who claimed it");
    finds(&second_claim(|_, account| last(account, 4).end = ClaimEnd::GivenBack), "tick 1004 was given back, and run");
    finds(&second_claim(|evidence, _| evidence.lines.push(line(Side::Begin, 4, 4_010))), "began 2 times");
    finds(&second_claim(|_, account| account.fired += 1), "the store counts 11 ticks, and 10 were seen");
}

#[test]
fn a_term_that_falls_is_found() {
    let verdict = with(|evidence, account| {
        last(account, 2).term = 7;
        evidence.lines.iter_mut().filter(|line| line.tick == FIRST + 2).for_each(|line| line.term = 7);
    });
    finds(&verdict, "the term fell");
}

/// The fifth run ends so much later, while the sixth goes on.
fn long_run(told: bool, strikes: Vec<Strike>) -> JudgeVerdict {
    with(|evidence, _| {
        let is_end = |line: &&mut JournalLine| line.side == Side::End && line.tick == FIRST + 4;
        let end = evidence.lines.iter_mut().find(is_end).unwrap();
        (end.at, end.told) = (stamp(7_200), told);
        evidence.strikes = strikes;
    })
}

#[test]
fn two_runs_at_once_are_found_unless_one_of_them_stood_still_and_knows() {
    finds(&long_run(false, vec![]), "two runs at once");
    finds(&long_run(true, vec![]), "two runs at once");
    finds(&long_run(true, vec![strike(StrikeKind::BlackHole, "a", 4_200, 7_100)]), "two runs at once");
    finds(&long_run(false, vec![strike(StrikeKind::Pause, "a", 4_200, 7_100)]), "two runs at once");
    finds(&long_run(true, vec![strike(StrikeKind::Pause, "b", 4_200, 7_100)]), "two runs at once");
    finds(&long_run(true, vec![strike(StrikeKind::Pause, "a", 5_200, 7_100)]), "two runs at once");
    finds_nothing(&long_run(true, vec![strike(StrikeKind::Pause, "a", 4_200, 7_100)]));
}

#[test]
fn a_run_may_begin_while_its_process_is_being_stopped() {
    let slowly = |done_ms| Strike { done: stamp(done_ms), ..strike(StrikeKind::Pause, "a", 4_000, 7_100) };
    finds_nothing(&long_run(true, vec![slowly(4_020)]));
    finds(&long_run(false, vec![slowly(4_020)]), "two runs at once");
    finds(&long_run(true, vec![slowly(4_005)]), "two runs at once");
}

#[test]
fn a_long_run_is_held_against_all_that_follow() {
    let verdict = with(|evidence, _| {
        let is_end = |line: &&mut JournalLine| line.side == Side::End && line.tick == FIRST;
        evidence.lines.iter_mut().find(is_end).unwrap().at = stamp(9_900);
    });
    assert_eq!(verdict.violations.len(), 9, "{verdict:?}");
}

/// The work of the fifth tick begins and ends when somebody else already works.
fn late_begin(told: bool, strikes: Vec<Strike>) -> JudgeVerdict {
    with(|evidence, _| {
        for line in evidence.lines.iter_mut().filter(|line| line.tick == FIRST + 4) {
            (line.at, line.told) = (stamp(7_100 + u64::from(line.side == Side::End)), told);
        }
        evidence.strikes = strikes;
    })
}

#[test]
fn work_that_begins_under_another_leader_must_have_stood_still_and_know() {
    finds(&late_begin(true, vec![]), "two runs at once");
    finds(&late_begin(false, vec![strike(StrikeKind::Pause, "a", 4_006, 7_090)]), "two runs at once");
    finds(&late_begin(true, vec![strike(StrikeKind::Pause, "a", 4_006, 7_300)]), "two runs at once");
    finds_nothing(&late_begin(true, vec![strike(StrikeKind::Pause, "a", 4_006, 7_090)]));
}

#[test]
fn a_run_without_an_end_was_killed() {
    let endless = |strikes| {
        with(|evidence, _| {
            evidence.lines.retain(|line| line.side == Side::Begin || line.tick != FIRST + 4);
            evidence.strikes = strikes;
        })
    };
    finds(&endless(vec![]), "tick 1004 has no end");
    finds(&endless(vec![strike(StrikeKind::Pause, "a", 4_300, 4_300)]), "tick 1004 has no end");
    finds(&endless(vec![strike(StrikeKind::Kill, "a", 3_300, 3_300)]), "tick 1004 has no end");
    finds(&endless(vec![strike(StrikeKind::Kill, "a", 5_300, 5_300)]), "two runs at once");
    finds_nothing(&endless(vec![strike(StrikeKind::Kill, "a", 4_300, 4_300)]));
    finds_nothing(&endless(vec![Strike { done: stamp(4_020), ..strike(StrikeKind::Kill, "a", 4_000, 4_020) }]));
}

#[test]
fn a_tick_that_fires_when_nobody_wants_it_any_more_is_found() {
    let late = |evidence: &mut Evidence, _: &mut ObservedJob| {
        for line in evidence.lines.iter_mut().filter(|line| line.tick == FIRST + 9) {
            line.at = stamp(9_000 + 5_100);
        }
    };
    finds(&changed(Missed::Skip, late), "tick 1009 began late");
    finds(&changed(Missed::Once, late), "tick 1009 began late");
    finds_nothing(&changed(Missed::All, late));
    let claimed_late = |_: &mut Evidence, account: &mut ObservedJob| {
        last(account, 9).at_unix_ms += 5_100;
    };
    finds(&changed(Missed::Skip, claimed_late), "tick 1009 was claimed late");
}
