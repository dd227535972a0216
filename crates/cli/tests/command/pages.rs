//! The blocks of README and of the pages in `docs/`: what can be typed is understood, and what can be compiled is.

use std::fs;
use std::path::{Path, PathBuf};

use clap::{CommandFactory, Parser};
use tenure_cli::args::Cli;

/// The first words of commands of others. Nothing here knows whether they are right.
const OTHERS: &[&str] = &[
    "cargo",
    "redis-server",
    "redis-cli",
    "psql",
    "sqlite3",
    "curl",
    "jq",
    "git",
    "target/dist/tenure",
    "export",
    "kill",
    "true",
    "umask",
];

/// Blocks that are programs of the shell rather than lines to type, by page and first line.
const SCRIPTS: &[(&str, &str)] = &[
    ("docs/fencing.md", "psql --no-psqlrc --set ON_ERROR_STOP=1 \"$DATABASE\" <<SQL"),
    ("docs/fencing.md", "changed=$(sqlite3 app.db \"UPDATE report SET body = 'new', term = $TENURE_TERM"),
    ("docs/fencing.md", "exec 9>>report.lock"),
    ("docs/history.md", "export TENURE_STORE=sqlite:demo.db"),
];

pub(crate) struct FencedBlock {
    pub(crate) page: String,
    pub(crate) language: String,
    pub(crate) text: String,
    /// How far it is indented, as in a list.
    indent: usize,
}

pub(crate) fn tree() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn pages() -> Vec<(String, String)> {
    let documents = fs::read_dir(tree().join("docs")).unwrap().map(|entry| entry.unwrap().file_name().into_string());
    let documents = documents.map(|name| format!("docs/{}", name.unwrap())).filter(|name| name.ends_with(".md"));
    let names = documents.chain(["README.md", "examples/README.md"].map(str::to_owned));
    names.map(|name| (name.clone(), fs::read_to_string(tree().join(name)).unwrap())).collect()
}

pub(crate) fn blocks() -> Vec<FencedBlock> {
    let mut blocks = Vec::new();
    for (page, text) in pages() {
        let mut open: Option<FencedBlock> = None;
        for line in text.lines() {
            match (line.trim_start().strip_prefix("```"), open.take()) {
                (Some(language), None) => {
                    let (language, indent) = (language.to_owned(), line.len() - line.trim_start().len());
                    open = Some(FencedBlock { page: page.clone(), language, text: String::new(), indent });
                }
                (Some(_), Some(block)) => blocks.push(block),
                (None, Some(block)) => {
                    let line = line.get(block.indent..).unwrap_or_default();
                    open = Some(FencedBlock { text: block.text + line + "\n", ..block });
                }
                (None, None) => {}
            }
        }
        assert!(open.is_none(), "{page} ends within a block");
    }
    blocks
}

/// The commands of a script, each as its words, as far as a shell would see them without running anything.
fn commands(script: &str) -> Vec<Vec<String>> {
    let (mut commands, mut words, mut word) = (Vec::new(), Vec::new(), None::<String>);
    let mut quote = None;
    let mut letters = script.chars().peekable();
    while let Some(letter) = letters.next() {
        match (quote, letter) {
            (Some(end), _) if letter == end => quote = None,
            (None, '\'' | '"') => {
                quote = Some(letter);
                word.get_or_insert_default();
            }
            (None, '#') if word.is_none() => while letters.next_if(|letter| *letter != '\n').is_some() {},
            (None, '\\') if letters.next_if_eq(&'\n').is_some() => {}
            (None, ' ' | '\n' | '|' | '&' | ';' | '>') => {
                words.extend(word.take());
                if letter != ' ' {
                    commands.push(std::mem::take(&mut words));
                }
            }
            _ => word.get_or_insert_default().push(letter),
        }
    }
    words.extend(word);
    commands.push(words);
    commands.retain(|words| !words.is_empty());
    commands
}

#[test]
fn every_line_to_type_is_understood() {
    let mut wrong = Vec::new();
    for block in blocks().iter().filter(|block| block.language == "sh") {
        let first = block.text.lines().next().unwrap_or_default();
        let is_script = SCRIPTS.contains(&(block.page.as_str(), first));
        for words in commands(&block.text) {
            let place = format!("{}: {}", block.page, words.join(" "));
            // A checkout runs it without installing it.
            let own = match words.iter().map(String::as_str).collect::<Vec<_>>().as_slice() {
                ["cargo", "run", "--", ..] => Some(&words[2..]),
                ["tenure", ..] => Some(&words[..]),
                [other, ..] if is_script || OTHERS.contains(other) => None,
                _ => {
                    wrong.push(format!("{place}: nothing holds this"));
                    None
                }
            };
            wrong.extend(own.and_then(|own| Cli::try_parse_from(own).err()).map(|error| format!("{place}: {error}")));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Those in the documentation of a crate are.
#[test]
fn every_program_is_compiled() {
    let libraries = ["crates/tenure/src/lib.rs", "tools/history/src/lib.rs"];
    let included: String = libraries.map(|path| fs::read_to_string(tree().join(path)).unwrap()).concat();
    let is_held = |page: &str| included.contains(&format!("#[doc = include_str!(\"../../../{page}\")]"));
    let loose = blocks().into_iter().filter(|block| block.language.starts_with("rust") && !is_held(&block.page));
    let loose: Vec<String> = loose.map(|block| format!("{}: {}", block.page, block.text)).collect();
    assert!(loose.is_empty(), "no crate includes the page of {loose:#?}");
}

/// One without a language would be compiled where its page is included, and is not looked at elsewhere.
#[test]
fn every_block_says_what_it_is() {
    const KNOWN: &[&str] = &["sh", "console", "text", "toml", "sql", "json", "ini", "yaml", "lua"];
    let is_known = |language: &str| KNOWN.contains(&language) || language.starts_with("rust");
    let unknown = blocks().into_iter().filter(|block| !is_known(&block.language));
    let unknown: Vec<String> = unknown.map(|block| format!("{}: {:?}", block.page, block.language)).collect();
    assert!(unknown.is_empty(), "{unknown:#?}");
}

/// What `$` and `tenure` begin in a transcript is a command of ours.
#[test]
fn transcripts_show_commands_that_exist() {
    let subcommands: Vec<String> = Cli::command().get_subcommands().map(|below| below.get_name().to_owned()).collect();
    for block in blocks().iter().filter(|block| block.language == "console") {
        for line in block.text.lines().filter_map(|line| line.strip_prefix("$ ")) {
            for words in commands(line).iter().filter(|words| words[0] == "tenure") {
                assert!(words.iter().any(|word| subcommands.contains(word)), "{}: {line}", block.page);
            }
        }
    }
}
