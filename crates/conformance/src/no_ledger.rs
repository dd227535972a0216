//! A store without a ledger says so, so that a suite that was not run is not mistaken for one that passed.

use super::Fixture;
use super::player::Player;

pub(super) async fn there_is_no_ledger(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    assert!(one.store.ledger().is_none(), "a store with a ledger has to pass the properties of jobs");
}
