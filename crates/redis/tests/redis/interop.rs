//! Elections that are shared with participants of another make.

use std::time::{Duration, Instant};

use tenure::store::{Change, Severity, StoreErrorKind};
use tenure::{Client, Timing};
use tenure_core::WriteOutcome;
use tenure_testkit::bound::within;
use tenure_testkit::redis::RedisServer;

use crate::foreign::RedisForeigner;
use crate::support::{PATIENCE, StoreCandidate, TTL, assert_told, id, key, next, open, term_of, until};

/// The lease of a participant that is waited for.
const SHORT: Duration = Duration::from_millis(500);
/// Where participants with a prefix `app` and those with a bare key meet.
const LEASE: &str = "app:leader:mix";

/// The patterns of the two makes, and the name of the election that both know as [`LEASE`].
const MAKES: [(&str, &str); 2] =
    [("key_pattern={name}", LEASE), ("prefix=app&key_pattern={prefix}:leader:{name}", "mix")];

#[tokio::test]
async fn a_foreign_leader_is_followed_when_its_lease_runs_out() {
    for_each_make(async |table| {
        let mut foreigner = table.foreigner("foreign", SHORT);
        assert!(foreigner.acquires());
        let candidate = table.candidate("ours");
        let held = candidate.held().await;
        assert_eq!(held.leader.as_ref().unwrap().candidate, id("foreign"));
        assert!(held.remaining <= SHORT, "{held:?}");
        let term = until("the end of a foreign lease", async || term_of(&candidate.campaign().await.unwrap())).await;
        assert!(term > held.leader.unwrap().term);
        assert!(!foreigner.acquires() && !foreigner.renews() && !foreigner.releases());
        table.is_in_order("ours");
    })
    .await;
}

#[tokio::test]
async fn a_foreign_leader_is_followed_when_it_releases() {
    for_each_make(async |table| {
        let mut foreigner = table.foreigner("foreign", TTL);
        let candidate = table.candidate("ours");
        assert!(foreigner.acquires());
        let first = candidate.held().await.leader.unwrap().term;
        assert!(foreigner.renews());
        assert_eq!(candidate.held().await.leader.unwrap().term, first, "it has one term as long as it leads");
        assert!(foreigner.releases());
        assert!(candidate.granted().await > first);
        table.is_in_order("ours");
    })
    .await;
}

#[tokio::test]
async fn a_foreign_leader_that_releases_is_followed_long_before_its_lease_would_end() {
    for_each_make(async |table| {
        let mut foreigner = table.foreigner("foreign", TTL);
        assert!(foreigner.acquires());
        let tenures = [0, 1].map(|_| Client::open(&table.url()).unwrap());
        let timing = Timing::from_ttl(Duration::from_secs(3)).unwrap();
        let candidates = tenures.each_ref().map(|client| {
            let candidacy = client.election(table.election).unwrap().candidate().timing(timing);
            candidacy.start().unwrap()
        });
        let observer = table.candidate("observer");
        until("two that follow", async || (observer.observe().await.standing_by.len() == 2).then_some(())).await;
        let asked = table.server.calls("evalsha");
        // Waits because it is to be seen how often followers look.
        tokio::time::sleep(Duration::from_secs(1)).await;
        let asked = table.server.calls("evalsha") - asked;
        assert!(asked < 20, "{asked} looks in a second");
        assert!(foreigner.renews() && foreigner.releases());
        let released = Instant::now();
        until("a leader", async || candidates.iter().find(|candidate| candidate.is_leader())).await;
        within("leadership behind a foreign leader", released.elapsed(), Duration::from_secs(5));
    })
    .await;
}

#[tokio::test]
async fn a_lease_of_ours_that_lost_its_expiry_gets_it_again() {
    for_each_make(async |table| {
        let (gone, follower) = (table.candidate("gone").with_ttl(SHORT * 3), table.candidate("follower"));
        let term = gone.granted().await;
        assert_eq!(table.server.command(&["PERSIST", LEASE]), redis::Value::Int(1));
        let words = [LEASE, "\"gone\"", "had lost its expiry"];
        assert_told(&follower.refused().await, StoreErrorKind::Corrupt, WriteOutcome::Unknown, &words);
        table.is_in_order("gone");
        assert!(follower.granted_soon().await > term);

        // One that lives keeps it, and gives it an expiry by itself.
        let term = follower.observe().await.lease.unwrap().leader.term;
        table.server.command(&["PERSIST", LEASE]);
        follower.keeps(term).await;
        table.is_in_order("follower");
    })
    .await;
}

#[tokio::test]
async fn a_foreign_lease_without_an_expiry_is_told_of() {
    for_each_make(async |table| {
        table.server.command(&["SET", LEASE, "foreign"]);
        let candidate = table.candidate("ours");
        let words = [LEASE, "\"foreign\"", "has no expiry", "DEL app:leader:mix"];
        assert_told(&candidate.refused().await, StoreErrorKind::Corrupt, WriteOutcome::Refused, &words);
        // It is not told every time.
        assert_eq!(candidate.held().await.leader.unwrap().candidate, id("foreign"));
        let findings = candidate.store.examine().await;
        let finding = findings.iter().find(|finding| finding.check == "expiry").unwrap();
        assert!(finding.severity == Severity::Bad && finding.detail.contains(LEASE), "{finding:?}");
        table.server.command(&["DEL", LEASE]);
        candidate.granted().await;
        let findings = candidate.store.examine().await;
        assert!(findings.iter().any(|finding| finding.check == "expiry" && finding.severity == Severity::Good));
    })
    .await;
}

#[tokio::test]
async fn a_foreign_participant_leads_when_our_lease_runs_out_or_is_resigned() {
    for_each_make(async |table| {
        let mut foreigner = table.foreigner("foreign", TTL);
        let brief = table.candidate("brief").with_ttl(SHORT);
        let first = brief.granted().await;
        table.is_in_order("brief");
        until("the end of our lease", async || foreigner.acquires().then_some(())).await;
        brief.has_lost(first).await;
        assert!(foreigner.releases());

        let candidate = table.candidate("ours");
        let second = candidate.granted().await;
        assert!(second > first && !foreigner.acquires());
        candidate.resign().await.unwrap();
        assert!(foreigner.acquires());
        candidate.has_lost(second).await;
        // Resigning once more takes nothing away from it.
        candidate.resign().await.unwrap();
        assert!(foreigner.renews());
        assert!(candidate.held().await.leader.unwrap().term > second);
        table.is_in_order("foreign");
    })
    .await;
}

#[tokio::test]
async fn a_reservation_does_not_keep_foreign_participants_out() {
    for_each_make(async |table| {
        let mut foreigner = table.foreigner("foreign", TTL);
        let (leader, successor) = (table.candidate("leader"), table.candidate("successor"));
        let term = leader.granted().await;
        successor.held().await;
        leader.resign().await.unwrap();
        assert!(foreigner.acquires());
        let seen = successor.held().await.leader.unwrap();
        assert_eq!(seen.candidate, id("foreign"));
        assert!(seen.term > term);
        assert_eq!(successor.observe().await.reserved_for, None);
        assert!(foreigner.releases());
        assert!(successor.granted().await > seen.term);
    })
    .await;
}

#[tokio::test]
async fn three_take_turns_and_terms_grow() {
    for_each_make(async |table| {
        let mut foreigners = ["foreign1", "foreign2"].map(|name| table.foreigner(name, TTL));
        let candidate = table.candidate("ours");
        let mut terms = Vec::new();
        for turn in 0..4 {
            terms.push(candidate.granted().await);
            assert!(foreigners.iter_mut().all(|foreigner| !foreigner.acquires()));
            candidate.resign().await.unwrap();
            let foreigner = &mut foreigners[turn % 2];
            assert!(foreigner.acquires());
            terms.push(candidate.held().await.leader.unwrap().term);
            assert!(foreigner.releases());
            candidate.resign().await.unwrap();
        }
        assert!(terms.is_sorted_by(|earlier, later| earlier < later), "{terms:?}");
    })
    .await;
}

#[tokio::test]
async fn foreign_leaders_are_seen_and_remembered() {
    for_each_make(async |table| {
        let mut foreigner = table.foreigner("foreign", TTL);
        let candidate = table.candidate("ours");
        let term = candidate.granted().await;
        candidate.resign().await.unwrap();
        assert!(foreigner.acquires());
        // Nobody of ours has met it yet.
        let lease = candidate.observe().await.lease.unwrap();
        assert_eq!(lease.leader.candidate, id("foreign"));
        assert!(lease.leader.term > term && lease.remaining > Some(TTL / 2), "{lease:?}");
        let met = candidate.held().await.leader.unwrap();
        assert_eq!(candidate.observe().await.lease.unwrap().leader.term, met.term);
        assert!(foreigner.releases());
        let last = candidate.granted().await;

        let history = candidate.store.history(&candidate.key, 10).await.unwrap();
        let told: Vec<_> = history.iter().rev().map(|line| (line.candidate.as_str(), line.change, line.term)).collect();
        let expected = [
            ("ours", Change::Elected, term),
            ("ours", Change::Lost, term),
            ("foreign", Change::Elected, met.term),
            ("foreign", Change::Lost, met.term),
            ("ours", Change::Elected, last),
        ];
        assert_eq!(told, expected);
        assert_eq!(history[2].reason, "foreign");
    })
    .await;
}

#[tokio::test]
async fn odd_foreign_ids_break_nothing() {
    for_each_make(async |table| {
        let long = "x".repeat(1_000);
        let multibyte = "🦀".repeat(300);
        let odd: [&[u8]; 6] = [b"a\nb\0c\x1b[31m", long.as_bytes(), b"\xff\xfe", multibyte.as_bytes(), b"a b  c", b" "];
        for foreign in odd {
            let mut foreigner = RedisForeigner::new(&table.server, LEASE, foreign, TTL);
            let candidate = table.candidate("ours");
            assert!(foreigner.acquires());
            let seen = candidate.held().await.leader.unwrap();
            assert!(!seen.candidate.as_str().is_empty());
            assert_eq!(candidate.observe().await.lease.unwrap().leader, seen);
            assert!(
                candidate
                    .store
                    .history(&candidate.key, 100)
                    .await
                    .unwrap()
                    .iter()
                    .any(|line| { line.term == seen.term && line.candidate == seen.candidate })
            );
            assert!(foreigner.renews() && foreigner.releases());
            assert!(candidate.granted().await > seen.term);
            candidate.resign().await.unwrap();
        }
    })
    .await;
}

#[tokio::test]
async fn a_foreign_leader_cannot_be_asked_to_hand_over() {
    for_each_make(async |table| {
        let mut foreigner = table.foreigner("foreign", TTL);
        let candidate = table.candidate("ours");
        assert!(foreigner.acquires());
        // Before and after it was met by somebody of ours.
        for _ in 0..2 {
            let error = candidate.store.request_handover(&candidate.key, None).await.unwrap_err();
            assert_told(&error, StoreErrorKind::Other, WriteOutcome::Refused, &["cannot be asked to hand over"]);
            candidate.held().await;
        }
        assert!(foreigner.renews());
    })
    .await;
}

#[tokio::test]
async fn a_foreign_take_over_is_told_to_whoever_watches_everything() {
    for_each_make(async |table| {
        let mut foreigner = table.foreigner("foreign", TTL);
        let candidate = table.candidate("ours");
        let mut hints = candidate.store.watch(tenure::store::Interest::All);
        assert_eq!(next(&mut hints).await.key, None, "it listens");
        assert!(foreigner.acquires());
        candidate.held().await;
        assert_eq!(next(&mut hints).await.key, Some(candidate.key.clone()));
    })
    .await;
}

#[tokio::test]
async fn a_lock_is_shared_with_those_who_put_lock_before_its_name() {
    let server = RedisServer::start();
    let client = Client::open(&format!("{}?key_pattern=lock:{{name}}", server.url())).unwrap();
    let lock = || client.lock("order-42").unwrap().timing(Timing::from_ttl(Duration::from_secs(3)).unwrap());
    let mut foreigner = RedisForeigner::new(&server, "lock:order-42", "0123456789abcdef", TTL);
    assert!(foreigner.acquires());
    assert!(lock().try_acquire().await.unwrap().is_none());
    let patient = lock().max_wait(PATIENCE);
    let waiting = tokio::spawn(async move { patient.acquire().await });
    let observer = StoreCandidate::at(&format!("{}?key_pattern=lock:{{name}}", server.url()), "order-42", "observer");
    until("somebody who waits", async || (!observer.observe().await.standing_by.is_empty()).then_some(())).await;
    assert!(foreigner.releases());
    let guard = waiting.await.unwrap().unwrap();
    assert!(!foreigner.acquires());
    guard.release().await.unwrap();
    assert!(foreigner.acquires());
}

/// A server and an election that is shared.
struct SharedElection {
    server: RedisServer,
    options: &'static str,
    election: &'static str,
}

impl SharedElection {
    fn foreigner(&self, name: &str, ttl: Duration) -> RedisForeigner {
        RedisForeigner::new(&self.server, LEASE, name, ttl)
    }

    fn url(&self) -> String {
        let options = self.options.replace('{', "%7B").replace('}', "%7D");
        format!("{}?{options}", self.server.url())
    }

    /// A candidate of ours on a handle of its own.
    fn candidate(&self, name: &str) -> StoreCandidate {
        let candidate = StoreCandidate::new(&open(&self.url()), self.election, name);
        assert_eq!(candidate.key, key(self.election));
        candidate
    }

    /// The key is all that others look at: it holds the bare id, and always runs out.
    fn is_in_order(&self, holder: &str) {
        let value: String = redis::from_redis_value(self.server.command(&["GET", LEASE])).unwrap();
        let left: i64 = redis::from_redis_value(self.server.command(&["PTTL", LEASE])).unwrap();
        assert_eq!(value, holder);
        assert!(left > 0, "it runs for {left} ms");
    }
}

/// Each on a server of its own.
async fn for_each_make(check: impl AsyncFn(SharedElection)) {
    for (options, election) in MAKES {
        check(SharedElection { server: RedisServer::start(), options, election }).await;
    }
}
