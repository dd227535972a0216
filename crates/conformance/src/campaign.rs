//! Taking a lease.

use super::Fixture;
use super::player::{Player, TICK, almost_pass, key, pass, slack};

pub(super) async fn a_free_lease_is_granted(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let term = one.wins().await;
    assert_eq!(one.sees_term().await, Some(term));
}

pub(super) async fn a_held_lease_is_not_granted_to_another(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let term = one.wins().await;
    let held = other.is_kept_out().await;
    let leader = held.leader.expect("the one who leads");
    assert_eq!((leader.candidate, leader.term), (one.candidate.clone(), term));
    one.keeps(term).await;
}

pub(super) async fn two_candidates_on_one_handle_are_rivals(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let other = one.again();
    let term = one.wins().await;
    other.is_kept_out().await;
    one.keeps(term).await;
}

pub(super) async fn whoever_is_kept_out_learns_how_long_still(fixture: &dyn Fixture) {
    let (one, other) = (Player::brief(fixture, "one").await, Player::new(fixture, "other").await);
    one.wins().await;
    assert!(other.is_kept_out().await.remaining <= one.ttl);
    almost_pass(fixture, one.ttl / 2).await;
    let held = other.is_kept_out().await;
    assert!(!held.remaining.is_zero(), "a lease that is held still runs");
    let most = one.ttl / 2 + slack(fixture) * 2 + TICK;
    assert!(held.remaining <= most, "{:?} are left after half of {:?}", held.remaining, one.ttl);
}

pub(super) async fn waiting_for_as_long_as_one_is_told_is_enough(fixture: &dyn Fixture) {
    let (one, other) = (Player::brief(fixture, "one").await, Player::new(fixture, "other").await);
    one.wins().await;
    let held = other.is_kept_out().await;
    pass(fixture, held.remaining).await;
    other.wins().await;
}

pub(super) async fn a_lease_is_kept_until_its_last_moment(fixture: &dyn Fixture) {
    let (one, other) = (Player::brief(fixture, "one").await, Player::new(fixture, "other").await);
    let term = one.wins().await;
    almost_pass(fixture, one.ttl).await;
    other.is_kept_out().await;
    assert_eq!(other.sees_term().await, Some(term));
}

pub(super) async fn an_expired_lease_is_granted_under_a_higher_term(fixture: &dyn Fixture) {
    let (one, other) = (Player::brief(fixture, "one").await, Player::new(fixture, "other").await);
    let first = one.wins().await;
    pass(fixture, one.ttl).await;
    let second = other.wins().await;
    assert!(second > first, "{second:?} must be above {first:?}");
}

pub(super) async fn elections_do_not_disturb_each_other(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let elsewhere = other.in_election(key("weekly-report"));
    let (here, there) = (one.wins().await, elsewhere.wins().await);
    one.resigns(here).await;
    elsewhere.keeps(there).await;
}

pub(super) async fn a_lease_outlives_the_handles_of_others(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let term = one.wins().await;
    let other = Player::new(fixture, "other").await;
    other.is_kept_out().await;
    drop(other);
    one.keeps(term).await;
    Player::new(fixture, "third").await.is_kept_out().await;
}
