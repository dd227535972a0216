//! Ownership by nonce, not by candidate id.

use tenure_core::Nonce;

use super::Fixture;
use super::player::{Player, almost_pass, key, pass};

pub(super) async fn a_campaign_under_the_same_nonce_finds_its_grant(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let term = one.wins().await;
    assert_eq!(one.wins().await, term, "the same grant, not a new one");
}

pub(super) async fn finding_a_grant_again_prolongs_it(fixture: &dyn Fixture) {
    let (one, other) = (Player::brief(fixture, "one").await, Player::new(fixture, "other").await);
    let term = one.wins().await;
    almost_pass(fixture, one.ttl).await;
    assert_eq!(one.wins().await, term);
    almost_pass(fixture, one.ttl).await;
    other.is_kept_out().await;
    one.keeps(term).await;
}

pub(super) async fn a_grant_is_found_again_through_another_handle(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let term = one.wins().await;
    let reconnected = Player { store: fixture.open().await, ..one.clone() };
    assert_eq!(reconnected.wins().await, term);
    reconnected.keeps(term).await;
}

pub(super) async fn the_same_nonce_gets_a_new_term_once_its_lease_ran_out(fixture: &dyn Fixture) {
    let one = Player::brief(fixture, "one").await;
    let first = one.wins().await;
    pass(fixture, one.ttl).await;
    assert!(one.wins().await > first, "trust in the old term has ended");
}

pub(super) async fn the_same_candidate_id_under_another_nonce_is_a_rival(fixture: &dyn Fixture) {
    let (one, twin) = (Player::new(fixture, "twin").await, Player::new(fixture, "twin").await);
    let term = one.wins().await;
    assert_eq!(twin.is_kept_out().await.leader.map(|leader| leader.term), Some(term));
    twin.has_lost(term).await;
    twin.resigns(term).await;
    one.keeps(term).await;
}

pub(super) async fn all_bits_of_a_nonce_count(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let term = one.wins().await;
    for bit in [0, 31, 32, 52, 53, 62, 63, 64, 127] {
        let nonce = Nonce::from_bits(one.nonce.to_bits() ^ (1 << bit));
        Player { nonce, ..one.clone() }.has_lost(term).await;
    }
    one.keeps(term).await;
}

pub(super) async fn the_smallest_and_the_largest_nonce_are_kept(fixture: &dyn Fixture) {
    for (name, bits) in [("smallest", 0), ("largest", u128::MAX), ("sign", 1 << 127)] {
        let one = Player::new(fixture, name).await.in_election(key(name));
        let one = Player { nonce: Nonce::from_bits(bits), ..one };
        let term = one.wins().await;
        one.keeps(term).await;
        one.resigns(term).await;
        one.has_lost(term).await;
    }
}
