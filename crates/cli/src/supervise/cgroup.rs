//! The control group for the commands of one guard, on machines that allow it.
//!
//! No process leaves it by forking, however fast, and the kernel kills all of it in one step. It limits nothing and counts
//! nothing: only `cgroup.procs` and `cgroup.kill` are used. The guard holds a lock on its directory, so that one whose guard was
//! killed can be told, from any pid namespace, from one that is in use.

use std::ffi::OsStr;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::time::{SystemTime, UNIX_EPOCH};

use rustix::fs::{FlockOperation, flock, statfs};

/// A control group, and the lock that marks it as in use.
#[derive(Debug)]
pub struct Cgroup {
    path: PathBuf,
    /// Held for its lock.
    lock: Option<File>,
    /// Opened beforehand: when it is needed, no descriptor may be free.
    kill: File,
    procs: File,
}

impl Cgroup {
    /// Makes one below the control group of this process.
    ///
    /// # Errors
    /// When there cannot be one; the message says why.
    pub fn make() -> io::Result<Self> {
        let home = home()?;
        let mut outcome = Err(io::ErrorKind::AlreadyExists.into());
        // Somebody else who sweeps may remove one that is not locked yet.
        for attempt in 0..ATTEMPTS {
            let path = home.join(format!("{PREFIX}{}-{:x}-{attempt}", std::process::id(), nanos()));
            fs::create_dir(&path)?;
            outcome = Self::open(&path);
            if outcome.is_ok() {
                break;
            }
            let _ = fs::remove_dir(&path);
        }
        outcome
    }

    /// Takes hold of one that another process has made.
    ///
    /// # Errors
    /// When it is gone, about to be removed, or not what it should be.
    pub fn open(path: &Path) -> io::Result<Self> {
        let directory = File::open(path)?;
        flock(&directory, FlockOperation::NonBlockingLockShared)?;
        let write = |name: &str| File::options().write(true).open(path.join(name));
        Ok(Self {
            path: path.to_owned(),
            lock: Some(directory),
            kill: write("cgroup.kill")?,
            procs: write("cgroup.procs")?,
        })
    }

    /// The path.
    #[must_use]
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Kills all processes in it at once.
    ///
    /// # Errors
    /// When the kernel refuses.
    pub fn kill(&self) -> io::Result<()> {
        (&self.kill).write_all(b"1")
    }

    /// Does not keep it in use any more: others who hold it do.
    pub(crate) fn unlock(&mut self) {
        self.lock = None;
    }

    /// What a process writes 0 to, in order to go in.
    pub(crate) fn entrance(&self) -> io::Result<File> {
        self.procs.try_clone()
    }
}

impl Drop for Cgroup {
    fn drop(&mut self) {
        // Refused while something lives in it. Then whoever else keeps it removes it, or a later process does.
        remove(&self.path);
    }
}

/// Removes a control group and those that its processes made in it, if they are empty.
fn remove(path: &Path) {
    for child in children(path) {
        remove(&child);
    }
    let _ = fs::remove_dir(path);
}

/// Kills and removes leftovers of guards that were killed: the next leader must not work beside them.
pub fn sweep() {
    // Where there are no control groups, nothing was left in one.
    let Ok(home) = home() else { return };
    let is_ours =
        |path: &PathBuf| path.file_name().and_then(OsStr::to_str).is_some_and(|name| name.starts_with(PREFIX));
    for path in children(&home).into_iter().filter(is_ours) {
        let Ok(directory) = File::open(&path) else { continue };
        if flock(&directory, FlockOperation::NonBlockingLockExclusive).is_ok() {
            let _ = fs::write(path.join("cgroup.kill"), "1");
            remove(&path);
        }
    }
}

fn children(path: &Path) -> Vec<PathBuf> {
    let Ok(entries) = fs::read_dir(path) else { return Vec::new() };
    let directories = entries.flatten().filter(|entry| entry.file_type().is_ok_and(|kind| kind.is_dir()));
    directories.map(|entry| entry.path()).collect()
}

/// The control group of this process.
fn home() -> io::Result<PathBuf> {
    let (groups, mounts) = (fs::read_to_string("/proc/self/cgroup")?, fs::read_to_string("/proc/self/mountinfo")?);
    let home = home_in(&groups, &mounts).ok_or_else(none_to_be_had)?;
    // Something else may be mounted over it.
    let is_group = statfs(&home)?.f_type == CGROUP2_MAGIC;
    if is_group { Ok(home) } else { Err(none_to_be_had()) }
}

fn none_to_be_had() -> io::Error {
    io::Error::new(io::ErrorKind::Unsupported, "no mounted cgroup v2 hierarchy shows this process")
}

/// The directory of the control group that these lines of `/proc/self/cgroup` and `/proc/self/mountinfo` tell of.
fn home_in(groups: &str, mounts: &str) -> Option<PathBuf> {
    let group = Path::new(groups.lines().find_map(|line| line.strip_prefix("0::"))?);
    mounts.lines().find_map(|line| {
        // `id parent device root place options … - type source options`
        let (mount, file_system) = line.split_once(" - ")?;
        let mut fields = mount.split(' ').skip(3);
        let (root, place) = (unescape(fields.next()?), unescape(fields.next()?));
        let is_shown = file_system.split(' ').next() == Some("cgroup2");
        is_shown.then(|| group.strip_prefix(&root).ok()).flatten().map(|below| Path::new(&place).join(below))
    })
}

/// A path as `mountinfo` writes it: with spaces and the like as octal numbers.
fn unescape(field: &str) -> String {
    [("\\040", " "), ("\\011", "\t"), ("\\012", "\n"), ("\\134", "\\")]
        .iter()
        .fold(field.to_owned(), |text, (code, character)| text.replace(code, character))
}

fn nanos() -> u128 {
    SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default().as_nanos()
}

const PREFIX: &str = "tenure-guard-";
/// What the kernel calls the type of such a file system.
const CGROUP2_MAGIC: rustix::fs::FsWord = 0x6367_7270;
const ATTEMPTS: usize = 3;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_group_is_found_wherever_it_is_mounted() {
        let found = |groups, mounts| home_in(groups, mounts).map(|path| path.display().to_string());
        let hybrid = "24 1 0:5 / /proc rw - proc proc rw\n30 24 0:25 / /sys/fs/cgroup/unified rw - cgroup2 none rw";
        assert_eq!(found("4:memory:/m\n0::/a/b\n", hybrid).as_deref(), Some("/sys/fs/cgroup/unified/a/b"));
        let container = "30 24 0:25 /pod/x /sys/fs/c\\040g rw shared:3 - cgroup2 none rw";
        assert_eq!(found("0::/pod/x/y\n", container).as_deref(), Some("/sys/fs/c g/y"));
        assert_eq!(found("0::/elsewhere\n", container), None);
        assert_eq!(found("4:memory:/m\n", hybrid), None);
        assert_eq!(found("0::/\n", "24 1 0:5 / /proc rw - proc proc rw"), None);
        assert_eq!(found("", ""), None);
    }
}
