//! Orders about jobs, whichever candidate leads.

use tenure_store::ledger::{Act, Claim, Claimed, JobOrder, RunOutcome};

use super::Fixture;
use super::bookkeeping::{BEGINNING, JOB, decided, job, job_name, leader, tick, ticks};
use super::player::Player;

impl Player {
    async fn steers(&self, name: &str, order: JobOrder) -> bool {
        self.ledger().steer(&self.key, &job_name(name), order).await.expect("an answer")
    }
}

pub(super) async fn a_job_that_is_paused_decides_nothing_until_it_is_resumed(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    let other = Player::new(fixture, "other").await;
    one.runs(term, 200).await;
    let before = one.sees_unix_ms(term).await;
    assert!(one.steers(JOB, JobOrder::Pause).await);
    let paused_at = one.reads_one().await.paused_at_unix_ms.expect("it is paused");
    assert!(paused_at >= before, "{before} {paused_at}");
    assert!(one.steers(JOB, JobOrder::Pause).await, "and stays so");
    assert_eq!(one.reads_one().await.paused_at_unix_ms, Some(paused_at));
    for act in [Act::Run, Act::RunAgain, Act::Pass, Act::Skip] {
        assert_eq!(one.claims(Claim { act, missed: 1, ..one.as_claim(term, 300) }).await, Claimed::Paused);
    }
    assert_eq!(one.claims_to(Act::Run, term, 200).await, Claimed::Granted, "its reply was lost");
    one.ends(term, 200).await;
    assert!(one.opens(term, BEGINNING).await.is_paused);
    one.resigns(term).await;
    let next = other.wins().await;
    assert!(other.opens(next, 999).await.is_paused, "whoever leads");
    assert_eq!(other.claims_to(Act::Run, next, 300).await, Claimed::Paused);
    let report = other.reads_one().await;
    assert_eq!((report.mark, report.missed, report.skipped, ticks(&report)), (tick(200), 0, 0, vec![200]));
    assert!(other.steers(JOB, JobOrder::Resume).await && other.steers(JOB, JobOrder::Resume).await);
    assert_eq!(other.reads_one().await.paused_at_unix_ms, None);
    assert!(!other.opens(next, 999).await.is_paused);
    other.runs(next, 300).await;
}

pub(super) async fn a_run_that_was_asked_for_is_remembered_until_one_begins(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.runs(term, 200).await;
    let before = one.sees_unix_ms(term).await / 1_000;
    assert!(one.steers(JOB, JobOrder::RunNow).await);
    let requested = one.reads_one().await.requested.expect("it was asked for");
    assert!(requested.unix_s() >= before, "{before} {requested}");
    assert!(one.steers(JOB, JobOrder::RunNow).await, "asked again, it is the same");
    assert_eq!(one.opens(term, BEGINNING).await.requested, Some(requested));
    one.runs(term, 300).await;
    assert_eq!(one.claims_to(Act::Run, term, 300).await, Claimed::Granted, "the reply was lost");
    assert_eq!(one.reads_one().await.requested, Some(requested), "that tick was before");
    one.passes(term, requested.unix_s() - 1, 0).await;
    assert_eq!(one.claims(Claim { tick: requested, ..one.as_claim(term, 0) }).await, Claimed::Granted);
    assert_eq!((one.reads_one().await.requested, one.opens(term, BEGINNING).await.requested), (None, None));
    let end = one.as_end(term, requested.unix_s(), RunOutcome::Succeeded);
    assert!(one.tells(end).await);
    assert_eq!(one.claims(Claim { tick: requested, ..one.as_claim(term, 0) }).await, decided(requested.unix_s()));
}

pub(super) async fn orders_need_a_job_and_no_lease_and_concern_no_other(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.opens_all(term, vec![job("other", "x", 1)]).await;
    for order in [JobOrder::Pause, JobOrder::Resume, JobOrder::RunNow] {
        assert!(!one.steers("unknown", order).await);
    }
    one.resigns(term).await;
    assert!(one.steers(JOB, JobOrder::Pause).await && one.steers(JOB, JobOrder::RunNow).await);
    let listed = one.reads().await;
    let orders: Vec<_> = listed.iter().map(|job| (job.paused_at_unix_ms.is_some(), job.requested.is_some())).collect();
    assert_eq!(orders, [(true, true), (false, false)]);
    one.forgets(JOB).await;
    let term = one.wins().await;
    let opened = one.opens(term, BEGINNING).await;
    assert_eq!((opened.is_paused, opened.requested), (false, None), "nothing of it is kept");
}
