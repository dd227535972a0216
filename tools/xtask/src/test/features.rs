//! Proves that features only add: the library builds with none, with each alone and with all, depends on nothing of those
//! that are off, and the core on none of what they bring.

use std::fs;

use crate::job::Job;
use crate::manifest;
use crate::process;

/// Checks each feature set of the library, then what the core and the library depend on.
pub(crate) fn run(job: &mut Job<'_>) -> Result<(), String> {
    let path = job.root().join("crates/tenure/Cargo.toml");
    let toml = fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    for selection in selections(&toml) {
        // Clippy instead of check, because only it can turn warnings into errors without a rebuild of everything.
        job.cargo(&format!("clippy --locked -p tenure {selection} -- -D warnings"))?;
    }
    let mut tree = process::cargo();
    tree.args(["tree", "--locked", "-p", "tenure-core", "-e", "normal", "--all-features", "--target", "all"]);
    let tree = job.command(tree.args(["--prefix", "none", "--format", "{p}"]))?;
    if let [first, ..] = among(&tree, IMPURE).as_slice() {
        return Err(format!("tenure-core must stay pure, but depends on {first}"));
    }
    let mut tree = process::cargo();
    tree.args(["tree", "--locked", "-p", "tenure", "-e", "normal", "--target", "all"]);
    let tree = job.command(tree.args(["--prefix", "none", "--format", "{p}"]))?;
    match among(&tree, OPTIONAL).as_slice() {
        [] => Ok(()),
        found => Err(format!("tenure without further features must not depend on {}", found.join(", "))),
    }
}

/// The flags of every feature set to check.
fn selections(toml: &str) -> Vec<String> {
    let features = manifest::keys(toml, "features").into_iter().filter(|feature| *feature != "default");
    let mut selections = vec!["--no-default-features".to_owned()];
    selections.extend(features.map(|feature| format!("--no-default-features --features {feature}")));
    selections.push("--all-features".to_owned());
    selections
}

fn among<'a>(tree: &'a str, unwanted: &[&str]) -> Vec<&'a str> {
    let names = tree.lines().filter_map(|line| line.split_whitespace().next());
    let mut found: Vec<&str> = names.filter(|name| unwanted.contains(name)).collect();
    found.sort_unstable();
    found.dedup();
    found
}

/// What only features bring that are off by default.
const OPTIONAL: &[&str] = &["axum", "metrics", "metrics-exporter-prometheus", "redis", "rustls", "tokio-postgres"];

/// Runtimes, drivers, clocks, randomness, system calls and global state: all that would keep a seed from replaying.
const IMPURE: &[&str] = &[
    "async-std",
    "axum",
    "etcd-client",
    "fastrand",
    "futures-util",
    "getrandom",
    "inotify",
    "jiff",
    "libc",
    "libsqlite3-sys",
    "metrics",
    "mio",
    "nix",
    "rand",
    "redis",
    "rusqlite",
    "rustix",
    "smol",
    "socket2",
    "tenure",
    "tenure-sys",
    "tokio",
    "tokio-postgres",
    "tokio-util",
    "tonic",
    "tracing",
];

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_feature_is_selected_alone() {
        let toml = "[features]\ndefault = [\"a\"]\na = []\nb = [\n  \"a\",\n]\n";
        assert_eq!(
            selections(toml),
            [
                "--no-default-features",
                "--no-default-features --features a",
                "--no-default-features --features b",
                "--all-features"
            ]
        );
    }

    #[test]
    fn a_driver_in_the_core_is_found() {
        let tree = "tenure-core v0.1.0\nthiserror v2.0.0\ntokio v1.54.0\nlibc v0.2.1\ntokio v1.54.0 (*)\n";
        assert_eq!(among(tree, IMPURE), ["libc", "tokio"]);
        assert!(among("tenure-core v0.1.0\nthiserror v2.0.0\n", IMPURE).is_empty());
    }
}
