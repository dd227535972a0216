//! The history of transitions.

use tenure_core::{LossReason, Term};
use tenure_store::{Change, Resign, Transition};

use super::Fixture;
use super::player::{Player, key, only, pass};

pub(super) async fn history_tells_the_newest_first(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let first = one.wins().await;
    one.resigns(first).await;
    let second = other.wins().await;
    let told: Vec<_> = past(&one, 10).await.into_iter().map(|line| (line.change, line.term, line.candidate)).collect();
    let expected = [
        (Change::Elected, second, other.candidate.clone()),
        (Change::Lost, first, one.candidate.clone()),
        (Change::Elected, first, one.candidate.clone()),
    ];
    assert_eq!(told, expected);
}

pub(super) async fn history_tells_why_leadership_began_and_ended(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    for reason in [LossReason::Resigned, LossReason::Requested, LossReason::Unhealthy, LossReason::Stopped] {
        let candidacy = one.again();
        let term = candidacy.wins().await;
        assert_eq!(latest(&one).await, (Change::Elected, term, "granted".to_owned()));
        only(one.store.resign(&[Resign { reason, ..candidacy.as_resignation(Some(term)) }]).await);
        assert_eq!(latest(&one).await, (Change::Lost, term, reason.as_str().to_owned()));
    }
}

pub(super) async fn history_tells_of_an_expiry_when_the_next_leader_comes(fixture: &dyn Fixture) {
    let (one, other) = (Player::brief(fixture, "one").await, Player::new(fixture, "other").await);
    let first = one.wins().await;
    pass(fixture, one.ttl).await;
    other.wins().await;
    let lost = past(&one, 10).await.into_iter().find(|line| line.change == Change::Lost).expect("a loss");
    assert_eq!((lost.term, lost.candidate, lost.reason.as_str()), (first, one.candidate.clone(), "expired"));
}

pub(super) async fn history_stops_at_its_limit(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    for _ in 0..3 {
        let candidacy = one.again();
        let term = candidacy.wins().await;
        candidacy.resigns(term).await;
    }
    let whole = past(&one, 100).await;
    assert_eq!(whole.len(), 6);
    assert_eq!(past(&one, 2).await, whole[..2]);
    assert_eq!(past(&one, 0).await, []);
}

pub(super) async fn history_is_empty_before_the_first_leader(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    one.observes().await;
    one.withdraws().await;
    assert_eq!(past(&one, 10).await, []);
}

pub(super) async fn history_belongs_to_one_election(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    one.wins().await;
    let elsewhere = one.in_election(key("weekly-report"));
    assert_eq!(past(&elsewhere, 10).await, []);
}

pub(super) async fn what_changes_no_leadership_makes_no_history(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let term = one.wins().await;
    one.keeps(term).await;
    one.wins().await;
    other.is_kept_out().await;
    other.has_lost(term).await;
    other.resigns(term).await;
    assert_eq!(past(&one, 10).await.len(), 1, "only the grant");
}

async fn past(player: &Player, limit: usize) -> Vec<Transition> {
    player.store.history(&player.key, limit).await.expect("a history")
}

async fn latest(player: &Player) -> (Change, Term, String) {
    let line = past(player, 1).await.pop().expect("at least one line");
    (line.change, line.term, line.reason)
}
