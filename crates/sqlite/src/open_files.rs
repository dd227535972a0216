//! Which files this process has open: SQLite opens log and index by name, and does not tell which files it found.

use std::fs;
use std::path::{Path, PathBuf};

use super::access::{FileStatus, Inode};
use super::config::Location;
use super::identity::FileIdentity;

const OWN_DESCRIPTORS: &str = "/proc/self/fd";
const OWN_DESCRIPTOR_FLAGS: &str = "/proc/self/fdinfo";
/// The kernel writes flags as octal numbers.
const OCTAL: u32 = 8;

/// The logs and indexes of one database that this process had open before it opened the database once more.
#[derive(Debug)]
pub(super) struct OpenFiles {
    logs: Vec<OpenFile>,
    indexes: Vec<OpenFile>,
}

/// A descriptor, and the file behind it.
type OpenFile = (PathBuf, Inode);

impl OpenFiles {
    /// Empty where the kernel shows no descriptors, as to a process that may not be traced.
    pub(super) fn of(location: &Location) -> Self {
        let descriptors = fs::read_dir(OWN_DESCRIPTORS).into_iter().flatten();
        let descriptors: Vec<PathBuf> = descriptors.filter_map(|entry| Some(entry.ok()?.path())).collect();
        let opened_as = |path: &Path| {
            let found = descriptors.iter().filter_map(|descriptor| Some((descriptor.clone(), file(descriptor, path)?)));
            found.collect()
        };
        Self { logs: opened_as(&location.log()), indexes: opened_as(&location.index()) }
    }

    /// Whether SQLite opened the log and the index that are at the path now. They may have been removed, and made again,
    /// between the moment in which it opened them and a look at the path: the ones it writes to would be nobody else's, and a
    /// lease in them worth nothing.
    ///
    /// Other stores of this process may still have former files open. Only an index is shared with them.
    pub(super) fn has_opened(&self, location: &Location, identity: &FileIdentity) -> bool {
        let now = Self::of(location);
        let are_current = |now: &[OpenFile], before: &[OpenFile], current: Inode| {
            now.iter().filter(|descriptor| !before.contains(descriptor)).all(|(_, inode)| *inode == current)
        };
        let cannot_tell = now.logs.is_empty() && fs::read_dir(OWN_DESCRIPTORS).is_err();
        cannot_tell
            || are_current(&now.logs, &self.logs, identity.log)
                && are_current(&now.indexes, &self.indexes, identity.index)
                && now.logs.iter().any(|(_, inode)| *inode == identity.log)
                && now.indexes.iter().any(|(_, inode)| *inode == identity.index)
    }
}

/// The file behind a descriptor, if it was opened by this name, to be used.
fn file(descriptor: &Path, path: &Path) -> Option<Inode> {
    let name = fs::read_link(descriptor).ok()?;
    let name = name.as_os_str().as_encoded_bytes();
    let name = name.strip_suffix(b" (deleted)").unwrap_or(name);
    if name != path.as_os_str().as_encoded_bytes() || only_names(descriptor) {
        return None;
    }
    Some(FileStatus::at(descriptor).ok()??.inode)
}

/// Whether nothing can be read or written by it, as by the descriptors that keep inode numbers from being reused.
fn only_names(descriptor: &Path) -> bool {
    let Some(number) = descriptor.file_name() else { return false };
    let Ok(info) = fs::read_to_string(Path::new(OWN_DESCRIPTOR_FLAGS).join(number)) else { return false };
    let flags = info.lines().find_map(|line| line.strip_prefix("flags:"));
    let flags = flags.and_then(|flags| u32::from_str_radix(flags.trim(), OCTAL).ok()).unwrap_or_default();
    flags & rustix::fs::OFlags::PATH.bits() != 0
}

#[cfg(test)]
mod tests {
    use rusqlite::Connection;

    use super::super::identity::Pins;
    use super::*;

    #[test]
    fn a_log_or_an_index_that_was_removed_and_made_again_is_not_the_one_in_use() {
        for (made_again, remove) in [
            (Location::log as fn(&Location) -> PathBuf, (|path| fs::remove_file(path).unwrap()) as fn(&Path)),
            (Location::index, |path| fs::remove_file(path).unwrap()),
            (Location::log, |path| fs::rename(path, path.with_extension("moved")).unwrap()),
            (Location::index, |path| fs::rename(path, path.with_extension("moved")).unwrap()),
        ] {
            let directory = tempfile::tempdir().unwrap();
            let location = Location::find(&directory.path().join("x.db")).unwrap();
            let open_files = OpenFiles::of(&location);
            let connection = Connection::open(&location.real).unwrap();
            connection.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE t (x)").unwrap();
            let before = FileIdentity::of(&location).unwrap();
            let _pins = Pins::new(&location, &before).unwrap();
            assert!(open_files.has_opened(&location, &before));
            let path = made_again(&location);
            remove(&path);
            fs::write(&path, "").unwrap();
            let after = FileIdentity::of(&location).unwrap();
            assert!(after != before && !open_files.has_opened(&location, &after), "{}", path.display());
        }
    }

    /// A connection, what it found at the path, and whether it opened that.
    fn open(location: &Location) -> (Connection, FileIdentity, bool) {
        let open_files = OpenFiles::of(location);
        let connection = Connection::open(&location.real).unwrap();
        connection.execute_batch("PRAGMA journal_mode = WAL; CREATE TABLE IF NOT EXISTS t (x)").unwrap();
        let identity = FileIdentity::of(location).unwrap();
        let has_opened = open_files.has_opened(location, &identity);
        (connection, identity, has_opened)
    }

    #[test]
    fn files_that_are_only_kept_from_being_reused_are_not_in_use() {
        let directory = tempfile::tempdir().unwrap();
        let location = Location::find(&directory.path().join("x.db")).unwrap();
        let (connection, former, _) = open(&location);
        let _pins = Pins::new(&location, &former).unwrap();
        // The last one to close them removes log and index.
        drop(connection);
        let (_connection, current, has_opened) = open(&location);
        assert!(former != current && has_opened);
    }

    #[test]
    fn files_of_a_database_that_was_replaced_may_stay_open() {
        let directory = tempfile::tempdir().unwrap();
        let location = Location::find(&directory.path().join("x.db")).unwrap();
        let (_former, _, _) = open(&location);
        for path in [&location.real, &location.log(), &location.index()] {
            fs::remove_file(path).unwrap();
        }
        let (_current, _, has_opened) = open(&location);
        assert!(has_opened);
        let (_second, _, has_opened) = open(&location);
        assert!(has_opened, "which shares the index");
    }

    #[test]
    fn an_index_that_is_shared_with_a_store_that_has_not_noticed_its_removal_is_not_current() {
        let directory = tempfile::tempdir().unwrap();
        let location = Location::find(&directory.path().join("x.db")).unwrap();
        let (_former, _, _) = open(&location);
        fs::remove_file(location.index()).unwrap();
        fs::write(location.index(), "").unwrap();
        let (_current, _, has_opened) = open(&location);
        assert!(!has_opened);
    }
}
