//! Every crate takes its lints from the workspace, which forbids unsafe code; only the crate made for it does not.

use super::tree::Tree;
use crate::manifest;

const EXEMPT: &str = "crates/sys/Cargo.toml";

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let manifests = tree.files().filter(|(path, _)| *path == ROOT || path.ends_with("/Cargo.toml"));
    manifests.flat_map(|(path, toml)| violations(path, toml)).collect()
}

const ROOT: &str = "Cargo.toml";

fn violations(path: &str, toml: &str) -> Vec<String> {
    let forbids = |section| manifest::value(toml, section, "unsafe_code") == Some("forbid");
    let mut found = Vec::new();
    if path == ROOT && !forbids("workspace.lints.rust") {
        found.push(format!("{path}: [workspace.lints.rust] must say unsafe_code = \"forbid\""));
    }
    // A crate outside of the workspace, such as a fuzz target, cannot inherit and says it itself.
    let is_bound = manifest::value(toml, "lints", "workspace") == Some("true") || forbids("lints.rust");
    if manifest::has_section(toml, "package") && path != EXEMPT && !is_bound {
        found.push(format!("{path}: [lints] must say workspace = true"));
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    const CRATE: &str = "crates/a/Cargo.toml";

    fn found(path: &str, toml: &str) -> usize {
        check(&Tree::from_files(&[(path, toml)])).len()
    }

    #[test]
    fn a_crate_without_the_workspace_lints_is_found() {
        assert_eq!(found(CRATE, "[package]\nname = \"a\"\n"), 1);
        assert_eq!(found(CRATE, "[package]\nname = \"a\"\n[lints.rust]\nunsafe_code = \"allow\"\n"), 1);
        assert_eq!(found(CRATE, "[package]\nname = \"a\"\n[lints]\nworkspace = true\n"), 0);
        assert_eq!(found(CRATE, "[package]\nname = \"a\"\n[lints.rust]\nunsafe_code = \"forbid\"\n"), 0);
        assert_eq!(found(EXEMPT, "[package]\nname = \"sys\"\n"), 0);
    }

    #[test]
    fn the_workspace_itself_must_forbid() {
        assert_eq!(found(ROOT, "[workspace.lints.rust]\nunsafe_code = \"deny\"\n"), 1);
        assert_eq!(found(ROOT, "[workspace.lints.rust]\nunsafe_code = \"forbid\"\n"), 0);
    }
}
