//! Every store's crate holds the same files, and keeps the same thing under the same name, so that whoever knows one
//! knows all.

use super::source::code_only;
use super::tree::Tree;
use crate::manifest;

/// The library has one feature for each store, of the same name as its crate.
const LIBRARY: &str = "crates/tenure/Cargo.toml";
const SKELETON: &[&str] = &["src/lib.rs", "src/config.rs", "src/error.rs", "src/docs.md"];
/// Each holds the verbs of leases.
const LEASE: &[&str] = &["src/lease.rs", "src/lease/mod.rs"];
/// The parts of the contract that a store may offer, and where each is implemented.
const PARTS: &[(&str, &str)] = &[("Mailbox", "mailbox.rs"), ("JobLedger", "jobs.rs"), ("PubSub", "pubsub.rs")];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let library = tree.text(LIBRARY).unwrap_or_default();
    let is_store =
        |feature: &&str| manifest::value(library, "features", feature) == Some(&format!("[\"dep:tenure-{feature}\"]"));
    let stores: Vec<&str> = manifest::keys(library, "features").into_iter().filter(is_store).collect();
    if stores.is_empty() {
        return vec![format!("{LIBRARY}: no feature is a store, such as sqlite = [\"dep:tenure-sqlite\"]")];
    }
    let expected = stores.iter().flat_map(|store| SKELETON.iter().map(move |file| format!("crates/{store}/{file}")));
    let missing = expected.filter(|path| !tree.contains(path)).map(|path| format!("{path}: every store has this file"));
    let without_lease = stores.iter().filter(|store| {
        let mut places = LEASE.iter().map(|file| format!("crates/{store}/{file}"));
        !places.any(|path| tree.contains(&path))
    });
    let without_lease = without_lease.map(|store| format!("crates/{store}/src/lease.rs: every store has this file"));
    missing.chain(without_lease).chain(misplaced(tree)).collect()
}

/// The parts of the contract that a store, or a wrapper of one, implements under another file name.
fn misplaced(tree: &Tree) -> Vec<String> {
    let sources = tree.ending(".rs").filter(|(path, _)| path.starts_with("crates/") && path.contains("/src/"));
    let found = sources.flat_map(|(path, text)| {
        let code = code_only(text);
        let is_elsewhere = |(part, file): &&(&str, &str)| {
            let file = format!("/{file}");
            !path.ends_with(&file) && code.contains(&format!("{part} for "))
        };
        let report = |(part, file): &(&str, &str)| format!("{path}: `impl {part}` belongs into a file {file}");
        PARTS.iter().filter(is_elsewhere).map(report).collect::<Vec<_>>()
    });
    found.collect()
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
            "crates/redis/src/lease/mod.rs",
            "crates/redis/src/lua/renew.lua",
        ];
        assert!(found(FEATURES, &complete).is_empty());
        assert_eq!(found(FEATURES, &complete[..4]), ["crates/redis/src/lease.rs: every store has this file"]);
        assert_eq!(found(FEATURES, &complete[1..]), ["crates/redis/src/lib.rs: every store has this file"]);
    }

    #[test]
    fn a_part_in_a_file_of_another_name_is_found() {
        let text = "impl Mailbox for A {}\nimpl PubSub for A {}\n// impl JobLedger for A\n";
        let tree = Tree::from_files(&[("crates/a/src/mailbox.rs", text), ("crates/a/tests/a.rs", text)]);
        assert_eq!(misplaced(&tree), ["crates/a/src/mailbox.rs: `impl PubSub` belongs into a file pubsub.rs"]);
    }

    #[test]
    fn a_library_without_stores_is_found() {
        assert_eq!(found("[features]\nconformance = [\"testing\", \"dep:tenure-conformance\"]\n", &[]).len(), 1);
    }
}
