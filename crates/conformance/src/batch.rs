//! Many elections in one round trip.

use tenure_core::{CampaignReply, RenewReply, Term};
use tenure_store::{Campaign, ElectionKey, Renew, Resign};

use super::Fixture;
use super::player::{LONG, Player, all, id, key};

/// As many as one process may reasonably have.
const MANY: usize = 1_000;

pub(super) async fn an_empty_batch_has_no_answers(fixture: &dyn Fixture) {
    let store = fixture.open().await;
    assert_eq!(store.campaign(&[]).await.len(), 0);
    assert_eq!(store.renew(&[]).await.len(), 0);
    assert_eq!(store.resign(&[]).await.len(), 0);
    assert_eq!(store.observe(&[]).await.len(), 0);
}

pub(super) async fn a_large_campaign_is_answered_in_order(fixture: &dyn Fixture) {
    let (one, other) = (Player::new(fixture, "one").await, Player::new(fixture, "other").await);
    let (holders, challengers) = (field_of(&one), field_of(&other));
    let every_third: Vec<Campaign> = holders.iter().step_by(3).map(Player::as_campaign).collect();
    all(one.store.campaign(&every_third).await);
    let challenges: Vec<Campaign> = challengers.iter().map(Player::as_campaign).collect();
    let replies = all(other.store.campaign(&challenges).await);
    assert_eq!(replies.len(), MANY);
    for (index, reply) in replies.into_iter().enumerate() {
        match reply {
            CampaignReply::Granted { .. } => assert_ne!(index % 3, 0, "election {index} was held"),
            CampaignReply::Held(held) => {
                assert_eq!(held.leader.expect("a leader").candidate, holders[index].candidate);
            }
        }
    }
}

pub(super) async fn a_large_renewal_is_answered_in_order(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let field = field_of(&one);
    let terms = win_all(&field).await;
    let stranger = one.again();
    let renewals: Vec<Renew> = field
        .iter()
        .zip(&terms)
        .enumerate()
        .map(|(index, (player, term))| {
            let nonce = if index % 4 == 0 { stranger.nonce } else { player.nonce };
            Renew { nonce, ..player.as_renewal(*term) }
        })
        .collect();
    let replies = all(one.store.renew(&renewals).await);
    assert_eq!(replies.len(), MANY);
    for (index, reply) in replies.into_iter().enumerate() {
        assert_eq!(matches!(reply, RenewReply::NotHolder { .. }), index % 4 == 0, "election {index}");
    }
}

pub(super) async fn a_large_resignation_releases_each_lease(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let field = field_of(&one);
    let terms = win_all(&field).await;
    let resigning = field.iter().zip(&terms).step_by(2);
    let resignations: Vec<Resign> = resigning.map(|(player, term)| player.as_resignation(Some(*term))).collect();
    assert_eq!(all(one.store.resign(&resignations).await).len(), MANY / 2);
    let keys: Vec<ElectionKey> = field.iter().map(|player| player.key.clone()).collect();
    let seen = all(one.store.observe(&keys).await);
    assert_eq!(seen.len(), MANY);
    for (index, (seen, player)) in seen.into_iter().zip(&field).enumerate() {
        assert_eq!(seen.last_term, Some(terms[index]));
        let leader = seen.lease.map(|lease| lease.leader.candidate);
        assert_eq!(leader, (index % 2 == 1).then(|| player.candidate.clone()), "election {index}");
    }
}

pub(super) async fn rivals_in_one_batch_get_one_grant(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let rivals = [one.again(), one.again(), one.again()];
    let batch: Vec<Campaign> = rivals.iter().map(Player::as_campaign).collect();
    let replies = all(one.store.campaign(&batch).await);
    let winner = replies.iter().position(|reply| matches!(reply, CampaignReply::Granted { .. }));
    let winner = winner.expect("one of them is granted the lease");
    for (index, (reply, rival)) in replies.into_iter().zip(&rivals).enumerate() {
        match reply {
            CampaignReply::Granted { term } => {
                assert_eq!(index, winner, "only one of them");
                rival.keeps(term).await;
            }
            CampaignReply::Held(held) => assert!(held.leader.is_some(), "a loser learns who won"),
        }
    }
}

pub(super) async fn the_same_request_twice_in_one_batch_is_answered_twice(fixture: &dyn Fixture) {
    let one = Player::new(fixture, "one").await;
    let grants = all(one.store.campaign(&[one.as_campaign(), one.as_campaign()]).await);
    let CampaignReply::Granted { term } = grants[0] else { panic!("{:?} should have been granted", grants[0]) };
    assert_eq!(grants[1], grants[0], "one grant, found twice");
    let renewal = one.as_renewal(term);
    let renewals = all(one.store.renew(&[renewal.clone(), renewal]).await);
    assert_eq!(renewals, [RenewReply::Renewed { handover: None }, RenewReply::Renewed { handover: None }]);
    let seen = all(one.store.observe(&[one.key.clone(), one.key.clone()]).await);
    assert_eq!(seen[0].last_term, seen[1].last_term);
    let resignation = one.as_resignation(Some(term));
    assert_eq!(all(one.store.resign(&[resignation.clone(), resignation]).await).len(), 2);
    one.has_lost(term).await;
}

/// One candidate per election, each with a label that tells where it stands.
fn field_of(player: &Player) -> Vec<Player> {
    let place = |index| Player {
        candidate: id(&format!("{} {index}", player.candidate)),
        ttl: LONG,
        ..player.in_election(key(&format!("election {index}")))
    };
    (0..MANY).map(place).collect()
}

async fn win_all(field: &[Player]) -> Vec<Term> {
    let campaigns: Vec<Campaign> = field.iter().map(Player::as_campaign).collect();
    let granted = |reply| match reply {
        CampaignReply::Granted { term } => term,
        CampaignReply::Held(held) => panic!("a free lease was not granted: {held:?}"),
    };
    all(field[0].store.campaign(&campaigns).await).into_iter().map(granted).collect()
}
