//! Files that are deleted, replaced, emptied or moved away under somebody who leads by them.

use std::fs;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tenure::store::sqlite::SqliteStore;
use tenure::store::{StoreError, StoreErrorKind};
use tenure::{Candidacy, Client, Timing};
use tenure_core::CampaignReply;

use crate::support::{Other, PATIENCE, SqliteCandidate, place};

/// What "at once" means on a machine that has other things to do as well.
const AT_ONCE: Duration = Duration::from_secs(3);

/// Less than a ttl, and even than the time between two renewals.
const SOON: Duration = Duration::from_secs(8);

type Harm = fn(&Path);

const HARMS: [(&str, Harm); 7] = [
    ("deleted", |path| fs::remove_file(path).unwrap()),
    ("deleted with its log", |path| {
        fs::remove_file(path).unwrap();
        // Whoever makes the file anew may have removed them already.
        let _ = fs::remove_file(beside(path, "-wal"));
        let _ = fs::remove_file(beside(path, "-shm"));
    }),
    ("without its log", |path| fs::remove_file(beside(path, "-wal")).unwrap()),
    ("without its index", |path| fs::remove_file(beside(path, "-shm")).unwrap()),
    ("replaced by an empty file", |path| {
        let new = beside(path, "-restored");
        fs::write(&new, "").unwrap();
        fs::rename(&new, path).unwrap();
    }),
    ("replaced by a copy", |path| {
        let new = beside(path, "-restored");
        fs::copy(path, &new).unwrap();
        fs::rename(&new, path).unwrap();
    }),
    ("emptied", |path| fs::write(path, "").unwrap()),
];

#[tokio::test]
async fn whoever_leads_by_a_lost_file_stops_before_anybody_else_leads() {
    for (harm, act) in HARMS {
        let (_directory, path) = place();
        let store = SqliteStore::open(&path).unwrap();
        let leader = SqliteCandidate::new(&store, "e", "one");
        for _ in 0..3 {
            leader.granted().await;
            leader.resign().await.unwrap();
        }
        let term = leader.granted().await;
        act(&path);
        let other = SqliteStore::open(&path).unwrap();
        let successor = SqliteCandidate::new(&other, "e", "other");
        let error = successor.campaign().await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{harm}: {error}");
        assert!(error.to_string().contains("deleted or replaced"), "{harm}: {error}");
        assert_eq!(leader.renew(term).await.unwrap_err().kind(), StoreErrorKind::Replaced, "{harm}");
        assert_eq!(successor.campaign().await.unwrap_err().kind(), StoreErrorKind::Unavailable, "{harm}");
        leader.resign().await.unwrap();
        let next = granted(|| successor.campaign()).await;
        assert!(next > term.get(), "{harm}: {next} after {term}");
        assert!(matches!(leader.campaign().await.unwrap(), CampaignReply::Held(_)), "{harm}");
    }
}

#[tokio::test]
async fn whoever_else_asks_first_does_not_keep_the_news_from_the_leader() {
    let (_directory, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let (leader, other) = (SqliteCandidate::new(&store, "e", "one"), SqliteCandidate::new(&store, "f", "other"));
    let term = leader.granted().await;
    fs::remove_file(&path).unwrap();
    assert_eq!(other.campaign().await.unwrap_err().kind(), StoreErrorKind::Replaced);
    assert_eq!(leader.renew(term).await.unwrap_err().kind(), StoreErrorKind::Replaced);
    // Whoever stands again has ended what it did before.
    let again = SqliteCandidate::new(&store, "e", "one");
    assert!(again.granted().await > term);
}

#[tokio::test]
async fn a_leader_that_died_is_not_waited_for() {
    let (_directory, path) = place();
    let mut leader = Other::start("lead", &path);
    leader.line().unwrap();
    fs::remove_file(&path).unwrap();
    let store = SqliteStore::open(&path).unwrap();
    let successor = SqliteCandidate::new(&store, "e", "successor");
    successor.campaign().await.unwrap_err();
    leader.kill();
    successor.granted().await;
}

#[tokio::test]
async fn a_stopped_leader_is_waited_for_until_its_lease_has_run_out() {
    let (_directory, path) = place();
    let mut leader = Other::start("lead for a second", &path);
    leader.line().unwrap();
    leader.signal(Signal::STOP);
    fs::remove_file(&path).unwrap();
    let since = Instant::now();
    let store = SqliteStore::open(&path).unwrap();
    let successor = SqliteCandidate::new(&store, "e", "successor");
    granted(|| successor.campaign()).await;
    assert!(since.elapsed() >= Duration::from_secs(1), "{:?}", since.elapsed());
    leader.signal(Signal::CONT);
}

#[tokio::test]
async fn stand_bys_of_a_lost_file_are_not_waited_for() {
    let (_directory, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let leader = SqliteCandidate::new(&store, "e", "leader");
    leader.granted().await;
    let mut follower = Other::start("stand by", &path);
    follower.line().unwrap();
    follower.signal(Signal::STOP);
    fs::remove_file(&path).unwrap();
    leader.resign().await.unwrap_err();
    let other = SqliteStore::open(&path).unwrap();
    SqliteCandidate::new(&other, "e", "other").granted().await;
    follower.signal(Signal::CONT);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_leader_knows_at_once_that_its_file_is_lost() {
    let moved: [(&str, Harm); 3] = [
        ("its directory moved", |path| {
            let directory = path.parent().unwrap();
            fs::rename(directory, directory.with_file_name("moved")).unwrap();
        }),
        ("a directory above it moved", |path| {
            let directory = path.parent().unwrap().parent().unwrap();
            fs::rename(directory, directory.with_file_name("moved")).unwrap();
        }),
        ("everything deleted", |path| {
            fs::remove_dir_all(beside(path, "-tenure")).unwrap();
            fs::remove_file(path).unwrap();
            let _ = fs::remove_file(beside(path, "-wal"));
            let _ = fs::remove_file(beside(path, "-shm"));
        }),
    ];
    for (harm, act) in HARMS.into_iter().filter(|(harm, _)| *harm != "emptied").chain(moved) {
        let (directory, _) = place();
        let inner = directory.path().join("outer/inner");
        fs::create_dir_all(&inner).unwrap();
        let path = inner.join("elections.db");
        let election = candidate(&path);
        let leadership = tokio::time::timeout(PATIENCE, election.elected()).await.unwrap().unwrap();
        act(&path);
        let since = Instant::now();
        tokio::time::timeout(PATIENCE, leadership.cancelled()).await.unwrap();
        assert!(since.elapsed() < AT_ONCE, "{harm}: {:?}", since.elapsed());
        election.request_stop();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn somebody_leads_again_soon_after_a_file_was_lost_and_terms_grow() {
    for (harm, act) in HARMS.into_iter().filter(|(harm, _)| *harm != "emptied") {
        let (_directory, path) = place();
        let one = candidate(&path);
        let first = tokio::time::timeout(PATIENCE, one.elected()).await.unwrap().unwrap();
        let two = candidate(&path);
        act(&path);
        let since = Instant::now();
        tokio::time::timeout(PATIENCE, first.cancelled()).await.unwrap();
        let next = tokio::time::timeout(PATIENCE, async {
            tokio::select! { next = one.elected() => next, next = two.elected() => next }
        });
        let next = next.await.unwrap_or_else(|_| panic!("{harm}: nobody leads")).unwrap();
        assert!(next.term() > first.term(), "{harm}: {} after {}", next.term(), first.term());
        assert!(since.elapsed() < SOON, "{harm}: {:?}", since.elapsed());
        one.request_stop();
        two.request_stop();
    }
}

fn candidate(path: &Path) -> Candidacy {
    let client = Client::with_store(SqliteStore::open(path).unwrap()).unwrap();
    client.election("e").unwrap().candidate().timing(Timing::default()).start().unwrap()
}

/// Campaigns until it succeeds.
async fn granted<F: Future<Output = Result<CampaignReply, StoreError>>>(campaign: impl Fn() -> F) -> u64 {
    let until = Instant::now() + PATIENCE;
    loop {
        match campaign().await {
            Ok(CampaignReply::Granted { term }) => return term.get(),
            reply => assert!(Instant::now() < until, "{reply:?}"),
        }
        tokio::task::yield_now().await;
    }
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}
