//! One file under several names, of which each would have a log and pipes of its own.

use std::path::{Path, PathBuf};
use std::process::Command;

use tenure::Store;
use tenure::store::sqlite::SqliteStore;
use tenure::store::{Interest, Severity, StoreErrorKind};
use tenure_core::WriteOutcome;

use crate::support::{Other, SqliteCandidate, history, key, next, place};

#[tokio::test]
async fn a_file_that_is_mounted_by_itself_is_refused() {
    let (directory, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let leader = SqliteCandidate::new(&store, "e", "one");
    let term = leader.granted().await;
    let elsewhere = directory.path().join("elsewhere.db");
    std::fs::write(&elsewhere, "").unwrap();
    let _mount = Mount::bind(&path, &elsewhere);
    let error = SqliteStore::open(&elsewhere).unwrap_err();
    assert_eq!(
        (error.kind(), error.write_outcome()),
        (StoreErrorKind::Configuration, WriteOutcome::Refused),
        "{error}"
    );
    assert!(error.to_string().contains("mount its directory"), "{error}");
    assert!(!beside(&elsewhere, "-wal").exists() && !beside(&elsewhere, "-tenure").exists());
    leader.renew(term).await.unwrap();
}

#[tokio::test]
async fn a_link_in_the_place_of_the_file_ends_its_leases_and_lets_nobody_else_lead() {
    let (directory, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let leader = SqliteCandidate::new(&store, "e", "one");
    let term = leader.granted().await;
    let moved = directory.path().join("moved.db");
    std::fs::rename(&path, &moved).unwrap();
    std::os::unix::fs::symlink("moved.db", &path).unwrap();
    // It is the same file still, under both names.
    assert_eq!(leader.renew(term).await.unwrap_err().kind(), StoreErrorKind::Replaced);
    let error = SqliteStore::open(&path).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Configuration, "{error}");
    assert!(error.to_string().contains("in the place of a database"), "{error}");
    assert!(!beside(&moved, "-wal").exists(), "nothing was made beside the new place");

    drop(leader);
    drop(store);
    for suffix in ["-wal", "-shm", "-tenure"] {
        // Whoever left last may have removed some of them.
        let _ = std::fs::rename(beside(&path, suffix), beside(&moved, suffix));
    }
    let store = SqliteStore::open(&path).unwrap();
    let seen = store.observe(&[key("e")]).await.remove(0).unwrap();
    assert_eq!(seen.last_term, Some(term), "the log was moved along");
}

#[tokio::test]
async fn a_mount_over_the_file_of_a_leader_ends_its_leases() {
    let (directory, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let leader = SqliteCandidate::new(&store, "e", "one");
    let term = leader.granted().await;
    for name in ["elections.db", "elections.db-wal", "elections.db-shm"] {
        let file = directory.path().join(name);
        let mount = Mount::bind(&file, &file);
        let error = leader.renew(term).await.unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Configuration, "{name}: {error}");
        assert!(error.to_string().contains("mount its directory") && error.to_string().contains(name), "{error}");
        assert!(SqliteStore::open(&path).is_err(), "{name}");
        drop(mount);
        leader.renew(term).await.unwrap();
    }
}

#[tokio::test]
async fn a_file_with_another_name_is_refused_even_if_that_was_made_later() {
    for name in ["elections.db", "elections.db-wal", "elections.db-shm"] {
        let (directory, path) = place();
        let store = SqliteStore::open(&path).unwrap();
        let leader = SqliteCandidate::new(&store, "e", "one");
        let term = leader.granted().await;
        let link = directory.path().join("link.db");
        std::fs::hard_link(directory.path().join(name), &link).unwrap();
        for other in [&link, &path] {
            let error = match SqliteStore::open(other) {
                Err(error) => error,
                Ok(_) if name == "elections.db" || *other == path => panic!("{} was opened", other.display()),
                Ok(_) => continue,
            };
            let is_told = error.to_string().contains("another name") || error.kind() == StoreErrorKind::Corrupt;
            assert!(is_told, "{name}: {error}");
        }
        let error = leader.renew(term).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.write_outcome()),
            (StoreErrorKind::Configuration, WriteOutcome::Refused),
            "{error}"
        );
        std::fs::remove_file(&link).unwrap();
        leader.renew(term).await.unwrap();
    }
}

#[tokio::test]
async fn a_directory_may_be_reached_by_several_paths() {
    let (directory, path) = place();
    let elsewhere = directory.path().join("elsewhere");
    std::fs::create_dir(&elsewhere).unwrap();
    let inner = directory.path().join("inner");
    std::fs::create_dir(&inner).unwrap();
    let path = inner.join(path.file_name().unwrap());
    let _mount = Mount::bind(&inner, &elsewhere);
    let mut leader = Other::start("lead", &elsewhere.join("elections.db"));
    leader.line().unwrap();
    let store = SqliteStore::open(&path).unwrap();
    let follower = SqliteCandidate::new(&store, "e", "follower");
    let mut hints = store.watch(Interest::Own);
    follower.held().await;
    leader.kill();
    next(&mut hints).await;
    follower.granted().await;
    assert_eq!(history(&store, "e").await[1].reason, "died");
    assert!(store.examine().await.iter().all(|finding| finding.severity != Severity::Bad));
}

#[tokio::test]
async fn symbolic_links_lead_to_one_store_even_before_the_file_is_there() {
    let (directory, path) = place();
    let link = directory.path().join("link.db");
    std::os::unix::fs::symlink("elections.db", &link).unwrap();
    let by_link = SqliteStore::open(&link).unwrap();
    let term = SqliteCandidate::new(&by_link, "e", "one").granted().await;
    let store = SqliteStore::open(&path).unwrap();
    assert_eq!(SqliteCandidate::new(&store, "e", "two").held().await.leader.unwrap().term, term);
    assert!(beside(&path, "-tenure").is_dir() && !beside(&link, "-tenure").exists());
}

/// The path with something added to its name.
fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}

/// A bind mount, until it is dropped. Tests run as root.
struct Mount(PathBuf);

impl Mount {
    fn bind(what: &Path, on: &Path) -> Self {
        let mount = Command::new("mount").arg("--bind").args([what, on]).status().unwrap();
        assert!(mount.success(), "these tests run as root: mount must work");
        Self(on.to_owned())
    }
}

impl Drop for Mount {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(&self.0).status();
    }
}
