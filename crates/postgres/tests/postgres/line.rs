//! Those who stand by: who of them is woken, and what they cost, however many they are.

use std::sync::Arc;
use std::time::Duration;

use futures_util::stream::BoxStream;
use tenure::Store;
use tenure::store::{Campaign, Hint, Interest, RESERVATION};
use tenure_testkit::postgres::SqlSession;

use crate::support::{OwnDatabase, StoreCandidate, held, key, next, until};

/// Rows of those who stand by that a statement of this transaction has read.
const READ: &str =
    "SELECT coalesce(sum(seq_tup_read + idx_tup_fetch), 0) FROM pg_stat_xact_user_tables WHERE relname = 'stand_by'";

/// How many rows of those who stand by this statement reads. Nothing of it stays.
fn rows_read(session: &mut SqlSession, sql: &str) -> u64 {
    let number = |session: &mut SqlSession| session.run(READ).unwrap()[0][0].as_ref().unwrap().parse::<u64>().unwrap();
    session.run("BEGIN").unwrap();
    let before = number(session);
    session.run(sql).unwrap();
    let read = number(session) - before;
    session.run("ROLLBACK").unwrap();
    read
}

#[tokio::test]
async fn no_step_of_a_hand_over_looks_through_the_whole_line() {
    let place = OwnDatabase::new().await;
    let leader = StoreCandidate::new(&place.store(), "e", "leader");
    let term = leader.granted().await.get();
    let mut session = SqlSession::open(&place.database.url()).unwrap();
    session
        .run(
            "INSERT INTO tenure.stand_by
             SELECT (SELECT id FROM tenure.election), gen_random_uuid(), 'follower' || n, 10, now(),
                 now() + interval '1 hour', 'channel' || n, pg_backend_pid()
             FROM generate_series(1, 2000) AS n;
             ANALYZE tenure.stand_by",
        )
        .unwrap();
    let ids = "(SELECT array_agg(id) FROM tenure.election)";
    let nonces = "(SELECT array_agg(nonce) FROM tenure.election)";
    let campaign = format!(
        "SELECT tenure.campaign({ids}, '{{default}}', '{{e}}', '{{new}}', ARRAY[gen_random_uuid()], '{{9000000}}', '{{10}}', \
         ARRAY['{{}}'], '{{9000000}}', '', 0)"
    );
    let renewal = format!("SELECT tenure.renew({ids}, {nonces}, '{{{term}}}', '{{9000000}}', '')");
    let leaving = format!(
        "SELECT tenure.resign({ids}, (SELECT array_agg(nonce) FROM (SELECT nonce FROM tenure.stand_by LIMIT 1) AS s), '{{NULL}}', '{{NULL}}', '{{stopped}}')"
    );
    let resignation = |successor: &str| {
        format!(
            "SELECT tenure.resign({ids}, {nonces}, '{{{term}}}', '{{{successor}}}', '{{resigned}}'); \
             SELECT tenure.announce({ids}, 'changes')"
        )
    };
    for (what, sql) in [
        ("a campaign", campaign),
        ("a renewal", renewal),
        ("a leaving stand-by", leaving),
        ("a resignation", resignation("NULL")),
        ("a resignation with a named successor", resignation("follower1999")),
    ] {
        let read = rows_read(&mut session, &sql);
        println!("{what} reads {read} of 2000");
        assert!(read <= 200, "{what} reads {read} of 2000");
    }
}

#[tokio::test]
async fn a_leader_clears_away_those_who_are_gone_a_few_at_a_time() {
    let place = OwnDatabase::new().await;
    let leader = StoreCandidate::new(&place.store(), "e", "leader");
    let term = leader.granted().await;
    let store = place.store();
    let crowd: Vec<StoreCandidate> = (0..100).map(|n| StoreCandidate::new(&store, "e", &format!("gone{n}"))).collect();
    let moment = Duration::from_millis(1);
    let requests: Vec<_> =
        crowd.iter().map(|candidate| Campaign { stand_by_for: moment, ..candidate.request() }).collect();
    store.campaign(&requests).await.into_iter().for_each(|reply| drop(held(reply)));
    until("their end", async || leader.observe().await.standing_by.is_empty().then_some(())).await;
    let left = || place.value("SELECT count(*) FROM tenure.stand_by").unwrap().parse::<u64>().unwrap();
    let mut before = left();
    assert!(before >= 60, "{before} of a hundred are there");
    while before > 0 {
        leader.keeps(term).await;
        let after = left();
        assert!(after < before && before - after <= 32, "{before} and then {after}");
        before = after;
    }
}

/// A handle that can be woken when somebody of it stands by.
async fn awake(place: &OwnDatabase) -> (Arc<dyn Store>, BoxStream<'static, Hint>) {
    let store = place.store();
    let mut changes = store.watch(Interest::All);
    let hints = store.watch(Interest::Own);
    assert_eq!(next(&mut changes).await, Hint::anywhere());
    (store, hints)
}

/// Stands by so that the server can wake it.
async fn stands_by(place: &OwnDatabase, candidate: &StoreCandidate) {
    until("a stand-by that can be woken", async || {
        candidate.held().await;
        let sql = format!("SELECT channel FROM tenure.stand_by WHERE candidate = '{}'", candidate.id);
        place.value(&sql).filter(|channel| !channel.is_empty())
    })
    .await;
}

#[tokio::test]
async fn the_first_sixteen_in_line_are_woken_one_after_the_other() {
    const WOKEN: usize = 16;
    let place = OwnDatabase::new().await;
    let leader = StoreCandidate::new(&place.store(), "e", "leader");
    leader.granted().await;
    let mut followers = Vec::new();
    for number in 0..WOKEN + 1 {
        let (store, hints) = awake(&place).await;
        let follower = StoreCandidate::new(&store, "e", &format!("follower{number}"));
        stands_by(&place, &follower).await;
        followers.push((follower, hints));
    }
    for (_, hints) in &mut followers {
        while futures_util::FutureExt::now_or_never(futures_util::StreamExt::next(hints)).is_some() {}
    }
    leader.resign().await.unwrap();
    assert_eq!(next(&mut followers[0].1).await, Hint::at(key("e")));
    for (others, (_, hints)) in (0..).zip(&mut followers[1..WOKEN]) {
        let after = RESERVATION + Duration::from_millis(others * 125 / 2);
        assert_eq!(next(hints).await, Hint { key: Some(key("e")), after });
    }
    // The first one leaves, and passes on what was kept for it: now the last one is among the first sixteen.
    followers[0].0.resign().await.unwrap();
    assert_eq!(next(&mut followers[1].1).await, Hint::at(key("e")));
    assert_eq!(leader.observe().await.reserved_for, Some(followers[1].0.id.clone()));
    let after = RESERVATION + Duration::from_millis(14 * 125 / 2);
    assert_eq!(next(&mut followers[WOKEN].1).await, Hint { key: Some(key("e")), after });
    followers[1].0.granted().await;
}
