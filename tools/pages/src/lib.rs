//! The fenced blocks of the project's pages, for the tests that hold the pages to what they say.
//!
//! A page is a Markdown file, or the documentation in a Rust file. `crates/cli/tests/pages` says what becomes of each block;
//! tests elsewhere run those that need a program of their own crate.

#![allow(clippy::panic, reason = "all of this is a part of tests, and fails as tests do")]

mod block;
mod shell;
mod tree;

pub use block::FencedBlock;
pub use shell::commands;
pub use tree::{root, text_of};

/// Every block of every page.
///
/// # Panics
/// The tree cannot be read, or a page ends within a block.
#[must_use]
pub fn blocks() -> Vec<FencedBlock> {
    tree::pages().iter().flat_map(|page| block::blocks_in(page, &text_of(page))).collect()
}

/// The texts of the blocks of one language on one page, in order.
///
/// # Panics
/// There is no such page, or it ends within a block.
#[must_use]
pub fn blocks_of(page: &str, language: &str) -> Vec<String> {
    let blocks = block::blocks_in(page, &text_of(page)).into_iter();
    blocks.filter(|block| block.language == language).map(|block| block.text).collect()
}

/// What the pages give to `cargo xtask`, in scripts and transcripts.
///
/// # Panics
/// The tree cannot be read, or a page ends within a block.
#[must_use]
pub fn xtask_commands() -> Vec<Vec<String>> {
    let commands = blocks().into_iter().flat_map(|block| block.commands());
    let own = commands.filter(|words| words.starts_with(&["cargo", "xtask"].map(str::to_owned)));
    own.map(|words| words[2..].to_vec()).collect()
}
