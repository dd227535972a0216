//! The parts of `cargo xtask test`, in the order in which they run: what fails fast comes first.

use super::transcripts::Transcript;
use super::{features, msrv, mutants, outside, packages, programs, publish};
use crate::job::RunningPart;
use crate::process;
use crate::proof;
use crate::repository;

/// One named part; it fails with a sentence that says why.
pub(crate) struct TestPart {
    pub(crate) name: &'static str,
    pub(crate) about: &'static str,
    pub(crate) when: When,
    pub(crate) run: fn(&mut RunningPart<'_>) -> Result<(), String>,
}

/// When a part runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum When {
    /// After the part before it.
    InOrder,
    /// Beside the parts that come after it, with what they leave of the processors: it only computes, and they mostly wait.
    Beside,
}

pub(crate) const PARTS: &[TestPart] = &[
    TestPart {
        name: "packages",
        about: "install the system packages the other parts need",
        when: When::InOrder,
        run: packages::run,
    },
    TestPart {
        name: "repository",
        about: "the tree's own rules: sizes, banned words, links, folder skeletons",
        when: When::InOrder,
        run: repository_rules,
    },
    TestPart {
        name: "msrv",
        about: "every place that states the minimum Rust version agrees",
        when: When::InOrder,
        run: msrv::run,
    },
    TestPart {
        name: "publish",
        about: "every crate for users can be packaged, and says all that a registry shows",
        when: When::InOrder,
        run: publish::run,
    },
    TestPart {
        name: "format",
        about: "cargo fmt changes nothing",
        when: When::InOrder,
        run: |job| job.cargo("fmt --all --check -- --color never"),
    },
    TestPart {
        name: "lints",
        about: "clippy has nothing to say about any target",
        when: When::InOrder,
        run: |job| job.cargo("clippy --locked --workspace --all-targets --all-features -- -D warnings"),
    },
    TestPart {
        name: "unit",
        about: "tests inside the crates",
        when: When::InOrder,
        run: |job| programs::run(job, "--lib --bins"),
    },
    TestPart {
        name: "simulation",
        about: "100,000 simulated elections with jobs and messages under faults break no promise",
        when: When::Beside,
        run: simulation,
    },
    TestPart {
        name: "model",
        about: "every history of a few steps, millions of states, breaks no law",
        when: When::Beside,
        run: model,
    },
    TestPart {
        name: "mutants",
        about: "every known mistake, made on purpose, is caught, and every invariant catches one",
        when: When::Beside,
        run: mutants::run,
    },
    TestPart {
        name: "integration",
        about: "tests against the crates' public faces",
        when: When::InOrder,
        run: |job| programs::run(job, "--test *"),
    },
    TestPart {
        name: "examples",
        about: "every example and every program builds",
        when: When::InOrder,
        run: |job| job.cargo("build --locked --workspace --all-features --examples --bins"),
    },
    TestPart {
        name: "doctests",
        about: "examples in the documentation run",
        when: When::InOrder,
        run: |job| job.cargo("test --locked --workspace --all-features --no-fail-fast --doc"),
    },
    TestPart { name: "docs", about: "the documentation builds without a warning", when: When::InOrder, run: docs },
    TestPart {
        name: "features",
        about: "the library builds with each feature alone, and the core stays pure",
        when: When::InOrder,
        run: features::run,
    },
    TestPart {
        name: "outside",
        about: "a project outside of the workspace uses the library beside sqlx",
        when: When::InOrder,
        run: outside::run,
    },
];

fn repository_rules(job: &mut RunningPart<'_>) -> Result<(), String> {
    let violations = repository::check(job.root())?;
    violations.iter().for_each(|violation| job.say(violation));
    match violations.len() {
        0 => Ok(()),
        count => Err(format!("{count} violation(s) of the tree's own rules")),
    }
}

fn simulation(job: &mut RunningPart<'_>) -> Result<(), String> {
    let first = job.seed().to_string();
    prove(job, &["sim", "--seeds", "100000", "--from", &first]).map(drop)
}

/// The page about it shows the same figures.
fn model(job: &mut RunningPart<'_>) -> Result<(), String> {
    let printed = prove(job, &["model"])?;
    Transcript::all(job.root())?.iter().filter(|shown| shown.command == "model").try_for_each(|it| it.compare(&printed))
}

/// Runs one way of proving, shows its closing line, and gives back all that it printed.
pub(crate) fn prove(job: &mut RunningPart<'_>, arguments: &[&str]) -> Result<String, String> {
    let printed = job.command(&mut proof::command(job.root(), arguments))?;
    job.announce(printed.lines().last().unwrap_or_default());
    Ok(printed)
}

/// The library and the command are both called `tenure`, so that one run would write both to the same place at once.
fn docs(job: &mut RunningPart<'_>) -> Result<(), String> {
    for targets in ["--bins", "--lib"] {
        let mut command = process::cargo();
        command.args(["doc", "--locked", "--workspace", "--all-features", "--no-deps", targets]);
        job.command(command.env("RUSTDOCFLAGS", "-D warnings"))?;
    }
    Ok(())
}
