//! What becomes of each block, by its page and language.

use std::path::Path;

use tenure_pages::{FencedBlock, blocks, root, text_of};

use crate::{WALKED, checkout};

/// Languages that no program reads, and why a page uses them.
const DRAWINGS: &[(&str, &str)] = &[
    ("diagram", "a drawing"),
    ("http", "a request to a service that the reader writes"),
    ("pseudocode", "arithmetic, or the steps of a service that the reader writes"),
];

/// Blocks that a test elsewhere reads out of their page, because it has the program that they need.
const READ_ELSEWHERE: &[(&str, &str, &str)] = &[
    ("docs/cli.md", "text", "crates/cli/tests/command/reference.rs"),
    ("docs/fencing.md", "text", "examples/with-sqlx/tests/fenced.rs"),
    ("docs/history.md", "console", "tools/history/tests/page.rs"),
    ("docs/history.md", "json", "tools/history/tests/page.rs"),
    ("docs/releasing.md", "text", "tools/xtask/src/test/publish.rs"),
    ("crates/tenure/examples/payouts.rs", "sql", "crates/tenure/tests/examples.rs"),
];

/// The blocks that a walk has to run: those of this page and language that are not for a checkout.
pub(crate) fn blocks_to_walk<const N: usize>(page: &str, language: &str) -> [String; N] {
    let blocks = blocks().into_iter().filter(|block| block.page == page && block.language == language);
    let blocks: Vec<String> = blocks.filter(|block| !checkout::is_for(block)).map(|block| block.text).collect();
    let found = blocks.len();
    blocks.try_into().unwrap_or_else(|_| panic!("{page} has {found} blocks of {language}, of which {N} are run"))
}

#[test]
fn every_block_is_run_or_compiled_or_is_a_drawing() {
    let blocks = blocks();
    assert!(blocks.len() > 150, "these are not all: {}", blocks.len());
    let loose: Vec<String> = blocks.iter().filter(|block| !is_held(block)).map(describe).collect();
    assert!(loose.is_empty(), "nothing runs or compiles these:\n{}", loose.join("\n"));
}

fn describe(block: &FencedBlock) -> String {
    format!("{} ({}): {}", block.place(), block.language, block.text.lines().next().unwrap_or_default())
}

fn is_held(block: &FencedBlock) -> bool {
    let (page, language) = (block.page.as_str(), block.language.as_str());
    if block.is_rust() {
        return is_compiled(block);
    }
    DRAWINGS.iter().any(|(drawing, _)| *drawing == language)
        || WALKED.contains(&(page, language))
        || READ_ELSEWHERE.iter().any(|(known, in_it, _)| (*known, *in_it) == (page, language))
        || checkout::is_for(block)
}

/// Whether rustdoc meets it: in the code of a library, or on a page that a library includes. A page that is no
/// documentation of a crate has to say that it shows Rust.
fn is_compiled(block: &FencedBlock) -> bool {
    if block.language.contains("ignore") {
        return false;
    }
    let Some((package, _)) = block.page.split_once("/src/") else {
        const INCLUDING: [&str; 2] = ["crates/tenure/src/lib.rs", "tools/history/src/lib.rs"];
        let inclusion = format!("#[doc = include_str!(\"../../../{}\")]", block.page);
        return !block.language.is_empty() && INCLUDING.iter().any(|library| text_of(library).contains(&inclusion));
    };
    let is_in_library = root().join(package).join("src/lib.rs").is_file() && !block.page.ends_with("/src/main.rs");
    let is_code = block.page.ends_with(".rs");
    let includes = |name: &str| {
        let module = Path::new(&block.page).with_file_name(name);
        root().join(&module).is_file() && text_of(module.to_str().unwrap()).contains("include_str!(\"docs.md\")")
    };
    is_in_library && (is_code || includes("lib.rs") || includes("mod.rs"))
}

#[test]
fn what_is_said_to_be_read_elsewhere_is_read_there() {
    for (page, language, test) in READ_ELSEWHERE {
        let file = Path::new(page).file_name().unwrap().to_str().unwrap();
        assert!(text_of(test).contains(file), "{test} does not read {page}");
        let has_some =
            blocks().iter().any(|block| (block.page.as_str(), block.language.as_str()) == (*page, *language));
        assert!(has_some, "{page} has no {language}");
    }
}

/// So that nothing that could be run passes for one.
#[test]
fn drawings_show_no_commands() {
    for block in blocks().iter().filter(|block| DRAWINGS.iter().any(|(language, _)| *language == block.language)) {
        let commands = ["tenure ", "cargo ", "psql ", "redis-cli ", "sqlite3 "];
        let typed = block.text.lines().find(|line| commands.iter().any(|command| line.starts_with(command)));
        assert_eq!(typed, None, "{}", block.place());
    }
}
