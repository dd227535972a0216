//! Observing without taking part.

use std::sync::Arc;

use tenure_store::Observation;

use super::Fixture;
use super::player::{Player, almost_pass, id, key, pass, pass_the_rest};

pub(super) async fn an_unknown_election_is_observed_as_empty(fixture: &dyn Fixture) {
    assert_eq!(Player::new(fixture, "one").await.observes().await, Observation::default());
}

pub(super) async fn an_observer_sees_the_leader_and_its_metadata(fixture: &dyn Fixture) {
    let (one, observer) = (Player::new(fixture, "one").await, Player::new(fixture, "observer").await);
    let metadata = Arc::new([("zone".into(), "b".into()), ("ver\"sion".into(), "1\n2 \u{1f980}".into())].into());
    let one = Player { metadata, ..one };
    let term = one.wins().await;
    let seen = observer.observes().await;
    let lease = seen.lease.expect("a lease");
    assert_eq!((lease.leader.candidate, lease.leader.term, lease.ttl), (id("one"), term, Some(one.ttl)));
    assert_eq!(lease.leader.metadata, one.metadata);
    assert_eq!((seen.last_term, seen.reserved_for), (Some(term), None));
    assert_eq!(observer.is_kept_out().await.leader.map(|leader| leader.metadata), Some(one.metadata.clone()));
}

pub(super) async fn an_observer_sees_how_long_the_lease_still_runs(fixture: &dyn Fixture) {
    let (one, observer) = (Player::brief(fixture, "one").await, Player::new(fixture, "observer").await);
    one.wins().await;
    let before = observer.observes().await.lease.expect("a lease").remaining.expect("a deadline");
    almost_pass(fixture, one.ttl / 2).await;
    let after = observer.observes().await.lease.expect("a lease").remaining.expect("a deadline");
    assert!(after < before && before <= one.ttl, "{before:?}, then {after:?} of {:?}", one.ttl);
    assert!(!after.is_zero(), "a lease that is held still runs");
    pass(fixture, after).await;
    assert_eq!(observer.observes().await.lease, None);
}

pub(super) async fn an_observer_sees_who_stands_by(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    one.wins().await;
    other.clone().with_priority(7).is_kept_out().await;
    let seen = one.observes().await.standing_by;
    assert_eq!(seen.len(), 1);
    assert_eq!((&seen[0].candidate, seen[0].priority.level()), (&id("other"), 7));
}

pub(super) async fn observing_changes_nothing(fixture: &dyn Fixture) {
    let (one, observer) = (Player::brief(fixture, "one").await, Player::new(fixture, "observer").await);
    observer.observes().await;
    assert_eq!(observer.store.elections(&one.key.namespace).await.expect("an answer"), []);
    one.wins().await;
    almost_pass(fixture, one.ttl).await;
    let before = observer.observes().await;
    let after = observer.observes().await;
    assert_eq!((before.last_term, &before.standing_by), (after.last_term, &after.standing_by));
    assert_eq!(before.standing_by, [], "an observer does not stand by");
    pass_the_rest(fixture).await;
    observer.wins().await;
}

pub(super) async fn observations_keep_the_order_of_the_batch(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let keys = ["c", "unknown", "a", "b"].map(key);
    for known in [&keys[2], &keys[0], &keys[3]] {
        Player { candidate: id(known.name.as_str()), ..one.in_election(known.clone()) }.wins().await;
    }
    let seen = super::player::all(one.store.observe(&keys).await);
    let leaders: Vec<_> = seen.into_iter().map(|seen| seen.lease.map(|lease| lease.leader.candidate)).collect();
    assert_eq!(leaders, [Some(id("c")), None, Some(id("a")), Some(id("b"))]);
}
