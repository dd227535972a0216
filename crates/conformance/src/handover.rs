//! Asking the leader to hand over.

use tenure_core::Handover;

use super::Fixture;
use super::player::{Player, id, key, pass};

pub(super) async fn a_hand_over_request_reaches_the_next_renewal(fixture: &dyn Fixture) {
    let (leader, operator) = (Player::new(fixture, "leader").await, Player::new(fixture, "operator").await);
    let term = leader.wins().await;
    assert_eq!(leader.keeps(term).await, None, "nobody has asked yet");
    assert!(asks(&operator, None).await);
    assert_eq!(leader.keeps(term).await, Some(Handover { successor: None }));
}

pub(super) async fn a_hand_over_request_tells_the_successor(fixture: &dyn Fixture) {
    let (leader, operator) = (Player::new(fixture, "leader").await, Player::new(fixture, "operator").await);
    let term = leader.wins().await;
    assert!(asks(&operator, Some("it's \"me\" 🦀")).await);
    assert_eq!(leader.keeps(term).await, Some(Handover { successor: Some(id("it's \"me\" 🦀")) }));
}

pub(super) async fn a_hand_over_request_takes_nothing_away(fixture: &dyn Fixture) {
    let (leader, operator) = (Player::new(fixture, "leader").await, Player::new(fixture, "operator").await);
    let term = leader.wins().await;
    assert!(asks(&operator, Some("operator")).await);
    assert_eq!(operator.is_kept_out().await.leader.map(|leader| leader.term), Some(term));
    leader.keeps(term).await;
}

pub(super) async fn a_hand_over_request_says_whether_there_is_a_leader(fixture: &dyn Fixture) {
    let (leader, operator) = (Player::brief(fixture, "leader").await, Player::new(fixture, "operator").await);
    assert!(!asks(&operator, None).await, "nobody ever campaigned");
    let term = leader.wins().await;
    assert!(asks(&operator, None).await);
    leader.resigns(term).await;
    assert!(!asks(&operator, None).await, "the leader resigned");
    leader.again().wins().await;
    pass(fixture, leader.ttl).await;
    assert!(!asks(&operator, None).await, "the lease ran out");
}

pub(super) async fn a_hand_over_request_is_forgotten_with_the_term(fixture: &dyn Fixture) {
    let (leader, operator) = (Player::brief(fixture, "leader").await, Player::new(fixture, "operator").await);
    let first = leader.wins().await;
    assert!(asks(&operator, None).await);
    leader.resigns(first).await;
    let next = leader.again();
    let second = next.wins().await;
    assert_eq!(next.keeps(second).await, None, "forgotten after a resignation");
    assert!(asks(&operator, None).await);
    pass(fixture, next.ttl).await;
    let third = operator.wins().await;
    assert_eq!(operator.keeps(third).await, None, "forgotten after an expiry");
}

pub(super) async fn a_hand_over_request_without_a_leader_is_not_kept_for_the_next(fixture: &dyn Fixture) {
    let (leader, operator) = (Player::new(fixture, "leader").await, Player::new(fixture, "operator").await);
    assert!(!asks(&operator, None).await);
    let term = leader.wins().await;
    assert_eq!(leader.keeps(term).await, None);
}

pub(super) async fn a_hand_over_request_concerns_one_election(fixture: &dyn Fixture) {
    let leader = Player::new(fixture, "leader").await;
    let elsewhere = leader.in_election(key("weekly-report"));
    let (here, there) = (leader.wins().await, elsewhere.wins().await);
    assert!(asks(&leader, None).await);
    assert_eq!(elsewhere.keeps(there).await, None);
    assert!(leader.keeps(here).await.is_some());
}

async fn asks(operator: &Player, successor: Option<&str>) -> bool {
    let successor = successor.map(id);
    operator.store.request_handover(&operator.key, successor.as_ref()).await.expect("an answer")
}
