//! Faults that cannot be brought about on a real machine, or not without harm to others: a host that is suspended, a
//! virtual machine that is paused, clocks that are set or run at other rates.

use tenure_sim::{FaultClass, JobMistake, Mistake, ProcessMistake, Situation, StoreMistake, Sweep, Swept};

const SEEDS: u64 = 400;

/// Runs with these faults and no others.
fn only(faults: &[FaultClass], mistake: Option<Mistake>) -> Swept {
    let without = FaultClass::ALL.into_iter().filter(|fault| !faults.contains(fault)).collect();
    Sweep { first: 0, seeds: SEEDS, threads: 2, mistake, without, keeps_going: false }.run(|_| ())
}

fn broken(swept: &Swept, invariant: &str) -> u64 {
    swept.tally.unclaimed.iter().filter(|(name, _)| *name == invariant).map(|(_, count)| count).sum()
}

#[test]
fn case_05_a_suspended_host_finds_its_leadership_over_when_it_wakes() {
    let swept = only(&[FaultClass::Suspend], None);
    assert_eq!(swept.violation, None);
    assert!(swept.tally.of(Situation::LostWhileAway) > 20);
    // A clock that stands still meanwhile is what goes wrong elsewhere.
    let mistaken = only(&[FaultClass::Suspend], Some(Mistake::Process(ProcessMistake::ClockStopsInSuspend)));
    assert_eq!(mistaken.violation.unwrap().1.invariant, "one-leader");
}

#[test]
fn case_06_a_paused_virtual_machine_can_lead_beside_another_but_no_stale_write_gets_past_a_fence() {
    let swept = only(&[FaultClass::VmPause], None);
    assert_eq!(swept.violation, None, "fencing and all else that does not rest on clocks holds");
    assert!(broken(&swept, "one-leader") > 0, "the limit is real, and the documents name it");
}

#[test]
fn case_08_a_store_whose_clock_is_set_can_have_two_leaders_but_no_stale_write_gets_past_a_fence() {
    let swept = only(&[FaultClass::ClockStep], None);
    assert_eq!(swept.violation, None, "fencing and all else that does not rest on that clock holds");
    assert!(broken(&swept, "one-leader") > 0, "the limit is real, and the documents name it");
}

#[test]
fn somebody_soon_leads_however_many_of_those_next_in_line_are_gone() {
    let swept = only(&[FaultClass::HeadOfLine], None);
    assert_eq!(swept.violation, None);
    assert!(swept.tally.of(Situation::HeadOfLineGone) > 400);
    // What others do: two are told, two watch, and whoever leaves or dies takes its place along.
    for (mistake, invariant) in [
        (StoreMistake::WakesTwo, "succession"),
        (StoreMistake::NothingPassedOn, "succession"),
        (StoreMistake::TwoWatch, "succession"),
        (StoreMistake::DeathIsAnyones, "order"),
    ] {
        let mistaken = only(&[FaultClass::HeadOfLine], Some(Mistake::Store(mistake)));
        assert_eq!(mistaken.violation.unwrap().1.invariant, invariant, "{mistake:?}");
    }
}

#[test]
fn jobs_fire_once_and_go_on_however_wall_clocks_are_set() {
    let swept = only(&[FaultClass::WallStep], None);
    assert_eq!(swept.violation, None);
    assert!(swept.tally.of(Situation::WallSet) > 100);
    assert!(swept.tally.of(Situation::EarlyClaim) > 100, "some leaders are ahead of the store");
    assert!(swept.tally.of(Situation::CaughtUp) > 100, "and some see ticks pass that never came");
    // A leader that insists on its own clock is what goes wrong elsewhere.
    let mistaken = only(&[FaultClass::WallStep], Some(Mistake::Job(JobMistake::TrustsFastClock)));
    assert_eq!(mistaken.violation.unwrap().1.invariant, "jobs-live");
}

#[test]
fn a_store_that_forgets_can_fire_a_tick_twice() {
    let swept = only(&[FaultClass::Failover, FaultClass::Crash], None);
    assert_eq!(swept.violation, None, "what does not rest on its memory holds");
    assert!(broken(&swept, "fires-once") > 0, "the limit is real, and the documents name it");
}

#[test]
fn case_09_clocks_that_drift_as_far_as_they_may_never_make_two_leaders() {
    let swept = only(&[FaultClass::ClockRate, FaultClass::Pause, FaultClass::CutBoth], None);
    assert_eq!(swept.violation, None);
    assert!(swept.tally.of(Situation::Takeover) > 100);
}

#[test]
fn case_39_a_candidate_that_hears_no_answers_does_not_keep_others_from_leading() {
    let swept = only(&[FaultClass::CutAnswers], None);
    assert_eq!(swept.violation, None);
    assert!(swept.tally.of(Situation::GhostLease) > 0);
}
