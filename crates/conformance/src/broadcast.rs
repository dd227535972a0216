//! Broadcasts reach every listener once and in order, and nobody else.

use std::collections::BTreeSet;

use tenure_store::{Broadcast, MessageId, MessageState};

use super::Fixture;
use super::announcements::TestListener;
use super::player::{Player, key, key_in};
use super::watch::TRIES;

pub(super) async fn pubsub_states_its_promises_in_a_sentence(fixture: &dyn Fixture) {
    let promises = Player::new(fixture, "one").await.pubsub().promises();
    assert!(promises.statement.len() > 20 && promises.statement.ends_with('.'), "{promises:?}");
    assert!(promises.max_payload >= 4_096, "room for something worth saying: {promises:?}");
}

pub(super) async fn a_broadcast_reaches_every_listener(fixture: &dyn Fixture) {
    let speaker = Player::new(fixture, "speaker").await;
    let mut listeners: Vec<(Player, TestListener, TestListener)> = Vec::new();
    for number in 0..3 {
        let candidate = Player::new(fixture, &format!("listener {number}")).await;
        let (one, other) = (candidate.listens().await, candidate.listens().await);
        listeners.push((candidate, one, other));
    }
    let said = speaker.tells_all("1").await;
    for (_, one, other) in &mut listeners {
        assert_eq!((one.hears().await, other.hears().await), (said.clone(), said.clone()));
    }
}

pub(super) async fn whoever_says_it_hears_it_too(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let mut listener = one.listens().await;
    let said = one.tells_all("1").await;
    assert_eq!(listener.hears().await, said);
}

pub(super) async fn leaders_and_followers_hear_it(fixture: &dyn Fixture) {
    let (leader, follower) = (Player::new(fixture, "leader").await, Player::new(fixture, "follower").await);
    leader.wins().await;
    follower.is_kept_out().await;
    let (mut one, mut other) = (leader.listens().await, follower.listens().await);
    for speaker in [&leader, &follower] {
        let said = speaker.tells_all("1").await;
        assert_eq!((one.hears().await, other.hears().await), (said.clone(), said));
    }
}

pub(super) async fn a_broadcast_stays_in_its_election(fixture: &dyn Fixture) {
    let (one, speaker) = (Player::new(fixture, "one").await, Player::new(fixture, "speaker").await);
    let mut listener = one.listens().await;
    for other in [key("another"), key("Nightly-Report"), key_in("other", "nightly-report")] {
        let mut theirs = one.in_election(other.clone()).listens().await;
        let said = speaker.in_election(other).tells_all("1").await;
        assert_eq!(theirs.hears().await, said);
    }
    listener.hears_only(&speaker).await;
}

/// What is still on its way may reach somebody who has only just come, but not every time.
pub(super) async fn nothing_is_kept_for_those_who_come_later(fixture: &dyn Fixture) {
    let speaker = Player::new(fixture, "speaker").await;
    let witness = Player::new(fixture, "witness").await;
    for attempt in 0..TRIES {
        let election = key(&format!("attempt {attempt}"));
        let (speaker, witness) = (speaker.in_election(election.clone()), witness.in_election(election.clone()));
        let mut early = witness.listens().await;
        let first = speaker.tells_all("1").await;
        assert_eq!(early.hears().await, first);
        let latecomer = Player::new(fixture, "latecomer").await.in_election(election);
        let mut late = latecomer.listens().await;
        let second = speaker.tells_all("2").await;
        assert_eq!(early.hears().await, second);
        if late.hears().await == second {
            return;
        }
    }
    panic!("whoever came later heard what was said before, every time");
}

pub(super) async fn whoever_has_left_hears_nothing_of_what_was_said_meanwhile(fixture: &dyn Fixture) {
    let (one, speaker) = (Player::new(fixture, "one").await, Player::new(fixture, "speaker").await);
    let (mut stays, mut leaves) = (one.listens().await, one.listens().await);
    leaves.hears_only(&speaker).await;
    stays.hears().await;
    drop(leaves);
    speaker.tells_all("1").await;
    // Then it is no longer on its way to this handle.
    stays.hears().await;
    one.listens().await.hears_only(&speaker).await;
}

pub(super) async fn a_batch_of_broadcasts_is_heard_in_order(fixture: &dyn Fixture) {
    let (one, speaker) = (Player::new(fixture, "one").await, Player::new(fixture, "speaker").await);
    let elsewhere = key("elsewhere");
    let (mut here, mut there) = (one.listens().await, one.in_election(elsewhere.clone()).listens().await);
    let batch: Vec<Broadcast> = (0..200)
        .map(|number| {
            let speaker = if number % 2 == 0 { speaker.clone() } else { speaker.in_election(elsewhere.clone()) };
            speaker.announces(&number.to_string())
        })
        .collect();
    speaker.proclaims(&batch).await;
    let of = |remainder| batch.iter().skip(remainder).step_by(2).cloned().collect::<Vec<_>>();
    assert_eq!(here.hears_many(100).await, of(0));
    assert_eq!(there.hears_many(100).await, of(1));
}

pub(super) async fn one_after_the_other_is_heard_in_order(fixture: &dyn Fixture) {
    let (one, speaker) = (Player::new(fixture, "one").await, Player::new(fixture, "speaker").await);
    let mut listener = one.listens().await;
    let mut said = Vec::new();
    for number in 0..30 {
        said.push(speaker.tells_all(&number.to_string()).await);
    }
    assert_eq!(listener.hears_many(30).await, said);
}

pub(super) async fn each_broadcast_is_heard_once(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let mut listener = one.listens().await;
    let (a, b, c) = (Player::new(fixture, "a").await, Player::new(fixture, "b").await, Player::new(fixture, "c").await);
    let speak = async |speaker: &Player| {
        let mut ids = BTreeSet::new();
        for number in 0..20 {
            ids.insert(speaker.tells_all(&number.to_string()).await.id);
        }
        ids
    };
    let (of_a, of_b, of_c) = futures_util::future::join3(speak(&a), speak(&b), speak(&c)).await;
    let said: BTreeSet<MessageId> = [of_a, of_b, of_c].into_iter().flatten().collect();
    let heard: Vec<MessageId> = listener.hears_many(60).await.iter().map(|broadcast| broadcast.id).collect();
    assert_eq!(heard.iter().copied().collect::<BTreeSet<_>>(), said);
    listener.hears_only(&one).await;
}

pub(super) async fn the_same_said_twice_is_heard_twice(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let mut listener = one.listens().await;
    let batch = [one.announces("1"), one.announces("1")];
    one.proclaims(&batch).await;
    assert_eq!(listener.hears_many(2).await, batch);
    listener.hears_only(&one).await;
}

pub(super) async fn that_nobody_listens_is_no_error(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    one.tells_all("1").await;
    let mut replies = one.pubsub().broadcast(&[]).await;
    assert_eq!(replies.len(), 0, "an empty batch has no answers");
    replies = one.pubsub().broadcast(&[one.announces("1"), one.announces("2")]).await;
    assert!(replies.len() == 2 && replies.iter().all(Result::is_ok), "{replies:?}");
}

pub(super) async fn broadcasts_alone_make_no_election(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    one.tells_all("1").await;
    let names = one.store.elections(&one.key.namespace).await.expect("a list");
    assert_eq!(names, []);
    assert_eq!(one.observes().await, Default::default());
}

pub(super) async fn broadcasts_disturb_no_election(fixture: &dyn Fixture) {
    let leader = Player::new(fixture, "leader").await;
    let outsider = Player::new(fixture, "outsider").await;
    let term = leader.wins().await;
    let history = leader.store.history(&leader.key, 10).await.expect("a history");
    for _ in 0..10 {
        outsider.tells_all("1").await;
        leader.tells_all("2").await;
    }
    leader.keeps(term).await;
    assert_eq!(outsider.sees_term().await, Some(term));
    assert_eq!(leader.store.history(&leader.key, 10).await.expect("a history"), history);
    if let Some(mailbox) = leader.store.mailbox() {
        assert_eq!(
            mailbox.list(&leader.key, MessageState::Pending, 10).await.expect("a list"),
            [],
            "they are no messages"
        );
    }
}

pub(super) async fn listening_takes_no_part(fixture: &dyn Fixture) {
    let (one, outsider) = (Player::new(fixture, "one").await, Player::new(fixture, "outsider").await);
    let mut listener = outsider.listens().await;
    let term = one.wins().await;
    listener.hears_only(&one).await;
    assert_eq!(one.sees_standing_by().await, []);
    drop(listener);
    one.keeps(term).await;
}
