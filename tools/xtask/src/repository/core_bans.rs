//! The core's clippy configuration is what keeps clocks, threads and random order out of it, so it must stay complete.

use super::tree::Tree;
use crate::manifest;

const PATH: &str = "crates/core/clippy.toml";

const BANS: &[&str] = &[
    "std::time::Instant",
    "std::time::SystemTime",
    "std::collections::HashMap",
    "std::collections::HashSet",
    "std::thread::sleep",
    "std::thread::spawn",
];

pub(crate) fn check(tree: &Tree) -> Vec<String> {
    let bans = manifest::without_comments(tree.text(PATH).unwrap_or_default());
    let is_missing = |ban: &&&str| !bans.contains(&format!("path = \"{ban}\""));
    BANS.iter().filter(is_missing).map(|ban| format!("{PATH}: must disallow {ban}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(bans: &[&str]) -> usize {
        let toml: String = bans.iter().map(|ban| format!("  {{ path = \"{ban}\", reason = \"r\" }},\n")).collect();
        check(&Tree::from_files(&[(PATH, &toml)])).len()
    }

    #[test]
    fn a_missing_ban_is_found() {
        assert_eq!(found(BANS), 0);
        assert_eq!(found(&BANS[1..]), 1);
    }

    #[test]
    fn a_missing_file_or_a_comment_bans_nothing() {
        assert_eq!(check(&Tree::from_files(&[])).len(), BANS.len());
        let comment = "# { path = \"std::thread::sleep\" }\n";
        assert_eq!(check(&Tree::from_files(&[(PATH, comment)])).len(), BANS.len());
    }
}
