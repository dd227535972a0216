//! `cargo xtask fix`: the only command here that writes to the tree.

use std::fs;
use std::path::Path;

use crate::crate_counts;
use crate::process;
use crate::repository::Tree;
use crate::test::outside;

const WRITTEN: &str = "docs/cli.md and the counts of crates";

/// Applies clippy's own fixes, formats the result, writes what is generated, and names the changed files.
pub(crate) fn run(root: &Path) -> Result<(), String> {
    let before = Tree::read(root)?;
    // Clippy comes first because its fixes are not formatted.
    process::run_cargo(root, "clippy --fix --allow-dirty --allow-staged --workspace --all-targets --all-features")?;
    process::run_cargo(root, "fmt --all")?;
    process::run_cargo(root, &format!("fmt --manifest-path {}", outside::MANIFEST))?;
    write_reference(root)?;
    write_crate_counts(root)?;
    let changed = changed_files(&before, &Tree::read(root)?);
    if changed.is_empty() {
        println!("Ran clippy --fix and cargo fmt, and wrote {WRITTEN}: nothing needed a change.");
    } else {
        println!("Ran clippy --fix and cargo fmt, and wrote {WRITTEN}; changed {} file(s):", changed.len());
        changed.iter().for_each(|path| println!("  {path}"));
    }
    Ok(())
}

/// The page of the command line is written by the test that compares it.
fn write_reference(root: &Path) -> Result<(), String> {
    let mut command = process::cargo();
    command.args(["test", "--quiet", "--locked", "-p", "tenure-cli", "--test", "command", "--", "reference::"]);
    match command.env("TENURE_WRITE_REFERENCE", "1").current_dir(root).status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{}` ended with {status}", process::describe(&command))),
        Err(error) => Err(format!("cannot run `{}`: {error}", process::describe(&command))),
    }
}

fn write_crate_counts(root: &Path) -> Result<(), String> {
    let (page, written) = crate_counts::page(root, |command| process::output(command.current_dir(root)))?;
    if page == written {
        return Ok(());
    }
    fs::write(root.join(crate_counts::PAGE), written).map_err(|error| format!("cannot write the page: {error}"))
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
