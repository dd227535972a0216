//! Jobs on servers that restart, run out of memory, and are looked into.

use tenure::store::StoreErrorKind;
use tenure::store::ledger::{Claimed, Tick};
use tenure_core::Failure;
use tenure_testkit::redis::{RedisOptions, RedisServer};

use crate::support::{Stander, assert_told, job, open, until};

#[tokio::test]
async fn marks_survive_the_death_of_a_persistent_server() {
    let server = RedisServer::start_with(RedisOptions::default().persistent());
    let leader = Stander::new(&open(&server.url()), "e", "leader");
    let term = leader.granted().await;
    leader.open_job(term).await.unwrap();
    assert_eq!(leader.claim(term, 200).await.unwrap(), Claimed::Granted);
    let before = leader.jobs().await;

    server.restart();
    let decided = until("an answer", async || leader.claim(term, 150).await.ok()).await;
    assert_eq!(decided, Claimed::Decided { mark: Tick::from_unix_s(200) });
    assert_eq!(leader.jobs().await, before);
}

#[tokio::test]
async fn a_server_without_memory_decides_nothing() {
    let server = RedisServer::start();
    let leader = Stander::new(&open(&server.url()), "e", "leader");
    let term = leader.granted().await;
    leader.open_job(term).await.unwrap();
    assert_eq!(leader.claim(term, 200).await.unwrap(), Claimed::Granted);
    let before = leader.jobs().await;

    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    let error = leader.claim(term, 300).await.unwrap_err();
    assert_told(&error, StoreErrorKind::Full, Failure::Refused, &["OOM", "raise maxmemory"]);
    assert_eq!(leader.claim(term, 200).await.unwrap(), Claimed::Granted, "what was granted is found again");
    assert_eq!(leader.jobs().await, before, "what was refused changed nothing");
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(leader.claim(term, 300).await.unwrap(), Claimed::Granted);
}

#[tokio::test]
async fn jobs_do_not_expire_and_leave_nothing_behind() {
    let server = RedisServer::start();
    let leader = Stander::new(&open(&server.url()), "e", "leader");
    let term = leader.granted().await;
    leader.open_job(term).await.unwrap();
    assert_eq!(leader.claim(term, 200).await.unwrap(), Claimed::Granted);
    for key in ["{tenure:default:e}:jobs", "{tenure:default:e}:runs"] {
        assert_eq!(server.command(&["TTL", key]), redis::Value::Int(-1), "{key}");
    }
    assert!(leader.store.ledger().unwrap().forget(&leader.key, &job()).await.unwrap());
    for key in ["{tenure:default:e}:jobs", "{tenure:default:e}:runs"] {
        assert_eq!(server.command(&["EXISTS", key]), redis::Value::Int(0), "{key}");
    }
}
