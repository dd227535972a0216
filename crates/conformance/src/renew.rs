//! Renewing a lease.

use tenure_core::Term;

use super::Fixture;
use super::player::{Player, almost_pass, fresh_nonce, pass, pass_the_rest};

pub(super) async fn a_renewed_lease_runs_from_its_renewal(fixture: &dyn Fixture) {
    let (one, other) = (Player::brief(fixture, "one").await, Player::new(fixture, "other").await);
    let term = one.wins().await;
    almost_pass(fixture, one.ttl).await;
    one.keeps(term).await;
    almost_pass(fixture, one.ttl).await;
    other.is_kept_out().await;
    pass(fixture, one.ttl).await;
    other.wins().await;
}

pub(super) async fn renewal_needs_nonce_and_term(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let term = one.wins().await;
    let impostor = Player { nonce: fresh_nonce(), ..one.clone() };
    impostor.has_lost(term).await;
    one.has_lost(Term::after(Some(term)).expect("a next term")).await;
    one.keeps(term).await;
}

pub(super) async fn a_renewal_that_fails_prolongs_nothing(fixture: &dyn Fixture) {
    let one = Player::brief(fixture, "one").await;
    let impostor = Player { nonce: fresh_nonce(), ..Player::new(fixture, "one").await };
    let term = one.wins().await;
    almost_pass(fixture, one.ttl).await;
    impostor.has_lost(term).await;
    pass_the_rest(fixture).await;
    impostor.wins().await;
}

pub(super) async fn an_expired_lease_is_not_renewed(fixture: &dyn Fixture) {
    let one = Player::brief(fixture, "one").await;
    let term = one.wins().await;
    pass(fixture, one.ttl).await;
    one.has_lost(term).await;
    assert_eq!(one.sees_term().await, None, "nobody leads, although nobody else came either");
}

pub(super) async fn a_lease_that_another_took_is_not_renewed(fixture: &dyn Fixture) {
    let (one, other) = (Player::brief(fixture, "one").await, Player::new(fixture, "other").await);
    let first = one.wins().await;
    pass(fixture, one.ttl).await;
    let second = other.wins().await;
    assert_eq!(one.has_lost(first).await, Some(second), "the term that is led under now");
    other.keeps(second).await;
}

pub(super) async fn a_resigned_lease_is_not_renewed(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let term = one.wins().await;
    one.resigns(term).await;
    one.has_lost(term).await;
}

pub(super) async fn an_older_term_of_the_same_nonce_is_not_renewed(fixture: &dyn Fixture) {
    let one = Player::brief(fixture, "one").await;
    let first = one.wins().await;
    pass(fixture, one.ttl).await;
    let second = one.wins().await;
    one.has_lost(first).await;
    one.keeps(second).await;
}

pub(super) async fn renewing_in_an_unknown_election_is_no_error(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    assert_eq!(one.has_lost(Term::after(None).expect("a first term")).await, None);
}

pub(super) async fn a_renewal_changes_nothing_but_the_time(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let term = one.wins().await;
    let before = one.observes().await.lease.expect("a lease").leader;
    one.keeps(term).await;
    assert_eq!(one.observes().await.lease.expect("a lease").leader, before);
}
