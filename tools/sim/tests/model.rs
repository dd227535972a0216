//! Small searches: that they are clean, that they see what they must, and that known mistakes do not escape them.
#![allow(clippy::panic, reason = "a test that fails says so by panicking")]

use std::collections::BTreeSet;
use std::time::Duration;

use tenure_sim::model::{Budgets, Law, ModelOptions, ModelSituation, SearchReport, check};
use tenure_sim::{Mistake, ProcessMistake, StoreMistake};

fn search(options: &ModelOptions) -> SearchReport {
    check(options, |_| ())
}

/// As few steps and faults as it takes.
fn within(depth: u8, budgets: Budgets) -> ModelOptions {
    ModelOptions { depth, budgets, ..ModelOptions::default() }
}

fn caught(mistake: Mistake, options: &ModelOptions, law: Law) {
    let report = search(&ModelOptions { mistake: Some(mistake), ..options.clone() });
    let Some(violation) = &report.violation else { panic!("{mistake} escapes: {report}") };
    assert!(violation.laws.contains(&law), "{mistake} is caught by {:?}", violation.laws);
    assert_eq!(violation.steps, options.depth, "{mistake} takes other than {} steps: {report}", options.depth);
}

#[test]
fn no_history_of_a_few_steps_breaks_a_law() {
    let report = search(&within(5, Budgets { departures: 1, ..Budgets::default() }));
    assert!(report.violation.is_none(), "{report}");
    assert!(report.progress.unique > 10_000, "{report}");
}

#[test]
fn three_candidates_keep_the_laws_too() {
    let report = search(&ModelOptions { candidates: 3, ..within(4, Budgets::default()) });
    assert!(report.violation.is_none(), "{report}");
    assert!(report.progress.unique > 10_000, "{report}");
}

#[test]
fn every_situation_can_be_reached() {
    let pauses = Budgets { faults: 1, pauses: 1, ..Budgets::NONE };
    let duplicates = Budgets { faults: 1, duplicates: 1, resignations: 1, ..Budgets::NONE };
    // Each ends as soon as it has seen what it is for, and holds no more under way than that takes.
    let brief =
        |horizon, depth, budgets| ModelOptions { horizon: Duration::from_secs(horizon), ..within(depth, budgets) };
    let searches = [
        brief(1, 8, duplicates),
        ModelOptions { link: 1, ..brief(10, 8, Budgets::NONE) },
        ModelOptions { link: 1, ..brief(10, 9, pauses) },
        ModelOptions { link: 1, ..brief(10, 8, CRASHES) },
    ];
    let reached: BTreeSet<ModelSituation> = searches.iter().flat_map(|options| search(options).reached).collect();
    assert_eq!(reached, ModelSituation::ALL.into_iter().collect());
}

#[test]
fn what_is_seen_does_not_depend_on_the_order_of_the_search() {
    let alone = search(&ModelOptions { threads: 1, ..within(5, Budgets::default()) });
    let together = search(&ModelOptions { threads: 3, ..within(5, Budgets::default()) });
    assert_eq!(alone.progress.unique, together.progress.unique);
    assert_eq!(alone.progress.generated, together.progress.generated);
    assert_eq!(alone.reached, together.reached);
}

#[test]
fn a_violation_is_told_from_the_first_step_to_the_last() {
    let mistake = Some(Mistake::Process(ProcessMistake::CachedAnswer));
    let report = search(&ModelOptions { mistake, ..within(5, PAUSES_AND_DUPLICATES) });
    let text = report.to_string();
    for part in ["granted, term 1", "is ELECTED, term 1, trusted for", "pauses", "granted, term 2", "VIOLATED"] {
        assert!(text.contains(part), "{part} is missing in:\n{text}");
    }
}

#[test]
fn a_search_that_misses_something_is_not_good() {
    let report = search(&within(1, Budgets::NONE));
    assert!(report.violation.is_none());
    assert!(!report.is_good());
}

#[test]
#[should_panic(expected = "cannot make this mistake")]
fn a_mistake_that_would_not_be_made_is_refused() {
    search(&ModelOptions {
        mistake: Some(Mistake::Process(ProcessMistake::ClockStopsInSuspend)),
        ..ModelOptions::default()
    });
}

const CRASHES: Budgets = Budgets { faults: 1, crashes: 1, ..Budgets::NONE };
const PAUSES_AND_DUPLICATES: Budgets = Budgets { faults: 2, pauses: 1, duplicates: 1, ..Budgets::NONE };

#[test]
fn mistakes_of_stores_are_caught() {
    let store = |mistake, depth, budgets, law| caught(Mistake::Store(mistake), &within(depth, budgets), law);
    store(StoreMistake::LabelOwnsLease, 3, CRASHES, Law::LeaseIsKept);
    store(StoreMistake::BlindRelease, 4, Budgets::NONE, Law::LeaseIsKept);
    store(StoreMistake::BlindRenew, 6, Budgets::NONE, Law::LeaseIsKept);
    store(StoreMistake::ExpiringTerm, 6, Budgets::NONE, Law::NoFalseAlarm);
    store(StoreMistake::RegrantKeepsExpiry, 7, CRASHES, Law::NewestActs);
}

#[test]
fn mistakes_of_processes_are_caught() {
    let process = |mistake, depth, budgets| caught(Mistake::Process(mistake), &within(depth, budgets), Law::NewestActs);
    process(ProcessMistake::CachedAnswer, 5, PAUSES_AND_DUPLICATES);
    process(ProcessMistake::NoKill, 6, CRASHES);
}

/// The depth at which each is caught by a few faults, and by which law. What is missing harms nobody's safety in this
/// world: `campaigns-unheard`, `waits-for-hints`, `oversleeps-place`, `gives-up`, `no-back-off` and `waits-for-release`
/// keep leaders from coming or going, and `accepts-old-term` and `silent-loss` need a store that breaks its promises.
#[cfg(mutants)]
#[test]
fn mistakes_of_electors_are_caught() {
    use tenure_core::Mutant;

    let duplicates = Budgets { faults: 1, duplicates: 1, resignations: 1, ..Budgets::NONE };
    for (mutant, depth, budgets, law) in [
        (Mutant::ReleaseBeforeStop, 3, Budgets::NONE, Law::WorkEndsFirst),
        (Mutant::RenewsAfterLoss, 3, Budgets::NONE, Law::LostStaysLost),
        (Mutant::CampaignsBesideOwnWork, 3, Budgets::NONE, Law::NoRivalToItself),
        (Mutant::NoDriftMargin, 5, CRASHES, Law::NewestActs),
        (Mutant::OneSidedMargin, 5, CRASHES, Law::NewestActs),
        (Mutant::SilenceIsConsent, 5, CRASHES, Law::NewestActs),
        (Mutant::WindowRestarts, 5, CRASHES, Law::NewestActs),
        (Mutant::NonceKept, 5, Budgets::NONE, Law::NoFalseAlarm),
        (Mutant::DuplicateGrant, 5, duplicates, Law::LostStaysLost),
        (Mutant::TrustFromReply, 6, CRASHES, Law::NewestActs),
        (Mutant::GraceNotSubtracted, 6, CRASHES, Law::NewestActs),
        (Mutant::LatestSend, 6, CRASHES, Law::NewestActs),
        (Mutant::LateGrant, 6, CRASHES, Law::NewestActs),
        (Mutant::NoRecheckAfterResume, 6, PAUSES_AND_DUPLICATES, Law::StopsInTime),
        (Mutant::GraceAfterPause, 7, PAUSES_AND_DUPLICATES, Law::NewestActs),
    ] {
        caught(Mistake::Elector(mutant), &within(depth, budgets), law);
    }
}
