//! Reports about jobs, and forgetting them.

use tenure_store::ledger::{Act, Claim, Claimed, MAX_RUNS, RunOutcome};

use super::Fixture;
use super::bookkeeping::{BEGINNING, JOB, SCHEDULE, decided, job, job_name, leader, tick, ticks};
use super::player::{Player, all, key};

pub(super) async fn jobs_are_listed_in_order_of_their_names(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let term = one.wins().await;
    let names = ["b", "a", "B", "a b", "a-b", "ab", "é", "z", "_"];
    one.opens_all(term, names.iter().map(|name| job(name, "x", 1)).collect()).await;
    let mut expected = names.to_vec();
    expected.sort_unstable();
    let listed = one.reads().await;
    assert_eq!(listed.iter().map(|report| report.job.as_str()).collect::<Vec<_>>(), expected);
}

pub(super) async fn runs_are_listed_newest_first_up_to_the_limit(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.opens_all(term, vec![job("other", "x", 1)]).await;
    for second in [200, 300, 400] {
        one.runs(term, second).await;
        assert_eq!(
            one.claims(Claim { job: job_name("other"), ..one.as_claim(term, second + 5) }).await,
            Claimed::Granted
        );
    }
    for (limit, expected) in [(0, &[][..]), (1, &[400]), (2, &[400, 300]), (9, &[400, 300, 200])] {
        let listed = one.ledger().jobs(&one.key, limit).await.expect("a list");
        assert_eq!((listed.len(), ticks(&listed[0])), (2, expected.to_vec()));
        assert_eq!(ticks(&listed[1]), expected.iter().map(|second| second + 5).collect::<Vec<_>>());
    }
    let listed = one.ledger().jobs(&one.key, usize::MAX).await.expect("a list");
    assert_eq!(ticks(&listed[0]), [400, 300, 200]);
}

pub(super) async fn only_the_latest_runs_are_kept(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    let other = Player::new(fixture, "other").await;
    let last = 200 + MAX_RUNS as u64 + 4;
    let claims: Vec<Claim> = (200..=last).map(|second| one.as_claim(term, second)).collect();
    for part in claims.chunks(60) {
        assert!(all(one.ledger().claim(part).await).iter().all(|claimed| *claimed == Claimed::Granted));
    }
    let report = one.ledger().jobs(&one.key, usize::MAX).await.expect("a list").remove(0);
    assert_eq!((report.fired, report.mark), (MAX_RUNS as u64 + 5, tick(last)));
    assert!(ticks(&report).into_iter().eq((205..=last).rev()), "{:?}", ticks(&report));
    assert!(!one.tells(one.as_end(term, 204, RunOutcome::Succeeded)).await, "it is not known any more");
    assert_eq!(one.claims_to(Act::Run, term, 204).await, decided(last));
    one.ends(term, 205).await;
    one.resigns(term).await;
    let next = other.wins().await;
    let interrupted = other.opens(next, 999).await.interrupted;
    assert!(interrupted.into_iter().eq((206..=last).map(tick)));
}

pub(super) async fn a_job_that_was_forgotten_begins_anew(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.runs(term, 200).await;
    one.forgets(JOB).await;
    assert_eq!(one.reads().await, []);
    assert_eq!(one.claims_to(Act::Run, term, 300).await, Claimed::Unopened);
    assert!(!one.tells(one.as_end(term, 200, RunOutcome::Succeeded)).await);
    let opened = one.opens(term, BEGINNING).await;
    assert_eq!((opened.mark, opened.interrupted), (tick(BEGINNING), vec![]));
    let report = one.reads_one().await;
    assert_eq!((&*report.schedule, report.fired, report.missed, report.runs), (SCHEDULE, 0, 0, vec![]));
    one.runs(term, 200).await;
}

pub(super) async fn forgetting_tells_whether_the_job_was_known(fixture: &dyn Fixture) {
    let (one, _) = leader(fixture).await;
    assert!(!one.forgets("unknown").await);
    assert!(!one.in_election(key("weekly-report")).forgets(JOB).await);
    assert!(one.forgets(JOB).await);
    assert!(!one.forgets(JOB).await);
}

pub(super) async fn forgetting_concerns_one_job(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    let names = ["backup ", "back", "backup:200", "backu"];
    one.opens_all(term, names.iter().map(|name| job(name, "x", 1)).collect()).await;
    for name in names {
        assert_eq!(one.claims(Claim { job: job_name(name), ..one.as_claim(term, 200) }).await, Claimed::Granted);
    }
    one.runs(term, 200).await;
    one.forgets(JOB).await;
    let left = one.reads().await;
    assert_eq!(left.len(), names.len());
    assert!(left.iter().all(|report| ticks(report) == [200]), "{left:?}");
}

pub(super) async fn looking_and_forgetting_need_no_lease(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.runs(term, 200).await;
    let operator = Player::new(fixture, "operator").await;
    let seen = operator.reads().await;
    assert_eq!(seen, one.reads().await);
    one.resigns(term).await;
    assert_eq!(operator.reads().await, seen, "nobody leads");
    operator.forgets(JOB).await;
    assert_eq!(operator.reads().await, []);
    assert_eq!(operator.in_election(key("weekly-report")).reads().await, [], "nobody ever led");
}

pub(super) async fn jobs_outlive_the_handles_that_opened_them(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.runs(term, 200).await;
    one.ends(term, 200).await;
    let before = one.reads().await;
    one.resigns(term).await;
    drop(one);
    let other = Player::new(fixture, "other").await;
    assert_eq!(other.reads().await, before);
    let next = other.wins().await;
    assert_eq!(other.opens(next, 999).await.mark, tick(200));
    assert_eq!(other.claims_to(Act::Run, next, 200).await, decided(200));
    other.runs(next, 201).await;
}
