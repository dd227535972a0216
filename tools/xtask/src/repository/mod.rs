//! The repository test: rules about the tree itself, one per file. Limits are hard; there is no list of exceptions.

mod banned_words;
mod core_bans;
mod debug_names;
mod file_size;
mod function_length;
mod joined_lines;
mod links;
mod sleeps;
mod source;
mod store_skeleton;
mod tree;
mod unique_types;
mod unsafe_code;
mod workspace_lints;

use std::path::Path;

pub(crate) use tree::Tree;

/// Runs every rule over the tracked files; each violation is a line that starts with its place.
pub(crate) fn check(root: &Path) -> Result<Vec<String>, String> {
    let tree = Tree::read(root)?;
    Ok(RULES.iter().flat_map(|rule| rule(&tree)).collect())
}

const RULES: &[fn(&Tree) -> Vec<String>] = &[
    file_size::check,
    function_length::check,
    joined_lines::check,
    banned_words::check,
    unsafe_code::check,
    workspace_lints::check,
    core_bans::check,
    sleeps::check,
    store_skeleton::check,
    links::check,
    unique_types::check,
    debug_names::check,
];
