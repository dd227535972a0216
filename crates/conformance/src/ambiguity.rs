//! Requests whose answer was lost, and requests that arrive twice.

use futures_util::FutureExt;
use tenure_core::RenewReply;

use super::Fixture;
use super::player::{Player, id, pass};

pub(super) async fn a_campaign_that_was_given_up_is_resolved_by_the_next(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    // Polled once, then dropped: it may have been granted, or not.
    let _ = one.campaigns().now_or_never();
    let term = one.wins().await;
    assert_eq!(other.is_kept_out().await.leader.map(|leader| leader.term), Some(term));
    assert_eq!(one.wins().await, term);
}

pub(super) async fn a_campaign_that_was_given_up_can_be_withdrawn(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    // Answered, but nobody listened: the term is not known to the one who withdraws.
    one.campaigns().await;
    one.withdraws().await;
    other.wins().await;
}

pub(super) async fn a_renewal_that_was_given_up_does_no_harm(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let term = one.wins().await;
    let _ = one.renews(term).now_or_never();
    one.keeps(term).await;
    one.resigns(term).await;
    one.has_lost(term).await;
}

pub(super) async fn a_resignation_that_was_given_up_can_be_repeated(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let term = one.wins().await;
    let _ = one.resigns(term).now_or_never();
    one.resigns(term).await;
    one.has_lost(term).await;
    other.wins().await;
}

pub(super) async fn a_repeated_resignation_disturbs_neither_reservation_nor_successor(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let first = one.wins().await;
    other.is_kept_out().await;
    one.resigns(first).await;
    one.resigns(first).await;
    assert_eq!(one.observes().await.reserved_for, Some(id("other")));
    let second = other.wins().await;
    one.resigns(first).await;
    one.withdraws().await;
    other.keeps(second).await;
}

pub(super) async fn a_late_renewal_does_not_revive_a_resigned_term(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let first = one.wins().await;
    one.resigns(first).await;
    assert!(matches!(one.renews(first).await, RenewReply::NotHolder { .. }));
    let second = other.wins().await;
    one.has_lost(first).await;
    other.keeps(second).await;
}

pub(super) async fn a_late_campaign_never_gets_a_term_back(fixture: &dyn Fixture) {
    let one = Player::brief(fixture, "one").await;
    let first = one.wins().await;
    one.resigns(first).await;
    let second = one.wins().await;
    assert!(second > first, "a term that was resigned is over, whoever asks");
    pass(fixture, one.ttl).await;
    assert!(one.wins().await > second, "a term that ran out is over, whoever asks");
}
