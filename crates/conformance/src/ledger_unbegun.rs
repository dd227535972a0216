//! Ticks that were claimed and given back, because their runs never started.

use tenure_core::Term;
use tenure_store::ledger::{Act, Claimed, Finish, RunOutcome};

use super::Fixture;
use super::bookkeeping::{BEGINNING, decided, leader, tick, ticks};
use super::player::{Player, fresh_nonce};

impl Player {
    fn as_giving_back(&self, term: Term, second: u64) -> Finish {
        self.as_end(term, second, RunOutcome::NotBegun)
    }

    /// Gives a tick of the usual job back, and must be heard.
    async fn gives_back(&self, term: Term, second: u64) {
        assert!(self.tells(self.as_giving_back(term, second)).await, "second {second}");
    }
}

pub(super) async fn the_next_leader_learns_of_ticks_that_were_given_back(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    let other = Player::new(fixture, "other").await;
    for second in [200, 300, 400, 500] {
        one.runs(term, second).await;
    }
    one.gives_back(term, 400).await;
    one.ends(term, 300).await;
    assert_eq!(one.opens(term, BEGINNING).await.unbegun, [], "it is not for the term that gave it back");
    one.resigns(term).await;
    let next = other.wins().await;
    for _ in 0..2 {
        let opened = other.opens(next, 999).await;
        assert_eq!((opened.mark, opened.unbegun), (tick(500), vec![tick(400)]));
        assert_eq!(opened.interrupted, [200, 500].map(tick));
    }
    one.gives_back(term, 200).await;
    let opened = other.opens(next, 999).await;
    assert_eq!((opened.unbegun, opened.interrupted), ([200, 400].map(tick).to_vec(), vec![tick(500)]), "late");
}

pub(super) async fn a_tick_that_was_given_back_is_run_again_once(fixture: &dyn Fixture) {
    let (one, other, term, next) = given_back(fixture).await;
    assert_eq!(other.claims_to(Act::RunAgain, next, 200).await, Claimed::Granted);
    let report = other.reads_one().await;
    assert_eq!((report.mark, ticks(&report)), (tick(300), vec![300, 200]));
    let run = &report.runs[1];
    assert_eq!((run.term, &run.candidate, &run.end), (next, &other.candidate, &None), "it is another's now");
    assert_eq!(other.claims_to(Act::RunAgain, next, 200).await, Claimed::Granted, "the reply may have been lost");
    assert_eq!(other.reads_one().await, report, "and it counts once");
    assert_eq!(other.opens(next, 999).await.unbegun, []);
    assert!(!one.tells(one.as_giving_back(term, 200)).await, "the run is not its own any more");
    other.ends(next, 200).await;
    assert_eq!(other.claims_to(Act::RunAgain, next, 200).await, decided(300));
    assert_eq!(other.opens(next, 999).await.unbegun, []);
}

pub(super) async fn a_tick_that_was_given_back_has_not_fired(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    let other = Player::new(fixture, "other").await;
    one.runs(term, 200).await;
    one.runs(term, 300).await;
    for _ in 0..2 {
        one.gives_back(term, 200).await;
        let report = one.reads_one().await;
        assert_eq!((report.fired, ticks(&report)), (1, vec![300, 200]));
    }
    let end = one.reads_one().await.runs[1].end.clone().expect("an end");
    assert_eq!(end.outcome, RunOutcome::NotBegun);
    one.resigns(term).await;
    let next = other.wins().await;
    assert_eq!(other.claims_to(Act::RunAgain, next, 200).await, Claimed::Granted);
    assert_eq!(other.reads_one().await.fired, 2);
}

pub(super) async fn a_tick_that_was_given_back_is_missed_until_it_is_run(fixture: &dyn Fixture) {
    let (one, other, term, next) = given_back(fixture).await;
    assert_eq!(one.reads_one().await.missed, 1);
    one.gives_back(term, 200).await;
    assert_eq!(one.reads_one().await.missed, 1, "told twice, it counts once");
    for _ in 0..2 {
        assert_eq!(other.claims_to(Act::RunAgain, next, 200).await, Claimed::Granted);
        let report = other.reads_one().await;
        assert_eq!((report.missed, report.skipped), (0, 0));
    }
}

pub(super) async fn a_tick_may_be_given_back_again_and_again(fixture: &dyn Fixture) {
    let (mut one, mut other, _, mut next) = given_back(fixture).await;
    for _ in 0..3 {
        assert_eq!(other.claims_to(Act::RunAgain, next, 200).await, Claimed::Granted);
        other.gives_back(next, 200).await;
        other.resigns(next).await;
        (one, other) = (other, one);
        next = other.wins().await;
        assert_eq!(other.opens(next, 999).await.unbegun, [tick(200)]);
        assert_eq!(other.reads_one().await.fired, 1);
    }
    assert_eq!(other.claims_to(Act::RunAgain, next, 200).await, Claimed::Granted);
}

pub(super) async fn whoever_gave_a_tick_back_may_take_it_under_a_later_term_only(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.runs(term, 200).await;
    one.gives_back(term, 200).await;
    for act in [Act::Run, Act::RunAgain, Act::Pass] {
        // What it told may be under way once more, and would end the new run, too.
        assert_eq!(one.claims_to(act, term, 200).await, decided(200), "{act:?}");
    }
    one.resigns(term).await;
    let next = one.wins().await;
    assert_eq!(one.opens(next, 999).await.unbegun, [tick(200)]);
    assert_eq!(one.claims_to(Act::RunAgain, next, 200).await, Claimed::Granted);
    assert!(!one.tells(one.as_giving_back(term, 200)).await, "the nonce is the same, the term is not");
    assert_eq!(one.reads_one().await.runs[0].end, None);
}

pub(super) async fn only_who_asks_for_it_takes_a_tick_that_was_given_back(fixture: &dyn Fixture) {
    let (_, other, _, next) = given_back(fixture).await;
    let before = other.reads_one().await;
    assert_eq!(other.claims_to(Act::Run, next, 200).await, decided(300));
    assert_eq!(other.claims_to(Act::Pass, next, 200).await, decided(300));
    assert_eq!(other.reads_one().await, before);
    assert_eq!(other.opens(next, 999).await.unbegun, [tick(200)]);
}

pub(super) async fn giving_back_needs_nonce_and_term_of_the_run(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.runs(term, 200).await;
    let right = one.as_giving_back(term, 200);
    let before = one.reads_one().await;
    let later = Term::after(Some(term)).expect("a term");
    assert!(!one.tells(Finish { nonce: fresh_nonce(), ..right.clone() }).await);
    assert!(!one.tells(Finish { term: later, ..right.clone() }).await);
    assert!(!one.tells(Finish { tick: tick(201), ..right.clone() }).await);
    assert_eq!(one.reads_one().await, before, "nobody was heard");
    assert!(one.tells(right).await);
}

pub(super) async fn what_is_told_after_giving_back_or_before_counts_by_which_came_first(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    let other = Player::new(fixture, "other").await;
    one.runs(term, 200).await;
    one.runs(term, 300).await;
    one.ends(term, 200).await;
    one.gives_back(term, 300).await;
    let before = one.reads_one().await;
    one.gives_back(term, 200).await;
    one.ends(term, 300).await;
    assert_eq!(one.reads_one().await, before);
    one.resigns(term).await;
    let next = other.wins().await;
    assert_eq!(other.opens(next, 999).await.unbegun, [tick(300)]);
    assert_eq!(other.claims_to(Act::RunAgain, next, 200).await, decided(300));
}

/// One has claimed two ticks and given back the first, the second has ended; the other leads now.
async fn given_back(fixture: &dyn Fixture) -> (Player, Player, Term, Term) {
    let (one, term) = leader(fixture).await;
    let other = Player::new(fixture, "other").await;
    one.runs(term, 200).await;
    one.runs(term, 300).await;
    one.gives_back(term, 200).await;
    one.ends(term, 300).await;
    one.resigns(term).await;
    let next = other.wins().await;
    (one, other, term, next)
}
