//! Other users, and what they may do to a store: nothing.

use std::fs::{self, Permissions};
use std::mem::MaybeUninit;
use std::os::unix::fs::{PermissionsExt, chown, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::fs::inotify;
use tempfile::TempDir;
use tenure::store::StoreErrorKind;
use tenure::store::sqlite::SqliteStore;

use crate::support::{Other, SqliteCandidate, history, place};

const NOBODY: u32 = 65534;

#[tokio::test]
async fn pipes_are_made_in_no_directory_of_another_user() {
    let foreign: [&dyn Fn(&Path); 4] = [
        &|pipes| as_nobody(&["mkdir", "-m", "0777"], pipes),
        &|pipes| {
            fs::create_dir(pipes.with_file_name("real")).unwrap();
            symlink("real", pipes).unwrap();
        },
        &|pipes| {
            fs::create_dir(pipes).unwrap();
            fs::set_permissions(pipes, Permissions::from_mode(0o770)).unwrap();
        },
        &|pipes| fs::write(pipes, "").unwrap(),
    ];
    for (number, make) in foreign.into_iter().enumerate() {
        let (_directory, path) = public_place();
        make(&beside(&path, "-tenure"));
        let error = match SqliteStore::open(&path) {
            Err(error) => error,
            Ok(store) => SqliteCandidate::new(&store, "e", "one").campaign().await.unwrap_err(),
        };
        assert_eq!(error.kind(), StoreErrorKind::Denied, "{number}: {error}");
        assert!(error.to_string().contains("elections.db-tenure"), "{number}: {error}");
    }
}

#[tokio::test]
async fn a_directory_that_was_put_in_place_of_the_pipes_proves_no_death() {
    let (_directory, path) = public_place();
    let pipes = beside(&path, "-tenure");
    let mut leader = Other::start("lead", &path);
    leader.line().unwrap();
    let store = SqliteStore::open(&path).unwrap();
    let follower = SqliteCandidate::new(&store, "e", "follower");
    follower.held().await;
    leader.kill();
    // The pipe itself tells of a death; but whoever may have put it there does not.
    fs::set_permissions(&pipes, Permissions::from_mode(0o777)).unwrap();
    follower.campaign().await.unwrap_err();
    fs::set_permissions(&pipes, Permissions::from_mode(0o700)).unwrap();
    let life = fs::read_dir(&pipes).unwrap().map(|entry| entry.unwrap().path());
    let lives: Vec<PathBuf> = life.filter(|path| path.extension().is_some_and(|it| it == "life")).collect();
    for life in &lives {
        chown(life, Some(NOBODY), Some(NOBODY)).unwrap();
    }
    follower.held().await;
    for life in &lives {
        chown(life, Some(0), Some(0)).unwrap();
        fs::hard_link(life, life.with_extension("copy")).unwrap();
    }
    follower.held().await;
    for life in &lives {
        fs::remove_file(life.with_extension("copy")).unwrap();
    }
    follower.granted().await;
    assert_eq!(history(&store, "e").await[1].reason, "died");
}

#[test]
fn a_file_that_others_may_write_is_refused() {
    let (_directory, path) = public_place();
    drop(SqliteStore::open(&path).unwrap());
    for mode in [0o602, 0o620, 0o666] {
        fs::set_permissions(&path, Permissions::from_mode(mode)).unwrap();
        let error = SqliteStore::open(&path).unwrap_err();
        assert_eq!(error.kind(), StoreErrorKind::Denied, "{mode:o}: {error}");
        assert!(error.to_string().contains("chmod 0600"), "{mode:o}: {error}");
    }
}

#[test]
fn a_file_of_another_user_is_refused() {
    let (_directory, path) = public_place();
    fs::write(&path, "").unwrap();
    // The owner has to be somebody else, and the file one that can be written nevertheless.
    chown(&path, Some(1), Some(NOBODY)).unwrap();
    fs::set_permissions(&path, Permissions::from_mode(0o660)).unwrap();
    let told = Other::start_under(&AS_NOBODY, "open", &path).line().unwrap();
    assert!(told.contains("another user"), "{told}");
    // What is one's own is not refused in a directory where all may make files.
    fs::remove_file(&path).unwrap();
    assert_eq!(Other::start_under(&AS_NOBODY, "open", &path).line().unwrap(), "opened");
}

#[test]
fn a_new_file_is_never_open_to_others_not_even_for_a_moment() {
    let (directory, path) = place();
    let events = inotify::init(inotify::CreateFlags::NONBLOCK | inotify::CreateFlags::CLOEXEC).unwrap();
    let wanted = inotify::WatchFlags::CREATE | inotify::WatchFlags::ATTRIB | inotify::WatchFlags::MOVED_TO;
    inotify::add_watch(&events, directory.path(), wanted).unwrap();
    let open = ["sh", "-c", "umask 000; exec \"$@\"", "sh"];
    assert_eq!(Other::start_under(&open, "open", &path).line().unwrap(), "opened");
    let mut room = [MaybeUninit::uninit(); 4096];
    let mut reader = inotify::Reader::new(&events, &mut room);
    let mut seen = Vec::new();
    while let Ok(event) = reader.next() {
        let name = event.file_name().unwrap_or_default().to_str().unwrap().to_owned();
        seen.push((name, event.events()));
    }
    let made = |(name, events): &(String, inotify::ReadFlags)| {
        name == "elections.db" && events.contains(inotify::ReadFlags::CREATE)
    };
    assert!(seen.iter().any(made), "{seen:?}");
    let is_changed = |(name, events): &(String, inotify::ReadFlags)| {
        name == "elections.db" && events.contains(inotify::ReadFlags::ATTRIB)
    };
    assert!(!seen.iter().any(is_changed), "made for all and then changed: {seen:?}");
    assert_eq!(fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
}

const AS_NOBODY: [&str; 6] = ["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"];

/// Runs a command with a path as its last word.
fn as_nobody(command: &[&str], path: &Path) {
    let run = Command::new(AS_NOBODY[0]).args(&AS_NOBODY[1..]).args(command).arg(path).status().unwrap();
    assert!(run.success(), "these tests run as root: setpriv must work");
}

/// Everybody may make files there, and remove their own.
fn public_place() -> (TempDir, PathBuf) {
    let (directory, path) = place();
    fs::set_permissions(directory.path(), Permissions::from_mode(0o1777)).unwrap();
    (directory, path)
}

fn beside(path: &Path, suffix: &str) -> PathBuf {
    PathBuf::from(format!("{}{suffix}", path.display()))
}
