//! Releasing a lease.

use tenure_core::Term;

use super::Fixture;
use super::player::{Player, fresh_nonce, pass};

pub(super) async fn a_resigned_lease_is_free_at_once(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let first = one.wins().await;
    one.resigns(first).await;
    assert_eq!(other.sees_term().await, None);
    assert!(other.wins().await > first);
}

pub(super) async fn a_resignation_needs_nonce_and_term(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let impostor = Player { nonce: fresh_nonce(), ..one.clone() };
    let term = one.wins().await;
    impostor.resigns(term).await;
    impostor.withdraws().await;
    one.resigns(Term::after(Some(term)).expect("a next term")).await;
    one.keeps(term).await;
}

pub(super) async fn resigning_what_is_not_held_is_no_error_and_changes_nothing(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let first = Term::after(None).expect("a first term");
    one.resigns(first).await;
    one.resigns_to(first, "other").await;
    let unknown = one.observes().await;
    assert_eq!((unknown.last_term, unknown.reserved_for), (None, None));
    let term = other.wins().await;
    one.resigns(term).await;
    one.resigns_to(term, "one").await;
    other.keeps(term).await;
    let led = one.observes().await;
    assert_eq!((led.last_term, led.reserved_for), (Some(term), None));
}

pub(super) async fn a_resignation_without_term_releases_what_the_nonce_owns(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let term = one.wins().await;
    one.withdraws().await;
    one.has_lost(term).await;
    other.wins().await;
}

pub(super) async fn a_resignation_without_term_releases_nothing_of_others(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let term = one.wins().await;
    other.withdraws().await;
    one.keeps(term).await;
}

pub(super) async fn a_stale_resignation_does_not_release_a_newer_term(fixture: &dyn Fixture) {
    let one = Player::brief(fixture, "one").await;
    let first = one.wins().await;
    pass(fixture, one.ttl).await;
    let second = one.wins().await;
    one.resigns(first).await;
    one.keeps(second).await;
}

pub(super) async fn a_late_resignation_does_not_release_the_next_leader(fixture: &dyn Fixture) {
    let (one, other) = (Player::brief(fixture, "one").await, Player::new(fixture, "other").await);
    let first = one.wins().await;
    pass(fixture, one.ttl).await;
    let second = other.wins().await;
    one.resigns(first).await;
    one.withdraws().await;
    other.keeps(second).await;
}

pub(super) async fn resigning_a_lease_that_ran_out_is_no_error(fixture: &dyn Fixture) {
    let one = Player::brief(fixture, "one").await;
    let term = one.wins().await;
    pass(fixture, one.ttl).await;
    one.resigns(term).await;
    assert!(one.again().wins().await > term);
}
