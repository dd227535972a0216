//! `cargo xtask fix`: the only command here that writes to the tree.

use std::path::Path;

use crate::process;
use crate::repository::Tree;

/// Applies clippy's own fixes, formats the result, and names the changed files.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let before = Tree::read(root)?;
    // Clippy comes first because its fixes are not formatted.
    process::run_cargo(root, "clippy --fix --allow-dirty --allow-staged --workspace --all-targets --all-features")?;
    process::run_cargo(root, "fmt --all")?;
    let changed = changed_files(&before, &Tree::read(root)?);
    if changed.is_empty() {
        println!("Ran clippy --fix and cargo fmt: nothing needed a change.");
    } else {
        println!("Ran clippy --fix and cargo fmt; changed {} file(s):", changed.len());
        changed.iter().for_each(|path| println!("  {path}"));
    }
    Ok(())
}

fn changed_files(before: &Tree, after: &Tree) -> Vec<String> {
    let is_same = |path: &str, text: &str| before.text(path) == Some(text);
    after.files().filter(|(path, text)| !is_same(path, text)).map(|(path, _)| path.to_owned()).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_changed_files_are_named() {
        let before = Tree::from_files(&[("a.rs", "fn  a() {}"), ("b.rs", "fn b() {}")]);
        let after = Tree::from_files(&[("a.rs", "fn a() {}"), ("b.rs", "fn b() {}")]);
        assert_eq!(changed_files(&before, &after), ["a.rs"]);
    }
}
