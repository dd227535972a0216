//! A primary that is replaced.

use std::time::{Duration, Instant};

use tenure::StoreError;
use tenure::store::ledger::Claimed;
use tenure::store::{Hint, Severity, StoreErrorKind};
use tenure_core::{CampaignReply, RenewReply, WriteOutcome};
use tenure_testkit::bound::within;
use tenure_testkit::proxy::{Direction, Proxy, ProxyFault};
use tenure_testkit::redis::{RedisOptions, RedisServer, SentinelGroup};

use crate::support::{StoreCandidate, assert_told, awake, listeners, next, open, term_of, until};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_was_killed_is_left_for_the_new_one() {
    let sentinels = SentinelGroup::start();
    let store = open(&sentinels.url());
    let leader = StoreCandidate::new(&store, "e", "leader");
    let term = leader.granted().await;
    leader.keeps(term).await;
    let old = sentinels.primary();
    let mut hints = awake(&store).await;

    old.kill();
    let new = sentinels.await_new_primary(old.port());
    until("an answer", async || briefly(leader.renew(term)).await.ok()).await;
    let another = StoreCandidate::new(&store, "another", "leader");
    another.granted().await;
    assert_eq!(next(&mut hints).await, Hint::anywhere(), "nobody knows what was said meanwhile");
    listeners(new, 1).await;
    assert_eq!(new.command(&["EXISTS", "tenure:default:another"]), redis::Value::Int(1));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_was_replaced_while_it_stood_still_is_not_believed() {
    not_believed(SentinelGroup::start()).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_primary_that_needs_replicas_is_not_believed_either() {
    let lines = ["min-replicas-to-write 1", "min-replicas-max-lag 2"];
    not_believed(SentinelGroup::start_with(lines.into_iter().fold(RedisOptions::default(), RedisOptions::line))).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sentinel_that_hangs_holds_nobody_up() {
    let sentinels = SentinelGroup::start();
    let leader = StoreCandidate::new(&open(&sentinels.url()), "e", "leader");
    let term = leader.granted().await;
    let _paused = sentinels.sentinels()[0].pause();
    let begun = Instant::now();
    for _ in 0..20 {
        leader.keeps(term).await;
    }
    // Each of them would have to wait for half a second.
    within("twenty renewals", begun.elapsed(), Duration::from_secs(5));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn sentinels_that_are_slow_still_let_somebody_lead() {
    let sentinels = SentinelGroup::start();
    let slow: Vec<Proxy> = sentinels.sentinels().iter().map(|node| Proxy::before(node.address()).unwrap()).collect();
    slow.iter().for_each(|proxy| proxy.inject(Direction::Replies, ProxyFault::Delay(Duration::from_millis(300))));
    let hosts: Vec<String> = slow.iter().map(|proxy| proxy.address().to_string()).collect();
    let url = format!("redis+sentinel://{}/{}", hosts.join(","), SentinelGroup::NAME);
    StoreCandidate::at(&url, "e", "leader").granted().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sentinel_has_one_vote_however_often_it_is_named() {
    let sentinels = SentinelGroup::start();
    let [first, second, _] = sentinels.sentinels() else { panic!("there are three sentinels") };
    let url = |hosts: &[String]| format!("redis+sentinel://{}/{}", hosts.join(","), SentinelGroup::NAME);
    let names = [first.address().to_string(), format!("localhost:{}", first.port())];
    // Alone it is all there are.
    StoreCandidate::new(&open(&url(&[&names[..], &names[..]].concat())), "alone", "a").granted().await;

    let store = open(&url(&[&names[..], &[second.address().to_string()]].concat()));
    StoreCandidate::new(&store, "both", "a").granted().await;
    let paused = second.pause();
    let error = StoreCandidate::new(&store, "one", "a").refused().await;
    assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::Unusable, &["too few sentinels confirm"]);
    drop(paused);
    let finding = until("a sentinel that answers again", async || {
        let findings = store.examine().await.into_iter();
        findings.into_iter().find(|finding| finding.check == "sentinels" && finding.severity != Severity::Bad)
    });
    let finding = finding.await;
    assert!(finding.severity == Severity::Warning && finding.detail.contains("give each sentinel once"), "{finding:?}");
}

#[tokio::test]
async fn what_keeps_sentinels_from_naming_a_primary_is_told() {
    let strict = RedisServer::start_with(RedisOptions::default().password("secret"));
    for more in ["", "?sentinel_password=wrong"] {
        let url = format!("redis+sentinel://{}/tenure{more}", strict.address());
        let error = StoreCandidate::at(&url, "e", "a").refused().await;
        assert_told(
            &error,
            StoreErrorKind::Denied,
            WriteOutcome::NotSent,
            &["check sentinel_user and sentinel_password"],
        );
        assert!(!error.to_string().contains("wrong"), "{error}");
    }
    let proxy = Proxy::before(strict.address()).unwrap();
    proxy.refuse();
    let error = StoreCandidate::at(&format!("redis+sentinel://{}/tenure", proxy.address()), "e", "a").refused().await;
    let words = ["can be reached", "Connection refused", "check their addresses"];
    assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::NotSent, &words);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_name_that_no_sentinel_knows_and_a_sentinel_in_place_of_a_server_are_told() {
    let sentinels = SentinelGroup::start();
    let url = sentinels.url().replace(SentinelGroup::NAME, "other");
    let error = StoreCandidate::at(&url, "e", "a").refused().await;
    let words = ["knows a primary called \"other\"", "check the name"];
    assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::NotSent, &words);

    let store = open(&format!("redis://{}", sentinels.sentinels()[0].address()));
    let error = StoreCandidate::new(&store, "e", "a").refused().await;
    assert_told(
        &error,
        StoreErrorKind::Unsupported,
        WriteOutcome::Refused,
        &["if it is a sentinel, use redis+sentinel://"],
    );
    let finding = store.examine().await.into_iter().find(|finding| finding.check == "role").unwrap();
    assert!(finding.severity == Severity::Bad && finding.detail.contains("redis+sentinel://"), "{finding:?}");
}

/// The old primary does not know at first that it was replaced, and neither do those who are connected to it.
async fn not_believed(sentinels: SentinelGroup) {
    let store = open(&sentinels.url());
    let leader = StoreCandidate::new(&store, "e", "leader");
    let newcomer = StoreCandidate::new(&store, "free", "newcomer");
    let term = until("a grant", async || briefly(leader.campaign()).await.ok().as_ref().and_then(term_of)).await;
    until("a job", async || briefly(leader.open_job(term)).await.ok()).await;
    let old = sentinels.primary();
    let asked = old.calls("evalsha");
    let paused = old.pause();
    let new = sentinels.await_new_primary(old.port());
    // Its own replica may not have found it yet. It is the old one that must not be believed.
    new.command(&["CONFIG", "SET", "min-replicas-to-write", "0"]);
    // Whoever is renewed from now on was renewed by the old one.
    new.command(&["DEL", "tenure:default:e"]);

    // Nothing was asked meanwhile, so the connection to the old one is still there, and all requests wait in it.
    let resume = async {
        // Waits because nothing tells that a request has left.
        tokio::time::sleep(Duration::from_millis(200)).await;
        drop(paused);
    };
    let (renewal, grant, claim, ()) = tokio::join!(
        briefly(leader.renew(term)),
        briefly(newcomer.campaign()),
        briefly(leader.claim(term, 200)),
        resume
    );
    assert!(old.calls("evalsha") - asked >= 3, "the old primary was asked");
    assert!(!matches!(renewal, Ok(RenewReply::Renewed { .. })), "{renewal:?}");
    assert!(!matches!(grant, Ok(CampaignReply::Granted { .. })), "{grant:?}");
    assert!(!matches!(claim, Ok(Claimed::Granted)), "{claim:?}");

    until("a grant", async || briefly(newcomer.campaign()).await.ok().as_ref().and_then(term_of)).await;
    let holder: String = redis::from_redis_value(new.command(&["GET", "tenure:default:free"])).unwrap();
    assert_eq!(holder, "newcomer", "the new primary has granted it");
    let renewal = until("an answer", async || briefly(leader.renew(term)).await.ok()).await;
    assert!(matches!(renewal, RenewReply::NotHolder { .. }), "{renewal:?}");
}

/// As a leader asks: it gives up in time for the next question.
async fn briefly<T>(answer: impl Future<Output = Result<T, StoreError>>) -> Result<T, StoreError> {
    let given_up = |_| Err(StoreError::unknown(tenure::store::StoreErrorKind::TimedOut, "no answer in time"));
    tokio::time::timeout(Duration::from_secs(2), answer).await.unwrap_or_else(given_up)
}
