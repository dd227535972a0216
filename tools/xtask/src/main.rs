//! The project's own commands, run as `cargo xtask …`: `test` only reads the tree, `fix` writes to it.

mod bench;
mod crate_counts;
mod deny;
mod endure;
mod faults;
mod fix;
mod fuzz;
mod job;
mod manifest;
mod process;
mod proof;
mod repository;
mod screen;
mod silence;
mod tally;
mod test;

use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand};

/// The project's own commands.
#[derive(Parser)]
#[command(name = "cargo xtask", bin_name = "cargo xtask")]
struct XtaskArguments {
    #[command(subcommand)]
    command: XtaskCommand,
}

#[derive(Subcommand)]
enum XtaskCommand {
    /// Check everything CI checks, in the same order; reads the tree and never changes it
    Test(test::TestOptions),
    /// Format the tree and apply the fixes clippy is sure of
    Fix,
    /// Run many simulated elections under faults; `--seed S` shows one
    Sim(proof::ProofOptions),
    /// Explore every order of events up to a depth
    Model(proof::ProofOptions),
    /// Make every known mistake, and fail unless each is caught
    Mutants(proof::ProofOptions),
    /// Run the fault cases, as often as wanted
    Faults(faults::FaultsOptions),
    /// Run a job each second under faults for minutes, and judge each tick
    Endure(endure::EndureOptions),
    /// Try inputs of every kind on whatever reads them, many more than the tests do
    Fuzz(fuzz::FuzzOptions),
    /// Measure: each figure beside its floor, in the same run
    Bench(bench::BenchOptions),
    /// Check the licences, bans and sources of every dependency with cargo-deny
    Deny,
}

fn main() -> ExitCode {
    let arguments = XtaskArguments::parse();
    let result = workspace_root().and_then(|root| match arguments.command {
        XtaskCommand::Test(options) => test::run(&root, &options),
        XtaskCommand::Fix => fix::run(&root).map(|()| ExitCode::SUCCESS),
        XtaskCommand::Sim(options) => proof::run(&root, "sim", &options),
        XtaskCommand::Model(options) => proof::run(&root, "model", &options),
        XtaskCommand::Mutants(options) => proof::run(&root, "mutants", &options),
        XtaskCommand::Faults(options) => faults::run(&root, &options),
        XtaskCommand::Endure(options) => endure::run(&root, &options),
        XtaskCommand::Fuzz(options) => fuzz::run(&root, &options),
        XtaskCommand::Bench(options) => bench::run(&root, &options).map(|()| ExitCode::SUCCESS),
        XtaskCommand::Deny => deny::run(&root).map(|()| ExitCode::SUCCESS),
    });
    result.unwrap_or_else(|problem| {
        eprintln!("error: {problem}");
        ExitCode::FAILURE
    })
}

/// Asked of cargo at run time: a path compiled in would be wrong for worktrees that share a target directory.
fn workspace_root() -> Result<PathBuf, String> {
    let mut cargo = process::cargo();
    let output = cargo
        .args(["locate-project", "--workspace", "--message-format", "plain"])
        .output()
        .map_err(|error| format!("cannot run cargo: {error}"))?;
    let manifest = PathBuf::from(String::from_utf8_lossy(&output.stdout).trim());
    match manifest.parent() {
        Some(root) if output.status.success() => Ok(root.to_path_buf()),
        _ => Err(format!("cargo finds no workspace here: {}", String::from_utf8_lossy(&output.stderr).trim())),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_show_commands_that_exist() {
        let commands = tenure_pages::xtask_commands();
        assert!(commands.len() > 10, "these are not all: {commands:?}");
        for words in commands {
            let typed = std::iter::once("cargo xtask").chain(words.iter().map(String::as_str));
            if let Err(error) = XtaskArguments::try_parse_from(typed) {
                panic!("{words:?}: {error}");
            }
        }
    }
}
