//! The command behind `cargo xtask sim` and its like.

use std::num::NonZero;
use std::process::ExitCode;
use std::thread::available_parallelism;
use std::time::Instant;

use clap::{Args, Parser, Subcommand};
use tenure_sim::{
    FaultClass, Mistake, ProgressLine, Sweep, Swept, Trial, UnknownMistake, grouped, model, replay, report, toothless,
};

/// Hostile histories for the electors of tenure.
#[derive(Parser)]
#[command(name = "tenure-sim")]
struct SimArguments {
    #[command(subcommand)]
    command: SimCommand,
}

#[derive(Subcommand)]
enum SimCommand {
    /// Run many simulated elections under faults, or look at one
    Sim(SimRunArguments),
    /// Look at every history up to a depth
    Model(ModelArguments),
    /// Make every known mistake, and fail unless each is caught
    Mutants(MutantsArguments),
}

#[derive(Args)]
struct SimRunArguments {
    /// How many seeds
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    seeds: u64,
    /// The first of them
    #[arg(long, value_name = "S", default_value_t = 0)]
    from: u64,
    /// Run this seed alone, and show what happens
    #[arg(long, value_name = "S", conflicts_with_all = ["seeds", "from"])]
    seed: Option<u64>,
    /// Make this mistake on purpose
    #[arg(long, value_name = "M")]
    mutant: Option<Mistake>,
    /// Leave out these faults
    #[arg(long, value_name = "FAULT", value_delimiter = ',')]
    without: Vec<FaultClass>,
}

#[derive(Args)]
struct ModelArguments {
    /// The most steps of a history: arrivals, faults, decisions, and leaps in time
    #[arg(long, value_name = "D", default_value_t = model::ModelOptions::default().depth)]
    depth: u8,
    /// How many stand in the election
    #[arg(long, value_name = "N", default_value_t = 2, value_parser = clap::value_parser!(u8).range(2..=3))]
    candidates: u8,
    /// How many faults there are in one history: duplicates, breaks, pauses, crashes and false hints together
    #[arg(long, value_name = "N", default_value_t = 1)]
    faults: u8,
    /// Make this mistake on purpose
    #[arg(long, value_name = "M", value_parser = makeable)]
    mutant: Option<Mistake>,
}

#[derive(Args)]
struct MutantsArguments {
    /// In how many runs each mistake is made
    #[arg(long, value_name = "N", default_value_t = 300)]
    seeds: u64,
    /// In how many it has to be caught at the latest
    #[arg(long, value_name = "N", default_value_t = 20_000)]
    at_most: u64,
}

fn main() -> ExitCode {
    let is_good = match SimArguments::parse().command {
        SimCommand::Sim(arguments) => simulate(&arguments),
        SimCommand::Model(arguments) => search(&arguments),
        SimCommand::Mutants(arguments) => try_mutants(&arguments),
    };
    if is_good { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

fn simulate(arguments: &SimRunArguments) -> bool {
    let sweep = Sweep {
        first: arguments.from,
        seeds: arguments.seeds,
        threads: threads(),
        mistake: arguments.mutant,
        without: arguments.without.clone(),
        keeps_going: false,
    };
    match arguments.seed {
        Some(seed) => show(&sweep, seed),
        None => sweep_all(&sweep),
    }
}

/// One seed, line by line.
fn show(sweep: &Sweep, seed: u64) -> bool {
    let options = sweep.options(seed);
    let run = replay(&options);
    println!("{options}\n\n{}", run.timeline);
    match &run.violation {
        None => println!("sim: seed {seed}, no violation"),
        Some(violation) => println!("sim: seed {seed}: {violation}"),
    }
    run.violation.is_none()
}

fn sweep_all(sweep: &Sweep) -> bool {
    let mut progress = ProgressLine::new();
    let swept = sweep.run(|swept| {
        let (done, all) = (grouped(swept.tally.runs), grouped(sweep.seeds));
        progress.tell(&format!("sim: {done} of {all} seeds, {:.0} seeds/s", swept.seeds_per_second()));
    });
    progress.clear();
    match &swept.violation {
        None => print!("{}", swept.tally),
        Some((seed, violation)) => {
            println!("seed {seed}: {violation}\n\nwith as few faults as break the same promise:");
            println!("{}\n", report(&sweep.options(*seed)));
        }
    }
    let is_complete = came_up(sweep, &swept);
    println!("{}", swept.summary());
    swept.violation.is_none() && is_complete
}

/// Runs in which the interesting things do not happen prove little; among enough of them each has to.
fn came_up(sweep: &Sweep, swept: &Swept) -> bool {
    const ENOUGH: u64 = 5_000;
    let missing = swept.tally.missing();
    if swept.tally.runs < ENOUGH || !sweep.without.is_empty() || missing.is_empty() {
        return true;
    }
    println!("sim: these situations never came up: {missing:?}");
    false
}

fn search(arguments: &ModelArguments) -> bool {
    let budgets = model::Budgets {
        faults: arguments.faults,
        duplicates: arguments.faults,
        breaks: arguments.faults,
        pauses: arguments.faults,
        crashes: arguments.faults,
        hints: arguments.faults,
        ..model::Budgets::default()
    };
    let options = model::ModelOptions {
        depth: arguments.depth,
        candidates: arguments.candidates,
        budgets,
        threads: threads(),
        mistake: arguments.mutant,
        ..model::ModelOptions::default()
    };
    let mut progress = ProgressLine::new();
    let report = model::check(&options, |so_far| progress.tell(&format!("model: {so_far}")));
    progress.clear();
    println!("{report}");
    // With few steps not everything can be seen.
    report.violation.is_none() && (report.is_good() || arguments.depth < model::ModelOptions::default().depth)
}

fn makeable(name: &str) -> Result<Mistake, String> {
    let mistake: Mistake = name.parse().map_err(|unknown: UnknownMistake| unknown.to_string())?;
    let why = "it needs different ttls, clocks that stop, jobs or messages; the simulation has them";
    if model::can_make(mistake) { Ok(mistake) } else { Err(format!("the model cannot make this mistake: {why}")) }
}

fn try_mutants(arguments: &MutantsArguments) -> bool {
    let started = Instant::now();
    let mistakes = Mistake::all();
    let mut progress = ProgressLine::new();
    let mut trials = Vec::new();
    for (index, mistake) in mistakes.iter().enumerate() {
        progress.tell(&format!("mutants: {} of {}, {mistake}", index + 1, mistakes.len()));
        let trial = Trial::hold(*mistake, arguments.seeds, arguments.at_most, threads());
        progress.clear();
        println!("{trial}");
        trials.push(trial);
    }
    let survivors = trials.iter().filter(|trial| trial.caught.is_none()).count();
    let toothless = toothless(&trials);
    if !toothless.is_empty() {
        println!("no mutant broke these invariants, so nothing shows that they can fail: {}", toothless.join(", "));
    }
    println!(
        "mutants: {} of {} caught, {} invariant(s) caught none, {:.1} s",
        mistakes.len() - survivors,
        mistakes.len(),
        toothless.len(),
        started.elapsed().as_secs_f64()
    );
    survivors == 0 && toothless.is_empty()
}

fn threads() -> usize {
    available_parallelism().map_or(1, NonZero::get)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_show_options_that_exist() {
        let ways = ["sim", "model", "mutants"];
        let commands = tenure_pages::xtask_commands().into_iter();
        let proofs: Vec<_> = commands.filter(|words| ways.contains(&words[0].as_str())).collect();
        for way in ways {
            assert!(proofs.iter().any(|words| words[0] == way), "no page shows `{way}`");
        }
        for words in proofs {
            let typed = std::iter::once("tenure-sim").chain(words.iter().map(String::as_str));
            if let Err(error) = SimArguments::try_parse_from(typed) {
                panic!("{words:?}: {error}");
            }
        }
    }
}
