//! The table of how many crates each feature of the library compiles, in the page about costs: `cargo xtask fix` writes it,
//! and the part `features` of `cargo xtask test` compares it.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::manifest;
use crate::process;

pub(crate) const PAGE: &str = "docs/performance.md";
const HEADING: &str = "## Crates per feature";

/// The page as it is and as it should be.
pub(crate) fn page(
    root: &Path,
    mut run: impl FnMut(&mut Command) -> Result<String, String>,
) -> Result<(String, String), String> {
    let read = |path: &str| fs::read_to_string(root.join(path)).map_err(|error| format!("cannot read {path}: {error}"));
    let (manifest, page) = (read("crates/tenure/Cargo.toml")?, read(PAGE)?);
    let mut rows = Vec::new();
    for (name, flags) in selections(&manifest) {
        let mut tree = process::cargo();
        // What build scripts need is compiled, too.
        tree.args(["tree", "--locked", "-p", "tenure", "-e", "normal,build", "--prefix", "none", "--format", "{p}"]);
        rows.push(format!("| {name} | {} |", distinct(&run(tree.args(flags))?)));
    }
    let written = with_rows(&page, &rows).ok_or_else(|| format!("{PAGE} has no table under `{HEADING}`"))?;
    Ok((page, written))
}

/// How each row is called, and the flags for it.
fn selections(manifest: &str) -> Vec<(String, Vec<String>)> {
    let mut selections = vec![("none".to_owned(), vec!["--no-default-features".to_owned()])];
    for feature in manifest::keys(manifest, "features") {
        let flags = match feature {
            "default" => Vec::new(),
            other => vec!["--no-default-features".to_owned(), "--features".to_owned(), other.to_owned()],
        };
        selections.push((format!("`{feature}`"), flags));
    }
    selections
}

/// How many crates a tree holds: one that is shown again is marked with a star.
fn distinct(tree: &str) -> usize {
    tree.lines()
        .map(|line| line.trim_end_matches(" (*)"))
        .filter(|line| !line.is_empty())
        .collect::<BTreeSet<_>>()
        .len()
}

/// The page with these rows in the first table after the heading.
fn with_rows(page: &str, rows: &[String]) -> Option<String> {
    let (before, after) = page.split_once(HEADING)?;
    let (text, table) = after.split_once("|---|\n")?;
    let end = table.split_inclusive('\n').take_while(|line| line.starts_with('|')).map(str::len).sum();
    Some(format!("{before}{HEADING}{text}|---|\n{}\n{}", rows.join("\n"), &table[end..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_crate_counts_once() {
        assert_eq!(distinct("a v1\nb v1\nb v2\nb v1 (*)\n\n"), 3);
    }

    #[test]
    fn each_feature_has_a_row() {
        let rows = selections("[features]\ndefault = [\"a\"]\na = []\n");
        let typed: Vec<String> = rows.iter().map(|(name, flags)| format!("{name}: {}", flags.join(" "))).collect();
        assert_eq!(typed, ["none: --no-default-features", "`default`: ", "`a`: --no-default-features --features a"]);
    }

    #[test]
    fn only_the_rows_of_its_table_are_written() {
        let page = format!(
            "| x |\n|---|\n| 0 |\n\n{HEADING}\n\nWhy.\n\n| f | n |\n|---|---|\n| old | 1 |\n| gone | 2 |\n\nEnd.\n"
        );
        let written = with_rows(&page, &["| new | 3 |".to_owned()]).unwrap();
        assert_eq!(written, page.replace("| old | 1 |\n| gone | 2 |", "| new | 3 |"));
        assert_eq!(with_rows(&written, &["| new | 3 |".to_owned()]), Some(written.clone()));
        assert_eq!(with_rows("no table", &[]), None);
    }
}
