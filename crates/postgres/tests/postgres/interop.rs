//! Elections that are shared with clients of the leader-election recipe.

use std::time::Duration;

use tenure::Client;
use tenure::store::postgres::Migration;
use tenure::store::{Change, StoreErrorKind};
use tenure_core::WriteOutcome;

use crate::recipe::{CallStyle, LeaseForeigner, STYLES};
use crate::support::{APP, OwnDatabase, PATIENCE, StoreCandidate, TTL, assert_told, id, term_of, until};

/// Longer than any test, in seconds.
const LONG: i32 = 600;
/// The shortest there is.
const SHORT: i32 = 1;

async fn place() -> OwnDatabase {
    let place = OwnDatabase::empty();
    Migration::new(&place.owner()).role(APP).unwrap().compat("public").unwrap().run().await.unwrap();
    place
}

#[tokio::test]
async fn a_foreign_leader_is_respected_until_its_timeout() {
    let place = place().await;
    for style in STYLES {
        let service = format!("{style:?}");
        let foreigner = LeaseForeigner::new(&place, style, "foreign", SHORT).await.in_service(&service);
        assert!(foreigner.tries().await && foreigner.beats().await && foreigner.tries().await);
        let candidate = StoreCandidate::new(&place.store(), &service, "ours");
        let lease = candidate.observe().await.lease;
        let reply = candidate.campaign().await.unwrap();
        // On a machine that is too busy its lease may be over already.
        if let (Some(lease), tenure_core::CampaignReply::Held(held)) = (lease, reply) {
            assert_eq!(held.leader.unwrap().candidate, id("foreign"));
            assert_eq!((lease.leader.candidate, lease.ttl), (id("foreign"), Some(Duration::from_secs(1))));
        }
        let term = until("the end of its timeout", async || term_of(&candidate.campaign().await.unwrap())).await;
        assert!(!foreigner.beats().await && !foreigner.tries().await && !foreigner.steps_down().await);
        assert_eq!(foreigner.reads().await.unwrap().0, "ours");
        candidate.keeps(term).await;
    }
}

#[tokio::test]
async fn a_foreign_leader_that_beats_keeps_leading() {
    let place = place().await;
    let foreigner = LeaseForeigner::new(&place, CallStyle::Named, "foreign", LONG).await;
    let candidate = StoreCandidate::new(&place.store(), "e", "ours");
    assert!(foreigner.tries().await);
    let seen = candidate.held().await.leader.unwrap();
    let shown = foreigner.reads().await;
    assert_eq!(shown.as_ref().unwrap().0, "foreign");
    assert!(foreigner.beats().await);
    assert_eq!(foreigner.reads().await, shown);
    assert_eq!(candidate.held().await.leader.unwrap(), seen, "it has one term as long as it leads");
    assert!(candidate.observe().await.lease.unwrap().remaining > Some(TTL / 2));
}

#[tokio::test]
async fn our_leader_is_respected_until_its_lease_ends() {
    let place = place().await;
    for style in STYLES {
        let service = format!("{style:?}");
        let foreigner = LeaseForeigner::new(&place, style, "foreign", LONG).await.in_service(&service);
        let candidate = StoreCandidate::new(&place.store(), &service, "ours");
        let first = candidate.granted().await;
        assert!(!foreigner.tries().await && !foreigner.beats().await && !foreigner.steps_down().await);
        candidate.resign().await.unwrap();
        assert!(foreigner.tries().await, "nobody stood by");
        candidate.has_lost(first).await;
        // Resigning once more takes nothing away from it.
        candidate.resign().await.unwrap();
        assert!(foreigner.beats().await && foreigner.steps_down().await);

        let brief = candidate.clone().with_ttl(Duration::from_millis(500));
        let second = brief.granted().await;
        until("the end of our lease", async || foreigner.tries().await.then_some(())).await;
        assert!(brief.has_lost(second).await > Some(second));
        assert!(second > first && foreigner.beats().await);
    }
}

#[tokio::test]
async fn a_reservation_keeps_foreign_participants_out_as_it_does_others() {
    let place = place().await;
    let foreigner = LeaseForeigner::new(&place, CallStyle::Positional, "foreign", LONG).await;
    let (leader, successor) =
        (StoreCandidate::new(&place.store(), "e", "leader"), StoreCandidate::new(&place.store(), "e", "next"));
    leader.granted().await;
    successor.held().await;
    leader.resign().await.unwrap();
    // It lasts for a second; on a machine that is too busy it may be over already.
    if !foreigner.tries().await {
        until("the end of the reservation", async || foreigner.tries().await.then_some(())).await;
    }
    assert_eq!(successor.held().await.leader.unwrap().candidate, id("foreign"));
    assert_eq!(successor.observe().await.reserved_for, None);
}

#[tokio::test]
async fn a_candidate_looks_again_soon_after_a_foreign_leader_and_takes_over_when_it_steps_down() {
    let place = place().await;
    let foreigner = LeaseForeigner::new(&place, CallStyle::Positional, "foreign", LONG).await;
    assert!(foreigner.tries().await);
    let candidate = StoreCandidate::new(&place.store(), "e", "ours").with_ttl(Duration::from_secs(3));
    let held = candidate.held().await;
    assert!(held.remaining <= Duration::from_millis(300), "nobody tells it: {held:?}");

    let client = Client::open(&place.url()).unwrap();
    let candidacy = client.election("e").unwrap().candidate().start().unwrap();
    until("a candidate that stands by", async || {
        candidate
            .observe()
            .await
            .standing_by
            .iter()
            .any(|waiting| waiting.candidate == *candidacy.candidate())
            .then_some(())
    })
    .await;
    candidate.resign().await.unwrap();
    assert!(foreigner.steps_down().await);
    let leadership =
        tokio::time::timeout(PATIENCE, candidacy.elected()).await.expect("long before the timeout").unwrap();
    assert!(leadership.term() > held.leader.unwrap().term);
    assert!(!foreigner.tries().await);
}

/// In the recipe every caller brings its own timeout, and so a leader that lives can be robbed.
#[tokio::test]
async fn the_timeout_of_the_holder_counts_and_not_that_of_the_challenger() {
    let place = place().await;
    let holder = LeaseForeigner::new(&place, CallStyle::Positional, "holder", LONG).await;
    assert!(holder.tries().await);
    for timeout_s in [0, -LONG, i32::MIN] {
        let robber = LeaseForeigner::new(&place, CallStyle::Named, "robber", timeout_s).await;
        assert!(!robber.tries().await, "{timeout_s}");
    }
    assert!(holder.beats().await);
    let ours = StoreCandidate::new(&place.store(), "e", "ours");
    assert!(ours.observe().await.lease.unwrap().remaining > Some(TTL / 2));
}

#[tokio::test]
async fn terms_never_fall() {
    let place = place().await;
    let foreigners = [
        LeaseForeigner::new(&place, CallStyle::Positional, "one", LONG).await,
        LeaseForeigner::new(&place, CallStyle::Named, "two", LONG).await,
    ];
    let ours = StoreCandidate::new(&place.store(), "e", "ours");
    let (mut terms, mut own) = (Vec::new(), Vec::new());
    for _ in 0..3 {
        for foreigner in &foreigners {
            assert!(foreigner.tries().await);
            terms.push(foreigner.reads().await.unwrap().1);
            assert!(foreigner.steps_down().await && !foreigner.steps_down().await);
            assert_eq!(foreigner.reads().await, None, "as in the table of old");
        }
        own.push(ours.granted().await);
        terms.push(foreigners[0].reads().await.unwrap().1);
        ours.resign().await.unwrap();
    }
    assert!(terms.is_sorted_by(|earlier, later| earlier < later), "{terms:?}");
    assert!(own.is_sorted_by(|earlier, later| earlier < later), "{own:?}");
}

/// In the recipe most of these raise a unique violation.
#[tokio::test]
async fn two_first_starts_at_once_raise_nothing() {
    let place = place().await;
    let mut pair = [
        LeaseForeigner::new(&place, CallStyle::Positional, "one", LONG).await,
        LeaseForeigner::new(&place, CallStyle::Named, "two", LONG).await,
    ];
    for round in 0..300 {
        pair = pair.map(|foreigner| foreigner.in_service(&format!("service {round}")));
        let (one, two) = tokio::join!(pair[0].try_become_leader(), pair[1].try_become_leader());
        assert_ne!(one.unwrap(), two.unwrap(), "exactly one leads");
    }
}

/// In the recipe the time of a caller that waits stands still, so that it may see a lease as over that was renewed.
#[tokio::test]
async fn who_waited_for_the_row_decides_by_the_time_after_it() {
    let place = place().await;
    let holder = LeaseForeigner::new(&place, CallStyle::Positional, "holder", LONG).await;
    let challenger = LeaseForeigner::new(&place, CallStyle::Positional, "challenger", LONG).await;
    assert!(holder.tries().await);
    for (meanwhile, is_elected) in [
        ("expires_at = clock_timestamp() + interval '600 seconds'", false),
        // It is over only after the challenger has begun to wait.
        ("expires_at = clock_timestamp()", true),
    ] {
        place.database.sql("UPDATE tenure.election SET expires_at = clock_timestamp() - interval '1 second'");
        let mut session = place.database.session();
        session.run("BEGIN; SELECT FROM tenure.election FOR UPDATE").unwrap();
        let attempt = challenger.try_become_leader();
        let meddling = async {
            until("a challenger that waits", async || {
                let waiting = "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'";
                (place.value(waiting).unwrap() == "1").then_some(())
            })
            .await;
            session.run(&format!("UPDATE tenure.election SET {meanwhile}; COMMIT")).unwrap();
        };
        let (attempt, ()) = tokio::join!(attempt, meddling);
        assert_eq!(attempt.unwrap(), is_elected, "{meanwhile}");
    }
}

#[tokio::test]
async fn the_same_id_is_not_the_same_candidate() {
    let place = place().await;
    let foreigner = LeaseForeigner::new(&place, CallStyle::Named, "worker-1", LONG).await;
    let ours = StoreCandidate::new(&place.store(), "e", "worker-1");
    assert!(foreigner.tries().await);
    let term = ours.held().await.leader.unwrap().term;
    ours.has_lost(term).await;
    ours.resign().await.unwrap();
    assert!(foreigner.beats().await && foreigner.steps_down().await);

    // The reservation of its stand-by is gone with it.
    let term = ours.granted().await;
    assert!(!foreigner.tries().await && !foreigner.beats().await && !foreigner.steps_down().await);
    ours.keeps(term).await;
}

#[tokio::test]
async fn foreign_leaders_are_seen_remembered_and_left_alone() {
    let place = place().await;
    let foreigner = LeaseForeigner::new(&place, CallStyle::Positional, "foreign", LONG).await;
    let ours = StoreCandidate::new(&place.store(), "e", "ours");
    assert!(foreigner.tries().await);
    let seen = ours.observe().await.lease.unwrap().leader.term;
    let error = ours.store.request_handover(&ours.key, None).await.unwrap_err();
    assert_told(
        &error,
        StoreErrorKind::Other,
        WriteOutcome::Refused,
        &["cannot be asked to hand over", "stop it instead"],
    );
    assert!(foreigner.beats().await && foreigner.steps_down().await);
    let next = ours.granted().await;
    let history = ours.store.history(&ours.key, 10).await.unwrap();
    let told: Vec<_> = history.iter().rev().map(|line| (line.candidate.as_str(), line.change, line.term)).collect();
    let expected =
        [("foreign", Change::Elected, seen), ("foreign", Change::Lost, seen), ("ours", Change::Elected, next)];
    assert_eq!(told, expected);
    assert_eq!(ours.store.elections(&ours.key.namespace).await.unwrap(), std::slice::from_ref(&ours.key.name));
}

#[tokio::test]
async fn odd_foreign_names_break_nothing() {
    let place = place().await;
    let long = "x".repeat(255);
    for odd in ["a\nb\u{1b}[31m", &long, " ", "", "'; DROP TABLE x; --", "🦀"] {
        let foreigner = LeaseForeigner::new(&place, CallStyle::Positional, odd, LONG).await;
        assert!(foreigner.tries().await, "{odd:?}");
        let ours = StoreCandidate::new(&place.store(), "e", "ours");
        let seen = ours.held().await.leader.unwrap();
        assert_eq!(ours.observe().await.lease.unwrap().leader, seen);
        ours.store.history(&ours.key, 100).await.unwrap();
        ours.resign().await.unwrap();
        assert!(foreigner.steps_down().await, "{odd:?}");
        let service = LeaseForeigner::new(&place, CallStyle::Named, "a", LONG).await.in_service(odd);
        assert!(service.tries().await, "{odd:?}");
        ours.store.elections(&ours.key.namespace).await.unwrap();
    }
}
