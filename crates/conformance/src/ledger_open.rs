//! Jobs become known, and their marks only grow.

use tenure_store::ledger::{Act, Claimed, MAX_JOBS, OpenJob, Opened, OpenedJob};

use super::Fixture;
use super::bookkeeping::{BEGINNING, JOB, SCHEDULE, decided, job, leader, tick, ticks};
use super::names::odd_names;
use super::player::Player;

pub(super) async fn a_new_job_begins_at_the_present(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let term = one.wins().await;
    let opened = one.opens(term, BEGINNING).await;
    assert_eq!(
        opened,
        OpenedJob {
            mark: tick(BEGINNING),
            interrupted: Vec::new(),
            unbegun: Vec::new(),
            is_paused: false,
            requested: None
        }
    );
    let report = one.reads_one().await;
    assert_eq!((report.job.as_str(), &*report.schedule, report.mark), (JOB, SCHEDULE, tick(BEGINNING)));
    assert_eq!((report.fired, report.missed, report.runs), (0, 0, Vec::new()));
}

pub(super) async fn jobs_are_answered_in_the_order_of_the_request(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let term = one.wins().await;
    let marks = async |jobs: Vec<OpenJob>| {
        let opened = one.opens_all(term, jobs).await;
        opened.iter().map(|opened| opened.mark.unix_s()).collect::<Vec<u64>>()
    };
    assert_eq!(marks(vec![job("c", "x", 3), job("a", "x", 1), job("b", "x", 2)]).await, [3, 1, 2]);
    assert_eq!(marks(vec![job("b", "x", 9), job("d", "x", 4), job("c", "x", 9)]).await, [2, 4, 3]);
    assert_eq!(marks(vec![job("e", "x", 5), job("a", "x", 6), job("e", "x", 7)]).await, [5, 1, 5]);
    assert!(marks(Vec::new()).await.is_empty());
}

pub(super) async fn opening_again_changes_nothing(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.runs(term, 200).await;
    let before = one.reads().await;
    for from in [BEGINNING, 50, 200, 999] {
        assert_eq!(one.opens(term, from).await.mark, tick(200));
    }
    assert_eq!(one.reads().await, before);
}

pub(super) async fn another_schedule_moves_the_mark_to_the_present(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.runs(term, 200).await;
    one.passes(term, 250, 3).await;
    let opened = one.opens_all(term, vec![job(JOB, "other", 300)]).await.remove(0);
    assert_eq!(opened.mark, tick(300));
    assert_eq!(one.claims_to(Act::Run, term, 300).await, decided(300));
    let report = one.reads_one().await;
    assert_eq!((&*report.schedule, report.mark), ("other", tick(300)));
    assert_eq!((report.fired, report.missed, ticks(&report)), (1, 3, vec![200]), "all else is kept");
}

pub(super) async fn another_schedule_never_moves_the_mark_back(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.runs(term, 200).await;
    for (schedule, from) in [("earlier", 150), (SCHEDULE, 0), ("the same", 200)] {
        let opened = one.opens_all(term, vec![job(JOB, schedule, from)]).await.remove(0);
        assert_eq!(opened.mark, tick(200));
        assert_eq!(&*one.reads_one().await.schedule, schedule);
    }
    one.ends(term, 200).await;
    assert_eq!(one.claims_to(Act::Run, term, 200).await, decided(200));
}

pub(super) async fn a_leader_whose_clock_is_ahead_decides_nothing_to_come(fixture: &dyn Fixture) {
    const YEAR_2096: u64 = 4_000_000_000;
    let one = Player::new(fixture, "one").await;
    let term = one.wins().await;
    let new = one.opens(term, YEAR_2096).await.mark;
    assert!(new < tick(YEAR_2096), "it begins at the present of the store: {new}");
    let changed = one.opens_all(term, vec![job(JOB, "other", YEAR_2096)]).await.remove(0).mark;
    assert!(changed >= new && changed < tick(YEAR_2096), "{new}, then {changed}");
}

pub(super) async fn a_job_that_is_left_out_is_kept(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.runs(term, 200).await;
    one.opens_all(term, vec![job("other", "x", 300)]).await;
    assert_eq!(one.reads_one().await.mark, tick(200));
    one.runs(term, 201).await;
}

pub(super) async fn too_many_jobs_change_nothing(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let term = one.wins().await;
    let jobs = |schedule: &str, count: usize| -> Vec<OpenJob> {
        (0..count).map(|number| job(&format!("{number:04}"), schedule, 1)).collect()
    };
    let too_many = one.as_opening(term, jobs("x", MAX_JOBS + 1));
    assert_eq!(one.tries_to_open(&too_many).await, Opened::TooMany);
    assert_eq!(one.reads().await, [], "not even those for which there is room");
    assert_eq!(one.opens_all(term, jobs("x", MAX_JOBS)).await.len(), MAX_JOBS);
    let before = one.reads().await;
    assert_eq!(before.len(), MAX_JOBS);
    let one_more = one.as_opening(term, vec![job("0000", "y", 2), job("one more", "x", 1)]);
    assert_eq!(one.tries_to_open(&one_more).await, Opened::TooMany);
    assert_eq!(one.reads().await, before);
    assert_eq!(one.opens_all(term, jobs("x", MAX_JOBS)).await.len(), MAX_JOBS, "those that are known are not too many");
    one.forgets("0001").await;
    assert_eq!(one.opens_all(term, one_more.jobs).await.len(), 2, "there is room again");
}

pub(super) async fn odd_names_and_schedules_are_kept_byte_by_byte_and_apart(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let term = one.wins().await;
    let (mut names, count) = (odd_names(), odd_names().len());
    let schedules: Vec<String> =
        names.iter().cloned().chain([String::new(), "two\r\n\tlines".to_owned()]).cycle().skip(5).take(count).collect();
    let jobs: Vec<OpenJob> =
        (1..).zip(names.iter().zip(&schedules)).map(|(from, (name, text))| job(name, text, from)).collect();
    let marks: Vec<u64> = one.opens_all(term, jobs.clone()).await.iter().map(|opened| opened.mark.unix_s()).collect();
    assert!(marks.iter().copied().eq(1..=marks.len() as u64), "each is a job of its own: {marks:?}");
    for OpenJob { job, schedule, from } in &jobs {
        let claim = tenure_store::ledger::Claim { job: job.clone(), ..one.as_claim(term, from.unix_s() + 1000) };
        assert_eq!(one.claims(claim).await, Claimed::Granted, "{job:?}");
        let report = one.reads().await.into_iter().find(|report| report.job == *job).expect("it is known");
        assert_eq!((&report.schedule, ticks(&report)), (schedule, vec![from.unix_s() + 1000]));
    }
    names.sort();
    assert_eq!(one.reads().await.iter().map(|report| report.job.as_str().to_owned()).collect::<Vec<_>>(), names);
    for name in &names {
        one.forgets(name).await;
    }
    assert_eq!(one.reads().await, []);
}
