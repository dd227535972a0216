//! Terms only grow.

use super::Fixture;
use super::player::{Player, pass};

pub(super) async fn terms_grow_across_resign_and_expiry(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::brief(fixture, "other").await);
    let mut terms = vec![one.wins().await];
    one.resigns(terms[0]).await;
    terms.push(other.again().wins().await);
    pass(fixture, other.ttl).await;
    let again = one.again();
    terms.push(again.wins().await);
    again.withdraws().await;
    terms.push(one.again().wins().await);
    assert!(terms.is_sorted_by(|earlier, later| earlier < later), "{terms:?} must grow");
}

pub(super) async fn terms_grow_although_every_handle_is_closed(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let first = one.wins().await;
    one.resigns(first).await;
    drop(one);
    let other = Player::brief(fixture, "other").await;
    let (second, ttl) = (other.wins().await, other.ttl);
    drop(other);
    pass(fixture, ttl).await;
    let third = Player::new(fixture, "third").await.wins().await;
    assert!(first < second && second < third, "{first:?}, {second:?}, {third:?} must grow");
}

pub(super) async fn the_last_term_is_remembered_when_nobody_leads(fixture: &dyn Fixture) {
    let one = Player::brief(fixture, "one").await;
    let first = one.wins().await;
    pass(fixture, one.ttl).await;
    assert_eq!(one.observes().await.last_term, Some(first), "after an expiry");
    let next = one.again();
    let second = next.wins().await;
    next.resigns(second).await;
    assert_eq!(one.observes().await.last_term, Some(second), "after a resignation");
}

pub(super) async fn a_campaign_in_vain_raises_no_term(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let term = one.wins().await;
    other.is_kept_out().await;
    let seen = other.observes().await;
    assert_eq!(seen.last_term, Some(term), "the highest term granted, not the highest tried");
    one.keeps(term).await;
}
