//! Who is woken, and who is left in peace.

use std::time::Duration;

use tenure::Store;
use tenure::store::sqlite::SqliteStore;
use tenure::store::{Interest, RESERVATION, Renew, WOKEN_BY_RESIGNATION};
use tenure_core::RenewReply;

use crate::support::{SqliteCandidate, TTL, key, next, place};

#[tokio::test]
async fn a_resignation_wakes_those_first_in_line_one_after_the_other() {
    let (_directory, path) = place();
    let open = || SqliteStore::open(&path).unwrap();
    let (leader, last) = (open(), open());
    let line: Vec<SqliteStore> = (0..WOKEN_BY_RESIGNATION).map(|_| open()).collect();
    let resigning = SqliteCandidate::new(&leader, "e", "leader");
    resigning.granted().await;
    let mut hints = Vec::new();
    for (rank, store) in line.iter().chain([&last]).enumerate() {
        assert_eq!(SqliteCandidate::new(store, "e", "follower").held().await.rank as usize, rank);
        hints.push(store.watch(Interest::Own));
    }
    SqliteCandidate::new(&last, "another", "last").granted().await;

    resigning.resign().await.unwrap();
    let mut delays = Vec::new();
    for hints in &mut hints[..WOKEN_BY_RESIGNATION] {
        let hint = next(hints).await;
        assert_eq!(hint.key, Some(key("e")));
        delays.push(hint.after);
    }
    assert_eq!([delays[0], delays[1]], [Duration::ZERO, RESERVATION]);
    assert!(delays.is_sorted() && delays[WOKEN_BY_RESIGNATION - 1] < RESERVATION * 2, "{delays:?}");
    // Pipes keep their order: had the last one been woken for the resignation, it would hear of that first.
    assert!(leader.request_handover(&key("another"), None).await.unwrap());
    assert_eq!(next(&mut hints[WOKEN_BY_RESIGNATION]).await.key, Some(key("another")));
}

#[tokio::test]
async fn every_stream_of_a_store_hears_the_hint() {
    let (_directory, path) = place();
    let (one, other) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    let leader = SqliteCandidate::new(&one, "e", "one");
    leader.granted().await;
    SqliteCandidate::new(&other, "e", "other").held().await;
    let mut streams: Vec<_> = (0..5).map(|_| other.watch(Interest::Own)).collect();
    leader.resign().await.unwrap();
    for stream in streams.iter_mut().rev() {
        assert_eq!(next(stream).await.key, Some(key("e")));
    }
}

#[tokio::test]
async fn a_watcher_of_everything_hears_of_grants_and_resignations() {
    let (_directory, path) = place();
    let (one, other) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    let mut all = other.watch(Interest::All);
    let mut own = other.watch(Interest::Own);
    // The same thread does this after it has registered the watcher.
    other.observe(&[key("e")]).await.remove(0).unwrap();
    let leader = SqliteCandidate::new(&one, "e", "one");
    leader.granted().await;
    assert_eq!(next(&mut all).await.key, Some(key("e")));
    leader.resign().await.unwrap();
    assert_eq!(next(&mut all).await.key, Some(key("e")));
    // Who asked only for its own has heard nothing of this.
    SqliteCandidate::new(&other, "mine", "other").granted().await;
    one.request_handover(&key("mine"), None).await.unwrap();
    assert_eq!(next(&mut own).await.key, Some(key("mine")));
}

#[tokio::test]
async fn a_request_to_hand_over_reaches_the_leader_with_its_next_renewal() {
    let (_directory, path) = place();
    let (one, other) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    let leader = SqliteCandidate::new(&one, "e", "one");
    let term = leader.granted().await;
    for _ in 0..2 {
        assert_eq!(leader.renew(term).await.unwrap(), RenewReply::Renewed { handover: None });
    }
    let mut hints = one.watch(Interest::Own);
    let successor = tenure_core::CandidateId::new("other").unwrap();
    assert!(other.request_handover(&key("e"), Some(&successor)).await.unwrap());
    assert_eq!(next(&mut hints).await.key, Some(key("e")));
    let RenewReply::Renewed { handover: Some(handover) } = leader.renew(term).await.unwrap() else { panic!() };
    assert_eq!(handover.successor, Some(successor));
}

#[tokio::test]
async fn a_thousand_leases_are_renewed_in_one_batch() {
    let (_directory, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let candidates: Vec<_> = (0..1_000).map(|n| SqliteCandidate::new(&store, &format!("e{n}"), "one")).collect();
    let batch: Vec<_> = candidates.iter().map(SqliteCandidate::request).collect();
    let terms: Vec<_> = store.campaign(&batch).await;
    let mut renewals: Vec<_> = candidates
        .iter()
        .zip(&terms)
        .map(|(candidate, reply)| {
            let tenure_core::CampaignReply::Granted { term } = reply.as_ref().unwrap() else { panic!() };
            Renew { key: candidate.key.clone(), nonce: candidate.nonce, term: *term, ttl: TTL }
        })
        .collect();
    // One that is not held, in the middle of the others.
    renewals[500].nonce = tenure_core::Nonce::from_bits(0);
    for _ in 0..3 {
        for (n, reply) in store.renew(&renewals).await.into_iter().enumerate() {
            assert_eq!(matches!(reply.unwrap(), RenewReply::Renewed { handover: None }), n != 500, "{n}");
        }
    }
}
