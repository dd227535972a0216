//! Hints of messages. A store that says it does not push is not asked for any, and a single hint may always be lost.

use tenure_store::Interest;

use super::Fixture;
use super::correspondence::dead_letter;
use super::player::{Player, key};
use super::watch::{TRIES, drain, hears_of, watch};

pub(super) async fn a_message_is_hinted_to_the_leader(fixture: &dyn Fixture) {
    let (leader, sender) = (Player::new(fixture, "leader").await, Player::new(fixture, "sender").await);
    let Some(mut hints) = watch(&leader, Interest::Messages) else { return };
    for attempt in 0..TRIES {
        let leader = leader.in_election(key(&format!("attempt {attempt}")));
        let term = leader.wins().await;
        drain(&mut hints);
        sender.in_election(leader.key.clone()).sends("1").await;
        if hears_of(&mut hints, &leader.key).await {
            assert_eq!(leader.receives(term).await.len(), 1, "what was hinted at is there");
            return;
        }
    }
    panic!("no message was ever hinted to the leader");
}

pub(super) async fn a_message_put_back_is_hinted_to_the_leader(fixture: &dyn Fixture) {
    let (leader, operator) = (Player::new(fixture, "leader").await, Player::new(fixture, "operator").await);
    let Some(mut hints) = watch(&leader, Interest::Messages) else { return };
    for attempt in 0..TRIES {
        let leader = leader.in_election(key(&format!("attempt {attempt}")));
        let id = leader.sends("1").await;
        let term = leader.wins().await;
        leader.acks(term, vec![(id, dead_letter(1, "no"))]).await;
        drain(&mut hints);
        assert_eq!(operator.in_election(leader.key.clone()).requeues(None).await, 1);
        if hears_of(&mut hints, &leader.key).await {
            return;
        }
    }
    panic!("no message that was put back was ever hinted to the leader");
}

pub(super) async fn watching_messages_takes_no_part(fixture: &dyn Fixture) {
    let (one, watcher) = (Player::new(fixture, "one").await, Player::new(fixture, "watcher").await);
    let mut hints = watcher.store.watch(Interest::Messages);
    let term = one.wins().await;
    let id = one.sends("1").await;
    drain(&mut hints);
    drop(hints);
    assert_eq!(one.receives(term).await[0].id, id);
    assert_eq!(one.sees_standing_by().await, []);
}
