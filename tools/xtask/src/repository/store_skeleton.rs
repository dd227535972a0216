//! Every store's folder holds the same files, so that whoever knows one knows all.

use std::collections::BTreeSet;

use super::tree::Tree;

const STORES: &str = "crates/tenure/src/store/";
const SKELETON: &[&str] = &["mod.rs", "config.rs", "error.rs", "docs.md"];
/// What stores behind a network share is not a store.
const NOT_A_STORE: &str = "remote";

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let in_folders = tree.paths().filter_map(|path| path.strip_prefix(STORES)?.split_once('/'));
    let stores: BTreeSet<&str> = in_folders.map(|(store, _)| store).filter(|store| *store != NOT_A_STORE).collect();
    let expected = stores.iter().flat_map(|store| SKELETON.iter().map(move |file| format!("{STORES}{store}/{file}")));
    expected.filter(|path| !tree.contains(path)).map(|path| format!("{path}: every store has this file")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(paths: &[&str]) -> Vec<String> {
        let paths: Vec<String> = paths.iter().map(|path| format!("{STORES}{path}")).collect();
        check(&Tree::from_files(&paths.iter().map(|path| (path.as_str(), "")).collect::<Vec<_>>()))
    }

    #[test]
    fn a_missing_file_is_found() {
        let complete = ["redis/mod.rs", "redis/config.rs", "redis/error.rs", "redis/docs.md", "redis/renew.lua"];
        assert!(found(&complete).is_empty());
        assert_eq!(found(&complete[1..]), [format!("{STORES}redis/mod.rs: every store has this file")]);
    }

    #[test]
    fn single_files_and_what_stores_share_are_no_stores() {
        assert!(found(&["memory.rs", "mod.rs", "remote/hub.rs"]).is_empty());
    }
}
