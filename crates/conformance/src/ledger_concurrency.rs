//! Concurrent claims of the same tick.

use futures_util::future::{join, join_all};
use tenure_store::ledger::{Act, Claim, Claimed, Finish, OpenJob, RunOutcome};

use super::Fixture;
use super::bookkeeping::{BEGINNING, JOB, SCHEDULE, job, leader, tick, ticks};
use super::player::{Player, all, fresh_nonce};

const CROWD: usize = 8;

pub(super) async fn concurrent_claims_of_one_tick_make_one_run(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    let crowd = join_all((0..CROWD).map(async |_| Player::new(fixture, "one").await)).await;
    // Half of them are the leader on other handles; its claim is the same whichever way it takes.
    let as_member = |(index, player): (usize, &Player)| {
        let nonce = if index % 2 == 0 { one.nonce } else { fresh_nonce() };
        Player { nonce, ..player.clone() }
    };
    let crowd: Vec<Player> = crowd.iter().enumerate().map(as_member).collect();
    for second in 200..205 {
        let answers = join_all(crowd.iter().map(|player| player.claims_to(Act::Run, term, second))).await;
        for (player, claimed) in crowd.iter().zip(answers) {
            let expected = if player.nonce == one.nonce { Claimed::Granted } else { Claimed::NotHolder };
            assert_eq!(claimed, expected);
        }
    }
    let report = one.reads_one().await;
    assert_eq!((report.fired, ticks(&report)), (5, vec![204, 203, 202, 201, 200]));
}

pub(super) async fn a_tick_is_granted_once_while_leadership_changes(fixture: &dyn Fixture) {
    const ROUNDS: u64 = 12;
    let (mut one, mut term) = leader(fixture).await;
    let mut other = Player::new(fixture, "other").await;
    let operator = Player::new(fixture, "operator").await;
    for second in 200..200 + ROUNDS {
        // The resignation takes another way than the claim, so either may come first.
        let elsewhere = Player { store: operator.store.clone(), ..one.clone() };
        let succession = async {
            elsewhere.resigns(term).await;
            let next = other.wins().await;
            other.opens(next, 999).await;
            (next, other.claims_to(Act::Run, next, second).await)
        };
        let (claimed, (next, claimed_next)) = join(one.claims_to(Act::Run, term, second), succession).await;
        let is_granted_once = match (claimed, claimed_next) {
            (Claimed::Granted, Claimed::Decided { mark }) => mark == tick(second),
            (Claimed::NotHolder, Claimed::Granted) => true,
            _ => false,
        };
        assert!(is_granted_once, "second {second}: {claimed:?}, and then {claimed_next:?}");
        (one, other, term) = (other, one, next);
    }
    let report = operator.reads_one().await;
    assert_eq!((report.fired, report.mark), (ROUNDS, tick(199 + ROUNDS)));
}

pub(super) async fn concurrent_batches_raise_nothing(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let term = one.wins().await;
    let handles = join_all((0..CROWD).map(async |_| Player::new(fixture, "one").await)).await;
    let names = ["a", "b", "c", JOB];
    let leads_too = async |(index, handle): (usize, &Player)| {
        let player = Player { nonce: one.nonce, ..handle.clone() };
        // Each in another order.
        let mut jobs: Vec<OpenJob> = names.iter().map(|name| job(name, SCHEDULE, BEGINNING)).collect();
        jobs.rotate_left(index % names.len());
        assert_eq!(player.opens_all(term, jobs.clone()).await.len(), names.len());
        let seconds = 200..210;
        let claims: Vec<Claim> = seconds
            .clone()
            .flat_map(|second| jobs.iter().map(move |open| (open.job.clone(), second)))
            .map(|(job, second)| Claim { job, ..player.as_claim(term, second) })
            .collect();
        let claimed = all(player.ledger().claim(&claims).await);
        assert!(claimed.iter().all(|claimed| *claimed == Claimed::Granted), "{claimed:?}");
    };
    join_all(handles.iter().enumerate().map(leads_too)).await;
    let told = one.reads().await;
    assert_eq!(told.len(), names.len());
    assert!(told.iter().all(|report| report.fired == 10 && report.runs.len() == 10), "{told:?}");
    let ends = async |handle: &Player| {
        let player = Player { nonce: one.nonce, ..handle.clone() };
        let ends: Vec<Finish> = (200..210).map(|second| player.as_end(term, second, RunOutcome::Succeeded)).collect();
        assert!(all(player.ledger().finish(&ends).await).iter().all(|is_heard| *is_heard));
    };
    join_all(handles.iter().map(ends)).await;
}
