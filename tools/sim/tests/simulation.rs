//! The simulation itself: it repeats, it notices, and what it reports can be had again.

use tenure_sim::{FaultClass, Mistake, ProcessMistake, SimOptions, StoreMistake, Sweep, replay, report, run, shrink};

fn sweep(seeds: u64, mistake: Option<Mistake>) -> Sweep {
    Sweep { first: 0, seeds, threads: 2, mistake, without: Vec::new(), keeps_going: false }
}

#[test]
fn a_seed_replays_to_the_last_line() {
    for seed in 0..20 {
        let (one, other) = (replay(&SimOptions::of(seed)), replay(&SimOptions::of(seed)));
        assert_eq!(one.timeline.to_string(), other.timeline.to_string());
        assert_eq!(one.tally, other.tally);
        assert_eq!(one.tally, run(&SimOptions::of(seed)).tally, "looking changes nothing");
    }
}

#[test]
fn seeds_differ() {
    let timelines: Vec<String> = (0..5).map(|seed| replay(&SimOptions::of(seed)).timeline.to_string()).collect();
    assert!(timelines.windows(2).all(|pair| pair[0] != pair[1]));
}

#[test]
fn honest_electors_break_no_promise() {
    let swept = sweep(400, None).run(|_| ());
    assert_eq!(swept.violation, None);
    assert_eq!(swept.tally.runs, 400);
    assert_eq!(swept.tally.missing(), []);
}

/// Those of the electors need a build of their own, and are held to account by `cargo xtask test`.
#[test]
fn every_mistake_of_stores_and_processes_is_caught() {
    for mistake in Mistake::all() {
        let swept = sweep(20_000, Some(mistake)).run(|_| ());
        assert!(swept.violation.is_some(), "{mistake} survives");
    }
}

#[test]
fn a_violation_shrinks_to_few_faults_and_says_how_to_see_it_again() {
    let mistake = Some(Mistake::Process(ProcessMistake::ClockStopsInSuspend));
    // One with faults that it does without. Those first in line may be suspended as well, and would do.
    let violated = |seed: u64| {
        let options = SimOptions::of(seed).making(mistake);
        let is_fit = options.faults.len() > 4 && !options.faults.contains(&FaultClass::HeadOfLine);
        let violation = is_fit.then(|| run(&options).violation).flatten()?;
        Some((seed, options, violation))
    };
    let (seed, options, violation) = (0..1_000).find_map(violated).unwrap();
    let smallest = shrink(&options);
    assert!(smallest.faults.contains(&FaultClass::Suspend), "{:?}", smallest.faults);
    assert!(smallest.faults.len() < options.faults.len(), "{:?}", smallest.faults);
    assert_eq!(run(&smallest).violation.unwrap().invariant, violation.invariant);

    let report = report(&options);
    assert!(report.contains(violation.invariant), "{report}");
    assert!(report.contains(&format!("cargo xtask sim --seed {seed} --mutant clock-stops-in-suspend")), "{report}");
    assert!(report.contains("ELECTED"), "{report}");
}

#[test]
fn a_fault_that_is_left_out_does_not_happen() {
    let options = SimOptions::of(3);
    let fault = options.faults[0];
    let without = options.clone().without(&[fault]);
    assert_eq!(without.faults.len(), options.faults.len() - 1);
    assert!(!replay(&without).timeline.to_string().contains(&format!("* {fault} at")));
}

#[test]
fn names_are_read_back() {
    for mistake in Mistake::all() {
        assert_eq!(mistake.name().parse::<Mistake>(), Ok(mistake));
    }
    for fault in FaultClass::ALL {
        assert_eq!(fault.name().parse::<FaultClass>(), Ok(fault));
    }
    let unknown = "blind-renewal".parse::<Mistake>().unwrap_err().to_string();
    assert!(unknown.contains("blind-renew,"), "{unknown}");
    assert!(Mistake::all().contains(&Mistake::Store(StoreMistake::BlindRenew)));
}
