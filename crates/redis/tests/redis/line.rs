//! What those who stand by cost the server, however many they are.

use std::sync::Arc;
use std::time::Duration;

use tenure::Store;
use tenure_testkit::redis::RedisServer;

use crate::support::{StoreCandidate, awake, held, open, until};

/// How many commands the server has run, those of scripts among them, without those that ask.
fn commands(server: &RedisServer) -> u64 {
    let told: String = redis::from_redis_value(server.command(&["INFO", "commandstats"])).unwrap();
    let calls = |line: &str| {
        let (name, rest) = line.strip_prefix("cmdstat_")?.split_once(":calls=")?;
        (name != "info").then(|| rest.split(',').next()?.parse::<u64>().ok())?
    };
    told.lines().filter_map(calls).sum()
}

async fn stand_by(handle: &Arc<dyn Store>, candidates: &[StoreCandidate]) {
    let requests: Vec<_> = candidates.iter().map(StoreCandidate::request).collect();
    handle.campaign(&requests).await.into_iter().for_each(|reply| drop(held(reply)));
}

/// What a hand-over to the last in line, a renewal, a campaign and a look cost with so many who stand by.
async fn cost_with(crowd: usize) -> [u64; 5] {
    let server = RedisServer::start();
    let handle = open(&server.url());
    let _hints = awake(&handle).await;
    let leader = StoreCandidate::new(&open(&server.url()), "e", "leader");
    let term = leader.granted().await;
    let crowd: Vec<StoreCandidate> =
        (0..crowd).map(|n| StoreCandidate::new(&handle, "e", &format!("follower{n}"))).collect();
    stand_by(&handle, &crowd).await;
    let last = StoreCandidate::new(&handle, "e", "last");
    last.held().await;
    let mut seen = commands(&server);
    let mut since = || {
        let before = std::mem::replace(&mut seen, commands(&server));
        seen - before
    };
    leader.keeps(term).await;
    let renewal = since();
    last.held().await;
    let campaign = since();
    assert_eq!(leader.observe().await.standing_by.len(), crowd.len() + 1);
    let look = since();
    let resignation = tenure::store::Resign { successor: Some(last.id.clone()), ..leader.resignation() };
    leader.store.resign(&[resignation]).await.remove(0).unwrap();
    let resignation = since();
    last.granted().await;
    [renewal, campaign, look, resignation, since()]
}

#[tokio::test]
async fn no_step_of_a_hand_over_costs_more_the_more_stand_by() {
    let (some, many) = (cost_with(20).await, cost_with(300).await);
    println!("renewal, campaign, look, resignation and grant: {some:?} commands behind 20, {many:?} behind 300");
    assert_eq!(some, many);
}

#[tokio::test]
async fn whoever_lost_its_place_is_cleared_away_bit_by_bit_and_not_all_at_once() {
    let server = RedisServer::start();
    let handle = open(&server.url());
    let leader = StoreCandidate::new(&handle, "e", "leader");
    leader.granted().await;
    let brief: Vec<StoreCandidate> =
        (0..200).map(|n| StoreCandidate::new(&handle, "e", &format!("brief{n}"))).collect();
    let moment = Duration::from_millis(1);
    let requests: Vec<_> =
        brief.iter().map(|candidate| tenure::store::Campaign { stand_by_for: moment, ..candidate.request() }).collect();
    handle.campaign(&requests).await.into_iter().for_each(|reply| drop(held(reply)));
    until("their end", async || leader.observe().await.standing_by.is_empty().then_some(())).await;

    let follower = StoreCandidate::new(&handle, "e", "follower");
    let size = |key: &str| -> u64 { redis::from_redis_value(server.command(&["ZCARD", key])).unwrap() };
    let mut steps = 0;
    while size("{tenure:default:e}:line") > 1 {
        let before = commands(&server);
        follower.held().await;
        let cost = commands(&server) - before;
        assert!(cost < 300, "{cost} commands in one step");
        steps += 1;
        assert!(steps < 20, "they are not cleared away");
    }
    assert!(steps > 1, "all at once");
    for key in ["fresh", "names"] {
        assert_eq!(size(&format!("{{tenure:default:e}}:{key}")), 1, "{key}");
    }
}
