//! Only the leader opens jobs and claims ticks.

use tenure_core::Term;
use tenure_store::ledger::{Act, Claim, Claimed, OpenJobs, Opened};

use super::Fixture;
use super::bookkeeping::{BEGINNING, JOB, SCHEDULE, job, leader};
use super::player::{Player, almost_pass, fresh_nonce, pass, pass_the_rest};

pub(super) async fn opening_needs_nonce_and_term(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    let before = one.reads().await;
    let right = one.as_opening(term, vec![job(JOB, "other", 300), job("new", "x", 1)]);
    let later = Term::after(Some(term)).expect("a term");
    assert_eq!(one.tries_to_open(&OpenJobs { nonce: fresh_nonce(), ..right.clone() }).await, Opened::NotHolder);
    assert_eq!(one.tries_to_open(&OpenJobs { term: later, ..right.clone() }).await, Opened::NotHolder);
    assert_eq!(one.reads().await, before, "nothing was changed");
    assert!(matches!(one.tries_to_open(&right).await, Opened::Jobs(_)));
}

pub(super) async fn claiming_needs_nonce_and_term(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    let before = one.reads().await;
    let later = Term::after(Some(term)).expect("a term");
    for act in [Act::Run, Act::RunAgain, Act::Pass] {
        let right = Claim { act, missed: 1, ..one.as_claim(term, 200) };
        assert_eq!(one.claims(Claim { nonce: fresh_nonce(), ..right.clone() }).await, Claimed::NotHolder);
        assert_eq!(one.claims(Claim { term: later, ..right }).await, Claimed::NotHolder);
    }
    assert_eq!(one.reads().await, before, "nothing was changed");
    one.runs(term, 200).await;
}

pub(super) async fn whoever_does_not_lead_opens_and_claims_nothing(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let other = Player::new(fixture, "other").await;
    let first = Term::after(None).expect("a term");
    is_refused(&one, first, "nobody ever led").await;
    let term = one.wins().await;
    other.is_kept_out().await;
    is_refused(&other, term, "somebody else leads").await;
    one.opens(term, BEGINNING).await;
    one.resigns(term).await;
    is_refused(&one, term, "it has resigned").await;
    let next = other.wins().await;
    is_refused(&one, term, "somebody else leads now").await;
    is_refused(&one, next, "it is somebody else's term").await;
    assert_eq!(other.reads_one().await.fired, 0);
}

pub(super) async fn an_expired_holder_opens_and_claims_nothing(fixture: &dyn Fixture) {
    let one = Player::brief(fixture, "one").await;
    let term = one.wins().await;
    one.opens(term, BEGINNING).await;
    pass(fixture, one.ttl).await;
    is_refused(&one, term, "its lease ran out").await;
    assert_eq!(one.reads_one().await.fired, 0);
}

pub(super) async fn an_earlier_term_of_the_same_nonce_claims_nothing(fixture: &dyn Fixture) {
    let (one, stale) = leader(fixture).await;
    one.resigns(stale).await;
    let term = one.wins().await;
    is_refused(&one, stale, "its term is over").await;
    one.runs(term, 200).await;
    is_refused(&one, stale, "the tick is its own, and the term is not").await;
}

pub(super) async fn a_claim_of_ones_own_run_needs_the_lease_too(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.runs(term, 200).await;
    one.resigns(term).await;
    assert_eq!(one.claims_to(Act::Run, term, 200).await, Claimed::NotHolder);
}

pub(super) async fn claiming_prolongs_nothing(fixture: &dyn Fixture) {
    let one = Player::brief(fixture, "one").await;
    let term = one.wins().await;
    almost_pass(fixture, one.ttl).await;
    one.opens(term, BEGINNING).await;
    one.runs(term, 200).await;
    pass_the_rest(fixture).await;
    one.has_lost(term).await;
}

async fn is_refused(player: &Player, term: Term, why: &str) {
    let request = player.as_opening(term, vec![job(JOB, SCHEDULE, BEGINNING)]);
    assert_eq!(player.tries_to_open(&request).await, Opened::NotHolder, "{why}");
    for act in [Act::Run, Act::RunAgain, Act::Pass] {
        assert_eq!(player.claims_to(act, term, 200).await, Claimed::NotHolder, "{why}");
    }
}
