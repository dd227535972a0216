//! The examples do what they say.

#![expect(clippy::unwrap_used, reason = "all of this is a test, its helpers too")]

use std::process::Command;

/// Runs an example until it ends by itself. Through cargo, because not every way to run tests builds the examples first.
fn run(example: &str, how_long: &str) -> String {
    let arguments = ["run", "--quiet", "--locked", "--example", example, "--", "memory:", how_long];
    let output = Command::new(env!("CARGO")).current_dir(env!("CARGO_MANIFEST_DIR")).args(arguments).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    String::from_utf8(output.stdout).unwrap()
}

#[test]
fn cron_worker() {
    let said = run("cron_worker", "2");
    assert!(said.contains("job runs under term 1"), "{said}");
    assert!(said.contains("lost term 1: stopped"), "{said}");
}

#[test]
fn queue_consumer() {
    let said = run("queue_consumer", "3");
    assert!(said.contains("consumed item 2 under term 1"), "{said}");
    assert!(said.ends_with("done after 3 items\n"), "{said}");
}

#[test]
fn plain_threads() {
    let said = run("plain_threads", "2");
    assert!(said.contains("turn 1 under term 1"), "{said}");
    assert!(said.contains("Elected") && said.ends_with("Stopped\n"), "{said}");
}
