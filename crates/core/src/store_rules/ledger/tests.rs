use std::time::Duration;

use super::*;
use crate::id::{CandidateId, ElectionName, Namespace};
use crate::jobs::RunOutcome;
use crate::request::ElectionKey;

fn key() -> ElectionKey {
    ElectionKey { namespace: Namespace::default(), name: ElectionName::new("nightly").unwrap() }
}

fn job() -> JobName {
    JobName::new("report").unwrap()
}

fn term(number: u64) -> Term {
    Term::new(number).unwrap()
}

fn at(seconds: u64) -> Tick {
    Tick::from_unix_s(seconds)
}

fn claim(leader: u64, tick: u64, act: Act) -> Claim {
    Claim {
        key: key(),
        nonce: Nonce::from_bits(leader.into()),
        term: term(leader),
        candidate: CandidateId::new(format!("worker-{leader}")).unwrap(),
        job: job(),
        tick: at(tick),
        act,
        missed: 0,
    }
}

fn finish(leader: u64, tick: u64) -> Finish {
    let Claim { key, nonce, term, job, tick, .. } = claim(leader, tick, Act::Run);
    Finish { key, nonce, term, job, tick, took: Duration::from_secs(1), retries: 0, outcome: RunOutcome::Succeeded }
}

fn open(from: u64, schedule: &str) -> [OpenJob; 1] {
    [OpenJob { job: job(), schedule: Arc::from(schedule), from: at(from) }]
}

fn mark(opened: &Opened) -> Tick {
    match opened {
        Opened::Jobs(jobs) => jobs[0].mark,
        Opened::TooMany | Opened::NotHolder => panic!("{opened:?}"),
    }
}

/// Open since 10:00, at a moment that is later than all ticks used here.
fn ledger() -> Ledger {
    let mut ledger = Ledger::default();
    ledger.open(&open(10, "hourly"), term(1), NOW);
    ledger
}

const NOW: u64 = 1_000_000;

#[test]
fn a_tick_is_granted_once() {
    let mut ledger = ledger();
    assert_eq!(ledger.claim(&claim(1, 20, Act::Run), NOW), Claimed::Granted);
    assert_eq!(ledger.claim(&claim(1, 20, Act::Run), NOW), Claimed::Granted, "its reply may have been lost");
    assert_eq!(ledger.claim(&claim(2, 20, Act::Run), NOW), Claimed::Decided { mark: at(20) });
    assert_eq!(ledger.claim(&claim(2, 15, Act::Run), NOW), Claimed::Decided { mark: at(20) }, "all before it, too");
    assert_eq!(ledger.report(9)[0].fired, 1);
}

#[test]
fn a_run_that_was_told_to_have_ended_is_not_granted_again() {
    let mut ledger = ledger();
    ledger.claim(&claim(1, 20, Act::Run), NOW);
    assert!(ledger.finish(&finish(1, 20), NOW));
    assert_eq!(ledger.claim(&claim(1, 20, Act::Run), NOW), Claimed::Decided { mark: at(20) });
}

#[test]
fn what_is_passed_over_is_decided_and_counted() {
    let mut ledger = ledger();
    let pass = Claim { missed: 3, ..claim(1, 40, Act::Pass) };
    assert_eq!(ledger.claim(&pass, NOW), Claimed::Granted);
    assert_eq!(ledger.claim(&pass, NOW), Claimed::Decided { mark: at(40) });
    assert_eq!(ledger.claim(&claim(1, 40, Act::Run), NOW), Claimed::Decided { mark: at(40) });
    let report = &ledger.report(9)[0];
    assert_eq!((report.fired, report.missed, report.mark), (0, 3, at(40)));
    assert_eq!(report.runs, []);
    let skip = Claim { missed: 2, ..claim(1, 60, Act::Skip) };
    assert_eq!(ledger.claim(&skip, NOW), Claimed::Granted);
    assert_eq!(ledger.claim(&skip, NOW), Claimed::Decided { mark: at(60) });
    let report = &ledger.report(9)[0];
    assert_eq!((report.missed, report.skipped), (3, 2), "each by its reason");
}

#[test]
fn a_job_that_is_paused_decides_nothing_but_finds_claims_again() {
    let mut ledger = ledger();
    let job = claim(1, 20, Act::Run).job;
    ledger.claim(&claim(1, 20, Act::Run), NOW);
    assert!(ledger.steer(&job, JobOrder::Pause, 7_000) && ledger.steer(&job, JobOrder::Pause, 8_000));
    for act in [Act::Run, Act::RunAgain, Act::Pass, Act::Skip] {
        assert_eq!(ledger.claim(&claim(1, 30, act), NOW), Claimed::Paused);
    }
    assert_eq!(ledger.claim(&claim(1, 20, Act::Run), NOW), Claimed::Granted, "its reply was lost");
    assert_eq!(ledger.report(9)[0].paused_at_unix_ms, Some(7_000));
    assert!(ledger.finish(&finish(1, 20), NOW));
    assert!(ledger.steer(&job, JobOrder::Resume, NOW));
    assert_eq!(ledger.claim(&claim(1, 30, Act::Run), NOW), Claimed::Granted);
    assert!(!ledger.steer(&JobName::new("unknown").unwrap(), JobOrder::Pause, NOW));
}

#[test]
fn a_run_that_was_asked_for_is_the_next_that_begins() {
    let mut ledger = ledger();
    let job = claim(1, 20, Act::Run).job;
    assert!(ledger.steer(&job, JobOrder::RunNow, 25_900) && ledger.steer(&job, JobOrder::RunNow, 29_000));
    ledger.claim(&claim(1, 20, Act::Run), NOW);
    ledger.claim(&claim(1, 26, Act::Pass), NOW);
    assert_eq!(ledger.report(9)[0].requested, Some(at(25)), "neither an earlier tick nor one that is passed over");
    ledger.claim(&claim(1, 27, Act::Run), NOW);
    assert_eq!(ledger.report(9)[0].requested, None);
}

#[test]
fn a_job_that_is_due_at_other_times_begins_anew() {
    let mut ledger = ledger();
    assert_eq!(mark(&ledger.open(&open(50, "hourly"), term(2), NOW)), at(10), "the mark stays");
    assert_eq!(mark(&ledger.open(&open(60, "daily"), term(3), NOW)), at(60));
    assert_eq!(mark(&ledger.open(&open(30, "hourly"), term(4), NOW)), at(60), "and never falls");
}

#[test]
fn a_leader_whose_clock_is_ahead_does_not_decide_what_is_to_come() {
    let mut ledger = Ledger::default();
    assert_eq!(mark(&ledger.open(&open(500, "hourly"), term(1), 20_999)), at(20));
    assert_eq!(mark(&ledger.open(&open(500, "daily"), term(1), 30_000)), at(30));
    assert_eq!(mark(&ledger.open(&open(500, "hourly"), term(1), 5_000)), at(30), "nor does the mark fall");
}

#[test]
fn a_tick_ahead_of_the_clock_waits_for_it() {
    let mut ledger = ledger();
    let by = Duration::from_millis(1001);
    assert_eq!(ledger.claim(&claim(1, 20, Act::Run), 18_999), Claimed::Early { by });
    assert_eq!(ledger.claim(&claim(1, 20, Act::Pass), 18_999), Claimed::Early { by });
    assert_eq!(ledger.claim(&claim(1, 20, Act::Run), 19_000), Claimed::Granted);
}

#[test]
fn what_was_not_opened_cannot_be_claimed() {
    assert_eq!(Ledger::default().claim(&claim(1, 20, Act::Run), NOW), Claimed::Unopened);
    assert!(!Ledger::default().finish(&finish(1, 20), NOW));
}

#[test]
fn a_run_that_was_cut_off_is_found_and_taken_over_once() {
    let mut ledger = ledger();
    ledger.claim(&claim(1, 20, Act::Run), NOW);
    ledger.claim(&claim(1, 30, Act::Run), NOW);
    ledger.finish(&finish(1, 20), NOW);
    let opened =
        OpenedJob { mark: at(30), interrupted: vec![at(30)], unbegun: Vec::new(), is_paused: false, requested: None };
    assert_eq!(ledger.open(&open(40, "hourly"), term(2), NOW), Opened::Jobs(vec![opened]));
    assert_eq!(ledger.claim(&claim(2, 20, Act::RunAgain), NOW), Claimed::Decided { mark: at(30) }, "it has ended");
    assert_eq!(ledger.claim(&claim(1, 30, Act::RunAgain), NOW), Claimed::Granted, "it is its own");
    assert_eq!(ledger.claim(&claim(2, 30, Act::RunAgain), NOW), Claimed::Granted);
    assert_eq!(ledger.claim(&claim(1, 30, Act::RunAgain), NOW), Claimed::Decided { mark: at(30) });
    assert!(!ledger.finish(&finish(1, 30), NOW), "it is not the first one's any more");
    assert!(ledger.finish(&finish(2, 30), NOW));
}

fn give_back(leader: u64, tick: u64) -> Finish {
    Finish { took: Duration::ZERO, outcome: RunOutcome::NotBegun, ..finish(leader, tick) }
}

fn unbegun(ledger: &mut Ledger, under: u64) -> Vec<u64> {
    match ledger.open(&open(10, "hourly"), term(under), NOW) {
        Opened::Jobs(jobs) => jobs[0].unbegun.iter().map(|tick| tick.unix_s()).collect(),
        opened @ (Opened::TooMany | Opened::NotHolder) => panic!("{opened:?}"),
    }
}

#[test]
fn a_tick_that_never_began_is_given_back_and_taken_once() {
    let mut ledger = ledger();
    for tick in [20, 30, 40] {
        ledger.claim(&claim(1, tick, Act::Run), NOW);
    }
    assert!(ledger.finish(&give_back(1, 30), NOW) && ledger.finish(&give_back(1, 20), NOW));
    assert_eq!((unbegun(&mut ledger, 2), ledger.report(9)[0].fired), (vec![20, 30], 1));
    let decided = Claimed::Decided { mark: at(40) };
    for leader in [1, 2] {
        assert_eq!(ledger.claim(&claim(leader, 20, Act::Run), NOW), decided, "it is not a new one");
        assert_eq!(ledger.claim(&claim(leader, 20, Act::Pass), NOW), decided);
    }
    for attempt in 0..2 {
        assert_eq!(ledger.claim(&claim(2, 20, Act::RunAgain), NOW), Claimed::Granted, "attempt {attempt}");
    }
    assert_eq!((unbegun(&mut ledger, 2), ledger.report(9)[0].fired), (vec![30], 2));
    assert_eq!(ledger.claim(&claim(1, 20, Act::RunAgain), NOW), decided, "it is taken");
    assert!(!ledger.finish(&give_back(1, 20), NOW), "it is not the first one's any more");
    assert!(ledger.finish(&finish(2, 20), NOW));
    assert_eq!(ledger.claim(&claim(3, 20, Act::RunAgain), NOW), decided, "it has ended");
}

#[test]
fn whoever_gave_a_tick_back_may_take_it_under_a_later_term_only() {
    let mut ledger = ledger();
    ledger.claim(&claim(1, 20, Act::Run), NOW);
    for leader in [1, 2] {
        assert!(ledger.finish(&give_back(leader, 20), NOW));
        assert_eq!((unbegun(&mut ledger, leader), ledger.report(9)[0].fired), (vec![], 0));
        assert_eq!(ledger.claim(&claim(leader, 20, Act::RunAgain), NOW), Claimed::Decided { mark: at(20) });
        assert_eq!(ledger.claim(&claim(leader + 1, 20, Act::RunAgain), NOW + 9), Claimed::Granted);
        assert!(!ledger.finish(&give_back(leader, 20), NOW), "told once more, it ends nobody else's run");
        let report = &ledger.report(9)[0];
        assert_eq!((report.fired, report.runs.len()), (1, 1));
        assert_eq!((report.runs[0].began_at_unix_ms, &report.runs[0].end), (NOW + 9, &None));
    }
}

#[test]
fn what_was_told_first_counts_also_of_a_tick_that_is_given_back() {
    let mut ledger = ledger();
    for tick in [20, 30] {
        ledger.claim(&claim(1, tick, Act::Run), NOW);
    }
    assert!(!ledger.finish(&give_back(2, 20), NOW), "it is somebody else's");
    assert!(!ledger.finish(&give_back(1, 25), NOW), "it was never claimed");
    for told in [finish(1, 20), give_back(1, 20), give_back(1, 30), give_back(1, 30), finish(1, 30)] {
        assert!(ledger.finish(&told, NOW));
    }
    let report = &ledger.report(9)[0];
    let outcomes: Vec<_> = report.runs.iter().rev().map(|run| run.end.clone().unwrap().outcome).collect();
    assert_eq!((outcomes, report.fired), (vec![RunOutcome::Succeeded, RunOutcome::NotBegun], 1));
    assert_eq!(unbegun(&mut ledger, 2), [30]);
}

#[test]
fn an_end_is_told_by_whoever_claimed_the_run_and_the_first_counts() {
    let mut ledger = ledger();
    ledger.claim(&claim(1, 20, Act::Run), NOW);
    assert!(!ledger.finish(&finish(2, 20), NOW));
    assert!(!ledger.finish(&finish(1, 21), NOW));
    assert!(ledger.finish(&finish(1, 20), NOW));
    let late = Finish { outcome: RunOutcome::TimedOut, ..finish(1, 20) };
    assert!(ledger.finish(&late, NOW + 5));
    let end = RunEnd { at_unix_ms: NOW, took: Duration::from_secs(1), retries: 0, outcome: RunOutcome::Succeeded };
    assert_eq!(ledger.report(9)[0].runs[0].end, Some(end));
}

#[test]
fn only_the_latest_runs_are_kept() {
    let mut ledger = ledger();
    for tick in 0..150 {
        ledger.claim(&claim(1, 20 + tick, Act::Run), NOW);
    }
    let report = &ledger.report(usize::MAX)[0];
    let ticks: Vec<u64> = report.runs.iter().map(|run| run.tick.unix_s()).collect();
    assert_eq!(ticks, (70..170).rev().collect::<Vec<_>>());
    assert_eq!((report.fired, ledger.report(3)[0].runs.len()), (150, 3));
}

#[test]
fn there_is_room_for_so_many_jobs() {
    let mut ledger = ledger();
    let named = |number: usize| OpenJob {
        job: JobName::new(format!("job-{number}")).unwrap(),
        schedule: Arc::from("hourly"),
        from: at(10),
    };
    let more: Vec<OpenJob> = (0..MAX_JOBS).map(named).collect();
    assert_eq!(ledger.open(&more, term(1), NOW), Opened::TooMany);
    assert_eq!(ledger.jobs.len(), 1, "nothing was changed");
    assert!(ledger.forget(&job()) && !ledger.forget(&job()));
    assert!(matches!(ledger.open(&more, term(1), NOW), Opened::Jobs(jobs) if jobs.len() == MAX_JOBS));
    assert!(matches!(ledger.open(&more, term(2), NOW), Opened::Jobs(_)), "they are known already");
}
