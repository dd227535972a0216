//! A store without pub/sub says so, so that a suite that was not run is not mistaken for one that passed.

use super::Fixture;
use super::player::Player;

pub(super) async fn there_is_no_pubsub(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    assert!(one.store.pubsub().is_none(), "a store that offers PubSub has to pass the properties of broadcasts");
}
