//! Which pages there are.

use std::fs;
use std::path::{Path, PathBuf};

/// Where pages are looked for, beside the root itself.
const FOLDERS: &[&str] = &["crates", "deploy", "docs", "examples", "tools"];

/// The root of the workspace.
#[must_use]
pub fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

/// What this file of the tree says.
///
/// # Panics
/// There is no such file.
#[must_use]
pub fn text_of(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("cannot read {path}: {error}"))
}

/// The paths of all pages from the root, sorted.
pub(crate) fn pages() -> Vec<String> {
    let mut pages: Vec<String> = entries("").into_iter().filter(|name| is_page(name)).collect();
    let mut folders: Vec<String> = FOLDERS.iter().map(|&folder| folder.to_owned()).collect();
    while let Some(folder) = folders.pop() {
        for path in entries(&folder) {
            if root().join(&path).is_dir() {
                folders.push(path);
            } else if is_page(&path) {
                pages.push(path);
            }
        }
    }
    pages.sort();
    pages
}

/// What is in a folder, without what is hidden and what cargo builds there.
fn entries(folder: &str) -> Vec<String> {
    let listed = fs::read_dir(root().join(folder)).unwrap_or_else(|error| panic!("cannot list {folder}: {error}"));
    let names = listed.filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    let names = names.filter(|name| !name.starts_with('.') && name != "target");
    names.map(|name| if folder.is_empty() { name } else { format!("{folder}/{name}") }).collect()
}

fn is_page(path: &str) -> bool {
    Path::new(path).extension().is_some_and(|extension| extension == "md" || extension == "rs")
}

#[cfg(test)]
mod tests {
    use super::pages;

    #[test]
    fn pages_are_found_at_the_root_in_folders_and_in_code() {
        let pages = pages();
        for page in ["README.md", "docs/tutorial.md", "crates/sqlite/src/docs.md", "crates/core/src/lib.rs"] {
            assert!(pages.iter().any(|known| known == page), "{page} is not among {pages:?}");
        }
    }
}
