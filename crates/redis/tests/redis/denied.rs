//! What a user of the server may not do: said in words, and nothing of what is needed can be left out.

use std::sync::Arc;
use std::time::{Duration, Instant};

use tenure::store::{Interest, StoreErrorKind};
use tenure::{Client, Store, StoreError};
use tenure_core::{Term, WriteOutcome};
use tenure_testkit::bound::within;
use tenure_testkit::redis::{Flavour, RedisOptions, RedisServer};

use crate::messages::{dead_letter, mailbox, new_message, send};
use crate::rights::{NEEDED, PASSWORD, USER, server_with_user};
use crate::support::{StoreCandidate, assert_told, key, open, term_of, until};

/// What nothing is decided by, so that no call fails without it: elections are held, but not listed, or nobody is woken.
const MISSED_IN_SILENCE: [&str; 4] = ["+sadd", "+subscribe", "+unsubscribe", "+ping"];

#[tokio::test]
async fn without_any_single_right_something_is_refused() {
    each_right_is_missed(Flavour::Redis).await;
}

#[tokio::test]
async fn without_any_single_right_something_is_refused_by_valkey() {
    each_right_is_missed(Flavour::Valkey).await;
}

#[tokio::test]
async fn with_all_rights_nothing_is_refused() {
    let server = server_with_user(NEEDED);
    let errors = all_that_fails(&open(&server.url_as(USER, PASSWORD))).await;
    assert!(errors.is_empty(), "{errors:?}");
}

#[tokio::test]
async fn without_the_right_to_list_elections_are_held_but_not_listed() {
    let (server, store) = server_without("+sadd");
    let errors = all_that_fails(&store).await;
    assert!(errors.is_empty(), "{errors:?}");
    assert!(store.elections(&key("e").namespace).await.unwrap().is_empty());
    assert!(rejected(&server, "sadd") > 0);
}

#[tokio::test]
async fn without_the_right_to_subscribe_nobody_is_woken() {
    let (server, store) = server_without("+subscribe");
    let _hints = store.watch(Interest::Own);
    until("a subscription that is refused", async || (rejected(&server, "subscribe") > 0).then_some(())).await;
    let errors = all_that_fails(&store).await;
    assert!(errors.is_empty(), "{errors:?}");
}

#[tokio::test]
async fn without_the_right_to_unsubscribe_the_connection_is_made_anew() {
    let (server, store) = server_without("+unsubscribe");
    let _own = store.watch(Interest::Own);
    let all = store.watch(Interest::All);
    until("two subscriptions", async || (channels(&server).len() == 2).then_some(())).await;
    drop(all);
    until("an end that is refused", async || (rejected(&server, "unsubscribe") > 0).then_some(())).await;
    until("one subscription", async || (channels(&server).len() == 1).then_some(())).await;
}

#[tokio::test]
async fn without_the_right_to_ping_the_connection_is_made_anew() {
    let (server, store) = server_without("+ping");
    let _own = store.watch(Interest::Own);
    until("a subscription", async || (channels(&server).len() == 1).then_some(())).await;
    StoreCandidate::new(&store, "e", "a").granted().await;
    server.command(&["CLIENT", "KILL", "USER", USER, "TYPE", "normal"]);
    until("a ping that is refused", async || {
        // The first one may find out that the connection is gone.
        let _ = store.observe(&[key("e")]).await;
        (rejected(&server, "ping") > 0).then_some(())
    })
    .await;
    until("a subscription", async || (channels(&server).len() == 1).then_some(())).await;
}

#[tokio::test]
async fn a_password_that_is_missing_or_wrong_is_told_from_a_server_that_is_away() {
    let server = RedisServer::start_with(RedisOptions::default().password("canary"));
    let without_password = StoreCandidate::new(&open(&format!("redis://{}", server.address())), "e", "a");
    let error = without_password.refused().await;
    assert_told(&error, StoreErrorKind::Denied, WriteOutcome::NotSent, &["NOAUTH", "check user, password and rights"]);
    let wrong = StoreCandidate::new(&open(&format!("redis://:wrong-canary@{}", server.address())), "e", "a");
    let error = wrong.refused().await;
    assert_told(&error, StoreErrorKind::Denied, WriteOutcome::NotSent, &["check user, password and rights"]);
    assert!(!format!("{error} {error:?} {:?}", wrong.store).contains("canary"), "{error:?}");

    server.command(&["ACL", "SETUSER", "default", ">wrong-canary"]);
    wrong.granted().await;
    server.command(&["ACL", "SETUSER", "default", "nopass"]);
    without_password.held().await;
}

#[tokio::test]
async fn rights_that_are_given_later_need_no_new_handle() {
    let (server, store) = server_without("+evalsha");
    let candidate = StoreCandidate::new(&store, "e", "a");
    assert_told(&candidate.refused().await, StoreErrorKind::Denied, WriteOutcome::Refused, &["NOPERM", "evalsha"]);
    server.command(&["ACL", "SETUSER", USER, "+evalsha"]);
    candidate.granted().await;
}

#[tokio::test]
async fn without_the_right_to_subscribe_a_resignation_is_found_by_looking() {
    let (server, _store) = server_without("+subscribe");
    let tenures = [0, 1].map(|_| Client::open(&server.url_as(USER, PASSWORD)).unwrap());
    let start = |client: &Client| client.election("e").unwrap().candidate().start().unwrap();
    let leader = start(&tenures[0]);
    until("a leader", async || leader.is_leader().then_some(())).await;
    let follower = start(&tenures[1]);
    let observer = StoreCandidate::at(&server.url(), "e", "observer");
    until("a follower", async || (observer.observe().await.standing_by.len() == 1).then_some(())).await;
    let begun = Instant::now();
    leader.stop().await;
    until("the next leader", async || follower.is_leader().then_some(())).await;
    // A lease runs for thirty.
    within("a hand-over without a push", begun.elapsed(), Duration::from_secs(10));
}

/// Each in turn is left out, for a user of its own.
async fn each_right_is_missed(flavour: Flavour) {
    let rights = NEEDED.split_whitespace().filter(|right| !MISSED_IN_SILENCE.contains(right));
    let users: Vec<(String, &str)> = rights.enumerate().map(|(n, right)| (format!("user{n}"), right)).collect();
    let options = users.iter().fold(RedisOptions::new(flavour), |options, (user, right)| {
        options.user(&format!("{user} on >{PASSWORD} {}", without(right)))
    });
    let server = RedisServer::start_with(options);
    for (user, right) in &users {
        let url = format!("{}?prefix=tenure:{user}", server.url_as(user, PASSWORD));
        // Whoever comes first has to bring the scripts.
        server.command(&["SCRIPT", "FLUSH"]);
        let errors = all_that_fails(&open(&url)).await;
        let denied = errors.iter().find(|error| error.kind() == StoreErrorKind::Denied);
        let denied = denied.unwrap_or_else(|| panic!("nobody misses {right}: {errors:?}"));
        assert!(denied.to_string().contains("check user, password and rights (ACL LOG"), "{denied}");
    }
}

/// All verbs, so that every right is needed by one of them.
async fn all_that_fails(store: &Arc<dyn Store>) -> Vec<StoreError> {
    let (leader, follower) = (StoreCandidate::new(store, "e", "leader"), StoreCandidate::new(store, "e", "follower"));
    let mut errors = Vec::new();
    // The second one finds what the first was granted.
    let mut term = Term::new(1).unwrap();
    for candidate in [&leader, &leader, &follower] {
        match candidate.campaign().await {
            Ok(reply) => term = term_of(&reply).unwrap_or(term),
            Err(error) => errors.push(error),
        }
    }
    errors.extend(store.observe(&[key("e")]).await.remove(0).err());
    errors.extend(store.request_handover(&key("e"), None).await.err());
    errors.extend(store.history(&key("e"), 10).await.err());
    errors.extend(store.elections(&key("e").namespace).await.err());
    let message = new_message("e", "1");
    errors.extend(send(store, &message).await.err());
    errors.extend(leader.try_receive(term).await.err());
    errors.extend(leader.ack(term, message.id, dead_letter()).await.err());
    errors.extend(mailbox(store).requeue(&key("e"), None).await.err());
    errors.extend(leader.open_job(term).await.err());
    errors.extend(leader.claim(term, 200).await.err());
    errors.extend(store.ledger().unwrap().jobs(&key("e"), 10).await.err());
    errors.extend(leader.resign().await.err());
    errors.extend(follower.resign().await.err());
    let abandoned = StoreCandidate::new(store, "f", "leader");
    errors.extend(abandoned.campaign().await.err());
    errors.extend(abandoned.resign().await.err());
    errors.extend(store.forget(&key("f"), Duration::ZERO).await.err());
    errors
}

fn server_without(right: &str) -> (RedisServer, Arc<dyn Store>) {
    let server = server_with_user(&without(right));
    let store = open(&server.url_as(USER, PASSWORD));
    (server, store)
}

fn without(right: &str) -> String {
    let rights: Vec<&str> = NEEDED.split_whitespace().filter(|other| *other != right).collect();
    assert_eq!(rights.len() + 1, NEEDED.split_whitespace().count(), "{right} is not among the rights");
    rights.join(" ")
}

/// How often the server refused this command.
fn rejected(server: &RedisServer, command: &str) -> u64 {
    let statistics = server.info("commandstats", &format!("cmdstat_{command}"));
    statistics.map_or(0, |text| {
        let (_, count) = text.split_once("rejected_calls=").unwrap();
        count.split(',').next().unwrap().parse().unwrap()
    })
}

/// What somebody listens to.
fn channels(server: &RedisServer) -> Vec<String> {
    redis::from_redis_value(server.command(&["PUBSUB", "CHANNELS"])).unwrap()
}
