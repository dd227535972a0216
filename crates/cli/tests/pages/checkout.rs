//! Commands for a checkout of this project: they build it, or run for minutes. Of these it is checked that they name what there is.

use std::process::Command;

use tenure_pages::{FencedBlock, blocks, text_of};
use tenure_testkit::running::RunningProcess;

use crate::stage::Stage;

/// What such a block consists of.
const PROGRAMS: &[&str] = &["cargo", "git", "target/dist/tenure"];

/// Whether it is a block of such commands and nothing else. `cargo run --` is the installed command by another name.
pub(crate) fn is_for(block: &FencedBlock) -> bool {
    let commands = block.commands();
    let is_for = |words: &Vec<String>| {
        PROGRAMS.contains(&words[0].as_str()) && !words.starts_with(&["cargo", "run", "--"].map(str::to_owned))
    };
    !commands.is_empty() && commands.iter().all(is_for)
}

#[test]
fn commands_for_a_checkout_name_what_there_is() {
    for block in blocks().iter().filter(|block| is_for(block)) {
        for words in block.commands() {
            let words: Vec<&str> = words.iter().map(String::as_str).collect();
            let place = format!("{}: {}", block.place(), words.join(" "));
            match words.as_slice() {
                // The tests of these tools read every page.
                ["cargo", "xtask", ..] => assert!(text_of("tools/xtask/src/main.rs").contains("xtask_commands()")),
                ["cargo", "run", "-p", "tenure-history", ..] => {
                    assert!(text_of("tools/history/tests/page.rs").contains(&block.page), "{place}");
                }
                ["cargo", "run", "--example", example, options @ ..] => is_example(example, options, &place),
                ["cargo", "install" | "build", options @ ..] => is_build(options, &place),
                ["git", ..] => in_a_repository(&words, &place),
                ["target/dist/tenure", options @ ..] => {
                    let finished = Stage::new().run(&format!("tenure {}", options.join(" ")));
                    assert_eq!(finished.code, Some(0), "{place}: {finished:?}");
                }
                _ => panic!("{place}: nothing checks this"),
            }
        }
    }
}

/// The tests of the library run each example on a store of theirs.
fn is_example(name: &str, options: &[&str], place: &str) {
    assert!(text_of("crates/tenure/tests/examples.rs").contains(&format!("\"{name}\"")), "{place}: nothing runs it");
    let address = match options {
        ["--", address] => address,
        ["--features", feature, "--", address] => {
            assert!(text_of("crates/tenure/Cargo.toml").contains(&format!("\n{feature} = ")), "{place}");
            address
        }
        _ => panic!("{place}: its options are not those of an example"),
    };
    assert!(address.parse::<tenure::store::StoreUrl>().is_ok(), "{place}");
}

fn is_build(options: &[&str], place: &str) {
    let [locked, profile, name, which, what] = options else { panic!("{place}: its options are not known") };
    assert_eq!((*locked, *profile), ("--locked", "--profile"), "{place}");
    assert!(text_of("Cargo.toml").contains(&format!("\n[profile.{name}]\n")), "{place}");
    let manifest = match *which {
        "--path" => text_of(&format!("{what}/Cargo.toml")),
        "-p" => text_of("crates/cli/Cargo.toml"),
        _ => panic!("{place}: it does not say what to build"),
    };
    assert!(manifest.contains("name = \"tenure-cli\"") && ["crates/cli", "tenure-cli"].contains(what), "{place}");
}

/// In a repository of the test, with one commit.
fn in_a_repository(words: &[&str], place: &str) {
    let stage = Stage::new();
    let prepare =
        "git init --quiet . && git -c user.name=a -c user.email=a@example commit --quiet --allow-empty -m begin";
    assert_eq!(stage.run(prepare).code, Some(0));
    let mut git = Command::new(words[0]);
    git.args(["-c", "user.name=a", "-c", "user.email=a@example"]).args(&words[1..]).current_dir(stage.path(""));
    let finished = RunningProcess::start(&mut git).finish();
    assert_eq!(finished.code, Some(0), "{place}: {finished:?}");
}
