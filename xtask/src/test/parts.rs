//! The parts of `cargo xtask test`, in the order in which they run: what fails fast comes first.

use super::{features, msrv, mutants, packages, programs};
use crate::job::Job;
use crate::process;
use crate::proof;
use crate::repository;

/// One named part; it fails with a sentence that says why.
pub(crate) struct Part {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) run: fn(&mut Job<'_>) -> Result<(), String>,
}

pub(crate) const PARTS: &[Part] = &[
    Part { name: "packages", about: "install the system packages the other parts need", run: packages::run },
    Part {
        name: "repository",
        about: "the tree's own rules: sizes, banned words, links, folder skeletons",
        run: repository_rules,
    },
    Part { name: "msrv", about: "every place that states the minimum Rust version agrees", run: msrv::run },
    Part {
        name: "format",
        about: "cargo fmt changes nothing",
        run: |job| job.cargo("fmt --all --check -- --color never"),
    },
    Part {
        name: "lints",
        about: "clippy has nothing to say about any target",
        run: |job| job.cargo("clippy --locked --workspace --all-targets --all-features -- -D warnings"),
    },
    Part { name: "unit", about: "tests inside the crates", run: |job| programs::run(job, "--lib --bins") },
    Part {
        name: "integration",
        about: "tests against the crates' public faces",
        run: |job| programs::run(job, "--test *"),
    },
    Part {
        name: "simulation",
        about: "100,000 simulated elections with jobs under faults break no promise",
        run: |job| prove(job, &["sim", "--seeds", "100000"]).map(drop),
    },
    Part {
        name: "model",
        about: "every history of a few steps, millions of states, breaks no law",
        run: |job| prove(job, &["model"]).map(drop),
    },
    Part {
        name: "mutants",
        about: "every known mistake, made on purpose, is caught, and every invariant catches one",
        run: mutants::run,
    },
    Part {
        name: "examples",
        about: "every example builds",
        run: |job| job.cargo("build --locked --workspace --all-features --examples"),
    },
    Part {
        name: "doctests",
        about: "examples in the documentation run",
        run: |job| job.cargo("test --locked --workspace --all-features --no-fail-fast --doc"),
    },
    Part { name: "docs", about: "the documentation builds without a warning", run: docs },
    Part {
        name: "features",
        about: "the library builds with each feature alone, and the core stays pure",
        run: features::run,
    },
];

fn repository_rules(job: &mut Job<'_>) -> Result<(), String> {
    let violations = repository::check(job.root())?;
    violations.iter().for_each(|violation| job.say(violation));
    match violations.len() {
        0 => Ok(()),
        count => Err(format!("{count} violation(s) of the tree's own rules")),
    }
}

/// Runs one way of proving, shows its closing line, and gives back all that it printed.
pub(crate) fn prove(job: &mut Job<'_>, arguments: &[&str]) -> Result<String, String> {
    let printed = job.command(&mut proof::command(job.root(), arguments))?;
    job.announce(printed.lines().last().unwrap_or_default());
    Ok(printed)
}

/// The library and the command are both called `tenure`, so that one run would write both to the same place at once.
fn docs(job: &mut Job<'_>) -> Result<(), String> {
    for targets in ["--bins", "--lib"] {
        let mut command = process::cargo();
        command.args(["doc", "--locked", "--workspace", "--all-features", "--no-deps", targets]);
        job.command(command.env("RUSTDOCFLAGS", "-D warnings"))?;
    }
    Ok(())
}
