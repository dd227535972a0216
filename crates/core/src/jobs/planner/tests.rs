use std::num::NonZeroU64;

use proptest::prelude::*;

use super::super::calendar::Every;
use super::*;
use crate::id::JobName;

const MINUTE: Every = Every(NonZeroU64::new(60).unwrap());
const SECOND: Every = Every(NonZeroU64::new(1).unwrap());

fn at(seconds: u64) -> Tick {
    Tick::from_unix_s(seconds)
}

fn opened(mark: u64) -> OpenedJob {
    OpenedJob { mark: at(mark), interrupted: Vec::new(), unbegun: Vec::new(), is_paused: false, requested: None }
}

fn policy(missed: Missed, overlap: Overlap) -> JobPolicy {
    JobPolicy { missed, overlap, ..JobPolicy::new(JobName::new("report").unwrap()) }
}

fn planner(missed: Missed, overlap: Overlap, mark: u64) -> Planner {
    Planner::new(policy(missed, overlap), opened(mark))
}

fn run(seconds: u64) -> PlannerStep {
    PlannerStep::Run { tick: at(seconds), act: Act::Run, missed: 0, late: None }
}

fn late(seconds: u64, missed: u64, late_ms: u64) -> PlannerStep {
    PlannerStep::Run { tick: at(seconds), act: Act::Run, missed, late: Some(Duration::from_millis(late_ms)) }
}

fn pass(seconds: u64, count: u64, why: Passed) -> PlannerStep {
    PlannerStep::Pass { tick: at(seconds), count, why }
}

/// The ledger grants whatever is asked for.
fn grant(planner: &mut Planner, step: PlannerStep) {
    match step {
        PlannerStep::Run { tick, act, .. } => planner.claimed(tick, act, Claimed::Granted),
        PlannerStep::Pass { tick, .. } => planner.claimed(tick, Act::Pass, Claimed::Granted),
        PlannerStep::Wait { .. } => {}
    }
}

#[test]
fn a_tick_runs_when_it_is_due_and_not_before() {
    let mut job = planner(Missed::Once, Overlap::Skip, 0);
    assert_eq!(job.next(&MINUTE, 59_999), PlannerStep::Wait { until_unix_ms: Some(60_000) });
    assert_eq!(job.next(&MINUTE, 60_000), run(60));
    assert_eq!(job.next(&MINUTE, 60_001), run(60), "nothing is decided before the ledger says so");
    grant(&mut job, run(60));
    assert_eq!(job.next(&MINUTE, 60_001), PlannerStep::Wait { until_unix_ms: Some(120_000) });
    assert_eq!(job.mark(), at(60));
}

#[test]
fn a_tick_that_somebody_else_has_decided_is_let_be() {
    let mut job = planner(Missed::All, Overlap::Skip, 0);
    assert_eq!(job.next(&MINUTE, 60_000), run(60));
    job.claimed(at(60), Act::Run, Claimed::Decided { mark: at(120) });
    assert_eq!(job.next(&MINUTE, 120_000), PlannerStep::Wait { until_unix_ms: Some(180_000) });
    assert_eq!(job.next(&MINUTE, 180_000), run(180), "and nothing is running");
}

#[test]
fn what_was_missed_follows_the_policy() {
    let now = 200_500;
    assert_eq!(planner(Missed::Skip, Overlap::Skip, 0).next(&MINUTE, now), pass(180, 3, Passed::Missed));
    assert_eq!(planner(Missed::Once, Overlap::Skip, 0).next(&MINUTE, now), late(180, 2, 20_500));
    let mut all = planner(Missed::All, Overlap::Skip, 0);
    for tick in [60, 120, 180] {
        let step = all.next(&MINUTE, now);
        assert_eq!(step, late(tick, 0, now - tick * 1000));
        grant(&mut all, step);
        assert_eq!(
            all.next(&MINUTE, now),
            if tick < 180 { WAIT } else { PlannerStep::Wait { until_unix_ms: Some(240_000) } }
        );
        all.ended();
    }
}

#[test]
fn a_little_late_is_on_time() {
    for missed in [Missed::Skip, Missed::Once, Missed::All] {
        assert_eq!(planner(missed, Overlap::Skip, 0).next(&MINUTE, 61_000), run(60));
    }
    let mut job = planner(Missed::Skip, Overlap::Skip, 0);
    assert_eq!(job.next(&SECOND, 10_200), pass(9, 9, Passed::Missed));
    grant(&mut job, pass(9, 9, Passed::Missed));
    assert_eq!(job.next(&SECOND, 10_200), run(10));
}

#[test]
fn what_is_older_than_the_window_is_not_wanted() {
    let window = Duration::from_secs(120);
    let with = |missed| Planner::new(JobPolicy { window, ..policy(missed, Overlap::Skip) }, opened(0));
    assert_eq!(with(Missed::Once).next(&MINUTE, 299_000), late(240, 3, 59_000));
    let mut all = with(Missed::All);
    assert_eq!(all.next(&MINUTE, 299_000), pass(120, 2, Passed::Missed));
    grant(&mut all, pass(120, 2, Passed::Missed));
    assert_eq!(all.next(&MINUTE, 299_000), late(180, 0, 119_000));
    let hours = Every(NonZeroU64::new(3600).unwrap());
    assert_eq!(with(Missed::Once).next(&hours, 4_000_000), pass(3600, 1, Passed::Missed));
    assert_eq!(with(Missed::All).next(&hours, 4_000_000), pass(3600, 1, Passed::Missed));
}

#[test]
fn a_run_that_goes_on_is_treated_as_the_job_wants() {
    let begun = |overlap| {
        let mut job = planner(Missed::Skip, overlap, 0);
        grant(&mut job, run(60));
        job
    };
    assert_eq!(begun(Overlap::Skip).next(&MINUTE, 120_000), pass(120, 1, Passed::Overlap));
    assert_eq!(begun(Overlap::Allow).next(&MINUTE, 120_000), run(120));
    let mut queue = begun(Overlap::Queue);
    assert_eq!(queue.next(&MINUTE, 120_000), WAIT);
    assert_eq!(queue.next(&MINUTE, 190_000), WAIT);
    queue.ended();
    let replaced = pass(120, 1, Passed::Replaced);
    assert_eq!(queue.next(&MINUTE, 190_000), replaced, "what waited is not missed, and only the latest fires");
    grant(&mut queue, replaced);
    assert_eq!(queue.clone().next(&MINUTE, 250_000), pass(180, 1, Passed::Replaced), "the latest by now");
    let step = queue.next(&MINUTE, 190_000);
    assert_eq!(step, late(180, 0, 10_000));
    grant(&mut queue, step);
    queue.ended();
    assert_eq!(queue.next(&MINUTE, 300_000), pass(240, 1, Passed::Missed), "nothing waits any more");
}

#[test]
fn a_queue_of_all_ticks_keeps_each_of_them() {
    let mut job = planner(Missed::All, Overlap::Queue, 0);
    grant(&mut job, run(60));
    assert_eq!(job.next(&MINUTE, 120_000), WAIT);
    job.ended();
    for tick in [120, 180] {
        let step = job.next(&MINUTE, 190_000);
        assert_eq!(step, late(tick, 0, 190_000 - tick * 1000));
        grant(&mut job, step);
        job.ended();
    }
}

#[test]
fn whoever_wants_all_ticks_loses_none_to_a_run_that_goes_on() {
    let mut job = planner(Missed::All, Overlap::Skip, 0);
    let step = job.next(&MINUTE, 120_500);
    assert_eq!(step, late(60, 0, 60_500));
    grant(&mut job, step);
    assert_eq!(job.next(&MINUTE, 120_500), WAIT, "the newest is on time, and waits for the one that is made up for");
    job.ended();
    let step = job.next(&MINUTE, 120_600);
    assert_eq!(step, run(120));
    grant(&mut job, step);
    assert_eq!(job.next(&MINUTE, 240_000), WAIT, "so do those that come due in a long run");
    job.ended();
    assert_eq!(job.next(&MINUTE, 250_000), late(180, 0, 70_000));
    let mut narrow =
        Planner::new(JobPolicy { window: Duration::from_secs(60), ..policy(Missed::All, Overlap::Skip) }, opened(0));
    grant(&mut narrow, run(60));
    assert_eq!(narrow.next(&MINUTE, 120_000), WAIT);
    assert_eq!(narrow.next(&MINUTE, 190_000), pass(120, 1, Passed::Missed), "but not for longer than they are wanted");
}

#[test]
fn a_job_that_is_paused_waits_and_has_missed_its_ticks_when_it_is_resumed() {
    let mut job = planner(Missed::All, Overlap::Skip, 0);
    assert_eq!(job.next(&MINUTE, 60_000), run(60));
    job.claimed(at(60), Act::Run, Claimed::Paused);
    assert_eq!(job.next(&MINUTE, 130_000), WAIT);
    job.learn(OpenedJob { is_paused: true, ..opened(0) });
    assert_eq!(job.next(&MINUTE, 130_000), WAIT);
    job.learn(opened(0));
    assert_eq!(job.next(&MINUTE, 130_000), late(60, 0, 70_000));
    let mut skips = Planner::new(policy(Missed::Skip, Overlap::Skip), OpenedJob { is_paused: true, ..opened(0) });
    assert_eq!(skips.next(&MINUTE, 130_000), WAIT);
    skips.learn(opened(0));
    assert_eq!(skips.next(&MINUTE, 130_000), pass(120, 2, Passed::Missed));
}

#[test]
fn a_run_that_was_asked_for_decides_no_tick_of_the_calendar() {
    let asked = |mark, second, policy: JobPolicy| {
        Planner::new(policy, OpenedJob { requested: Some(at(second)), ..opened(mark) })
    };
    let usual = policy(Missed::All, Overlap::Skip);
    let mut job = asked(60, 70, usual.clone());
    assert_eq!(job.next(&MINUTE, 69_000), PlannerStep::Wait { until_unix_ms: Some(70_000) }, "its clock is behind");
    assert_eq!(job.next(&MINUTE, 75_500), run(75));
    grant(&mut job, run(75));
    job.ended();
    assert_eq!(job.next(&MINUTE, 76_000), PlannerStep::Wait { until_unix_ms: Some(120_000) }, "once");
    let mut late_leader = asked(60, 70, usual.clone());
    assert_eq!(late_leader.next(&MINUTE, 185_000), late(120, 0, 65_000), "what was missed comes first");
    grant(&mut late_leader, late(120, 0, 65_000));
    late_leader.ended();
    assert_eq!(late_leader.next(&MINUTE, 185_000), late(180, 0, 5_000), "and is what was asked for");
    let mut busy = asked(60, 61, usual.clone());
    busy.still_running();
    assert_eq!(busy.next(&MINUTE, 75_000), PlannerStep::Wait { until_unix_ms: Some(120_000) });
    assert_eq!(asked(60, 60, usual.clone()).next(&SECOND, 60_500), PlannerStep::Wait { until_unix_ms: Some(61_000) });
    let jittered = JobPolicy { jitter: Duration::from_secs(30), ..usual };
    let due = jittered.due_ms(at(120));
    let mut spread = asked(60, 121, jittered);
    assert_eq!(
        spread.next(&MINUTE, 121_000.min(due - 1)),
        PlannerStep::Wait { until_unix_ms: Some(due) },
        "its tick comes first"
    );
}

#[test]
fn a_job_that_is_not_enabled_misses_nothing() {
    let mut job = Planner::new(JobPolicy { enabled: false, ..policy(Missed::All, Overlap::Skip) }, opened(0));
    assert_eq!(job.next(&MINUTE, 200_000), pass(180, 3, Passed::Disabled));
    grant(&mut job, pass(180, 3, Passed::Disabled));
    assert_eq!(job.next(&MINUTE, 200_000), PlannerStep::Wait { until_unix_ms: Some(240_000) });
}

#[test]
fn a_run_that_was_cut_off_is_run_again_only_on_request() {
    let cut_off = OpenedJob { interrupted: vec![at(60), at(120)], ..opened(120) };
    let mut leave = Planner::new(policy(Missed::Once, Overlap::Skip), cut_off.clone());
    assert_eq!(leave.next(&MINUTE, 130_000), PlannerStep::Wait { until_unix_ms: Some(180_000) });
    let again = JobPolicy { interrupted: Interrupted::Again, ..policy(Missed::Once, Overlap::Skip) };
    let mut again = Planner::new(again, cut_off);
    for tick in [60, 120] {
        let step = again.next(&MINUTE, 130_000);
        let late = Some(Duration::from_secs(130 - tick));
        assert_eq!(step, PlannerStep::Run { tick: at(tick), act: Act::RunAgain, missed: 0, late });
        grant(&mut again, step);
        again.ended();
    }
    assert_eq!(again.next(&MINUTE, 130_000), PlannerStep::Wait { until_unix_ms: Some(180_000) });
}

/// Ticks of whole minutes that were claimed and given back.
fn given_back(mark: u64, ticks: &[u64]) -> OpenedJob {
    OpenedJob { unbegun: ticks.iter().copied().map(at).collect(), ..opened(mark) }
}

fn again(seconds: u64, late_ms: u64) -> PlannerStep {
    let late = Some(Duration::from_millis(late_ms));
    PlannerStep::Run { tick: at(seconds), act: Act::RunAgain, missed: 0, late }
}

#[test]
fn whoever_wants_all_ticks_runs_those_that_were_given_back() {
    let mut job = Planner::new(policy(Missed::All, Overlap::Skip), given_back(180, &[60, 180]));
    for tick in [60, 180] {
        let step = job.next(&MINUTE, 190_000);
        assert_eq!(step, again(tick, 190_000 - tick * 1000));
        grant(&mut job, step);
        assert_eq!(
            job.next(&MINUTE, 190_000),
            if tick == 60 { WAIT } else { PlannerStep::Wait { until_unix_ms: Some(240_000) } }
        );
        job.ended();
    }
    let window = Duration::from_secs(100);
    let narrow = JobPolicy { window, ..policy(Missed::All, Overlap::Skip) };
    assert_eq!(Planner::new(narrow, given_back(180, &[60, 180])).next(&MINUTE, 190_000), again(180, 10_000));
    let disabled = JobPolicy { enabled: false, ..policy(Missed::All, Overlap::Skip) };
    let step = Planner::new(disabled, given_back(180, &[180])).next(&MINUTE, 190_000);
    assert_eq!(step, PlannerStep::Wait { until_unix_ms: Some(240_000) });
}

#[test]
fn of_ticks_that_were_given_back_the_latest_is_run_unless_another_is_due() {
    let once = |ticks| Planner::new(policy(Missed::Once, Overlap::Skip), given_back(180, ticks));
    assert_eq!(once(&[120, 180]).next(&MINUTE, 190_000), again(180, 10_000));
    assert_eq!(
        once(&[120]).next(&MINUTE, 190_000),
        PlannerStep::Wait { until_unix_ms: Some(240_000) },
        "a later one was run"
    );
    assert_eq!(once(&[180]).next(&MINUTE, 240_000), run(240));
    assert_eq!(once(&[180]).next(&MINUTE, 310_000), late(300, 1, 10_000));
}

#[test]
fn whoever_wants_nothing_late_lets_go_of_what_was_given_back() {
    let skip = policy(Missed::Skip, Overlap::Skip);
    let mut job = Planner::new(skip.clone(), given_back(180, &[180]));
    assert_eq!(job.next(&MINUTE, 180_500), PlannerStep::Wait { until_unix_ms: Some(240_000) });
    let mut at_least_once =
        Planner::new(JobPolicy { interrupted: Interrupted::Again, ..skip }, given_back(180, &[120]));
    assert_eq!(
        at_least_once.next(&MINUTE, 180_500),
        again(120, 60_500),
        "a job that may be run twice must not be left"
    );
}

#[test]
fn what_was_cut_off_and_what_was_given_back_is_run_in_order() {
    let policy = JobPolicy { interrupted: Interrupted::Again, ..policy(Missed::All, Overlap::Allow) };
    let mut job = Planner::new(policy, OpenedJob { interrupted: vec![at(120)], ..given_back(240, &[60, 180]) });
    for tick in [60, 120, 180] {
        assert_eq!(job.never_began(at(tick)), tick != 120);
        let step = job.next(&MINUTE, 250_000);
        assert_eq!(step, again(tick, 250_000 - tick * 1000));
        grant(&mut job, step);
    }
    assert_eq!(job.next(&MINUTE, 250_000), PlannerStep::Wait { until_unix_ms: Some(300_000) });
}

#[test]
fn a_tick_of_a_schedule_that_is_gone_is_not_run() {
    let hours = Every(NonZeroU64::new(3600).unwrap());
    let mut job = Planner::new(policy(Missed::All, Overlap::Skip), given_back(7_200, &[60, 3_600]));
    assert_eq!(job.next(&hours, 7_300_000), again(3_600, 3_700_000));
}

#[test]
fn a_leader_learns_what_was_given_back_late() {
    let mut job = Planner::new(policy(Missed::All, Overlap::Queue), given_back(60, &[60]));
    grant(&mut job, again(60, 0));
    grant(&mut job, run(120));
    assert_eq!(job.next(&MINUTE, 180_000), WAIT, "a tick is queued");
    job.learn(given_back(120, &[0]));
    assert_eq!(job.next(&MINUTE, 181_000), WAIT, "runs go on");
    job.ended();
    job.ended();
    assert_eq!(job.next(&MINUTE, 181_000), again(0, 181_000));
    job.claimed(at(0), Act::RunAgain, Claimed::Decided { mark: at(120) });
    assert_eq!(job.next(&MINUTE, 181_500), late(180, 0, 1_500), "somebody has taken it");
    job.learn(opened(180));
    assert_eq!(job.next(&MINUTE, 181_500), late(180, 0, 1_500), "the answer to its own claim was lost");
    assert_eq!(job.mark(), at(120));
}

#[test]
fn jitter_is_waited_for_and_is_not_late() {
    let jittered = JobPolicy { jitter: Duration::from_secs(30), ..policy(Missed::Skip, Overlap::Skip) };
    let due = jittered.due_ms(at(60));
    assert!((60_000..=90_000).contains(&due) && due != 60_000, "{due}");
    let mut job = Planner::new(jittered, opened(0));
    assert_eq!(job.next(&MINUTE, due - 1), PlannerStep::Wait { until_unix_ms: Some(due) });
    assert_eq!(job.next(&MINUTE, due), run(60));
    assert_eq!(job.next(&MINUTE, 91_000), run(60));
    assert_eq!(job.next(&MINUTE, 91_001), pass(60, 1, Passed::Missed));
}

#[test]
fn a_mark_from_a_clock_that_was_ahead_is_waited_for() {
    let mut job = planner(Missed::All, Overlap::Skip, 600);
    assert_eq!(job.next(&MINUTE, 30_000), PlannerStep::Wait { until_unix_ms: Some(660_000) });
}

/// Ten seconds ahead of the store, second by second on the leader's clock: which ticks run, and when on the store's clock.
fn runs_of_a_fast_leader(missed: Missed, calendar: Every) -> Vec<(u64, u64)> {
    let mut job = Planner::new(policy(missed, Overlap::Allow), opened(1_000));
    let mut runs = Vec::new();
    for store_ms in (1_000_000..1_200_000).step_by(100) {
        let mut steps = 0;
        loop {
            let (tick, act) = match job.next(&calendar, store_ms + 10_000) {
                PlannerStep::Wait { .. } => break,
                PlannerStep::Pass { tick, .. } => (tick, Act::Pass),
                PlannerStep::Run { tick, act, .. } => (tick, act),
            };
            let by = tick.ahead_of(store_ms);
            let early = by > super::super::request::MAX_EARLY;
            job.claimed(tick, act, if early { Claimed::Early { by } } else { Claimed::Granted });
            if !early && act == Act::Run {
                runs.push((tick.unix_s(), store_ms));
            }
            steps += 1;
            assert!(steps < 4, "a leader whose clock is fast does not storm the ledger");
        }
    }
    runs
}

#[test]
fn a_leader_whose_clock_is_ahead_fires_by_the_stores() {
    for missed in [Missed::Skip, Missed::Once, Missed::All] {
        for every in [1, 3, 60] {
            let runs = runs_of_a_fast_leader(missed, Every(NonZeroU64::new(every).unwrap()));
            let ticks: Vec<u64> = runs.iter().map(|(tick, _)| *tick).collect();
            let due: Vec<u64> = (1_001..1_200).filter(|tick| tick % every == 0).collect();
            assert!(ticks.starts_with(&due), "{missed} {every}: {ticks:?}");
            for (tick, store_ms) in runs {
                assert!((tick * 1000 - 1_000..=tick * 1000 + 1_000).contains(&store_ms), "{missed}: {tick} {store_ms}");
            }
        }
    }
}

#[test]
fn a_run_that_was_cut_off_is_not_run_again_before_its_tick() {
    let again = JobPolicy { interrupted: Interrupted::Again, ..policy(Missed::Once, Overlap::Skip) };
    let mut job = Planner::new(again, OpenedJob { interrupted: vec![at(60)], ..opened(60) });
    assert_eq!(job.next(&MINUTE, 50_000), PlannerStep::Wait { until_unix_ms: Some(60_000) });
    assert!(matches!(job.next(&MINUTE, 60_000), PlannerStep::Run { act: Act::RunAgain, .. }));
    job.claimed(at(60), Act::RunAgain, Claimed::Early { by: Duration::from_secs(8) });
    assert!(matches!(job.next(&MINUTE, 60_000), PlannerStep::Wait { until_unix_ms: Some(67_000..68_001) }));
}

#[test]
fn counting_what_was_missed_has_an_end() {
    let mut job = planner(Missed::Skip, Overlap::Skip, 0);
    assert_eq!(job.next(&SECOND, 100_000_000_000), pass(99_999_998, MAX_COUNT, Passed::Missed));
}

proptest! {
    /// Whatever the clock does and however long runs take, ticks are decided in order, one at a time, and with `all` none is
    /// left out.
    #[test]
    fn all_ticks_are_run_in_order(
        moves in prop::collection::vec((0_u64..5_000, prop::bool::ANY, prop::bool::ANY), 1..200),
        queues in prop::bool::ANY,
    ) {
        let overlap = if queues { Overlap::Queue } else { Overlap::Skip };
        let mut job = planner(Missed::All, overlap, 0);
        let (mut now, mut expected) = (0, 1);
        for (by, back, goes_on) in moves {
            now = if back { now - by.min(now) / 4 } else { now + by };
            loop {
                let step = job.next(&SECOND, now);
                if let PlannerStep::Wait { .. } = step { break };
                prop_assert!(matches!(step, PlannerStep::Run { .. }), "{step:?}");
                let PlannerStep::Run { tick, .. } = step else { break };
                prop_assert_eq!(tick, at(expected));
                prop_assert!(tick.unix_ms() <= now);
                expected += 1;
                grant(&mut job, step);
                if goes_on { break };
                job.ended();
            }
            if goes_on {
                let waits = matches!(job.next(&SECOND, now), PlannerStep::Wait { .. });
                prop_assert!(waits, "never two at once");
                job.ended();
            } else {
                prop_assert!(job.mark().age_at(now) < Duration::from_secs(1), "nothing due is left");
            }
        }
    }
}
