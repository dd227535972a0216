//! Every store's crate holds the same files, so that whoever knows one knows all.

use super::tree::Tree;
use crate::manifest;

/// The library has one feature for each store, of the same name as its crate.
const LIBRARY: &str = "crates/tenure/Cargo.toml";
const SKELETON: &[&str] = &["src/lib.rs", "src/config.rs", "src/error.rs", "src/docs.md"];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let library = tree.text(LIBRARY).unwrap_or_default();
    let is_store =
        |feature: &&str| manifest::value(library, "features", feature) == Some(&format!("[\"dep:tenure-{feature}\"]"));
    let stores: Vec<&str> = manifest::keys(library, "features").into_iter().filter(is_store).collect();
    if stores.is_empty() {
        return vec![format!("{LIBRARY}: no feature is a store, such as sqlite = [\"dep:tenure-sqlite\"]")];
    }
    let expected = stores.iter().flat_map(|store| SKELETON.iter().map(move |file| format!("crates/{store}/{file}")));
    expected.filter(|path| !tree.contains(path)).map(|path| format!("{path}: every store has this file")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    const FEATURES: &str = "[features]\ndefault = [\"redis\"]\nredis = [\"dep:tenure-redis\"]\ntls = [\"redis\"]\n";

    fn found(library: &str, paths: &[&str]) -> Vec<String> {
        let files = paths.iter().map(|path| (*path, "")).chain([(LIBRARY, library)]);
        check(&Tree::from_files(&files.collect::<Vec<_>>()))
    }

    #[test]
    fn a_missing_file_is_found() {
        let complete = [
            "crates/redis/src/lib.rs",
            "crates/redis/src/config.rs",
            "crates/redis/src/error.rs",
            "crates/redis/src/docs.md",
            "crates/redis/src/lua/renew.lua",
        ];
        assert!(found(FEATURES, &complete).is_empty());
        assert_eq!(found(FEATURES, &complete[1..]), ["crates/redis/src/lib.rs: every store has this file"]);
    }

    #[test]
    fn a_library_without_stores_is_found() {
        assert_eq!(found("[features]\nconformance = [\"testing\", \"dep:tenure-conformance\"]\n", &[]).len(), 1);
    }
}
