//! Concurrent requests.

use futures_util::future::join_all;
use tenure_core::{CampaignReply, RenewReply, Term};

use super::Fixture;
use super::player::{Player, key, pass};

const CROWD: usize = 16;

pub(super) async fn concurrent_campaigns_give_exactly_one_grant(fixture: &dyn Fixture) {
    let crowd = crowd(fixture).await;
    for round in 0..4 {
        let rivals: Vec<Player> = crowd.iter().map(|player| player.in_election(key(&format!("{round}")))).collect();
        let (winner, term) = sole_winner(&rivals).await;
        rivals[winner].keeps(term).await;
    }
}

pub(super) async fn concurrent_first_campaigns_raise_nothing(fixture: &dyn Fixture) {
    // Handles are opened at the same time too: the first ones may all have to create what they keep leases in.
    let opened = join_all((0..CROWD).map(|_| Player::new(fixture, "twin"))).await;
    sole_winner(&opened).await;
}

pub(super) async fn concurrent_take_overs_give_exactly_one_grant(fixture: &dyn Fixture) {
    let crowd = crowd(fixture).await;
    let brief = crowd[0].clone().with_brief_ttl();
    let first = brief.wins().await;
    pass(fixture, brief.ttl).await;
    let (winner, second) = sole_winner(&crowd).await;
    assert!(second > first);
    crowd[winner].keeps(second).await;
}

pub(super) async fn a_renewal_amid_campaigns_is_kept(fixture: &dyn Fixture) {
    let crowd = crowd(fixture).await;
    let (leader, rivals) = crowd.split_first().expect("a crowd");
    let term = leader.wins().await;
    let campaigns = join_all(rivals.iter().map(Player::campaigns));
    let (renewal, replies) = futures_util::future::join(leader.renews(term), campaigns).await;
    assert_eq!(renewal, RenewReply::Renewed { handover: None });
    assert!(replies.iter().all(|reply| matches!(reply, CampaignReply::Held(_))), "{replies:?}");
}

/// Everybody campaigns at once; exactly one may win.
async fn sole_winner(rivals: &[Player]) -> (usize, Term) {
    let replies = join_all(rivals.iter().map(Player::campaigns)).await;
    let granted = replies.iter().enumerate().filter_map(|(index, reply)| match reply {
        CampaignReply::Granted { term } => Some((index, *term)),
        CampaignReply::Held(_) => None,
    });
    let granted: Vec<(usize, Term)> = granted.collect();
    assert_eq!(granted.len(), 1, "exactly one of {} is granted the lease: {granted:?}", rivals.len());
    granted[0]
}

async fn crowd(fixture: &dyn Fixture) -> Vec<Player> {
    let mut crowd = Vec::new();
    for index in 0..CROWD {
        crowd.push(Player::new(fixture, &format!("candidate {index}")).await);
    }
    crowd
}
