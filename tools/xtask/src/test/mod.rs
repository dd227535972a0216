//! `cargo xtask test`: the same named parts, in the same order, for everyone and for CI.

mod features;
mod msrv;
mod mutants;
pub(crate) mod outside;
mod packages;
mod parts;
mod programs;
mod publish;
mod scratch;
mod summary;
mod transcripts;

use std::path::Path;
use std::process::ExitCode;
use std::thread;
use std::time::Instant;

use clap::Args;
use clap::builder::PossibleValuesParser;

use crate::job::{PartPriority, RunningPart};
use crate::screen::Screen;
use parts::{PARTS, TestPart, When};
use summary::{PartOutcome, PartSummary};

/// What to run, and how much of it to show.
#[derive(Args)]
pub(crate) struct TestOptions {
    /// Run only this part; may be given more than once, the order stays the same
    #[arg(long, value_name = "NAME", value_parser = PossibleValuesParser::new(PARTS.iter().map(|part| part.name)))]
    only: Vec<String>,
    /// Name the parts and what they check, and run nothing
    #[arg(long)]
    list: bool,
    /// Run the remaining parts after a failure too
    #[arg(long)]
    keep_going: bool,
    /// Simulate from this seed on: repeated runs then try other elections each time
    #[arg(long, value_name = "SEED", default_value_t = 0)]
    from_seed: u64,
    /// Show everything the parts print while they run, not only when they fail
    #[arg(long, short)]
    verbose: bool,
}

/// Runs the chosen parts and ends with one summary.
pub(crate) fn run(root: &Path, options: &TestOptions) -> Result<ExitCode, String> {
    let mut screen = Screen::stdout(options.verbose);
    if options.list {
        PARTS.iter().for_each(|part| screen.line(&format!("{:12} {}", part.name, part.about)));
        return Ok(ExitCode::SUCCESS);
    }
    let chosen: Vec<&TestPart> =
        PARTS.iter().filter(|part| options.only.is_empty() || options.only.iter().any(|n| n == part.name)).collect();
    let style = RunStyle { keep_going: options.keep_going, from_seed: options.from_seed };
    let entries = run_parts(root, &chosen, style, &mut screen);
    summary::lines(&entries).iter().for_each(|line| screen.line(line));
    Ok(if summary::is_success(&entries) { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// How the parts are run.
#[derive(Clone, Copy)]
struct RunStyle {
    keep_going: bool,
    from_seed: u64,
}

fn run_parts(root: &Path, parts: &[&TestPart], style: RunStyle, screen: &mut Screen) -> Vec<PartSummary> {
    let mut entries: Vec<PartSummary> = parts.iter().map(|part| PartSummary::not_run(part.name)).collect();
    let last_in_order = parts.iter().rposition(|part| part.when == When::InOrder).unwrap_or(0);
    let is_beside = |index: &usize| parts[*index].when == When::Beside && *index < last_in_order;
    let (beside, in_order): (Vec<usize>, Vec<usize>) = (0..parts.len()).partition(is_beside);
    thread::scope(|scope| {
        let mut lane = None;
        for index in in_order {
            if !style.keep_going && !summary::is_success(&entries) {
                break;
            }
            if lane.is_none() && beside.first().is_some_and(|first| *first < index) {
                beside.iter().for_each(|&index| screen.line(&format!("{} … beside the others", title(parts, index))));
                lane = Some(scope.spawn(|| run_beside(root, parts, &beside, style)));
            }
            screen.begin(&title(parts, index));
            entries[index] = run_part(root, parts[index], screen, PartPriority::Normal, style);
        }
        if let Some(lane) = lane {
            screen.progress("waiting for what runs beside the others");
            let (ended, shown) = lane.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic));
            shown.lines().for_each(|line| screen.line(line));
            ended.into_iter().for_each(|(index, entry)| entries[index] = entry);
        }
    });
    entries
}

/// Runs these parts one after the other without a word, and gives what they would have shown meanwhile.
fn run_beside(
    root: &Path,
    parts: &[&TestPart],
    chosen: &[usize],
    style: RunStyle,
) -> (Vec<(usize, PartSummary)>, String) {
    let (mut screen, output) = Screen::captured();
    let mut ended: Vec<(usize, PartSummary)> = Vec::new();
    for &index in chosen {
        if style.keep_going || ended.iter().all(|(_, entry)| entry.outcome != PartOutcome::Failed) {
            screen.begin(&title(parts, index));
            ended.push((index, run_part(root, parts[index], &mut screen, PartPriority::Idle, style)));
        }
    }
    (ended, output.text())
}

fn title(parts: &[&TestPart], index: usize) -> String {
    format!("[{}/{}] {}", index + 1, parts.len(), parts[index].name)
}

fn run_part(root: &Path, part: &TestPart, screen: &mut Screen, priority: PartPriority, style: RunStyle) -> PartSummary {
    let started = Instant::now();
    let mut job = RunningPart::new(root, screen).with_priority(priority).with_seed(style.from_seed);
    let result = (part.run)(&mut job);
    let (tally, log) = job.finish();
    // A skipped test proves nothing, so it fails its part even though cargo is content.
    let result = result.and_then(|()| match tally.ignored {
        0 => Ok(()),
        ignored => Err(format!("{ignored} test(s) are ignored, and no test may be skipped")),
    });
    let outcome = if result.is_ok() { PartOutcome::Passed } else { PartOutcome::Failed };
    let entry = PartSummary { name: part.name, outcome, took: started.elapsed(), tally };
    screen.end(&entry.result());
    if let Err(problem) = result {
        screen.failure(&log, &format!("{}: {problem}", part.name));
    }
    entry
}

#[cfg(test)]
mod tests {
    use super::*;

    const GOOD: TestPart = TestPart { name: "good", about: "", when: When::InOrder, run: |_| Ok(()) };
    const BAD: TestPart = TestPart { name: "bad", about: "", when: When::InOrder, run: |_| Err("it broke".to_owned()) };
    const BAD_BESIDE: TestPart = TestPart { when: When::Beside, ..BAD };
    const LAZY: TestPart = TestPart {
        name: "lazy",
        about: "",
        when: When::InOrder,
        run: |job| {
            job.say("test result: ok. 1 passed; 0 failed; 1 ignored; 0 measured; 0 filtered out");
            Ok(())
        },
    };

    fn outcomes(parts: &[&TestPart], keep_going: bool) -> Vec<PartOutcome> {
        let mut screen = Screen::to(Box::new(std::io::sink()), false, false);
        let style = RunStyle { keep_going, from_seed: 0 };
        run_parts(Path::new("."), parts, style, &mut screen).iter().map(|entry| entry.outcome).collect()
    }

    #[test]
    fn the_first_failure_stops_the_run() {
        assert_eq!(
            outcomes(&[&GOOD, &BAD, &GOOD], false),
            [PartOutcome::Passed, PartOutcome::Failed, PartOutcome::NotRun]
        );
    }

    #[test]
    fn keep_going_runs_every_part() {
        assert_eq!(outcomes(&[&BAD, &GOOD], true), [PartOutcome::Failed, PartOutcome::Passed]);
    }

    #[test]
    fn what_runs_beside_others_is_waited_for_and_counts() {
        assert_eq!(
            outcomes(&[&GOOD, &BAD_BESIDE, &GOOD], false),
            [PartOutcome::Passed, PartOutcome::Failed, PartOutcome::Passed]
        );
        assert_eq!(
            outcomes(&[&BAD, &BAD_BESIDE, &GOOD], false),
            [PartOutcome::Failed, PartOutcome::NotRun, PartOutcome::NotRun]
        );
        assert_eq!(
            outcomes(&[&GOOD, &BAD_BESIDE], false),
            [PartOutcome::Passed, PartOutcome::Failed],
            "nothing is beside it"
        );
    }

    #[test]
    fn an_ignored_test_fails_its_part() {
        assert_eq!(outcomes(&[&LAZY], false), [PartOutcome::Failed]);
    }
}
