//! Only the claimer of a run may report its outcome.

use std::time::Duration;

use tenure_core::Term;
use tenure_store::ledger::{Finish, RunEnd, RunOutcome};

use super::Fixture;
use super::bookkeeping::{TOOK, job_name, leader, tick};
use super::player::{Player, all, fresh_nonce, key, pass};

pub(super) async fn an_end_needs_nonce_and_term_of_the_run(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.runs(term, 200).await;
    let right = one.as_end(term, 200, RunOutcome::Succeeded);
    let later = Term::after(Some(term)).expect("a term");
    assert!(!one.tells(Finish { nonce: fresh_nonce(), ..right.clone() }).await);
    assert!(!one.tells(Finish { term: later, ..right.clone() }).await);
    assert!(!one.tells(Finish { tick: tick(201), ..right.clone() }).await);
    assert!(!one.tells(Finish { job: job_name("unknown"), ..right.clone() }).await);
    assert!(!one.tells(Finish { key: key("weekly-report"), ..right.clone() }).await);
    assert_eq!(one.reads_one().await.runs[0].end, None, "nobody was heard");
    assert!(one.tells(right).await);
}

pub(super) async fn an_end_may_be_told_when_the_lease_is_lost(fixture: &dyn Fixture) {
    let one = Player::brief(fixture, "one").await;
    let other = Player::new(fixture, "other").await;
    let term = one.wins().await;
    one.opens(term, 100).await;
    for second in [200, 300] {
        one.runs(term, second).await;
    }
    pass(fixture, one.ttl).await;
    one.ends(term, 200).await;
    let next = other.wins().await;
    one.ends(term, 300).await;
    assert_eq!(other.opens(next, 999).await.interrupted, []);
}

pub(super) async fn of_ends_told_twice_the_first_counts(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.runs(term, 200).await;
    assert!(one.tells(one.as_end(term, 200, RunOutcome::TimedOut)).await);
    let before = one.reads_one().await;
    let second = Finish { took: TOOK * 2, ..one.as_end(term, 200, RunOutcome::Failed { why: "late".to_owned() }) };
    assert!(one.tells(second).await, "it is written down");
    assert_eq!(one.reads_one().await, before);
}

pub(super) async fn every_outcome_is_kept(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    let failed = RunOutcome::Failed { why: "no such table".to_owned() };
    let outcomes = [RunOutcome::Succeeded, failed, RunOutcome::TimedOut, RunOutcome::Cancelled, RunOutcome::NotBegun];
    let spans = [Duration::ZERO, TOOK, Duration::from_nanos(1), Duration::from_secs(86_400 * 400), Duration::ZERO];
    for ((second, retries), (outcome, took)) in (200..).zip([0, 3, 1, 0, u32::MAX]).zip(outcomes.iter().zip(spans)) {
        one.runs(term, second).await;
        let before = one.sees_unix_ms(term).await;
        assert!(one.tells(Finish { took, retries, ..one.as_end(term, second, outcome.clone()) }).await);
        let after = one.sees_unix_ms(term).await;
        let RunEnd { at_unix_ms, took: told, retries: counted, outcome: kept } =
            one.reads_one().await.runs[0].end.clone().expect("an end");
        assert_eq!((told, counted, &kept), (took, retries, outcome));
        assert!((before..=after).contains(&at_unix_ms), "{before} {at_unix_ms} {after}");
    }
    let told: Vec<RunOutcome> =
        one.reads_one().await.runs.into_iter().rev().filter_map(|run| run.end).map(|end| end.outcome).collect();
    assert_eq!(told, outcomes);
}

pub(super) async fn a_very_long_run_is_kept(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.runs(term, 200).await;
    assert!(one.tells(Finish { took: Duration::MAX, ..one.as_end(term, 200, RunOutcome::Succeeded) }).await);
    let end = one.reads_one().await.runs[0].end.clone().expect("an end");
    assert!(end.took >= Duration::from_secs(100 * 365 * 86_400), "as long as the store can say: {:?}", end.took);
}

pub(super) async fn odd_failures_are_kept_byte_by_byte(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    let large = "4\u{a0}kB ".repeat(700);
    let reasons =
        ["", " ", "it's \"odd\"\n\tover\r\ntwo lines 🦀\n", "x'); --", "]] .. os.exit() .. [[", "%s%n", &large];
    for (second, why) in (200..).zip(reasons) {
        one.runs(term, second).await;
        let outcome = RunOutcome::Failed { why: why.to_owned() };
        assert!(one.tells(one.as_end(term, second, outcome.clone())).await);
        assert_eq!(one.reads_one().await.runs[0].end.clone().expect("an end").outcome, outcome);
    }
}

pub(super) async fn a_failure_may_say_anything(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.runs(term, 200).await;
    let outcome = RunOutcome::Failed { why: "zero \0 byte".to_owned() };
    assert!(one.tells(one.as_end(term, 200, outcome)).await);
    let end = one.reads_one().await.runs[0].end.clone().expect("an end");
    // Not every store can hold this one character. The rest of the text is there.
    let RunOutcome::Failed { why } = end.outcome else { panic!("it failed: {end:?}") };
    assert!(["zero \0 byte", "zero \u{fffd} byte"].contains(&why.as_str()), "{why:?}");
}

pub(super) async fn a_large_batch_of_ends_is_answered_in_order(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    let seconds = 200..290;
    let claims: Vec<_> = seconds.clone().map(|second| one.as_claim(term, second)).collect();
    all(one.ledger().claim(&claims).await);
    let unknown = |second| Finish { job: job_name("unknown"), ..one.as_end(term, second, RunOutcome::Cancelled) };
    let ends: Vec<Finish> =
        seconds.flat_map(|second| [one.as_end(term, second, RunOutcome::Succeeded), unknown(second)]).collect();
    let heard = all(one.ledger().finish(&ends).await);
    assert!(heard.chunks(2).all(|pair| pair == [true, false]) && heard.len() == ends.len(), "{heard:?}");
    assert!(one.reads_one().await.runs.iter().all(|run| run.end.is_some()));
}
