//! Files that are missing, foreign, damaged, full, or not the ones they were.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Barrier;
use std::time::Instant;

use rusqlite::Connection;
use tempfile::TempDir;
use tenure::store::sqlite::SqliteStore;
use tenure::store::{Mailbox, Severity, StoreErrorKind};
use tenure::{Store, StoreUrl};
use tenure_core::{RenewReply, WriteOutcome};
use tenure_testkit::eventually;

use crate::messages::new_message;
use crate::support::{PATIENCE, SqliteCandidate, history, key, place};

#[test]
fn many_may_open_a_new_file_at_once() {
    let (_directory, path) = place();
    let start = Barrier::new(20);
    std::thread::scope(|scope| {
        for _ in 0..20 {
            scope.spawn(|| {
                start.wait();
                SqliteStore::open(&path).unwrap();
            });
        }
    });
}

#[tokio::test]
async fn an_address_opens_a_file() {
    let (_directory, path) = place();
    let url: StoreUrl = format!("sqlite://{}", path.display()).parse().unwrap();
    let store = tenure::store::open(&url).unwrap();
    assert!(path.exists());
    assert!(store.examine().await.iter().all(|finding| finding.severity != Severity::Bad));
    let error = tenure::store::open(&"sqlite:".parse().unwrap()).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Configuration);
}

#[test]
fn a_missing_directory_is_an_error_that_names_it() {
    let (directory, _) = place();
    let error = SqliteStore::open(directory.path().join("missing/elections.db")).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Missing);
    assert!(error.to_string().contains("missing"), "{error}");
}

#[test]
fn nobody_else_can_read_the_file() {
    use std::os::unix::fs::PermissionsExt;
    let (_directory, path) = place();
    let _store = SqliteStore::open(&path).unwrap();
    for suffix in ["", "-wal", "-shm"] {
        let mode = std::fs::metadata(format!("{}{suffix}", path.display())).unwrap().permissions().mode();
        assert_eq!(mode & 0o077, 0, "{suffix}: {mode:o}");
    }
}

#[test]
fn a_file_from_the_future_is_left_alone() {
    let (_directory, path) = place();
    drop(SqliteStore::open(&path).unwrap());
    // It is closed in the background, and what is in the log is written to the file then.
    eventually("a file that nobody uses", || !Path::new(&format!("{}-wal", path.display())).exists());
    sql(&path, "PRAGMA user_version = 99");
    let before = std::fs::read(&path).unwrap();
    let error = SqliteStore::open(&path).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Schema);
    assert!(error.to_string().contains("newer"), "{error}");
    assert_eq!(std::fs::read(&path).unwrap(), before);
}

#[test]
fn a_file_of_another_program_is_left_alone() {
    let (directory, path) = place();
    sql(&path, "CREATE TABLE song (title TEXT); INSERT INTO song VALUES ('x')");
    let text = directory.path().join("notes.txt");
    std::fs::write(&text, "Not a database, but long enough to be taken for one. ".repeat(100)).unwrap();
    for (path, kind) in [(path, StoreErrorKind::Configuration), (text, StoreErrorKind::Corrupt)] {
        let before = std::fs::read(&path).unwrap();
        assert_eq!(SqliteStore::open(&path).unwrap_err().kind(), kind, "{path:?}");
        assert_eq!(std::fs::read(&path).unwrap(), before);
    }
}

#[tokio::test]
async fn a_file_that_was_deleted_or_replaced_is_noticed_until_whoever_led_has_stopped() {
    let beside = |path: &Path, suffix: &str| PathBuf::from(format!("{}{suffix}", path.display()));
    let replace: [&dyn Fn(&Path); 4] = [
        &|path| std::fs::remove_file(path).unwrap(),
        &|path| {
            // As a restore must do it: with the old -wal left beside it, SQLite would replay that into the new file.
            std::fs::write(beside(path, "-new"), "").unwrap();
            std::fs::rename(beside(path, "-new"), path).unwrap();
            std::fs::remove_file(beside(path, "-wal")).unwrap();
            std::fs::remove_file(beside(path, "-shm")).unwrap();
        },
        &|path| std::fs::remove_file(beside(path, "-wal")).unwrap(),
        &|path| std::fs::remove_dir_all(beside(path, "-tenure")).unwrap(),
    ];
    for (n, replace) in replace.into_iter().enumerate() {
        // Each in a place of its own: the store before is closed in the background.
        let (_directory, path) = place();
        let store = SqliteStore::open(&path).unwrap();
        let candidate = SqliteCandidate::new(&store, "e", "one");
        let term = candidate.granted().await;
        replace(&path);
        if n == 3 {
            // Without its pipes the store goes on; others then wait for the ttl.
            candidate.renew(term).await.unwrap();
            continue;
        }
        let error = candidate.renew(term).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.write_outcome()),
            (StoreErrorKind::Replaced, WriteOutcome::Replaced),
            "{n}: {error}"
        );
        // Until it says that it has stopped, it may be at work still, and nobody else can lead.
        let error = candidate.renew(term).await.unwrap_err();
        assert_eq!(
            (error.kind(), error.write_outcome()),
            (StoreErrorKind::Replaced, WriteOutcome::Replaced),
            "{n}: {error}"
        );
        candidate.resign().await.unwrap();
        assert!(matches!(candidate.renew(term).await.unwrap(), RenewReply::NotHolder { .. }), "{n}");
        assert!(candidate.granted().await > term, "{n}");
        let other = SqliteStore::open(&path).unwrap();
        SqliteCandidate::new(&other, "e", "other").held().await;
    }
}

#[tokio::test]
async fn a_full_disk_is_told_and_got_over() {
    let disk = SmallDisk::new();
    let path = disk.path().join("elections.db");
    let store = SqliteStore::open(&path).unwrap();
    let candidate = SqliteCandidate::new(&store, "e", "one");
    let term = candidate.granted().await;
    let filler = disk.path().join("filler");
    let _ = std::fs::write(&filler, vec![0; 64 << 20]);

    let mut error = None;
    for n in 0..1_000 {
        if let Err(full) = SqliteCandidate::new(&store, &format!("e{n}"), "one").campaign().await {
            error = Some(full);
            break;
        }
    }
    let error = error.expect("the disk is full");
    assert_eq!((error.kind(), error.write_outcome()), (StoreErrorKind::Full, WriteOutcome::Refused), "{error}");
    let large = new_message(&key("e"), &format!("\"{}\"", "x".repeat(60_000)));
    let error = store.send(&[large]).await.remove(0).unwrap_err();
    assert_eq!((error.kind(), error.write_outcome()), (StoreErrorKind::Full, WriteOutcome::Refused), "{error}");
    store.observe(&[key("e")]).await.remove(0).unwrap();
    std::fs::remove_file(&filler).unwrap();
    assert_eq!(candidate.renew(term).await.unwrap(), RenewReply::Renewed { handover: None });
}

#[tokio::test]
async fn an_examination_writes_and_so_notices_a_full_disk() {
    let disk = SmallDisk::new();
    let store = SqliteStore::open(disk.path().join("elections.db")).unwrap();
    let find = async |check: &str| {
        let findings = store.examine().await;
        let finding = findings.iter().find(|finding| finding.check == check);
        finding.map(|finding| (finding.severity, finding.detail.clone())).unwrap()
    };
    let (severity, detail) = find("writable").await;
    let took = detail.strip_prefix("a durable write took ").and_then(|rest| rest.split(' ').next()).unwrap();
    assert!(took.parse::<f64>().unwrap() > 0.0, "{detail}");
    assert_eq!(severity, Severity::Warning, "a file in memory does not outlive a reboot: {detail}");
    let left = || std::fs::read_dir(disk.path()).unwrap().count();
    let before = left();
    let _ = std::fs::write(disk.path().join("filler"), vec![0; 64 << 20]);
    let (severity, detail) = find("writable").await;
    assert_eq!(severity, Severity::Bad, "{detail}");
    assert!(detail.contains("full") || detail.contains("No space left"), "{detail}");
    assert_eq!(left(), before + 1, "only the filler is new");
}

#[tokio::test]
async fn an_examination_tells_what_others_may_do() {
    use std::os::unix::fs::PermissionsExt;
    let (directory, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let chmod = |path: &Path, mode| std::fs::set_permissions(path, std::fs::Permissions::from_mode(mode)).unwrap();
    let rights = async || store.examine().await.into_iter().find(|finding| finding.check == "rights").unwrap();
    assert_eq!(rights().await.severity, Severity::Good);
    for (mode, severity) in [(0o777, Severity::Warning), (0o770, Severity::Warning), (0o1777, Severity::Good)] {
        chmod(directory.path(), mode);
        assert_eq!(rights().await.severity, severity, "{mode:o}");
    }
    chmod(&path, 0o644);
    assert_eq!(rights().await.severity, Severity::Warning);
}

#[tokio::test]
async fn a_read_only_disk_is_told() {
    let disk = SmallDisk::new();
    let path = disk.path().join("elections.db");
    let store = SqliteStore::open(&path).unwrap();
    SqliteCandidate::new(&store, "e", "one").granted().await;
    drop(store);
    // The thread of the store closes its files some time after.
    let until = Instant::now() + PATIENCE;
    while Instant::now() < until
        && !Command::new("mount").args(["-o", "remount,ro"]).arg(disk.path()).output().unwrap().status.success()
    {
        std::thread::yield_now();
    }
    let error = SqliteStore::open(&path).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::ReadOnly, "{error}");
}

#[tokio::test]
async fn after_a_reboot_all_leases_are_over() {
    let (_directory, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    let candidate = SqliteCandidate::new(&store, "e", "one");
    let term = candidate.granted().await;
    sql(&path, "UPDATE machine SET boot_id = 'another'");
    // While a process of this kernel is alive there was no reboot, whatever a container says.
    let error = SqliteStore::open(&path).unwrap_err();
    assert_eq!(error.kind(), StoreErrorKind::Configuration, "{error}");
    assert_eq!(candidate.renew(term).await.unwrap_err().kind(), StoreErrorKind::Configuration);

    std::fs::remove_dir_all(format!("{}-tenure", path.display())).unwrap();
    let other = SqliteStore::open(&path).unwrap();
    assert!(SqliteCandidate::new(&other, "e", "other").granted().await > term);
    assert_eq!(history(&other, "e").await[1].reason, "expired");
}

#[tokio::test]
async fn a_record_that_makes_no_sense_spoils_only_its_own_election() {
    for nonsense in [
        "UPDATE lease SET nonce = x'00'",
        "UPDATE lease SET term = 0",
        "UPDATE lease SET term = 9007199254740993",
        "UPDATE lease SET expires_at_ns = -1",
        "UPDATE lease SET ttl_ns = -1",
        "UPDATE election SET last_term = -5",
        "UPDATE election SET reserved_for = char(10)",
        "UPDATE election SET reserved_for = 'x', reserved_until_ns = NULL",
        "UPDATE election SET reserved_for = 'x', reserved_until_ns = 1, reserved_nonce = x''",
        "UPDATE leader SET metadata = '{'",
        "UPDATE leader SET metadata = '{\"a\": 1}'",
        "UPDATE leader SET candidate = ''",
        "UPDATE leader SET process = x'0102'",
        "UPDATE leader SET since_unix_ms = -1",
        "UPDATE leader SET candidate = CAST(x'ff' AS TEXT)",
        "DELETE FROM leader",
        "DELETE FROM lease",
        "UPDATE stand_by SET priority = 11",
        "UPDATE stand_by SET nonce = x''",
        "UPDATE stand_by SET candidate = char(0)",
    ] {
        let (_directory, path) = place();
        let (store, other) = (SqliteStore::open(&path).unwrap(), SqliteStore::open(&path).unwrap());
        let candidate = SqliteCandidate::new(&store, "e", "one");
        candidate.granted().await;
        let follower = SqliteCandidate::new(&other, "e", "two");
        follower.held().await;
        sql(&path, nonsense);
        let fine = SqliteCandidate::new(&other, "fine", "two");
        let replies = other.campaign(&[follower.request(), fine.request()]).await;
        assert_eq!(replies[0].as_ref().unwrap_err().kind(), StoreErrorKind::Corrupt, "{nonsense}");
        assert!(replies[1].is_ok(), "{nonsense}");
        assert!(store.observe(&[key("e")]).await[0].is_err(), "{nonsense}");
    }
}

#[tokio::test]
async fn damage_to_the_file_is_an_error_and_nothing_worse() {
    let (directory, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    for n in 0..50 {
        let candidate = SqliteCandidate::new(&store, &format!("e{n}"), "one");
        candidate.granted().await;
        candidate.resign().await.unwrap();
    }
    sql(&path, "PRAGMA wal_checkpoint(TRUNCATE)");
    let sound = std::fs::read(&path).unwrap();
    let mut random = 0x9E37_79B9_7F4A_7C15_u64;
    for n in 0..200 {
        let mut damaged = sound.clone();
        for _ in 0..20 {
            random ^= random << 13;
            random ^= random >> 7;
            random ^= random << 17;
            let at = usize::try_from(random % damaged.len() as u64).unwrap();
            damaged[at] ^= random.to_be_bytes()[0] | 1;
        }
        let copy = directory.path().join(format!("damaged{n}.db"));
        std::fs::write(&copy, damaged).unwrap();
        let Ok(store) = SqliteStore::open(&copy) else { continue };
        for n in 0..50 {
            let candidate = SqliteCandidate::new(&store, &format!("e{n}"), "one");
            for error in [candidate.campaign().await.err(), candidate.resign().await.err()].into_iter().flatten() {
                assert!(!error.to_string().contains("has panicked"), "{n}: {error}");
            }
        }
        let _ = store.history(&key("e1"), 10).await;
        let _ = store.elections(&key("e1").namespace).await;
    }
}

#[tokio::test]
async fn history_is_bounded() {
    let (_directory, path) = place();
    let store = SqliteStore::open(&path).unwrap();
    SqliteCandidate::new(&store, "e", "one").granted().await;
    sql(
        &path,
        "WITH RECURSIVE n(i) AS (SELECT 2 UNION ALL SELECT i + 1 FROM n WHERE i < 1200)
         INSERT INTO history SELECT election, i, 0, 1, 'x', 'lost', 'x' FROM n, lease",
    );
    let candidate = SqliteCandidate::new(&store, "e", "one");
    sql(&path, "UPDATE lease SET expires_at_ns = 0");
    candidate.granted().await;
    let history = store.history(&key("e"), 5_000).await.unwrap();
    assert_eq!((history.len(), history[0].reason.as_str()), (1_000, "granted"));
}

/// What somebody with another program does to the file.
fn sql(path: &Path, sql: &str) {
    let connection = Connection::open(path).unwrap();
    connection.execute_batch(sql).unwrap();
}

/// A file system of a few megabytes. Tests run as root.
struct SmallDisk(TempDir);

impl SmallDisk {
    fn new() -> Self {
        let directory = tempfile::tempdir().unwrap();
        let mount =
            Command::new("mount").args(["-t", "tmpfs", "-o", "size=2m", "tmpfs"]).arg(directory.path()).status();
        assert!(mount.unwrap().success(), "these tests run as root: mount must work");
        Self(directory)
    }

    fn path(&self) -> PathBuf {
        self.0.path().to_owned()
    }
}

impl Drop for SmallDisk {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg("--lazy").arg(self.0.path()).status();
    }
}
