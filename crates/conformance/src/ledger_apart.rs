//! A ledger touches nothing but the jobs of its own election.

use tenure_store::ledger::{Opened, RunOutcome};

use super::Fixture;
use super::bookkeeping::{BEGINNING, JOB, SCHEDULE, job, leader, tick, ticks};
use super::player::{Player, key, key_in};

pub(super) async fn elections_and_namespaces_do_not_share_jobs(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let keys = [key("a"), key("b"), key_in("other", "a"), key("a:b"), key_in("a", "b")];
    let players: Vec<Player> = keys.iter().map(|key| one.in_election(key.clone())).collect();
    let mut terms = Vec::new();
    for player in &players {
        let term = player.wins().await;
        player.opens(term, BEGINNING).await;
        terms.push(term);
    }
    for (second, (player, term)) in (200..).zip(players.iter().zip(&terms)) {
        player.runs(*term, second).await;
    }
    for (second, player) in (200..).zip(&players) {
        let report = player.reads_one().await;
        assert_eq!((report.mark, report.fired, ticks(&report)), (tick(second), 1, vec![second]), "{:?}", player.key);
    }
    players[0].forgets(JOB).await;
    for player in &players[1..] {
        assert_eq!(player.reads().await.len(), 1, "{:?}", player.key);
    }
}

pub(super) async fn a_ledger_disturbs_no_election(fixture: &dyn Fixture) {
    let leader = Player::new(fixture, "leader").await;
    let waiting = Player::new(fixture, "waiting").await;
    let term = leader.wins().await;
    waiting.is_kept_out().await;
    let elections = async || leader.store.elections(&leader.key.namespace).await.expect("a list");
    let (before, told, listed) =
        (leader.observes().await, leader.store.history(&leader.key, 10).await.expect("a history"), elections().await);
    leader.opens(term, BEGINNING).await;
    leader.runs(term, 200).await;
    leader.passes(term, 300, 1).await;
    leader.ends(term, 200).await;
    leader.reads().await;
    leader.forgets(JOB).await;
    let after = leader.observes().await;
    assert_eq!(after.standing_by, before.standing_by);
    assert_eq!((after.last_term, after.reserved_for), (before.last_term, before.reserved_for));
    let (before, after) = (before.lease.expect("a lease"), after.lease.expect("a lease"));
    assert_eq!((&after.leader, after.ttl), (&before.leader, before.ttl));
    assert!(after.remaining <= before.remaining, "jobs renew no lease");
    assert_eq!(leader.store.history(&leader.key, 10).await.expect("a history"), told);
    assert_eq!(elections().await, listed);
    leader.keeps(term).await;
}

pub(super) async fn jobs_and_messages_do_not_meet(fixture: &dyn Fixture) {
    let (one, term) = leader(fixture).await;
    if one.store.mailbox().is_none() {
        return;
    }
    let sent = one.sends("1").await;
    one.runs(term, 200).await;
    one.ends(term, 200).await;
    let received = one.receives(term).await;
    assert_eq!((received.len(), received[0].id), (1, sent));
    let before = one.reads().await;
    one.acks(term, vec![(sent, tenure_store::mailbox::AckOutcome::Done)]).await;
    assert_eq!(one.reads().await, before);
    let unread = one.sends("2").await;
    one.forgets(JOB).await;
    assert_eq!(one.receives(term).await[0].id, unread);
}

pub(super) async fn a_ledger_alone_makes_no_election(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let term = tenure_core::Term::after(None).expect("a term");
    let opening = one.as_opening(term, vec![job(JOB, SCHEDULE, 1)]);
    assert_eq!(one.tries_to_open(&opening).await, Opened::NotHolder);
    assert!(!one.tells(one.as_end(term, 200, RunOutcome::Succeeded)).await);
    assert_eq!(one.reads().await, []);
    one.forgets(JOB).await;
    assert_eq!(one.store.elections(&one.key.namespace).await.expect("a list"), []);
    let seen = one.observes().await;
    assert!(seen.lease.is_none() && seen.last_term.is_none(), "{seen:?}");
}
