//! Where the programs of PostgreSQL and PgBouncer are.

use std::fs;
use std::path::{Path, PathBuf};

/// The newest program of this name. Debian keeps those of servers where the search path does not lead, PostgreSQL's by
/// version.
pub(super) fn program(name: &str) -> PathBuf {
    let of_system = || Some(Path::new("/usr/sbin").join(name)).filter(|program| program.is_file());
    newest(Path::new(VERSIONS), name).or_else(of_system).unwrap_or_else(|| name.into())
}

fn newest(versions: &Path, name: &str) -> Option<PathBuf> {
    let versions = fs::read_dir(versions).ok()?.flatten().map(|entry| entry.path());
    let numbered = versions.filter_map(|path| Some((number(&path)?, path.join("bin").join(name))));
    numbered.filter(|(_, program)| program.is_file()).max().map(|(_, program)| program)
}

fn number(path: &Path) -> Option<u32> {
    path.file_name()?.to_str()?.parse().ok()
}

const VERSIONS: &str = "/usr/lib/postgresql";

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_newest_version_counts_that_has_the_program() {
        let directory = tempfile::tempdir().unwrap();
        for (version, name) in [("9", "postgres"), ("15", "postgres"), ("16", "psql"), ("common", "postgres")] {
            let bin = directory.path().join(version).join("bin");
            fs::create_dir_all(&bin).unwrap();
            fs::write(bin.join(name), "").unwrap();
        }
        assert_eq!(newest(directory.path(), "postgres"), Some(directory.path().join("15/bin/postgres")));
        assert_eq!(newest(directory.path(), "initdb"), None);
        assert_eq!(newest(&directory.path().join("missing"), "postgres"), None);
    }
}
