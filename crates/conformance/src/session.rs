//! Leases that end with the handle they were granted through.

use std::time::Duration;

use tenure_core::{CampaignReply, Term};

use super::Fixture;
use super::player::{Player, key};

pub(super) async fn a_handle_that_is_gone_frees_its_leases(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let elsewhere = one.in_election(key("weekly-report"));
    let (here, there) = (one.wins().await, elsewhere.wins().await);
    other.is_kept_out().await;
    drop((one, elsewhere));
    assert!(succeeds(&other).await > here);
    assert!(succeeds(&other.in_election(key("weekly-report"))).await > there);
}

pub(super) async fn a_handle_that_is_gone_takes_nothing_from_others(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let other = other.in_election(key("weekly-report"));
    let term = other.wins().await;
    one.wins().await;
    let third = Player::new(fixture, "third").await;
    drop(one);
    succeeds(&third).await;
    other.keeps(term).await;
}

pub(super) async fn terms_grow_when_handles_come_and_go(fixture: &dyn Fixture) {
    let mut last: Option<Term> = None;
    for _ in 0..10 {
        let term = Some(succeeds(&Player::new(fixture, "next").await).await);
        assert!(term > last, "{term:?} must be above {last:?}");
        last = term;
    }
}

/// Campaigns until it is granted the lease, which a handle that is gone does not hold for long.
async fn succeeds(player: &Player) -> Term {
    loop {
        match player.campaigns().await {
            CampaignReply::Granted { term } => return term,
            // Waits because nothing tells when a server has noticed.
            CampaignReply::Held(_) => tokio::time::sleep(Duration::from_millis(5)).await,
        }
    }
}
