//! `cargo xtask faults`: the fault cases, by number and by store, as often as wanted.
//!
//! What there is to run is asked of the test programs themselves, so that no list can be out of date: the targets called
//! `faults`, whose tests are named `STORE::case_NN_…`, and the simulation, whose tests are named `case_NN_…`.

use std::collections::BTreeSet;
use std::num::NonZeroU32;
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use clap::Args;

use crate::job::RunningPart;
use crate::process;
use crate::screen::Screen;
use crate::tally::TestTally;

/// Which cases to run, and how often.
#[derive(Args)]
pub(crate) struct FaultsOptions {
    /// Only on this store; `simulation` is where cases are shown that no machine can be made to go through
    #[arg(long, value_name = "NAME")]
    store: Option<String>,
    /// Only this case, by its number
    #[arg(long, value_name = "N")]
    case: Option<u32>,
    /// How often to run them all
    #[arg(long, value_name = "TIMES", default_value = "1")]
    repeat: NonZeroU32,
    /// Show everything the tests print, such as what was measured and what is promised
    #[arg(long, short)]
    verbose: bool,
}

/// Runs the chosen cases and ends with one line that counts.
pub(crate) fn run(root: &Path, options: &FaultsOptions) -> Result<ExitCode, String> {
    let mut screen = Screen::stdout(options.verbose);
    let tests = list(root, &mut screen)?;
    let chosen = choose(&tests, options.store.as_deref(), options.case)?;
    let started = Instant::now();
    let mut tally = TestTally::default();
    for round in 1..=options.repeat.get() {
        screen.begin(&format!("[{round}/{}] {}", options.repeat, what(&chosen)));
        tally += run_round(root, &chosen, &mut screen);
    }
    screen.line("");
    screen.line(&closing_line(&chosen, options.repeat, tally, started.elapsed()));
    Ok(if tally.failed == 0 { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// One test of one case.
#[derive(Debug)]
struct FaultTest {
    source: TestSource,
    store: String,
    case: u32,
    name: String,
}

/// Where tests of cases are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum TestSource {
    /// Real processes, stores and clocks.
    Real,
    /// Everything simulated.
    Simulation,
}

/// The store that tests of the simulation are said to run on.
const SIMULATION: &str = "simulation";

impl TestSource {
    const ALL: [Self; 2] = [Self::Real, Self::Simulation];

    /// Its test programs, with these arguments.
    fn command<'a>(self, arguments: impl IntoIterator<Item = &'a str>) -> Command {
        let targets: &[&str] = match self {
            Self::Real => &["--workspace", "--test", "faults"],
            Self::Simulation => &["--package", "tenure-sim"],
        };
        let mut command = process::cargo();
        command.args(["test", "--locked", "--all-features", "--no-fail-fast"]).args(targets).arg("--").args(arguments);
        command
    }

    /// The tests in what its test programs print when they are asked for a list.
    fn tests(self, listing: &str) -> Vec<FaultTest> {
        let names = listing.lines().filter_map(|line| line.strip_suffix(": test"));
        let test = |name: &str| {
            let (before, after) = name.split_once("case_")?;
            let case = after.split_once('_')?.0.parse().ok()?;
            let store = match self {
                Self::Real => before.strip_suffix("::")?,
                Self::Simulation => SIMULATION,
            };
            Some(FaultTest { source: self, store: store.to_owned(), case, name: name.to_owned() })
        };
        names.filter_map(test).collect()
    }
}

/// Builds the test programs and asks them what they have.
fn list(root: &Path, screen: &mut Screen) -> Result<Vec<FaultTest>, String> {
    screen.begin("building");
    let started = Instant::now();
    let mut tests = Vec::new();
    for source in TestSource::ALL {
        let mut job = RunningPart::new(root, screen);
        match job.command(&mut source.command(["--list"])) {
            Ok(listing) => tests.extend(source.tests(&listing)),
            Err(problem) => {
                let (_, log) = job.finish();
                screen.failure(&log, &problem);
                return Err("the fault tests cannot be built".to_owned());
            }
        }
    }
    screen.end(&format!("{:.1} s", started.elapsed().as_secs_f64()));
    Ok(tests)
}

/// The tests that were asked for; an error that says what there is when there are none.
fn choose<'a>(tests: &'a [FaultTest], store: Option<&str>, case: Option<u32>) -> Result<Vec<&'a FaultTest>, String> {
    let on_store: Vec<&FaultTest> = tests.iter().filter(|test| store.is_none_or(|store| test.store == store)).collect();
    if let (Some(store), true) = (store, on_store.is_empty()) {
        return Err(format!("there is no store {store:?}; there are: {}", stores(tests.iter()).join(", ")));
    }
    let chosen: Vec<&FaultTest> =
        on_store.iter().copied().filter(|test| case.is_none_or(|case| test.case == case)).collect();
    match (chosen.is_empty(), case) {
        (false, _) => Ok(chosen),
        (true, None) => Err("there is no fault test at all".to_owned()),
        (true, Some(case)) => {
            let place = store.map(|store| format!(" on {store}")).unwrap_or_default();
            let known: Vec<String> = cases(on_store.iter().copied()).iter().map(u32::to_string).collect();
            Err(format!("nothing matches: there is no test of case {case}{place}; there are: {}", known.join(", ")))
        }
    }
}

/// Runs each of these once. That fewer ran than were to counts as a failure, too.
fn run_round(root: &Path, chosen: &[&FaultTest], screen: &mut Screen) -> TestTally {
    let started = Instant::now();
    let mut job = RunningPart::new(root, screen);
    let mut problems = Vec::new();
    for source in TestSource::ALL {
        let names = chosen.iter().filter(|test| test.source == source).map(|test| test.name.as_str());
        let mut names = names.peekable();
        if names.peek().is_some() {
            let command = &mut source.command(["--show-output", "--exact"].into_iter().chain(names));
            problems.extend(job.command(command).err());
        }
    }
    let (counted, log) = job.finish();
    let failed = u64::try_from(chosen.len()).unwrap_or(u64::MAX).saturating_sub(counted.passed);
    let word = if failed == 0 && problems.is_empty() { "ok" } else { "FAILED" };
    screen.end(&format!(
        "{word}, {:.1} s, {} passed, {failed} failed",
        started.elapsed().as_secs_f64(),
        counted.passed
    ));
    for problem in &problems {
        screen.failure(&log, problem);
    }
    TestTally { passed: counted.passed, failed: failed.max(u64::from(!problems.is_empty())), ignored: 0 }
}

fn closing_line(chosen: &[&FaultTest], rounds: NonZeroU32, tally: TestTally, took: Duration) -> String {
    let TestTally { passed, failed, .. } = tally;
    let (what, rounds, took) = (what(chosen), counted(rounds.get() as usize, "round"), duration(took));
    let stores = stores(chosen.iter().copied()).join(", ");
    format!("faults: {what} x {rounds} on {stores}: {passed} passed, {failed} failed, {took}")
}

/// What is run, in words.
fn what(chosen: &[&FaultTest]) -> String {
    let cases = counted(cases(chosen.iter().copied()).len(), "case");
    format!("{cases} ({})", counted(chosen.len(), "test"))
}

fn stores<'a>(tests: impl Iterator<Item = &'a FaultTest>) -> Vec<&'a str> {
    tests.map(|test| test.store.as_str()).collect::<BTreeSet<_>>().into_iter().collect()
}

fn cases<'a>(tests: impl Iterator<Item = &'a FaultTest>) -> BTreeSet<u32> {
    tests.map(|test| test.case).collect()
}

fn counted(count: usize, noun: &str) -> String {
    if count == 1 { format!("1 {noun}") } else { format!("{count} {noun}s") }
}

fn duration(time: Duration) -> String {
    match (time.as_secs() / 60, time.as_secs() % 60) {
        (0, seconds) => format!("{seconds} s"),
        (minutes, seconds) => format!("{minutes} min {seconds} s"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const LISTING: &str = "role: test\nsqlite::case_03_a_kill: test\nsqlite::case_26_one: test\nsqlite::case_26_two: test\n\n4 tests, 0 benchmarks\nredis::case_03_a_kill: test\n";

    fn tests() -> Vec<FaultTest> {
        let simulated = "world::case_06_a_pause: test\nworld::other: test\n";
        TestSource::Real.tests(LISTING).into_iter().chain(TestSource::Simulation.tests(simulated)).collect()
    }

    fn names(store: Option<&str>, case: Option<u32>) -> Result<Vec<String>, String> {
        choose(&tests(), store, case).map(|chosen| chosen.iter().map(|test| test.name.clone()).collect())
    }

    #[test]
    fn tests_are_chosen_by_store_and_by_case() {
        assert_eq!(names(None, None).unwrap().len(), 5);
        assert_eq!(names(Some("sqlite"), Some(26)).unwrap(), ["sqlite::case_26_one", "sqlite::case_26_two"]);
        assert_eq!(names(None, Some(3)).unwrap(), ["sqlite::case_03_a_kill", "redis::case_03_a_kill"]);
        assert_eq!(names(Some("simulation"), None).unwrap(), ["world::case_06_a_pause"]);
    }

    #[test]
    fn what_does_not_exist_is_refused_with_what_does() {
        let refusal = names(Some("oracle"), None).unwrap_err();
        assert_eq!(refusal, "there is no store \"oracle\"; there are: redis, simulation, sqlite");
        let refusal = names(None, Some(99)).unwrap_err();
        assert_eq!(refusal, "nothing matches: there is no test of case 99; there are: 3, 6, 26");
        let refusal = names(Some("redis"), Some(26)).unwrap_err();
        assert_eq!(refusal, "nothing matches: there is no test of case 26 on redis; there are: 3");
        assert!(choose(&[], None, None).is_err());
    }

    #[test]
    fn the_closing_line_counts_cases_rounds_and_tests() {
        let tests = TestSource::Real.tests(LISTING);
        let chosen = choose(&tests, Some("sqlite"), None).unwrap();
        let tally = TestTally { passed: 59, failed: 1, ignored: 0 };
        let line = closing_line(&chosen, NonZeroU32::new(20).unwrap(), tally, Duration::from_millis(192_700));
        assert_eq!(line, "faults: 2 cases (3 tests) x 20 rounds on sqlite: 59 passed, 1 failed, 3 min 12 s");
        assert_eq!(duration(Duration::from_secs(7)), "7 s");
        assert_eq!(counted(1, "round"), "1 round");
    }

    #[test]
    fn a_simulated_case_is_not_sought_among_real_ones() {
        let typed = |source: TestSource| process::describe(&source.command(["--list"]));
        assert!(typed(TestSource::Real).ends_with("--workspace --test faults -- --list"));
        assert!(typed(TestSource::Simulation).ends_with("--package tenure-sim -- --list"));
    }
}
