//! Builds and tests the project outside of the workspace, which uses the library as an application would: with a path, its
//! own lock file, and other people's libraries beside it.

use crate::job::RunningPart;
use crate::process;

pub(crate) const MANIFEST: &str = "examples/with-sqlx/Cargo.toml";

/// With the default features one program runs; then all tests run with PostgreSQL.
pub(crate) fn run(job: &mut RunningPart<'_>) -> Result<(), String> {
    job.cargo(&format!("fmt --manifest-path {MANIFEST} --check -- --color never"))?;
    // Not by a test, because what tests depend on would turn on features that are off by default.
    for arguments in ["run --bin one-sqlite", "test --features postgres --no-fail-fast"] {
        let mut command = process::cargo();
        command.args(arguments.split(' ')).args(["--locked", "--manifest-path", MANIFEST]);
        // Apart, because it would overwrite the library of the workspace, which has other features.
        job.command(command.arg("--target-dir").arg(process::target_directory(job.root()).join("outside")))?;
    }
    Ok(())
}
