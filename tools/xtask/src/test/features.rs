//! Proves that features only add: the library builds with none, with each alone and with all, depends on nothing of those
//! that are off, the core on none of what they bring, and tests of the library on nothing of the command. The page about
//! costs says how many crates each of them compiles.

use std::fs;

use crate::crate_counts;
use crate::job::RunningPart;
use crate::manifest;
use crate::process;

/// Checks each feature set of the library and each crate alone, then what the core, the library and its tests depend on.
pub(crate) fn run(job: &mut RunningPart<'_>) -> Result<(), String> {
    let path = job.root().join("crates/tenure/Cargo.toml");
    let toml = fs::read_to_string(&path).map_err(|error| format!("cannot read {}: {error}", path.display()))?;
    for selection in selections(&toml) {
        // Clippy instead of check, because only it can turn warnings into errors without a rebuild of everything.
        job.cargo(&format!("clippy --locked -p tenure {selection} -- -D warnings"))?;
    }
    for package in ALONE {
        job.cargo(&format!("clippy --locked -p {package} -- -D warnings"))?;
    }
    for DependencyLimit { what, tree, without } in LIGHT {
        let mut command = process::cargo();
        command.args(["tree", "--locked", "--target", "all", "--prefix", "none", "--format", "{p}"]);
        let tree = job.command(command.args(tree.split(' ')))?;
        match among(&tree, without).as_slice() {
            [] => {}
            found => return Err(format!("{what} must not depend on {}", found.join(", "))),
        }
    }
    match crate_counts::page(job.root(), |command| job.messages(command))? {
        (page, written) if page == written => Ok(()),
        _ => Err(format!("{} counts other crates than cargo does; `cargo xtask fix` writes them", crate_counts::PAGE)),
    }
}

/// What others depend on by itself: it must name all that it needs, and not have it because somebody else wants it, too.
const ALONE: &[&str] = &[
    "tenure-core",
    "tenure-sys",
    "tenure-store",
    "tenure-conformance",
    "tenure-sqlite",
    "tenure-redis",
    "tenure-postgres",
    "tenure-cli",
];

/// What must stay light, how cargo shows what it depends on, and what that must not be.
struct DependencyLimit {
    what: &'static str,
    tree: &'static str,
    without: &'static [&'static str],
}

const LIGHT: &[DependencyLimit] = &[
    DependencyLimit {
        what: "tenure-core, which is pure,",
        tree: "-p tenure-core -e normal --all-features",
        without: IMPURE,
    },
    DependencyLimit { what: "tenure without further features", tree: "-p tenure -e normal", without: OPTIONAL },
    DependencyLimit {
        what: "tenure with Redis alone",
        tree: "-p tenure -e normal --no-default-features --features redis",
        without: &["libsqlite3-sys", "rusqlite", "rustls", "tokio-postgres"],
    },
    DependencyLimit {
        what: "tenure with PostgreSQL alone",
        tree: "-p tenure -e normal --no-default-features --features postgres",
        without: &["libsqlite3-sys", "redis", "rusqlite"],
    },
    DependencyLimit {
        what: "tenure with SQLite alone",
        tree: "-p tenure -e normal --no-default-features --features sqlite",
        without: &["percent-encoding", "redis", "rustls", "tokio-postgres"],
    },
    DependencyLimit {
        what: "a test of the library",
        tree: "-p tenure -e normal,build,dev --all-features",
        without: &["axum", "clap", "tenure-cli"],
    },
];

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
