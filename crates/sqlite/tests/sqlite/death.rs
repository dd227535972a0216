//! Processes that die, and processes that only seem to.

use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use tenure::Store;
use tenure::store::Interest;
use tenure::store::sqlite::SqliteStore;

use crate::support::{Other, SqliteCandidate, history, key, next, pipes, place};

#[tokio::test]
async fn who_stands_by_takes_over_from_a_killed_leader_at_once() {
    let (_directory, path) = place();
    let mut leader = Other::start("lead", &path);
    let first: u64 = leader.line().unwrap().parse().unwrap();
    let store = SqliteStore::open(&path).unwrap();
    let mut hints = store.watch(Interest::Own);
    let follower = SqliteCandidate::new(&store, "e", "follower");
    assert_eq!(follower.held().await.rank, 0);

    leader.kill();
    let killed_at = Instant::now();
    assert_eq!(next(&mut hints).await.key, Some(key("e")));
    assert!(follower.granted().await.get() > first);
    let took = killed_at.elapsed();
    assert!(took < Duration::from_millis(500), "{took:?}");
    let history = history(&store, "e").await;
    assert_eq!((history[1].candidate.as_str(), history[1].reason.as_str()), ("other", "died"));
}

#[tokio::test]
async fn a_leader_that_died_before_anybody_looked_is_missed_too() {
    let (_directory, path) = place();
    let mut leader = Other::start("lead", &path);
    leader.line().unwrap();
    leader.kill();
    let store = SqliteStore::open(&path).unwrap();
    SqliteCandidate::new(&store, "e", "late").granted().await;
    assert_eq!(history(&store, "e").await[1].reason, "died");
}

#[tokio::test]
async fn a_stopped_process_keeps_its_lease() {
    let (_directory, path) = place();
    let mut leader = Other::start("lead", &path);
    leader.line().unwrap();
    leader.signal(Signal::STOP);
    let store = SqliteStore::open(&path).unwrap();
    let held = SqliteCandidate::new(&store, "e", "follower").held().await;
    assert_eq!(held.leader.unwrap().candidate.as_str(), "other");
    leader.signal(Signal::CONT);
}

#[tokio::test]
async fn the_lease_lasts_as_long_as_anybody_holds_the_life_line() {
    let (_directory, path) = place();
    let mut leader = Other::start("lead with a guard", &path);
    let guard: i32 = leader.line().unwrap().parse().unwrap();
    leader.line().unwrap();
    let store = SqliteStore::open(&path).unwrap();
    let mut hints = store.watch(Interest::Own);
    let follower = SqliteCandidate::new(&store, "e", "follower");
    follower.held().await;

    leader.kill();
    follower.held().await;
    kill_process(Pid::from_raw(guard).unwrap(), Signal::KILL).unwrap();
    assert_eq!(next(&mut hints).await.key, Some(key("e")));
    follower.granted().await;
    assert_eq!(history(&store, "e").await[1].reason, "died");
}

#[tokio::test]
async fn closing_a_store_is_not_a_death() {
    let (_directory, path) = place();
    let (one, other) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    SqliteCandidate::new(&one, "e", "one").granted().await;
    let follower = SqliteCandidate::new(&other, "e", "other");
    let mut hints = other.watch(Interest::Own);
    follower.held().await;
    drop(one);
    // The end of its pipe is noticed, and found to mean nothing: the process may still be at work.
    next(&mut hints).await;
    follower.held().await;
}

#[tokio::test]
async fn a_dead_stand_by_is_passed_over() {
    let (_directory, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let leader = SqliteCandidate::new(&store, "e", "leader");
    leader.granted().await;
    let mut first = Other::start("stand by", &path);
    assert_eq!(first.line().unwrap(), "0");
    let second_store = SqliteStore::open(&path).unwrap();
    let second = SqliteCandidate::new(&second_store, "e", "second");
    assert_eq!(second.held().await.rank, 1);
    first.kill();
    assert_eq!(second.held().await.rank, 0);
    leader.resign().await.unwrap();
    second.granted().await;
}

#[tokio::test]
async fn pipes_of_the_dead_are_removed_when_they_prove_nothing_any_more() {
    let (_directory, path) = place();
    let mut leader = Other::start("lead", &path);
    leader.line().unwrap();
    leader.kill();
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(pipes(&path), 2, "the death of a leader must stay visible");
    SqliteCandidate::new(&store, "e", "next").granted().await;
    assert_eq!(pipes(&path), 4);
    let _other = SqliteStore::open(&path).unwrap();
    assert_eq!(pipes(&path), 2);
    let left = std::fs::read_dir(format!("{}-tenure", path.display())).unwrap().count();
    assert_eq!(left, 3, "two pipes and a note");
}

#[tokio::test]
async fn who_only_looks_leaves_no_trace() {
    let (_directory, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    store.observe(&[key("e")]).await.remove(0).unwrap();
    assert_eq!(store.elections(&key("e").namespace).await.unwrap(), []);
    assert_eq!(pipes(&path), 0);
}

#[tokio::test]
async fn a_pipe_that_was_put_in_place_of_another_proves_nothing() {
    let (_directory, path) = place();
    let (one, other) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
    SqliteCandidate::new(&one, "e", "one").granted().await;
    let pipes = std::fs::read_dir(format!("{}-tenure", path.display())).unwrap();
    let life = pipes.map(|entry| entry.unwrap().path()).find(|path| path.extension().unwrap() == "life").unwrap();
    std::fs::remove_file(&life).unwrap();
    SqliteCandidate::new(&other, "e", "other").held().await;
    let mode = rustix::fs::Mode::RUSR | rustix::fs::Mode::WUSR;
    rustix::fs::mknodat(rustix::fs::CWD, &life, rustix::fs::FileType::Fifo, mode, 0).unwrap();
    SqliteCandidate::new(&other, "e", "other").held().await;
    std::fs::remove_file(&life).unwrap();
    std::fs::write(&life, "").unwrap();
    SqliteCandidate::new(&other, "e", "other").held().await;
}

#[tokio::test]
async fn a_time_namespace_does_not_shift_leases() {
    let (_directory, path) = place();
    let elsewhere = ["unshare", "--time", "--boottime", "100000", "--fork", "--kill-child"];
    let mut leader = Other::start_under(&elsewhere, "lead", &path);
    leader.line().expect("these tests run as root: unshare --time must work");
    let store = SqliteStore::open(&path).unwrap();
    let held = SqliteCandidate::new(&store, "e", "follower").held().await;
    assert!(held.remaining <= crate::support::TTL && held.remaining > crate::support::TTL / 2, "{held:?}");
}
