//! Holds the known mistakes to account, and the table of them to the truth.

use std::fs;

use super::parts::prove;
use super::transcripts::Transcript;
use crate::job::RunningPart;
use crate::process;
use crate::proof;

/// Where the table is.
const TABLE: &str = "docs/mutants.md";
/// How it begins.
const HEAD: &str = "| mutant |";

/// Nothing else builds what can make mistakes, so the lints see it here, and so do the tests of the model.
pub(crate) fn run(job: &mut RunningPart<'_>) -> Result<(), String> {
    let mutated = |arguments: &str| {
        let mut command = process::cargo();
        command.args(arguments.split(' ')).args(["--locked", "--package", "tenure-sim", "--profile", "sim"]);
        proof::mutate(job.root(), &mut command);
        command
    };
    let (mut lints, mut tests) = (mutated("clippy --all-targets"), mutated("test --test model"));
    job.command(lints.args(["--", "-D", "warnings"]))?;
    job.command(&mut tests)?;
    for transcript in Transcript::all(job.root())?.iter().filter(|shown| shown.command.contains(" --mutant ")) {
        let arguments: Vec<&str> = transcript.command.split(' ').collect();
        let mut caught = process::expected_to_fail(&proof::command(job.root(), &arguments));
        transcript.compare(&job.command(&mut caught)?)?;
    }
    let printed = prove(job, &["mutants"])?;
    let path = job.root().join(TABLE);
    let document = fs::read_to_string(&path).map_err(|error| format!("cannot read {TABLE}: {error}"))?;
    match differences(&printed, &document).as_slice() {
        [] => Ok(()),
        found => Err(format!("{TABLE} and the mutants there are differ in {}", found.join(", "))),
    }
}

/// Mutants that were tried and are not in the table, or are in the table and were not tried.
fn differences(printed: &str, document: &str) -> Vec<String> {
    let tried: Vec<&str> = printed.lines().filter(|line| line.contains("seed")).filter_map(first_word).collect();
    let table = document.lines().skip_while(|line| !line.starts_with(HEAD)).take_while(|line| line.starts_with('|'));
    let rows = table.filter_map(|line| line.strip_prefix("| `")?.split_once('`'));
    let listed: Vec<&str> = rows.map(|(name, _)| name).collect();
    let missing = tried.iter().filter(|name| !listed.contains(name));
    let stale = listed.iter().filter(|name| !tried.contains(name));
    missing.chain(stale).map(|name| (*name).to_owned()).collect()
}

fn first_word(line: &str) -> Option<&str> {
    line.split_whitespace().next()
}

#[cfg(test)]
mod tests {
    use super::*;

    const PRINTED: &str = "blind-renew   seed 31; of 300: one-leader 3\nno-kill  seed 2; of 300: x 1\n";

    #[test]
    fn a_table_that_lists_what_was_tried_is_true() {
        assert_eq!(
            differences(PRINTED, "text\n| mutant |\n| `blind-renew` | x |\n| `no-kill` | y |\n\n| `else` |\n"),
            Vec::<String>::new()
        );
    }

    #[test]
    fn what_is_missing_or_stale_is_named() {
        assert_eq!(differences(PRINTED, "| mutant |\n| `no-kill` | y |\n| `gone` | z |\n"), ["blind-renew", "gone"]);
    }
}
