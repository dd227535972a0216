//! Raising terms above those of another store.

use tenure_core::{ElectionName, Term};

use super::Fixture;
use super::forget::is_gone;
use super::player::{Player, key, key_in, pass};

pub(super) async fn terms_go_on_above_those_of_another_store(fixture: &dyn Fixture) {
    let one = Player::brief(fixture, "one").await;
    let first = one.wins().await;
    let above = beyond(first);
    raises(&one, Some(&one.key.name), above).await;
    pass(fixture, one.ttl).await;
    let next = one.again();
    let second = next.wins().await;
    assert!(second > above, "{second:?} must be above {above:?}");
    next.resigns(second).await;
    assert!(one.again().wins().await > second, "and they go on from there");
}

pub(super) async fn an_election_that_is_yet_to_begin_begins_above(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let elsewhere = one.in_election(key("other")).wins().await;
    let above = beyond(elsewhere);
    raises(&one, Some(&one.key.name), above).await;
    let listed = one.store.elections(&one.key.namespace).await.expect("a list");
    assert_eq!(listed, [key("other").name], "nobody has stood in it");
    assert_eq!(one.observes().await.last_term, None, "nobody has had a term");
    assert!(one.wins().await > above);
    assert!(one.in_election(key("third")).wins().await <= above, "the other elections are not meant");
}

pub(super) async fn terms_are_raised_in_a_whole_namespace(fixture: &dyn Fixture) {
    let one = Player::brief(fixture, "one").await;
    let foreigner = one.in_election(key_in("elsewhere", "nightly-report"));
    let (first, other) = (one.wins().await, foreigner.wins().await);
    // Small, because not every store can raise elections that are yet to begin above any term.
    let above = Term::new(1_000).expect("a term");
    raises(&one, None, above).await;
    pass(fixture, one.ttl).await;
    let (next, unborn) = (one.again().wins().await, one.in_election(key("unborn")).wins().await);
    assert!(next > above && next > first && unborn > above, "{next:?} and {unborn:?} must be above {above:?}");
    let there = foreigner.again().wins().await;
    assert!(there > other && (there < above || other > above), "{there:?} is in a namespace that was not meant");
}

pub(super) async fn raising_terms_disturbs_no_leader(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let term = one.wins().await;
    other.is_kept_out().await;
    raises(&one, Some(&one.key.name), beyond(term)).await;
    one.keeps(term).await;
    assert_eq!(one.wins().await, term, "its grant is found again");
    let seen = other.observes().await;
    assert_eq!(seen.lease.and_then(|lease| lease.term), Some(term));
    assert_eq!(seen.last_term, Some(term), "the highest term granted");
    other.is_kept_out().await;
    one.resigns(term).await;
    assert!(other.wins().await > beyond(term));
}

pub(super) async fn raising_terms_never_lowers_them(fixture: &dyn Fixture) {
    let one = Player::brief(fixture, "one").await;
    let first = one.wins().await;
    let (low, high) = (Term::new(first.get() - 1).unwrap_or(first), beyond(first));
    assert_eq!(raises(&one, Some(&one.key.name), low).await, 0, "they are higher");
    raises(&one, Some(&one.key.name), high).await;
    assert_eq!(raises(&one, Some(&one.key.name), first).await, 0, "they are higher by now");
    assert_eq!(raises(&one, Some(&one.key.name), high).await, 0, "they are as high by now");
    pass(fixture, one.ttl).await;
    assert!(one.again().wins().await > high);
}

pub(super) async fn what_was_raised_is_not_forgotten(fixture: &dyn Fixture) {
    let one = Player::brief(fixture, "one").await;
    let first = one.wins().await;
    raises(&one, Some(&one.key.name), beyond(first)).await;
    pass(fixture, one.ttl).await;
    is_gone(&one).await;
    assert!(one.again().wins().await > beyond(first));
}

pub(super) async fn terms_are_not_raised_to_their_end(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    for above in [Term::MAX_RAISED + 1, Term::MAX - 1, Term::MAX] {
        let above = Term::new(above).expect("a term");
        for only in [Some(&one.key.name), None] {
            let refused = one.store.raise_terms(&one.key.namespace, only, above).await;
            assert!(refused.is_err(), "an election would have few terms above {above} left: {refused:?}");
        }
    }
    assert!(one.wins().await.get() < Term::MAX_RAISED, "nothing was raised");
}

/// So far above a term that no store comes there by itself.
fn beyond(term: Term) -> Term {
    const YEARS_MS: u64 = 30 * 365 * 86_400_000;
    Term::new(term.get() + YEARS_MS).expect("far below the highest")
}

async fn raises(player: &Player, only: Option<&ElectionName>, above: Term) -> u64 {
    player.store.raise_terms(&player.key.namespace, only, above).await.expect("an answer")
}
