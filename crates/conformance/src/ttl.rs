//! The lifetime of a lease.

use std::time::Duration;

use super::Fixture;
use super::player::{Player, pass, unit};

pub(super) async fn the_holders_ttl_rules_not_the_challengers(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let unit = unit(&*one.store);
    let (patient, hasty) = (one.with_ttl(unit * 3), other.with_ttl(unit));
    let term = patient.wins().await;
    pass(fixture, hasty.ttl).await;
    hasty.is_kept_out().await;
    patient.keeps(term).await;
}

pub(super) async fn a_patient_challenger_need_not_wait_for_its_own_ttl(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let unit = unit(&*one.store);
    let (hasty, patient) = (one.with_ttl(unit), other.with_ttl(unit * 3));
    hasty.wins().await;
    assert!(patient.is_kept_out().await.remaining <= hasty.ttl);
    pass(fixture, hasty.ttl).await;
    patient.wins().await;
}

pub(super) async fn a_challenge_does_not_shorten_or_prolong_the_lease(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let unit = unit(&*one.store);
    let (one, other) = (one.with_ttl(unit * 2), other.with_ttl(unit * 3));
    one.wins().await;
    other.is_kept_out().await;
    assert_eq!(other.observes().await.lease.and_then(|lease| lease.ttl), Some(one.ttl));
    pass(fixture, one.ttl).await;
    assert_eq!(other.sees_term().await, None);
    other.wins().await;
}

pub(super) async fn a_very_long_ttl_is_kept(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let day = Duration::from_secs(24 * 60 * 60);
    let one = one.with_ttl(day);
    let term = one.wins().await;
    let held = other.is_kept_out().await;
    assert!(held.remaining <= day && held.remaining > day / 2, "{:?} are left of a day", held.remaining);
    one.keeps(term).await;
}
