//! Standing by.

use std::time::Duration;

use super::Fixture;
use super::player::{Player, a_little_later, id, pass, unit};

pub(super) async fn whoever_is_kept_out_stands_by(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    one.wins().await;
    assert_eq!(one.sees_standing_by().await, []);
    other.is_kept_out().await;
    assert_eq!(one.sees_standing_by().await, [id("other")]);
}

pub(super) async fn whoever_only_asks_does_not_stand_by(fixture: &dyn Fixture) {
    let (one, asking) = (Player::new(fixture, "one").await, Player::new(fixture, "asking").await);
    let asking = Player { stand_by_for: Duration::ZERO, ..asking };
    let term = one.wins().await;
    asking.is_kept_out().await;
    assert_eq!(one.sees_standing_by().await, []);
    one.resigns(term).await;
    assert_eq!(one.observes().await.reserved_for, None);
    assert!(asking.again().wins().await > term, "it is free for everybody");
}

pub(super) async fn asking_again_is_standing_by_once(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    one.wins().await;
    other.is_kept_out().await;
    other.is_kept_out().await;
    assert_eq!(one.sees_standing_by().await, [id("other")]);
}

pub(super) async fn ranks_follow_the_order_of_arrival(fixture: &dyn Fixture) {
    let leader = Player::new(fixture, "leader").await;
    leader.wins().await;
    let mut queue = Vec::new();
    for place in 0..3_u32 {
        let player = Player::new(fixture, &format!("number {place}")).await;
        assert_eq!(player.is_kept_out().await.rank, place);
        queue.push(player);
        a_little_later(fixture).await;
    }
    let order: Vec<_> = queue.iter().map(|player| player.candidate.clone()).collect();
    assert_eq!(leader.sees_standing_by().await, order);
}

pub(super) async fn asking_again_keeps_ones_place(fixture: &dyn Fixture) {
    let leader = Player::new(fixture, "leader").await;
    let (first, second) = (Player::new(fixture, "first").await, Player::new(fixture, "second").await);
    leader.wins().await;
    first.is_kept_out().await;
    a_little_later(fixture).await;
    assert_eq!(second.is_kept_out().await.rank, 1);
    a_little_later(fixture).await;
    assert_eq!(first.is_kept_out().await.rank, 0);
    assert_eq!(second.is_kept_out().await.rank, 1);
}

pub(super) async fn keener_stand_bys_rank_first(fixture: &dyn Fixture) {
    let leader = Player::new(fixture, "leader").await;
    let reluctant = Player::new(fixture, "reluctant").await.with_priority(3);
    let keen = Player::new(fixture, "keen").await;
    leader.wins().await;
    assert_eq!(reluctant.is_kept_out().await.rank, 0);
    a_little_later(fixture).await;
    assert_eq!(keen.is_kept_out().await.rank, 0);
    assert_eq!(reluctant.is_kept_out().await.rank, 1);
    let seen = leader.observes().await.standing_by;
    let seen: Vec<_> = seen.into_iter().map(|stand_by| (stand_by.candidate, stand_by.priority)).collect();
    assert_eq!(seen, [(id("keen"), keen.priority), (id("reluctant"), reluctant.priority)]);
}

pub(super) async fn a_grant_ends_standing_by(fixture: &dyn Fixture) {
    let (one, other) = (Player::brief(fixture, "one").await, Player::new(fixture, "other").await);
    one.wins().await;
    other.is_kept_out().await;
    pass(fixture, one.ttl).await;
    other.wins().await;
    assert_eq!(one.sees_standing_by().await, []);
}

pub(super) async fn a_withdrawal_ends_standing_by(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let term = one.wins().await;
    other.is_kept_out().await;
    other.withdraws().await;
    assert_eq!(one.sees_standing_by().await, []);
    one.keeps(term).await;
}

pub(super) async fn standing_by_outlasts_a_change_of_leadership(fixture: &dyn Fixture) {
    let (one, other) = (Player::brief(fixture, "one").await, Player::new(fixture, "other").await);
    let third = Player::new(fixture, "third").await;
    one.wins().await;
    third.is_kept_out().await;
    pass(fixture, one.ttl).await;
    other.wins().await;
    assert_eq!(other.sees_standing_by().await, [id("third")]);
}

pub(super) async fn standing_by_ends_when_nothing_more_is_heard(fixture: &dyn Fixture) {
    let leader = Player::new(fixture, "leader").await;
    let other = Player::new(fixture, "other").await;
    let other = Player { stand_by_for: unit(&*other.store), ..other };
    leader.wins().await;
    other.is_kept_out().await;
    pass(fixture, other.stand_by_for).await;
    assert_eq!(leader.sees_standing_by().await, []);
}

pub(super) async fn a_stand_by_that_lapsed_joins_at_the_end(fixture: &dyn Fixture) {
    let leader = Player::new(fixture, "leader").await;
    let (first, second) = (Player::new(fixture, "first").await, Player::new(fixture, "second").await);
    let brief = Player { stand_by_for: unit(&*first.store), ..first };
    leader.wins().await;
    brief.is_kept_out().await;
    a_little_later(fixture).await;
    assert_eq!(second.is_kept_out().await.rank, 1);
    pass(fixture, brief.stand_by_for).await;
    assert_eq!(brief.is_kept_out().await.rank, 1, "it has not waited longest, it was away");
}
