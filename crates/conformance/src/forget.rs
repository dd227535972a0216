//! Forgetting unused elections.

use std::time::Duration;

use tenure_store::{Change, Forgetting, Use};

use super::Fixture;
use super::player::{Player, key, pass};

/// Longer than any test.
const AGES: Duration = Duration::from_secs(30 * 86_400);

pub(super) async fn a_forgotten_election_leaves_nothing_but_the_height_of_its_terms(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let other_election = other.in_election(key("other"));
    let kept = other_election.wins().await;
    let mut last = one.wins().await;
    for _ in 0..3 {
        one.resigns(last).await;
        last = one.wins().await;
    }
    one.resigns(last).await;
    is_gone(&one).await;
    let listed = one.store.elections(&one.key.namespace).await.expect("a list");
    assert_eq!(listed, std::slice::from_ref(&other_election.key.name));
    assert_eq!(forgets(&one, Duration::ZERO).await, Forgetting::Unknown);
    other_election.keeps(kept).await;

    let next = Player::new(fixture, "next").await;
    assert!(next.wins().await > last, "terms must not fall");
    let listed = one.store.elections(&one.key.namespace).await.expect("a list");
    assert_eq!(listed, [one.key.name.clone(), other_election.key.name.clone()], "listed again");
}

pub(super) async fn an_election_in_use_is_not_forgotten(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::brief(fixture, "other").await);
    let term = one.wins().await;
    assert_eq!(forgets(&one, Duration::ZERO).await, Forgetting::InUse(Use::Led));
    one.keeps(term).await;
    other.is_kept_out().await;
    one.resigns(term).await;
    assert_eq!(forgets(&one, Duration::ZERO).await, Forgetting::InUse(Use::Led), "it is reserved");
    let next = other.wins().await;
    assert!(next > term);
    one.again().is_kept_out().await;
    pass(fixture, other.ttl).await;
    assert_eq!(forgets(&other, Duration::ZERO).await, Forgetting::InUse(Use::StoodBy));
}

pub(super) async fn only_what_was_not_used_for_so_long_is_forgotten(fixture: &dyn Fixture) {
    let one = Player::brief(fixture, "one").await;
    let term = one.wins().await;
    pass(fixture, one.ttl).await;
    assert_eq!(forgets(&one, AGES).await, Forgetting::InUse(Use::Recent));
    let newest = one.store.history(&one.key, 1).await.expect("a history").pop().expect("the end is written down");
    assert_eq!((newest.change, newest.term, newest.reason.as_str()), (Change::Lost, term, "expired"));
    assert_eq!(forgets(&one, AGES).await, Forgetting::InUse(Use::Recent));
    is_gone(&one).await;
    one.again().wins().await;
    pass(fixture, one.ttl).await;
    // Its end is written down in the same step, and is not recent to whoever waits for nothing.
    is_gone(&one).await;
}

pub(super) async fn what_was_never_led_is_unknown(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    assert_eq!(forgets(&one, Duration::ZERO).await, Forgetting::Unknown);
}

/// Forgets it, and sees that nothing is left. A request that arrives twice is told so the second time.
pub(super) async fn is_gone(player: &Player) {
    let told = forgets(player, Duration::ZERO).await;
    assert!(matches!(told, Forgetting::Forgotten | Forgetting::Unknown), "{told:?}");
    assert_eq!(player.store.history(&player.key, 10).await.expect("a history"), []);
    assert_eq!(player.observes().await.last_term, None);
}

async fn forgets(player: &Player, idle_for: Duration) -> Forgetting {
    player.store.forget(&player.key, idle_for).await.expect("an answer")
}
