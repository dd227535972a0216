//! Parses addresses and paths, and checks the file system.

use std::ffi::OsString;
use std::path::{Path, PathBuf};

use rustix::fs::statfs;
use rustix::io::Errno;
use tenure_store::{StoreError, StoreErrorKind};

use super::error::SqliteStoreError;

/// Extracts the path from the part after the colon of `sqlite:PATH`. Also accepts `sqlite://PATH` and
/// `sqlite:///ABSOLUTE`.
///
/// # Errors
/// When there is no path, or something that only looks like one.
pub fn path_of(rest: &str) -> Result<PathBuf, StoreError> {
    let path = rest.strip_prefix("//").unwrap_or(rest);
    let refused = |message: String| Err(StoreError::not_sent(StoreErrorKind::Configuration, message));
    if path.is_empty() {
        return refused("the store address names no file; write sqlite:PATH".to_owned());
    }
    if looks_like_an_address(path) {
        // Not repeated: it may hold a password.
        return refused(
            "the part after sqlite: looks like the address of a server, not like a path; leave out sqlite: for a \
             server, or write sqlite:./PATH if this is the name of a file"
                .to_owned(),
        );
    }
    if path == ":memory:" {
        return refused(
            "an in-memory database cannot be shared; use memory: for a store within one process".to_owned(),
        );
    }
    if let Some((file, _)) = path.split_once('?') {
        return refused(format!("the SQLite store has no options; write sqlite:{file}"));
    }
    if path.ends_with('/') {
        return refused(format!("{path} is a directory; give a file in it"));
    }
    Ok(PathBuf::from(path))
}

/// Detects a scheme, or credentials before a host. A path whose first part is a directory can hold anything.
fn looks_like_an_address(path: &str) -> bool {
    let first = path.split('/').next().unwrap_or_default();
    path.contains("://") || first.split_once(':').is_some_and(|(_, rest)| rest.contains('@'))
}

/// The number of links that the kernel follows.
const MAX_LINKS: usize = 40;

/// The files of one store.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Location {
    /// The given path, but absolute: the working directory may change. A symbolic link in it is resolved again each time.
    pub(super) path: PathBuf,
    /// Behind all symbolic links. SQLite puts its -wal and -shm files next to this one.
    pub(super) real: PathBuf,
}

impl Location {
    /// Locates a file that may not exist yet.
    pub(super) fn find(path: &Path) -> Result<Self, SqliteStoreError> {
        let path = std::path::absolute(path).map_err(|error| SqliteStoreError::io("find", path, error))?;
        let mut real = path.clone();
        for _ in 0..MAX_LINKS {
            let directory = real.parent().unwrap_or(Path::new("/"));
            let directory = directory
                .canonicalize()
                .map_err(|error| SqliteStoreError::io("use the directory", directory, error))?;
            real = match real.canonicalize() {
                Ok(real) => return Ok(Self { path, real }),
                Err(_) => directory.join(real.file_name().unwrap_or_default()),
            };
            // A link may lead to a file that is still to be made.
            match real.read_link() {
                Ok(target) => real = directory.join(target),
                Err(_) => return Ok(Self { path, real }),
            }
        }
        Err(SqliteStoreError::io("follow the links of", &path, Errno::LOOP))
    }

    pub(super) fn log(&self) -> PathBuf {
        self.beside("-wal")
    }

    pub(super) fn index(&self) -> PathBuf {
        self.beside("-shm")
    }

    /// The directory of the pipes that show which processes are alive.
    pub(super) fn processes(&self) -> PathBuf {
        self.beside("-tenure")
    }

    /// Refuses file systems that other machines may be looking at: their clocks and their processes are not ours.
    pub(super) fn check_file_system(&self) -> Result<(), SqliteStoreError> {
        let kind = self.file_system()?;
        match SHARED_FILE_SYSTEMS.iter().find(|(magic, _)| *magic == kind) {
            Some((_, name)) => Err(SqliteStoreError::Shared(name)),
            None => Ok(()),
        }
    }

    /// Whether nothing on the file system outlives a reboot.
    pub(super) fn is_in_memory(&self) -> bool {
        self.file_system().is_ok_and(|kind| IN_MEMORY.contains(&kind))
    }

    /// Whether the file can be reached by ways that show it as another file.
    pub(super) fn is_on_overlay(&self) -> bool {
        self.file_system().is_ok_and(|kind| kind == OVERLAY)
    }

    fn file_system(&self) -> Result<u32, SqliteStoreError> {
        let place = if self.real.exists() { &self.real } else { self.real.parent().unwrap_or(&self.real) };
        let kind =
            statfs(place).map_err(|error| SqliteStoreError::io("look at the file system of", place, error))?.f_type;
        // The kernel keeps these numbers in 32 bits, whatever type a libc gives them.
        #[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "only the low 32 bits are used")]
        let kind = kind as u32;
        Ok(kind)
    }

    /// All files beside the database.
    pub(super) fn companions(&self) -> [PathBuf; 3] {
        COMPANIONS.map(|suffix| self.beside(suffix))
    }

    /// The files beside the given name, if it were not a link.
    pub(super) fn companions_by_name(&self) -> [PathBuf; 3] {
        COMPANIONS.map(|suffix| with_suffix(&self.path, suffix))
    }

    fn beside(&self, suffix: &str) -> PathBuf {
        with_suffix(&self.real, suffix)
    }
}

const COMPANIONS: [&str; 3] = ["-wal", "-shm", "-tenure"];

fn with_suffix(path: &Path, suffix: &str) -> PathBuf {
    let mut name = OsString::from(path);
    name.push(suffix);
    PathBuf::from(name)
}

/// The magic number of overlayfs.
const OVERLAY: u32 = 0x794C_7630;

/// The magic numbers of tmpfs and ramfs.
const IN_MEMORY: [u32; 2] = [0x0102_1994, 0x8584_58F6];

/// From `linux/magic.h` and the file systems' own sources. FUSE is among them because nothing tells a local one from
/// one that reaches over the network.
const SHARED_FILE_SYSTEMS: &[(u32, &str)] = &[
    (0x0000_6969, "NFS"),
    (0x0000_517B, "SMB"),
    (0xFF53_4D42, "CIFS"),
    (0xFE53_4D42, "SMB2"),
    (0x0102_1997, "9P"),
    (0x6573_5546, "FUSE or virtiofs"),
    (0x00C3_6400, "Ceph"),
    (0x5346_414F, "AFS"),
    (0x6B41_4653, "AFS"),
    (0x7375_7245, "Coda"),
    (0x0BD0_0BD0, "Lustre"),
    (0x4750_4653, "GPFS"),
    (0x1983_0326, "BeeGFS"),
    (0x0116_1970, "GFS2"),
    (0x7461_636F, "OCFS2"),
    (0x7863_4653, "CXFS"),
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_mean_what_people_expect() {
        for (rest, path) in [
            ("x.db", "x.db"),
            ("dir/x.db", "dir/x.db"),
            ("/abs/x.db", "/abs/x.db"),
            ("//rel/x.db", "rel/x.db"),
            ("///abs/x.db", "/abs/x.db"),
        ] {
            assert_eq!(path_of(rest).unwrap(), Path::new(path), "{rest}");
        }
    }

    #[test]
    fn what_is_no_file_is_refused() {
        for rest in ["", "//", ":memory:", "//:memory:", "x.db?mode=rwc", "/var/lib/"] {
            assert_eq!(path_of(rest).unwrap_err().kind(), StoreErrorKind::Configuration, "{rest}");
        }
    }

    #[test]
    fn a_link_is_followed_for_the_files_beside_it() {
        let directory = tempfile::tempdir().unwrap();
        let root = directory.path().canonicalize().unwrap();
        std::fs::create_dir(root.join("real")).unwrap();
        std::fs::write(root.join("real/x.db"), "").unwrap();
        std::os::unix::fs::symlink(root.join("real/x.db"), root.join("link.db")).unwrap();
        let location = Location::find(&root.join("link.db")).unwrap();
        assert_eq!(location.log(), root.join("real/x.db-wal"));
        assert_eq!(location.path, root.join("link.db"));
    }
}
