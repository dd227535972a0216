//! What is refused before anything is sent, and what others can see.

use std::time::Duration;

use tenure::testing::Operation;
use tenure::{CandidateId, Client, Error, ErrorKind, Namespace, Timing};

use crate::support::{Lab, block_on, id, timing};

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
    let just_fits = "x".repeat(Error::METADATA_BYTES_MAX - 1);
    let error = lab.candidate("a").metadata("k", format!("{just_fits}x")).start().unwrap_err();
    assert!(matches!(error, Error::Metadata { bytes } if bytes == Error::METADATA_BYTES_MAX + 1), "{error}");
    lab.settle();
    assert_eq!(lab.store.calls(Operation::Campaign), 0);
    lab.candidate("a").metadata("k", just_fits).start().unwrap().wait_elected().unwrap();
}

#[test]
fn a_ttl_below_what_the_store_can_keep_is_refused() {
    /// A store that can keep no short leases.
    #[derive(Debug)]
    struct Slow(tenure::MemoryStore);
    use futures_util::future::BoxFuture;
    use futures_util::stream::BoxStream;
    use tenure::store::*;
    impl Store for Slow {
        fn capabilities(&self) -> Capabilities {
            let mut capabilities = self.0.capabilities();
            capabilities.min_ttl = Duration::from_secs(2);
            capabilities
        }
        fn campaign<'a>(&'a self, _: &'a [Campaign]) -> BoxFuture<'a, Replies<tenure_core::CampaignReply>> {
            panic!("nothing is sent")
        }
        fn renew<'a>(&'a self, batch: &'a [Renew]) -> BoxFuture<'a, Replies<tenure_core::RenewReply>> {
            self.0.renew(batch)
        }
        fn resign<'a>(&'a self, batch: &'a [Resign]) -> BoxFuture<'a, Replies<()>> {
            self.0.resign(batch)
        }
        fn observe<'a>(&'a self, batch: &'a [ElectionKey]) -> BoxFuture<'a, Replies<Observation>> {
            self.0.observe(batch)
        }
        fn elections<'a>(
            &'a self,
            namespace: &'a Namespace,
        ) -> BoxFuture<'a, Result<Vec<tenure::ElectionName>, StoreError>> {
            self.0.elections(namespace)
        }
        fn request_handover<'a>(
            &'a self,
            key: &'a ElectionKey,
            successor: Option<&'a CandidateId>,
        ) -> BoxFuture<'a, Result<bool, StoreError>> {
            self.0.request_handover(key, successor)
        }
        fn history<'a>(
            &'a self,
            key: &'a ElectionKey,
            limit: usize,
        ) -> BoxFuture<'a, Result<Vec<Transition>, StoreError>> {
            self.0.history(key, limit)
        }
        fn watch(&self, interest: Interest) -> BoxStream<'static, Hint> {
            self.0.watch(interest)
        }
        fn examine(&self) -> BoxFuture<'_, Vec<Finding>> {
            self.0.examine()
        }
    }
    let client = Client::with_store(Slow(tenure::MemoryStore::new())).unwrap();
    let short = Timing::from_ttl(Duration::from_secs(1)).unwrap();
    let error = client.election("x").unwrap().candidate().timing(short).start().unwrap_err();
    assert!(matches!(error, Error::TtlTooShort { .. }), "{error}");
    assert_eq!(error.kind(), ErrorKind::Invalid);
    assert!(error.to_string().contains("1s") && error.to_string().contains("2s"), "{error}");

    // The same store serves a test of its own: one that always panics is one that always fails.
    let election = client.election("x").unwrap().candidate().timing(timing()).start().unwrap();
    assert!(election.wait_elected_for(Duration::from_millis(50)).unwrap().is_none());
    assert!(block_on(client.examine()).is_ok());
    election.stop_blocking();
    assert!(matches!(election.wait_elected(), Err(Error::Stopped)));
    assert_eq!(election.events().next_blocking(), None);
    assert!(client.election("x").unwrap().candidate().start().is_ok());
}

#[test]
fn the_ttl_alone_derives_all_durations_and_is_checked_at_the_start() {
    let lab = Lab::new();
    let ttl = Duration::from_secs(45);
    let leader = lab.client.election("x").unwrap().candidate().ttl(ttl).start().unwrap();
    let leadership = leader.wait_elected().unwrap();
    assert_eq!(leadership.remaining(), Timing::from_ttl(ttl).unwrap().hold());
    assert_eq!(block_on(lab.client.election("x").unwrap().observe()).unwrap().lease.unwrap().ttl, Some(ttl));
    let held = lab.client.lock("y").unwrap().ttl(ttl).acquire_blocking().unwrap();
    assert_eq!(block_on(lab.client.election("y").unwrap().observe()).unwrap().lease.unwrap().ttl, Some(ttl));
    held.release_blocking().unwrap();

    for ttl in [Duration::ZERO, Duration::from_millis(1), Timing::TTL_MAX + Duration::from_secs(1)] {
        let campaigns = lab.store.calls(Operation::Campaign);
        let lock = lab.client.lock("z").unwrap().ttl(ttl);
        let refused = [
            lab.client.election("z").unwrap().candidate().ttl(ttl).start().unwrap_err(),
            lock.acquire_blocking().unwrap_err(),
            lock.try_acquire_blocking().unwrap_err(),
        ];
        for error in refused {
            assert!(matches!(error, Error::Timing(_)) && error.kind() == ErrorKind::Invalid, "{error}");
        }
        lab.settle();
        assert_eq!(lab.store.calls(Operation::Campaign), campaigns);
    }
    // What is said last counts.
    let mended = lab.client.election("z").unwrap().candidate().ttl(Duration::ZERO).timing(timing()).start().unwrap();
    mended.wait_elected().unwrap();
}

#[test]
fn urls_that_cannot_be_understood_are_refused() {
    for url in ["", "nonsense", "nosuch:thing"] {
        assert!(Client::open(url).is_err(), "{url:?}");
    }
}

#[test]
fn everybody_can_see_who_leads_and_what_it_says_of_itself() {
    let lab = Lab::new();
    let leader = lab.candidate("a").metadata("zone", "eu-1").metadata("version", "7").start().unwrap();
    leader.wait_elected().unwrap();
    let follower = lab.candidate("b").metadata("zone", "us-1").start().unwrap();
    lab.settle();
    let seen = block_on(lab.client.election("x").unwrap().observe()).unwrap();
    let lease = seen.lease.unwrap();
    assert_eq!((lease.leader.candidate, lease.ttl), (id("a"), Some(timing().ttl())));
    assert_eq!(lease.leader.metadata["zone"], "eu-1");
    assert_eq!(lease.leader.metadata["version"], "7");
    assert_eq!(seen.standing_by.len(), 1);
    let told = follower.current_leader_blocking().unwrap().unwrap();
    assert_eq!((told.candidate, told.term), (id("a"), leader.leadership().unwrap().term()));
    let all = block_on(lab.client.observe_all()).unwrap();
    assert_eq!(all.len(), 1);
    assert_eq!(all[0].0, *leader.name());
}

#[test]
fn namespaces_keep_elections_apart() {
    let lab = Lab::new();
    let here = lab.leader("a");
    let elsewhere = lab.client.namespace(Namespace::new("other").unwrap());
    let there = elsewhere.election("x").unwrap().candidate().timing(timing()).start().unwrap();
    there.wait_elected().unwrap();
    assert!(here.is_leader() && there.is_leader());
    assert_ne!(here.candidate(), there.candidate());
}
