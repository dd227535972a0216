//! What `doctor` is told: every way in which a server can be set up so that it keeps less than it says.

use tenure::store::{Finding, Severity};
use tenure_testkit::redis::{RedisCluster, RedisOptions, RedisServer, SentinelGroup};
use tenure_testkit::scratch::Scratch;
use tenure_testkit::wall_clock::FakeWallClock;

use crate::rights::{NEEDED, PASSWORD, USER, server_with_user};
use crate::support::{open, until};

#[tokio::test]
async fn a_server_that_keeps_what_it_says_is_found_well() {
    let server = RedisServer::start_with(RedisOptions::default().persistent().line("appendfsync always"));
    let findings = examine(&server.url()).await;
    assert!(findings.iter().all(|finding| finding.severity == Severity::Good), "{findings:#?}");
    for check in ["reach", "version", "role", "eviction", "persistence", "replicas", "clock", "writable"] {
        assert!(findings.iter().any(|finding| finding.check == check), "{check} is missing: {findings:#?}");
    }
}

#[tokio::test]
async fn what_can_make_two_leaders_is_warned_of_in_plain_words() {
    for (lines, check, words) in [
        (&["maxmemory 100mb", "maxmemory-policy volatile-lru"][..], "eviction", "among them leases"),
        (&["maxmemory 100mb", "maxmemory-policy allkeys-lfu"], "eviction", "leases and terms are evicted"),
        (&["appendonly no"], "persistence", "a restart loses"),
        (&["appendonly yes", "appendfsync everysec"], "persistence", "a power failure may lose"),
    ] {
        let options = lines.iter().fold(RedisOptions::default(), |options, line| options.line(*line));
        let server = RedisServer::start_with(options);
        assert_found(&examine(&server.url()).await, check, Severity::Warning, words);
    }
}

#[tokio::test]
async fn replicas_are_counted_and_a_replica_is_no_place_for_elections() {
    let primary = RedisServer::start_with(RedisOptions::default().line("repl-diskless-sync-delay 0"));
    let careful = format!("{}?wait_replicas=1", primary.url());
    assert_found(&examine(&careful).await, "replicas", Severity::Bad, "no lease can be granted");
    let following = format!("replicaof 127.0.0.1 {}", primary.port());
    let replica = RedisServer::start_with(RedisOptions::default().line(following));
    until("a replica that has been heard", async || {
        primary.info("replication", "slave0").filter(|state| state.contains("state=online"))
    })
    .await;
    assert_found(&examine(&careful).await, "replicas", Severity::Warning, "follow asynchronously");
    primary.command(&["CONFIG", "SET", "min-replicas-to-write", "1"]);
    assert_found(&examine(&careful).await, "replicas", Severity::Good, "fewer than 1 follow");
    let of_replica = examine(&replica.url()).await;
    assert_found(&of_replica, "role", Severity::Bad, "address of its primary");
    assert_found(&of_replica, "writable", Severity::Bad, "this is a replica");
}

#[tokio::test]
async fn a_clock_that_is_wrong_is_noticed() {
    let scratch = Scratch::new();
    let clock = FakeWallClock::at(scratch.path().join("clock"));
    let server = RedisServer::start_with(RedisOptions::default().wall_clock(&clock));
    clock.jump_to(3_600);
    assert_found(&examine(&server.url()).await, "clock", Severity::Warning, "differ by 36");
}

#[tokio::test]
async fn what_may_not_be_asked_is_not_guessed() {
    let server = server_with_user(NEEDED);
    let findings = examine(&server.url_as(USER, PASSWORD)).await;
    assert_found(&findings, "eviction", Severity::Warning, "denies the use of INFO");
    assert_found(&findings, "writable", Severity::Good, "takes writes");
    assert!(findings.iter().all(|finding| finding.severity != Severity::Bad), "{findings:#?}");
}

#[tokio::test]
async fn a_server_that_is_away_is_told_of() {
    let server = RedisServer::start();
    let store = open(&server.url());
    server.kill();
    assert_found(&store.examine().await, "reach", Severity::Bad, "cannot connect");
}

#[tokio::test]
async fn sentinels_have_to_agree() {
    let sentinels = SentinelGroup::start();
    assert_found(&examine(&sentinels.url()).await, "sentinels", Severity::Good, "more than half of them");
    sentinels.sentinels()[..2].iter().for_each(RedisServer::kill);
    assert_found(&examine(&sentinels.url()).await, "sentinels", Severity::Bad, "no lease can be granted");
}

#[tokio::test]
async fn every_primary_of_a_cluster_is_looked_at() {
    let cluster = RedisCluster::start();
    let findings = examine(&cluster.url()).await;
    let reached: Vec<&Finding> = findings.iter().filter(|finding| finding.check == "reach").collect();
    assert_eq!(reached.len(), 3, "{findings:#?}");
    assert!(reached.iter().all(|finding| finding.severity == Severity::Good), "{findings:#?}");
}

async fn examine(url: &str) -> Vec<Finding> {
    open(url).examine().await
}

fn assert_found(findings: &[Finding], check: &str, severity: Severity, words: &str) {
    let found = findings.iter().find(|finding| finding.check == check).unwrap_or_else(|| panic!("{findings:#?}"));
    assert!(found.severity == severity && found.detail.contains(words), "{found:#?} is not {severity:?}: {words}");
}
