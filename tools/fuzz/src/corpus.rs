//! The inputs that are committed: one file each, in a folder per target.

use std::path::{Path, PathBuf};
use std::{env, fs, io};

/// All inputs of a target, in the order of their names.
pub(super) fn of(target: &str) -> io::Result<Vec<Vec<u8>>> {
    read(&root()?.join(target))
}

/// Found from the working directory, which cargo sets to the crate under test: a path compiled in would be wrong for
/// worktrees that share a target directory.
fn root() -> io::Result<PathBuf> {
    let here = env::current_dir()?;
    let found = here.ancestors().map(|folder| folder.join(CORPUS)).find(|folder| folder.is_dir());
    found.ok_or_else(|| {
        io::Error::new(io::ErrorKind::NotFound, format!("there is no {CORPUS} above {}", here.display()))
    })
}

/// A folder without any file is a mistake: it is misnamed, or was forgotten.
fn read(folder: &Path) -> io::Result<Vec<Vec<u8>>> {
    let told = |error: io::Error| io::Error::new(error.kind(), format!("cannot read {}: {error}", folder.display()));
    let files = fs::read_dir(folder).map_err(told)?;
    let mut paths = files.map(|file| Ok(file?.path())).collect::<io::Result<Vec<_>>>().map_err(told)?;
    paths.sort();
    if paths.is_empty() {
        return Err(told(io::Error::new(io::ErrorKind::NotFound, "it holds no input")));
    }
    paths.into_iter().map(|path| fs::read(path).map_err(told)).collect()
}

const CORPUS: &str = "tools/fuzz/corpus";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn entries_come_in_the_order_of_their_names() {
        let folder = tempfile::tempdir().unwrap();
        for name in ["b", "a"] {
            fs::write(folder.path().join(name), name).unwrap();
        }
        assert_eq!(read(folder.path()).unwrap(), [b"a", b"b"]);
    }

    #[test]
    fn a_missing_or_empty_folder_is_told() {
        let folder = tempfile::tempdir().unwrap();
        assert!(read(folder.path()).unwrap_err().to_string().contains("holds no input"));
        assert!(of("no-such-target").unwrap_err().to_string().contains("no-such-target"));
    }
}
