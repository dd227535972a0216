//! A tick is granted once, and never before its time.

use std::time::Duration;

use tenure_store::ledger::{Act, Claim, Claimed, MAX_EARLY, Tick};

use super::bookkeeping::{BEGINNING, JOB, decided, job, job_name, leader, tick, ticks};
use super::player::{Player, all, pass};
use super::{Fixture, trial};

pub(super) async fn a_tick_beyond_the_mark_is_granted_and_moves_it(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.runs(term, BEGINNING + 1).await;
    one.runs(term, 200).await;
    let report = one.reads_one().await;
    assert_eq!((report.mark, report.fired, report.missed), (tick(200), 2, 0));
    assert_eq!(ticks(&report), [200, BEGINNING + 1]);
}

pub(super) async fn a_tick_up_to_the_mark_is_refused(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    for (mark, next) in [(BEGINNING, 200), (200, 300)] {
        for second in [mark, mark - 1, 1, 0] {
            for act in [Act::Run, Act::RunAgain, Act::Pass] {
                assert_eq!(one.claims_to(act, term, second).await, decided(mark), "{act:?} {second}");
            }
        }
        one.runs(term, next).await;
        one.ends(term, next).await;
    }
    let report = one.reads_one().await;
    assert_eq!((report.mark, report.fired, report.missed, ticks(&report)), (tick(300), 2, 0, vec![300, 200]));
}

pub(super) async fn a_claim_whose_reply_was_lost_is_granted_again(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.runs(term, 200).await;
    let before = one.reads_one().await;
    for act in [Act::Run, Act::RunAgain] {
        assert_eq!(one.claims_to(act, term, 200).await, Claimed::Granted);
    }
    assert_eq!(one.reads_one().await, before, "it is the same run");
    one.runs(term, 300).await;
    one.runs(term, 200).await;
    let report = one.reads_one().await;
    assert_eq!((report.mark, report.fired, ticks(&report)), (tick(300), 2, vec![300, 200]), "even after later ticks");
}

pub(super) async fn a_claim_that_was_given_up_is_repeated(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    for second in 200..205 {
        // Polled once, then dropped: it may have been granted, or not.
        let _ = futures_util::FutureExt::now_or_never(one.claims_to(Act::Run, term, second));
        one.runs(term, second).await;
    }
    let report = one.reads_one().await;
    assert_eq!((report.fired, ticks(&report)), (5, vec![204, 203, 202, 201, 200]));
}

pub(super) async fn a_run_that_ended_is_not_granted_again(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.runs(term, 200).await;
    one.ends(term, 200).await;
    for act in [Act::Run, Act::RunAgain, Act::Pass] {
        assert_eq!(one.claims_to(act, term, 200).await, decided(200), "{act:?}");
    }
    assert_eq!(one.reads_one().await.fired, 1);
}

pub(super) async fn a_tick_that_was_passed_over_is_not_run(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.passes(term, 200, 2).await;
    for (act, second) in [(Act::Run, 200), (Act::RunAgain, 200), (Act::Run, 150)] {
        assert_eq!(one.claims_to(act, term, second).await, decided(200));
    }
    let report = one.reads_one().await;
    assert_eq!((report.mark, report.fired, report.missed, ticks(&report)), (tick(200), 0, 2, vec![]));
}

pub(super) async fn ticks_that_were_missed_are_counted_once(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    let run = Claim { missed: 4, ..one.as_claim(term, 200) };
    for _ in 0..2 {
        assert_eq!(one.claims(run.clone()).await, Claimed::Granted);
        assert_eq!(one.reads_one().await.missed, 4);
    }
    for _ in 0..2 {
        one.passes(term, 300, 3).await;
        assert_eq!(one.reads_one().await.missed, 7);
    }
    let refused = Claim { missed: 5, ..one.as_claim(term, 250) };
    assert_eq!(one.claims(refused).await, decided(300));
    assert_eq!(one.reads_one().await.missed, 7);
    one.passes(term, 400, u64::MAX).await;
    one.passes(term, 500, u64::MAX).await;
    assert!(one.reads_one().await.missed >= 1 << 53, "it stops where it cannot be counted any more");
}

pub(super) async fn ticks_that_were_skipped_are_counted_apart(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.passes(term, 200, 2).await;
    let skip = Claim { act: Act::Skip, missed: 3, ..one.as_claim(term, 300) };
    let claimed = one.claims(skip.clone()).await;
    assert!(claimed == Claimed::Granted || claimed == decided(300), "{claimed:?}");
    assert_eq!(one.claims(skip).await, decided(300));
    let report = one.reads_one().await;
    assert_eq!((report.mark, report.fired, report.missed, report.skipped), (tick(300), 0, 2, 3));
    assert_eq!(one.claims_to(Act::Run, term, 300).await, decided(300));
    one.runs(term, 400).await;
    assert_eq!(one.reads_one().await.skipped, 3);
    one.forgets(JOB).await;
    one.opens(term, BEGINNING).await;
    assert_eq!(one.reads_one().await.skipped, 0, "nothing of it is kept");
}

pub(super) async fn a_job_that_was_not_opened_is_not_claimed(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    for (act, second) in [(Act::Run, 200), (Act::RunAgain, 200), (Act::Pass, 200), (Act::Run, 0)] {
        let claim = Claim { job: job_name("unknown"), act, ..one.as_claim(term, second) };
        assert_eq!(one.claims(claim).await, Claimed::Unopened);
    }
    assert_eq!(one.reads().await.len(), 1, "a claim opens nothing");
}

pub(super) async fn a_tick_that_is_too_early_waits_for_its_time(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    // By at least two seconds, since it is a whole one.
    trial::begins(Duration::from_secs(2) - MAX_EARLY);
    let ahead = Tick::at_or_before_ms(one.sees_unix_ms(term).await + 3_000);
    let mut by = None;
    for act in [Act::Run, Act::RunAgain, Act::Pass] {
        match one.claims(Claim { tick: ahead, act, missed: 1, ..one.as_claim(term, 0) }).await {
            Claimed::Early { by: told } => by = Some(told),
            claimed => panic!("{act:?} should be too early: {claimed:?}"),
        }
    }
    let by = by.expect("it was told");
    assert!(by > MAX_EARLY && by <= MAX_EARLY * 3, "{by:?}");
    let report = one.reads_one().await;
    assert_eq!((report.mark, report.fired, report.missed), (tick(BEGINNING), 0, 0), "nothing was changed");
    pass(fixture, by).await;
    assert_eq!(one.claims(Claim { tick: ahead, ..one.as_claim(term, 0) }).await, Claimed::Granted);
}

pub(super) async fn a_tick_may_be_a_little_early(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    let soon = Tick::at_or_before_ms(one.sees_unix_ms(term).await + 1_000);
    assert_eq!(one.claims(Claim { tick: soon, ..one.as_claim(term, 0) }).await, Claimed::Granted);
}

pub(super) async fn a_run_tells_who_began_it_and_when(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    let before = one.sees_unix_ms(term).await;
    one.runs(term, 200).await;
    let after = one.sees_unix_ms(term).await;
    let run = one.reads_one().await.runs.remove(0);
    assert_eq!((run.tick, run.term, &run.candidate, &run.end), (tick(200), term, &one.candidate, &None));
    assert!((before..=after).contains(&run.began_at_unix_ms), "{before} {run:?} {after}");
}

pub(super) async fn a_batch_of_claims_is_decided_in_its_order(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    one.opens_all(term, vec![job("other", "x", 10)]).await;
    let other = |second| Claim { job: job_name("other"), ..one.as_claim(term, second) };
    let unknown = Claim { job: job_name("unknown"), ..one.as_claim(term, 500) };
    let batch = [200, 150, 300, 200, 250].map(|second| one.as_claim(term, second)).into_iter();
    let batch: Vec<Claim> = batch.chain([unknown, other(200), other(199), other(201)]).collect();
    let answers = all(one.ledger().claim(&batch).await);
    let is_granted: Vec<bool> = answers.iter().map(|claimed| *claimed == Claimed::Granted).collect();
    assert_eq!(is_granted, [true, false, true, true, false, false, true, false, true], "{answers:?}");
    assert_eq!((answers[4], answers[5]), (decided(300), Claimed::Unopened));
    assert_eq!(ticks(&one.reads_one().await), [300, 200]);
}

pub(super) async fn a_large_batch_of_claims_keeps_its_order(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    let elsewhere = one.in_election(super::player::key("weekly-report"));
    let other_term = elsewhere.wins().await;
    elsewhere.opens(other_term, BEGINNING).await;
    let batch: Vec<Claim> =
        (200..290).flat_map(|second| [one.as_claim(term, second), elsewhere.as_claim(other_term, second)]).collect();
    assert!(all(one.ledger().claim(&batch).await).iter().all(|claimed| *claimed == Claimed::Granted));
    for player in [&one, &elsewhere] {
        let report = player.reads_one().await;
        assert_eq!((report.mark, report.fired), (tick(289), 90));
    }
}

pub(super) async fn claims_of_a_batch_do_not_depend_on_each_other(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    let elsewhere = one.in_election(super::player::key("weekly-report"));
    let stranger = Player::new(fixture, "stranger").await;
    let batch = [
        stranger.as_claim(term, 200),
        one.as_claim(term, 200),
        elsewhere.as_claim(term, 200),
        stranger.as_claim(term, 300),
        one.as_claim(term, 300),
    ];
    let (granted, refused) = (Claimed::Granted, Claimed::NotHolder);
    assert_eq!(all(one.ledger().claim(&batch).await), [refused, granted, refused, refused, granted]);
    assert!(one.reads_one().await.runs.iter().all(|run| run.candidate == one.candidate));
}

pub(super) async fn an_empty_batch_of_claims_has_no_answers(fixture: &dyn Fixture) {
    let (one, _) = leader(fixture).await;
    assert!(one.ledger().claim(&[]).await.is_empty());
    assert!(one.ledger().finish(&[]).await.is_empty());
    assert_eq!(one.reads_one().await.job.as_str(), JOB);
}
