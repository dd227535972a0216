//! `cargo xtask endure`: a job each second on every store, for as long as wanted, while whoever leads is struck every few
//! seconds. The tests are those that `cargo xtask test` runs for a shorter time.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::{Command, ExitCode};
use std::time::{Duration, Instant};

use crate::process;
use crate::screen::Screen;

/// On which stores, and for how long.
#[derive(clap::Args)]
pub(crate) struct EndureOptions {
    /// For how many minutes; all stores at the same time
    #[arg(long, default_value_t = 10, value_parser = clap::value_parser!(u64).range(1..=10_000))]
    minutes: u64,
    /// Only on this store
    #[arg(long, value_name = "NAME", value_parser = STORES)]
    store: Option<String>,
    /// What goes wrong: the same number chooses the same faults
    #[arg(long)]
    seed: Option<u64>,
    /// When faults come: every other time while ticks are being claimed, or at any moment
    #[arg(long, value_name = "WHERE", default_value = "claim", value_parser = ["claim", "anywhere"])]
    aim: String,
}

/// The tests are named after them.
const STORES: [&str; 4] = ["memory", "postgres", "redis", "sqlite"];

/// Builds the tests, runs them, and ends with one line.
pub(crate) fn run(root: &Path, options: &EndureOptions) -> Result<ExitCode, String> {
    let (began, mut screen, mut session) = (Instant::now(), Screen::stdout(false), EndureSession::default());
    screen.begin("endure");
    let status = process::run(command(options).current_dir(root), |_, line| session.hear(line, &mut screen));
    let is_success = status.map_err(|error| format!("cannot run cargo: {error}"))?.success();
    screen.note(&session.summary(began.elapsed()));
    let missed: Vec<&str> = stores(options).into_iter().filter(|store| !session.finished.contains(*store)).collect();
    if is_success && missed.is_empty() {
        return Ok(ExitCode::SUCCESS);
    }
    let problem = match missed[..] {
        [] => "a promise was broken".to_owned(),
        _ => format!("not to the end: {}", missed.join(", ")),
    };
    screen.failure(&session.log, &problem);
    Ok(ExitCode::FAILURE)
}

fn stores(options: &EndureOptions) -> Vec<&str> {
    options.store.as_deref().map_or_else(|| STORES.to_vec(), |store| vec![store])
}

fn command(options: &EndureOptions) -> Command {
    let mut command = process::cargo();
    command.args(["test", "--locked", "--all-features", "--package", "tenure", "--test", "endurance", "--"]);
    // They mostly wait, so that they may all run at once, however few processors there are.
    command.args(["--nocapture", "--exact", "--test-threads", "4"]).args(stores(options));
    command.env("TENURE_ENDURE_SECONDS", (options.minutes * 60).to_string());
    command.env("TENURE_ENDURE_AIM", &options.aim);
    if let Some(seed) = options.seed {
        command.env("TENURE_ENDURE_SEED", seed.to_string());
    }
    command
}

/// What the tests have said so far.
#[derive(Default)]
struct EndureSession {
    finished: BTreeSet<String>,
    /// How many faults each store has survived so far, as its test says it.
    faults: BTreeMap<String, String>,
    log: String,
}

impl EndureSession {
    fn hear(&mut self, line: &str, screen: &mut Screen) {
        let told = line.strip_prefix("endure ").and_then(|told| told.split_once(' '));
        match told {
            Some(("progress", told)) => return screen.progress(&self.progress(told)),
            Some(("begin", begun)) => screen.note(begun),
            Some(("result", result)) => {
                screen.note(result);
                self.finished.extend(result.split_once(':').map(|(store, _)| store.to_owned()));
            }
            _ if line.trim_start().starts_with("Compiling ") => screen.progress(line.trim_start()),
            _ => {}
        }
        self.log += &format!("{line}\n");
    }

    /// How far all are, made of what one says: `redis: 10 of 120 s, 29 runs, 3 faults`.
    fn progress(&mut self, told: &str) -> String {
        let (store, told) = told.split_once(": ").unwrap_or_default();
        let time = told.split(", ").next().unwrap_or_default();
        let faults = told.rsplit(", ").next().and_then(|faults| faults.strip_suffix(" faults")).unwrap_or_default();
        self.faults.insert(store.to_owned(), faults.to_owned());
        let faults: Vec<String> = self.faults.iter().map(|(store, count)| format!("{store} {count}")).collect();
        format!("{time}, faults: {}", faults.join(", "))
    }

    fn summary(&self, took: Duration) -> String {
        let stores: Vec<&str> = self.finished.iter().map(String::as_str).collect();
        format!("endure: {} judged, {:.0} s", stores.join(", "), took.as_secs_f64())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn options(store: Option<&str>) -> EndureOptions {
        EndureOptions { minutes: 2, store: store.map(str::to_owned), seed: Some(7), aim: "anywhere".to_owned() }
    }

    #[test]
    fn one_store_or_all_are_run_for_the_time_that_was_asked_for() {
        let all = command(&options(None));
        assert!(process::describe(&all).ends_with("--test-threads 4 memory postgres redis sqlite"), "{all:?}");
        let one = command(&options(Some("redis")));
        assert!(process::describe(&one).ends_with("--test-threads 4 redis"), "{one:?}");
        let set = |name: &str| one.get_envs().find(|(set, _)| *set == name).and_then(|(_, value)| value?.to_str());
        assert_eq!((set("TENURE_ENDURE_SECONDS"), set("TENURE_ENDURE_SEED")), (Some("120"), Some("7")));
        assert_eq!(set("TENURE_ENDURE_AIM"), Some("anywhere"));
    }

    #[test]
    fn the_last_line_names_who_was_judged() {
        let mut screen = Screen::to(Box::new(std::io::sink()), false, false);
        let mut session = EndureSession::default();
        let lines = [
            "endure begin redis: 120 s, seed 7",
            "endure progress redis: 10 of 120 s, 29 runs, 3 faults",
            "endure progress sqlite: 10 of 120 s, 29 runs, 3 faults",
            "endure result redis: 120 s, seed 7: 0 violations",
            "thread 'sqlite' panicked",
        ];
        lines.iter().for_each(|line| session.hear(line, &mut screen));
        assert_eq!(session.summary(Duration::from_secs(121)), "endure: redis judged, 121 s");
        assert!(session.log.contains("panicked") && !session.log.contains("progress"));
        let shown = session.progress("redis: 20 of 120 s, 60 runs, 7 faults");
        assert_eq!(shown, "20 of 120 s, faults: redis 7, sqlite 3");
    }
}
