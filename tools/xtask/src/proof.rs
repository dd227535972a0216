//! `cargo xtask sim`, `model` and `mutants`: the proof by simulation and by exhaustion.

use std::env;
use std::path::Path;
use std::process::{Command, ExitCode};

use clap::Args;

use crate::process;

/// Handed on as they are: the command itself knows what they mean, and tells with `--help`.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub(crate) struct ProofOptions {
    /// Options of the proof; `--help` lists them
    #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
    arguments: Vec<String>,
}

/// Runs one way of proving in the foreground.
pub(crate) fn run(root: &Path, way: &str, options: &ProofOptions) -> Result<ExitCode, String> {
    let arguments: Vec<&str> = std::iter::once(way).chain(options.arguments.iter().map(String::as_str)).collect();
    let mut command = command(root, &arguments);
    let status = command.current_dir(root).status();
    match status {
        Ok(status) if status.success() => Ok(ExitCode::SUCCESS),
        Ok(_) => Ok(ExitCode::FAILURE),
        Err(error) => Err(format!("cannot run `{}`: {error}", process::describe(&command))),
    }
}

/// The command of the simulation with these arguments, built so that it can make mistakes only if it has to.
pub(crate) fn command(root: &Path, arguments: &[&str]) -> Command {
    let mut command = process::cargo();
    command.args(["run", "--locked", "--quiet", "--profile", "sim", "--package", "tenure-sim"]);
    if needs_mutants(arguments) {
        mutate(root, &mut command);
    }
    command.arg("--").args(arguments);
    command
}

/// Makes a cargo command build what can make mistakes on purpose, apart from everything else.
pub(crate) fn mutate(root: &Path, command: &mut Command) {
    command.arg("--target-dir").arg(process::target_directory(root).join("mutants"));
    let flags = env::var("RUSTFLAGS").unwrap_or_default();
    command.env("RUSTFLAGS", format!("{flags} --cfg mutants").trim_start());
}

fn needs_mutants(arguments: &[&str]) -> bool {
    arguments.first() == Some(&"mutants") || arguments.iter().any(|argument| argument.starts_with("--mutant"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn typed(arguments: &[&str]) -> String {
        process::describe(&command(Path::new("root"), arguments))
    }

    #[test]
    fn honest_runs_are_built_without_mutants() {
        assert!(typed(&["sim", "--seeds", "5"]).ends_with("--package tenure-sim -- sim --seeds 5"));
        assert!(!typed(&["model"]).contains("mutants"));
    }

    #[test]
    fn runs_with_mutants_are_built_apart() {
        for arguments in [&["mutants"][..], &["sim", "--mutant", "blind-renew"], &["model", "--mutant=late-grant"]] {
            let mut command = command(Path::new("root"), arguments);
            assert!(process::describe(&command).contains("mutants --"), "{command:?}");
            let flags = command.get_envs().find(|(name, _)| *name == "RUSTFLAGS").unwrap().1.unwrap();
            assert!(flags.to_string_lossy().ends_with("--cfg mutants"));
            command.env_clear();
        }
    }
}
