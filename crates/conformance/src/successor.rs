//! The successor after a resignation.

use tenure_store::RESERVATION;

use super::Fixture;
use super::player::{Player, a_little_later, almost_pass, id, pass, unit};

pub(super) async fn a_resignation_reserves_for_the_longest_waiting_stand_by(fixture: &dyn Fixture) {
    let (leader, first, second) = leader_and_two(fixture).await;
    let term = leader.wins().await;
    stand_by_in_order(fixture, [&first, &second]).await;
    leader.resigns(term).await;
    assert_eq!(leader.observes().await.reserved_for, Some(id("first")));
    second.is_kept_out().await;
    assert!(first.wins().await > term);
}

pub(super) async fn keener_stand_bys_come_first(fixture: &dyn Fixture) {
    let (leader, reluctant, keen) = leader_and_two(fixture).await;
    let reluctant = reluctant.with_priority(9);
    let term = leader.wins().await;
    stand_by_in_order(fixture, [&reluctant, &keen]).await;
    leader.resigns(term).await;
    reluctant.is_kept_out().await;
    keen.wins().await;
}

pub(super) async fn a_named_successor_is_preferred(fixture: &dyn Fixture) {
    let (leader, first, second) = leader_and_two(fixture).await;
    let second = second.with_priority(0);
    let term = leader.wins().await;
    stand_by_in_order(fixture, [&first, &second]).await;
    leader.resigns_to(term, "second").await;
    assert_eq!(leader.observes().await.reserved_for, Some(id("second")));
    first.is_kept_out().await;
    second.wins().await;
}

pub(super) async fn a_named_successor_that_does_not_stand_by_gets_its_window_too(fixture: &dyn Fixture) {
    let (leader, waiting, named) = leader_and_two(fixture).await;
    let term = leader.wins().await;
    waiting.is_kept_out().await;
    leader.resigns_to(term, named.candidate.as_str()).await;
    waiting.is_kept_out().await;
    named.wins().await;
}

pub(super) async fn a_named_successor_that_never_comes_costs_only_its_window(fixture: &dyn Fixture) {
    let (leader, waiting, _) = leader_and_two(fixture).await;
    let term = leader.wins().await;
    waiting.is_kept_out().await;
    leader.resigns_to(term, "nobody").await;
    waiting.is_kept_out().await;
    pass(fixture, RESERVATION).await;
    waiting.wins().await;
}

pub(super) async fn a_reservation_is_kept_until_its_last_moment(fixture: &dyn Fixture) {
    let (leader, first, second) = leader_and_two(fixture).await;
    let term = leader.wins().await;
    stand_by_in_order(fixture, [&first, &second]).await;
    leader.resigns(term).await;
    almost_pass(fixture, RESERVATION).await;
    second.is_kept_out().await;
    first.wins().await;
}

pub(super) async fn a_reservation_ends_after_its_window(fixture: &dyn Fixture) {
    let (leader, first, second) = leader_and_two(fixture).await;
    let term = leader.wins().await;
    stand_by_in_order(fixture, [&first, &second]).await;
    leader.resigns(term).await;
    pass(fixture, RESERVATION).await;
    assert_eq!(second.observes().await.reserved_for, None);
    let next = second.wins().await;
    first.is_kept_out().await;
    second.keeps(next).await;
}

pub(super) async fn nobody_else_is_granted_a_reserved_lease(fixture: &dyn Fixture) {
    let (leader, successor, other) = leader_and_two(fixture).await;
    let stranger = Player::new(fixture, "stranger").await;
    let namesake = Player::new(fixture, successor.candidate.as_str()).await;
    let term = leader.wins().await;
    successor.is_kept_out().await;
    leader.resigns(term).await;
    for outsider in [&other, &stranger, &namesake, &leader, &leader.again()] {
        let held = outsider.is_kept_out().await;
        assert_eq!(held.leader, None, "nobody leads while the lease is reserved");
        assert!(held.remaining <= RESERVATION, "{:?} is longer than a reservation", held.remaining);
    }
    successor.wins().await;
}

pub(super) async fn a_reservation_is_not_a_lease(fixture: &dyn Fixture) {
    let (leader, successor, _) = leader_and_two(fixture).await;
    let term = leader.wins().await;
    successor.is_kept_out().await;
    leader.resigns(term).await;
    assert_eq!(successor.sees_term().await, None);
    successor.has_lost(term).await;
    leader.has_lost(term).await;
    assert_eq!(successor.observes().await.last_term, Some(term));
}

pub(super) async fn a_reservation_ends_with_its_grant(fixture: &dyn Fixture) {
    let (leader, successor, other) = leader_and_two(fixture).await;
    let term = leader.wins().await;
    successor.is_kept_out().await;
    leader.resigns(term).await;
    let next = successor.wins().await;
    assert_eq!(other.observes().await.reserved_for, None);
    successor.resigns(next).await;
    other.wins().await;
}

pub(super) async fn nothing_is_reserved_when_nobody_stands_by(fixture: &dyn Fixture) {
    let (leader, other, _) = leader_and_two(fixture).await;
    let term = leader.wins().await;
    leader.resigns(term).await;
    assert_eq!(leader.observes().await.reserved_for, None);
    other.wins().await;
}

pub(super) async fn a_stand_by_that_withdrew_is_not_reserved_for(fixture: &dyn Fixture) {
    let (leader, first, second) = leader_and_two(fixture).await;
    let term = leader.wins().await;
    stand_by_in_order(fixture, [&first, &second]).await;
    first.withdraws().await;
    leader.resigns(term).await;
    assert_eq!(leader.observes().await.reserved_for, Some(id("second")));
    second.wins().await;
}

pub(super) async fn a_successor_that_leaves_passes_the_lease_on(fixture: &dyn Fixture) {
    let (leader, first, second) = leader_and_two(fixture).await;
    let term = leader.wins().await;
    stand_by_in_order(fixture, [&first, &second]).await;
    leader.resigns(term).await;
    first.withdraws().await;
    assert_eq!(leader.observes().await.reserved_for, Some(id("second")));
    leader.again().is_kept_out().await;
    second.wins().await;
}

pub(super) async fn a_stale_stand_by_is_not_reserved_for(fixture: &dyn Fixture) {
    let (leader, stale, fresh) = leader_and_two(fixture).await;
    let brief = unit(&*stale.store);
    let stale = Player { stand_by_for: brief, ..stale };
    let term = leader.wins().await;
    stand_by_in_order(fixture, [&stale, &fresh]).await;
    pass(fixture, brief).await;
    leader.resigns(term).await;
    assert_eq!(leader.observes().await.reserved_for, Some(id("second")));
    fresh.wins().await;
}

pub(super) async fn an_expiry_reserves_for_nobody(fixture: &dyn Fixture) {
    let (leader, first, second) = leader_and_two(fixture).await;
    let leader = leader.with_brief_ttl();
    leader.wins().await;
    stand_by_in_order(fixture, [&first, &second]).await;
    pass(fixture, leader.ttl).await;
    assert_eq!(second.observes().await.reserved_for, None);
    second.wins().await;
}

pub(super) async fn a_successor_may_resign_in_turn(fixture: &dyn Fixture) {
    let (leader, first, second) = leader_and_two(fixture).await;
    let term = leader.wins().await;
    stand_by_in_order(fixture, [&first, &second]).await;
    leader.resigns(term).await;
    let next = first.wins().await;
    first.resigns(next).await;
    leader.again().is_kept_out().await;
    assert!(second.wins().await > next);
}

async fn leader_and_two(fixture: &dyn Fixture) -> (Player, Player, Player) {
    let leader = Player::new(fixture, "leader").await;
    (leader, Player::new(fixture, "first").await, Player::new(fixture, "second").await)
}

async fn stand_by_in_order(fixture: &dyn Fixture, queue: [&Player; 2]) {
    for player in queue {
        player.is_kept_out().await;
        a_little_later(fixture).await;
    }
}
