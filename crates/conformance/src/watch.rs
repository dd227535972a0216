//! Hints. They are not required of a store that does not claim to push, and a single hint may always be lost.

use std::time::Duration;

use futures_util::FutureExt;
use futures_util::stream::{BoxStream, StreamExt};
use tenure_store::{ElectionKey, Hint, Interest};

use super::Fixture;
use super::player::{Player, a_little_later, key};

/// How often the same thing is tried before hints count as not being sent at all.
pub(super) const TRIES: usize = 5;

/// How long one hint is waited for. Far more than a push takes.
const HINT_WITHIN: Duration = Duration::from_secs(5);

pub(super) async fn a_resignation_is_hinted_to_the_successor(fixture: &dyn Fixture) {
    let (leader, successor) = (Player::new(fixture, "leader").await, Player::new(fixture, "successor").await);
    let Some(mut hints) = watch(&successor, Interest::Own) else { return };
    for attempt in 0..TRIES {
        let election = key(&format!("attempt {attempt}"));
        let (leader, successor) = (leader.in_election(election.clone()), successor.in_election(election.clone()));
        let term = leader.wins().await;
        successor.is_kept_out().await;
        drain(&mut hints);
        leader.resigns(term).await;
        if hears_of(&mut hints, &election).await {
            successor.wins().await;
            return;
        }
    }
    panic!("no resignation was ever hinted to the successor");
}

/// The first two may stand still, and then nobody else would look before the lease that was resigned had run out.
pub(super) async fn a_resignation_is_hinted_to_the_third_in_line_too(fixture: &dyn Fixture) {
    let leader = Player::new(fixture, "leader").await;
    let [first, second, third] = [
        Player::new(fixture, "first").await,
        Player::new(fixture, "second").await,
        Player::new(fixture, "third").await,
    ];
    let (Some(_first), Some(_second)) = (watch(&first, Interest::Own), watch(&second, Interest::Own)) else { return };
    let Some(mut hints) = watch(&third, Interest::Own) else { return };
    for attempt in 0..TRIES {
        let election = key(&format!("attempt {attempt}"));
        let leader = leader.in_election(election.clone());
        let term = leader.wins().await;
        for player in [&first, &second, &third] {
            player.in_election(election.clone()).is_kept_out().await;
            a_little_later(fixture).await;
        }
        drain(&mut hints);
        leader.resigns(term).await;
        if hears_of(&mut hints, &election).await {
            return;
        }
    }
    panic!("no resignation was ever hinted to the third in line");
}

pub(super) async fn a_hand_over_request_is_hinted_to_the_leader(fixture: &dyn Fixture) {
    let (leader, operator) = (Player::new(fixture, "leader").await, Player::new(fixture, "operator").await);
    let Some(mut hints) = watch(&leader, Interest::Own) else { return };
    for attempt in 0..TRIES {
        let leader = leader.in_election(key(&format!("attempt {attempt}")));
        let term = leader.wins().await;
        drain(&mut hints);
        assert!(operator.store.request_handover(&leader.key, None).await.expect("an answer"));
        if hears_of(&mut hints, &leader.key).await {
            assert!(leader.keeps(term).await.is_some(), "what was hinted at is there");
            return;
        }
    }
    panic!("no hand-over request was ever hinted to the leader");
}

pub(super) async fn a_grant_is_hinted_to_those_who_watch_everything(fixture: &dyn Fixture) {
    let (one, watcher) = (Player::new(fixture, "one").await, Player::new(fixture, "watcher").await);
    let Some(mut hints) = watch(&watcher, Interest::All) else { return };
    for attempt in 0..TRIES {
        let one = one.in_election(key(&format!("attempt {attempt}")));
        drain(&mut hints);
        one.wins().await;
        if hears_of(&mut hints, &one.key).await {
            return;
        }
    }
    panic!("no grant was ever hinted to a watcher");
}

pub(super) async fn a_resignation_is_hinted_to_those_who_watch_everything(fixture: &dyn Fixture) {
    let (one, watcher) = (Player::new(fixture, "one").await, Player::new(fixture, "watcher").await);
    let Some(mut hints) = watch(&watcher, Interest::All) else { return };
    for attempt in 0..TRIES {
        let one = one.in_election(key(&format!("attempt {attempt}")));
        let term = one.wins().await;
        drain(&mut hints);
        one.resigns(term).await;
        if hears_of(&mut hints, &one.key).await {
            return;
        }
    }
    panic!("no resignation was ever hinted to a watcher");
}

pub(super) async fn watching_takes_no_part(fixture: &dyn Fixture) {
    let (one, watcher) = (Player::new(fixture, "one").await, Player::new(fixture, "watcher").await);
    let (mut own, all) = (watcher.store.watch(Interest::Own), watcher.store.watch(Interest::All));
    let term = one.wins().await;
    drain(&mut own);
    drop(all);
    assert_eq!(one.sees_standing_by().await, []);
    one.keeps(term).await;
    watcher.is_kept_out().await;
}

/// Begins to listen, unless the store says that there is nothing to hear.
pub(super) fn watch(player: &Player, interest: Interest) -> Option<BoxStream<'static, Hint>> {
    player.store.capabilities().pushes.then(|| player.store.watch(interest))
}

/// Forgets what has been hinted so far.
pub(super) fn drain(hints: &mut BoxStream<'static, Hint>) {
    while let Some(hint) = hints.next().now_or_never() {
        assert!(hint.is_some(), "a stream of hints never ends");
    }
}

pub(super) async fn hears_of(hints: &mut BoxStream<'static, Hint>, election: &ElectionKey) -> bool {
    let heard = async {
        loop {
            let hint = hints.next().await.expect("a stream of hints never ends");
            if hint.key.is_none_or(|key| key == *election) {
                return;
            }
        }
    };
    tokio::time::timeout(HINT_WITHIN, heard).await.is_ok()
}
