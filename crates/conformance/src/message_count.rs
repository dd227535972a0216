//! How many messages there are, and where: people find those that were sent to a name that nobody leads.

use tenure_core::ElectionName;

use super::Fixture;
use super::correspondence::dead_letter;
use super::player::{Player, key, key_in};
use tenure_store::mailbox::AckOutcome;

pub(super) async fn messages_to_elections_that_nobody_led_are_counted(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    for name in ["c", "a", "B", "c"] {
        one.in_election(key(name)).sends("1").await;
    }
    one.in_election(key_in("other", "d")).sends("1").await;
    let counted = [("B", 1, 0), ("a", 1, 0), ("c", 2, 0)];
    assert_eq!(counts(&one, "default", None).await, counted.map(owned), "in order, byte by byte");
    assert_eq!(counts(&one, "other", None).await, [owned(("d", 1, 0))]);
    assert_eq!(counts(&one, "unknown", None).await, []);
    assert_eq!(counts(&one, "default", Some("c")).await, [owned(("c", 2, 0))]);
    assert_eq!(counts(&one, "default", Some("d")).await, [], "that is elsewhere");
}

pub(super) async fn dead_letters_are_counted_and_what_was_handled_is_not(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let (first, second) = (one.sends("1").await, one.sends("2").await);
    let name = one.key.name.as_str().to_owned();
    let count = async || {
        let all = counts(&one, "default", None).await;
        assert_eq!(counts(&one, "default", Some(&name)).await, all, "there is no other");
        all.first().map(|(_, waiting, dead_letters)| (*waiting, *dead_letters))
    };
    assert_eq!(count().await, Some((2, 0)));
    let term = one.wins().await;
    assert_eq!(count().await, Some((2, 0)), "nothing was settled");
    one.acks(term, vec![(first, dead_letter(1, "no")), (second, AckOutcome::Done)]).await;
    assert_eq!(count().await, Some((0, 1)));
    one.requeues(None).await;
    assert_eq!(count().await, Some((1, 0)));
    one.acks(term, vec![(first, AckOutcome::Done)]).await;
    assert_eq!(count().await, None);
}

async fn counts(player: &Player, namespace: &str, only: Option<&str>) -> Vec<(String, u64, u64)> {
    let namespace = key_in(namespace, "any").namespace;
    let only = only.map(|name| ElectionName::new(name).expect("a valid name"));
    let counts = player.mailbox().counts(&namespace, only.as_ref()).await.expect("an answer");
    let counts = counts.into_iter().map(|count| count.expect("nothing is damaged"));
    counts.map(|count| (count.election.as_str().to_owned(), count.waiting, count.dead_letters)).collect()
}

fn owned((name, waiting, dead_letters): (&str, u64, u64)) -> (String, u64, u64) {
    (name.to_owned(), waiting, dead_letters)
}
