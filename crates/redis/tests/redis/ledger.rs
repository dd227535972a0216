//! Jobs on servers that restart, run out of memory, and are looked into.

use tenure::store::StoreErrorKind;
use tenure::store::ledger::{Claimed, Opened, OpenedJob, RunOutcome, Tick};
use tenure_core::WriteOutcome;
use tenure_testkit::redis::{RedisOptions, RedisServer};

use crate::support::{StoreCandidate, assert_told, job, open, until};

#[tokio::test]
async fn marks_survive_the_death_of_a_persistent_server() {
    let server = RedisServer::start_with(RedisOptions::default().persistent());
    let leader = StoreCandidate::new(&open(&server.url()), "e", "leader");
    let term = leader.granted().await;
    leader.open_job(term).await.unwrap();
    assert_eq!(leader.claim(term, 200).await.unwrap(), Claimed::Granted);
    let before = leader.jobs().await;

    server.restart();
    let decided = until("an answer", async || leader.claim(term, 150).await.ok()).await;
    assert_eq!(decided, Claimed::Decided { mark: Tick::from_unix_s(200) });
    assert_eq!(leader.jobs().await, before);
}

/// From before ticks could be given back.
#[tokio::test]
async fn what_an_older_version_has_written_down_is_read() {
    let server = RedisServer::start();
    let leader = StoreCandidate::new(&open(&server.url()), "e", "leader");
    let term = leader.granted().await;
    let [jobs, runs] = ["{tenure:default:e}:jobs", "{tenure:default:e}:runs"];
    server.command(&["HSET", jobs, "backup", "300 3 1 150*,200*,300 daily"]);
    let earlier = format!("{:032x} 1 150500 somebody", 7);
    let mine = format!("{:032x} {term} 200500 leader", leader.nonce.to_bits());
    server.command(&["HSET", runs, "backup:150:began", &earlier, "backup:200:began", &mine]);
    server.command(&["HSET", runs, "backup:300:began", &earlier, "backup:300:ended", "300900 400 cancelled "]);

    let [mark, second, first] = [300, 200, 150].map(Tick::from_unix_s);
    let opened = |unbegun| {
        Opened::Jobs(vec![OpenedJob { mark, interrupted: vec![first], unbegun, is_paused: false, requested: None }])
    };
    assert_eq!(leader.open_job(term).await.unwrap(), opened(Vec::new()));
    assert_eq!(leader.claim(term, 200).await.unwrap(), Claimed::Granted, "its reply was lost");
    assert!(leader.give_back(term, 200).await.unwrap());
    server.command(&["HSET", runs, "backup:120:began", &mine]);
    assert!(!leader.give_back(term, 120).await.unwrap(), "the job has no such run");
    leader.resign().await.unwrap();
    let next = leader.granted().await;
    assert_eq!(leader.open_job(next).await.unwrap(), opened(vec![second]));
    let report = leader.jobs().await.remove(0);
    let outcomes: Vec<_> = report.runs.iter().map(|run| run.end.clone().map(|end| end.outcome)).collect();
    assert_eq!(outcomes, [Some(RunOutcome::Cancelled), Some(RunOutcome::NotBegun), None]);
    assert_eq!((&*report.schedule, report.fired, report.missed), ("daily", 2, 2));
    for second in [150, 200] {
        assert_eq!(leader.claim_again(next, second).await.unwrap(), Claimed::Granted);
    }
    assert_eq!(leader.jobs().await[0].fired, 4);
}

#[tokio::test]
async fn a_server_without_memory_decides_nothing() {
    let server = RedisServer::start();
    let leader = StoreCandidate::new(&open(&server.url()), "e", "leader");
    let term = leader.granted().await;
    leader.open_job(term).await.unwrap();
    assert_eq!(leader.claim(term, 200).await.unwrap(), Claimed::Granted);
    let before = leader.jobs().await;

    server.command(&["CONFIG", "SET", "maxmemory", "1"]);
    for error in [leader.claim(term, 300).await.unwrap_err(), leader.give_back(term, 200).await.unwrap_err()] {
        assert_told(&error, StoreErrorKind::Full, WriteOutcome::Refused, &["OOM", "raise maxmemory"]);
    }
    assert_eq!(leader.claim(term, 200).await.unwrap(), Claimed::Granted, "what was granted is found again");
    assert_eq!(leader.jobs().await, before, "what was refused changed nothing");
    server.command(&["CONFIG", "SET", "maxmemory", "0"]);
    assert_eq!(leader.claim(term, 300).await.unwrap(), Claimed::Granted);
}

#[tokio::test]
async fn jobs_do_not_expire_and_leave_nothing_behind() {
    let server = RedisServer::start();
    let leader = StoreCandidate::new(&open(&server.url()), "e", "leader");
    let term = leader.granted().await;
    leader.open_job(term).await.unwrap();
    for second in [200, 300] {
        assert_eq!(leader.claim(term, second).await.unwrap(), Claimed::Granted);
        assert!(leader.give_back(term, second).await.unwrap());
    }
    leader.resign().await.unwrap();
    let next = leader.granted().await;
    assert_eq!(leader.claim_again(next, 300).await.unwrap(), Claimed::Granted);
    for key in ["{tenure:default:e}:jobs", "{tenure:default:e}:runs"] {
        assert_eq!(server.command(&["TTL", key]), redis::Value::Int(-1), "{key}");
    }
    assert!(leader.store.ledger().unwrap().forget(&leader.key, &job()).await.unwrap());
    for key in ["{tenure:default:e}:jobs", "{tenure:default:e}:runs"] {
        assert_eq!(server.command(&["EXISTS", key]), redis::Value::Int(0), "{key}");
    }
}
