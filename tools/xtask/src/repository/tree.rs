//! The tracked files and their texts.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Every tracked file by its path from the root; what is not text has no text, and only its path counts.
pub(crate) struct Tree {
    files: BTreeMap<String, Option<String>>,
}

impl Tree {
    /// Reads the working copy of every file that git tracks.
    pub(crate) fn read(root: &Path) -> Result<Self, String> {
        let mut files = BTreeMap::new();
        for path in tracked(root)? {
            let file = root.join(&path);
            // A file that was deleted but not yet committed is still tracked.
            if file.symlink_metadata().is_ok() {
                files.insert(path, fs::read_to_string(file).ok());
            }
        }
        Ok(Self { files })
    }

    /// All files that are text.
    pub(crate) fn files(&self) -> impl Iterator<Item = (&str, &str)> {
        self.files.iter().filter_map(|(path, text)| Some((path.as_str(), text.as_deref()?)))
    }

    /// All files whose name ends like this and that are text.
    pub(crate) fn ending(&self, suffix: &str) -> impl Iterator<Item = (&str, &str)> {
        self.files().filter(move |(path, _)| path.ends_with(suffix))
    }

    /// The paths of all files, text or not.
    pub(crate) fn paths(&self) -> impl Iterator<Item = &str> {
        self.files.keys().map(String::as_str)
    }

    pub(crate) fn text(&self, path: &str) -> Option<&str> {
        self.files.get(path)?.as_deref()
    }

    /// True for a tracked file, and for a folder that holds one.
    pub(crate) fn contains(&self, path: &str) -> bool {
        path.is_empty() || self.is_folder(path) || self.paths().any(|tracked| tracked == path)
    }

    /// True for a folder that holds a tracked file.
    pub(crate) fn is_folder(&self, path: &str) -> bool {
        let folder = format!("{path}/");
        self.paths().any(|tracked| tracked.starts_with(&folder))
    }

    /// True for the end of the path of a tracked file, and of a folder that holds one.
    pub(crate) fn has_path_ending_with(&self, end: &str) -> bool {
        let end = end.trim_end_matches('/');
        let (file, folder) = (format!("/{end}"), format!("/{end}/"));
        self.paths().map(|tracked| format!("/{tracked}")).any(|path| path.ends_with(&file) || path.contains(&folder))
    }

    #[cfg(test)]
    pub(crate) fn from_files(files: &[(&str, &str)]) -> Self {
        Self { files: files.iter().map(|(path, text)| ((*path).to_owned(), Some((*text).to_owned()))).collect() }
    }
}

/// True for files that hold nothing but tests.
pub(crate) fn is_tests_file(path: &str) -> bool {
    path.split('/').any(|part| part == "tests" || part == "tests.rs")
}

fn tracked(root: &Path) -> Result<Vec<String>, String> {
    // Containers often run as another user than the one who owns the checkout, which git refuses by default.
    let mut git = Command::new("git");
    git.args(["-c", "safe.directory=*", "ls-files", "-z"]).current_dir(root);
    let output = git.output().map_err(|error| format!("cannot run git ls-files: {error}"))?;
    if !output.status.success() {
        return Err(format!("git ls-files failed: {}", String::from_utf8_lossy(&output.stderr).trim()));
    }
    let listing = String::from_utf8_lossy(&output.stdout);
    Ok(listing.split_terminator('\0').map(str::to_owned).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_are_contained_through_their_files() {
        let tree = Tree::from_files(&[("docs/a.md", "")]);
        assert!(tree.contains("docs") && tree.contains("docs/a.md"));
        assert!(!tree.contains("doc") && !tree.contains("docs/b.md"));
    }

    #[test]
    fn tests_files_are_known_by_their_place() {
        assert!(is_tests_file("crates/a/tests/b.rs") && is_tests_file("crates/a/src/tests.rs"));
        assert!(!is_tests_file("tools/xtask/src/test/mod.rs"));
    }
}
