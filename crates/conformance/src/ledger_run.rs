//! Runs whose leader went away before they ended.

use tenure_core::Term;
use tenure_store::ledger::{Act, Claimed, RunOutcome};

use super::Fixture;
use super::bookkeeping::{BEGINNING, decided, leader, tick, ticks};
use super::player::{Player, pass};

pub(super) async fn the_next_leader_learns_of_runs_without_an_end(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    let other = Player::new(fixture, "other").await;
    for second in [200, 300, 400, 500] {
        one.runs(term, second).await;
    }
    one.ends(term, 300).await;
    one.passes(term, 600, 1).await;
    assert_eq!(one.opens(term, BEGINNING).await.interrupted, [], "its own are under way");
    one.resigns(term).await;
    let next = other.wins().await;
    for _ in 0..2 {
        let opened = other.opens(next, 999).await;
        assert_eq!((opened.mark, opened.interrupted), (tick(600), [200, 400, 500].map(tick).to_vec()));
    }
    one.ends(term, 400).await;
    assert_eq!(other.opens(next, 999).await.interrupted, [200, 500].map(tick), "one has ended after all");
}

pub(super) async fn a_leader_that_comes_back_learns_of_its_own_runs(fixture: &dyn Fixture) {
    let one = Player::brief(fixture, "one").await;
    let term = one.wins().await;
    one.opens(term, BEGINNING).await;
    one.runs(term, 200).await;
    pass(fixture, one.ttl).await;
    let next = one.wins().await;
    assert_eq!(one.opens(next, 999).await.interrupted, [tick(200)], "the nonce is the same, the term is not");
}

pub(super) async fn a_run_without_an_end_is_taken_over_once(fixture: &dyn Fixture) {
    let (one, other, term, next) = interrupted(fixture).await;
    assert_eq!(other.claims_to(Act::RunAgain, next, 200).await, Claimed::Granted);
    let report = other.reads_one().await;
    assert_eq!((report.mark, report.fired, ticks(&report)), (tick(300), 3, vec![300, 200]));
    let run = &report.runs[1];
    assert_eq!((run.term, &run.candidate, &run.end), (next, &other.candidate, &None), "it is another's now");
    assert_eq!(other.claims_to(Act::RunAgain, next, 200).await, Claimed::Granted, "the reply may have been lost");
    assert_eq!(other.reads_one().await, report, "and it counts once");
    assert_eq!(other.opens(next, 999).await.interrupted, [tick(300)]);
    assert!(!one.tells(one.as_end(term, 200, RunOutcome::Succeeded)).await, "the run is not its own any more");
    other.ends(next, 200).await;
    assert_eq!(other.claims_to(Act::RunAgain, next, 200).await, decided(300));
}

pub(super) async fn a_run_that_was_taken_over_may_be_interrupted_again(fixture: &dyn Fixture) {
    let (one, other, _, next) = interrupted(fixture).await;
    assert_eq!(other.claims_to(Act::RunAgain, next, 200).await, Claimed::Granted);
    other.resigns(next).await;
    let last = one.wins().await;
    assert_eq!(one.opens(last, 999).await.interrupted, [200, 300].map(tick));
    assert_eq!(one.claims_to(Act::RunAgain, last, 200).await, Claimed::Granted);
    assert_eq!(one.reads_one().await.fired, 4);
}

pub(super) async fn only_who_asks_for_it_takes_a_run_over(fixture: &dyn Fixture) {
    let (_, other, term, next) = interrupted(fixture).await;
    let before = other.reads_one().await;
    assert_eq!(other.claims_to(Act::Run, next, 200).await, decided(300));
    assert_eq!(other.claims_to(Act::Pass, next, 200).await, decided(300));
    assert_eq!(other.reads_one().await, before);
    assert_eq!(before.runs[1].term, term);
}

pub(super) async fn what_was_never_run_is_not_run_again(fixture: &dyn Fixture) {
    let (_, other, _, next) = interrupted(fixture).await;
    other.passes(next, 400, 1).await;
    let before = other.reads_one().await;
    for second in [400, 500, 250, 0] {
        assert_eq!(other.claims_to(Act::RunAgain, next, second).await, decided(400), "second {second}");
    }
    assert_eq!(other.reads_one().await, before);
}

pub(super) async fn a_run_that_ended_is_not_taken_over(fixture: &dyn Fixture) {
    let (one, other, term, next) = interrupted(fixture).await;
    one.ends(term, 200).await;
    assert_eq!(other.opens(next, 999).await.interrupted, [tick(300)]);
    assert_eq!(other.claims_to(Act::RunAgain, next, 200).await, decided(300));
    assert_eq!(other.reads_one().await.fired, 2);
}

/// One has run two ticks and told no end; the other leads now.
async fn interrupted(fixture: &dyn Fixture) -> (Player, Player, Term, Term) {
    let (one, term) = leader(fixture).await;
    let other = Player::new(fixture, "other").await;
    one.runs(term, 200).await;
    one.runs(term, 300).await;
    one.resigns(term).await;
    let next = other.wins().await;
    (one, other, term, next)
}
