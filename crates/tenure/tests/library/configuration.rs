//! What is refused before anything is sent, and what others can see.

use std::time::Duration;

use tenure::blocking::Client;
use tenure::testing::Operation;
use tenure::{CandidateId, Error, ErrorKind, Namespace, Priority, Timing};

use crate::support::{Lab, PATIENCE, id, timing};

#[test]
fn names_that_break_the_rule_are_refused() {
    let lab = Lab::new();
    for name in ["", "with\nnewline", &"x".repeat(10_000)] {
        for error in [lab.client.election(name).unwrap_err(), lab.client.lock(name).unwrap_err()] {
            assert!(matches!(error, Error::Name(_)) && error.kind() == ErrorKind::Invalid, "{name:?}");
        }
        assert!(CandidateId::new(name).is_err() && Namespace::new(name).is_err());
    }
    assert_eq!(Operation::ALL.map(|operation| lab.store.calls(operation)), [0; Operation::ALL.len()]);
}

#[test]
fn metadata_that_are_too_large_are_refused() {
    let lab = Lab::new();
    let just_fits = "x".repeat(Error::MAX_METADATA_BYTES - 1);
    let error = lab.candidate("a").metadata("k", format!("{just_fits}x")).start().unwrap_err();
    assert!(matches!(error, Error::Metadata { bytes } if bytes == Error::MAX_METADATA_BYTES + 1), "{error}");
    lab.settle();
    assert_eq!(lab.store.calls(Operation::Campaign), 0);
    lab.candidate("a").metadata("k", just_fits).start().unwrap().elected().unwrap();
}

#[test]
fn a_ttl_below_what_the_store_can_keep_is_refused() {
    /// A store that can keep no short leases.
    #[derive(Debug)]
    struct Slow(tenure::MemoryStore);
    use futures_util::stream::BoxStream;
    use tenure::store::*;
    #[async_trait]
    impl Store for Slow {
        fn capabilities(&self) -> Capabilities {
            let mut capabilities = self.0.capabilities();
            capabilities.min_ttl = Duration::from_secs(2);
            capabilities
        }
        async fn campaign(&self, _: &[Campaign]) -> Replies<tenure_core::CampaignReply> {
            panic!("nothing is sent")
        }
        async fn renew(&self, batch: &[Renew]) -> Replies<tenure_core::RenewReply> {
            self.0.renew(batch).await
        }
        async fn resign(&self, batch: &[Resign]) -> Replies<()> {
            self.0.resign(batch).await
        }
        async fn observe(&self, batch: &[ElectionKey]) -> Replies<Observation> {
            self.0.observe(batch).await
        }
        async fn elections(&self, namespace: &Namespace) -> Result<Vec<tenure::ElectionName>, StoreError> {
            self.0.elections(namespace).await
        }
        async fn request_handover(
            &self,
            key: &ElectionKey,
            successor: Option<&CandidateId>,
        ) -> Result<bool, StoreError> {
            self.0.request_handover(key, successor).await
        }
        async fn history(&self, key: &ElectionKey, limit: usize) -> Result<Vec<Transition>, StoreError> {
            self.0.history(key, limit).await
        }
        fn watch(&self, interest: Interest) -> BoxStream<'static, Hint> {
            self.0.watch(interest)
        }
        async fn examine(&self) -> Vec<Finding> {
            self.0.examine().await
        }
    }
    let client = Client::with_store(Slow(tenure::MemoryStore::new())).unwrap();
    let short = Timing::from_ttl(Duration::from_secs(1)).unwrap();
    let error = client.election("x").unwrap().candidate().timing(short).start().unwrap_err();
    assert!(matches!(error, Error::TtlTooShort { .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("1s") && error.to_string().contains("2s"), "{error}");

    // The same store serves a test of its own: one that always panics is one that always fails.
    let candidacy = client.election("x").unwrap().candidate().timing(timing()).start().unwrap();
    assert!(candidacy.elected_timeout(Duration::from_millis(50)).unwrap().is_none());
    assert!(client.store().examine().is_ok());
    candidacy.stop();
    assert!(matches!(candidacy.elected(), Err(Error::Stopped)));
    assert_eq!(candidacy.events().next(), None);
    assert!(client.election("x").unwrap().candidate().start().is_ok());
}

#[test]
fn the_ttl_alone_derives_all_durations_and_is_checked_at_the_start() {
    let lab = Lab::new();
    let ttl = Duration::from_secs(45);
    let leader = lab.client.election("x").unwrap().candidate().ttl(ttl).start().unwrap();
    let leadership = leader.elected().unwrap();
    assert_eq!(leadership.remaining(), Timing::from_ttl(ttl).unwrap().hold());
    assert_eq!(lab.client.election("x").unwrap().observe().unwrap().lease.unwrap().ttl, Some(ttl));
    let held = lab.client.lock("y").unwrap().ttl(ttl).acquire().unwrap();
    assert_eq!(lab.client.election("y").unwrap().observe().unwrap().lease.unwrap().ttl, Some(ttl));
    held.release().unwrap();

    for ttl in [Duration::ZERO, Duration::from_millis(1), Timing::MAX_TTL + Duration::from_secs(1)] {
        let campaigns = lab.store.calls(Operation::Campaign);
        let lock = lab.client.lock("z").unwrap().ttl(ttl);
        let refused = [
            lab.client.election("z").unwrap().candidate().ttl(ttl).start().unwrap_err(),
            lock.acquire().unwrap_err(),
            lock.try_acquire().unwrap_err(),
        ];
        for error in refused {
            assert!(matches!(error, Error::Timing(_)) && error.kind() == ErrorKind::Invalid, "{error}");
        }
        lab.settle();
        assert_eq!(lab.store.calls(Operation::Campaign), campaigns);
    }
    // What is said last counts.
    let mended = lab.client.election("z").unwrap().candidate().ttl(Duration::ZERO).timing(timing()).start().unwrap();
    mended.elected().unwrap();
}

#[test]
fn urls_that_cannot_be_understood_are_refused() {
    let place = tempfile::tempdir().unwrap();
    for url in [
        "",
        "nonsense",
        "mysql://host/db",
        "sqlite:",
        "memory:shared",
        "env:redis",
        "redis://host/0?nosuch=option",
        "postgres:host",
        "postgres://host/db?nosuch=option",
    ] {
        for error in [Client::open(url).unwrap_err(), Client::open_lazy(url).unwrap_err()] {
            assert_eq!(error.kind(), ErrorKind::Invalid, "{url:?}: {error}");
        }
    }
    // Somebody may yet make the directory.
    let later = format!("sqlite:{}", place.path().join("missing/app.db").display());
    assert_eq!(Client::open(&later).unwrap_err().kind(), ErrorKind::Store);
}

#[test]
fn payloads_that_are_too_large_are_refused() {
    let lab = Lab::new();
    let election = lab.client.election("x").unwrap();
    let payload = "x".repeat(10_000_000);
    for error in [election.send("c", &payload).unwrap_err(), election.broadcast("c", &payload).unwrap_err()] {
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
    }
}

#[test]
fn everybody_can_see_who_leads_and_what_it_says_of_itself() {
    let lab = Lab::new();
    let leader = lab.candidate("a").metadata("zone", "eu-1").metadata("version", "7").start().unwrap();
    leader.elected().unwrap();
    let follower = lab.candidate("b").metadata("zone", "us-1").start().unwrap();
    lab.settle();
    let seen = lab.client.election("x").unwrap().observe().unwrap();
    let lease = seen.lease.unwrap();
    assert_eq!((lease.leader.candidate, lease.ttl), (id("a"), Some(timing().ttl())));
    assert_eq!(lease.leader.metadata["zone"], "eu-1");
    assert_eq!(lease.leader.metadata["version"], "7");
    assert_eq!(seen.standing_by.len(), 1);
    let told = follower.current_leader().unwrap().unwrap();
    assert_eq!((told.candidate, told.term), (id("a"), leader.leadership().unwrap().term()));
    let all = lab.client.observe_all().unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].0, *leader.name());
}

#[test]
fn namespaces_keep_elections_apart() {
    let lab = Lab::new();
    let here = lab.leader("a");
    let elsewhere = lab.client.with_namespace("other").unwrap();
    let there = elsewhere.election("x").unwrap().candidate().timing(timing()).start().unwrap();
    there.elected().unwrap();
    assert!(here.is_leader() && there.is_leader());
    assert_ne!(here.candidate(), there.candidate());
}

#[test]
fn what_a_builder_cannot_use_is_told_at_the_start() {
    let lab = Lab::new();
    let candidate = || lab.candidate("a");
    for (what, broken) in [
        ("candidate id", candidate().id("two\nlines")),
        ("priority 11", candidate().priority(11)),
        ("priority -1", candidate().priority(-1)),
        ("channel name", candidate().on_message("", |_, _| ()).on_message("fine", |_, _| ())),
        ("channel name", candidate().on_broadcast("c".repeat(64), |_| ())),
        ("heartbeat is zero", candidate().require_heartbeat(Duration::ZERO)),
        ("message is zero", candidate().max_attempts(0)),
        ("channel refresh", candidate().on_message("refresh", |_, _| ()).on_message("refresh", |_, _| ())),
        ("channel refresh", candidate().on_message("refresh", |_, _| ()).on_message_async("refresh", async |_, _| ())),
        ("channel reload", candidate().on_broadcast("reload", |_| ()).on_broadcast_async("reload", async |_| ())),
    ] {
        let error = broken.start().unwrap_err();
        assert_eq!(error.kind(), ErrorKind::Invalid, "{error}");
        assert!(error.to_string().contains(what), "no {what} in: {error}");
    }
    let lock = lab.client.lock("y").unwrap();
    assert_eq!(lock.clone().id("").acquire().unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(lock.priority(99).try_acquire().unwrap_err().kind(), ErrorKind::Invalid);
    let mended = candidate().id("").id(String::from("b")).priority(11).priority(Priority::MAX);
    let mended = mended.require_heartbeat(Duration::ZERO).require_heartbeat(PATIENCE).max_attempts(0).max_attempts(1);
    let mended = mended.on_message("refresh", |_, _| ()).on_broadcast("refresh", |_| ()).start().unwrap();
    assert_eq!(mended.candidate(), &id("b"), "the last word counts");
    assert_eq!(mended.resign_to("").unwrap_err().kind(), ErrorKind::Invalid);
}

#[test]
fn what_a_client_cannot_use_is_told_before_anything_is_opened() {
    let place = tempfile::tempdir().unwrap();
    let file = place.path().join("a.db");
    let url = format!("sqlite:{}", file.display());
    for builder in [Client::builder().namespace(""), Client::builder().sender("two\nlines")] {
        assert_eq!(builder.open(&url).unwrap_err().kind(), ErrorKind::Invalid);
    }
    assert!(!file.exists(), "a mistake leaves no file behind");
    let client = Client::builder().namespace("").namespace("shop").open(&url).unwrap();
    assert_eq!(client.with_namespace("").unwrap_err().kind(), ErrorKind::Invalid);
    assert_eq!(client.election("x").unwrap().with_sender("").unwrap_err().kind(), ErrorKind::Invalid);
}
