//! Speed as ratios: each figure stands beside its floor, measured in the same run on the same machine.
//!
//! `cargo xtask bench` measures what needs no server; `cargo xtask bench handover` one part of that. `cargo xtask bench
//! redis` and `cargo xtask bench postgres` measure these, on servers of their own; with `--quick` they show that this works.
//! Times differ from machine to machine and from minute to minute; ratios do so less.

mod crashes;
mod crowd;
mod elect_processes;
mod elections;
mod figures;
mod floor;
mod group;
mod handover;
mod is_leader;
mod load;
mod locks;
mod outages;
mod postgres;
mod processes;
mod redis;
mod renewals;
mod roles;
mod runtime;
mod scale;
mod sqlite;
mod stats;
mod table;
mod usage;
mod work;

use std::error::Error;
use std::path::PathBuf;
use std::process::ExitCode;

use clap::{Parser, Subcommand, ValueEnum};

/// Speed as ratios, each figure beside its floor.
#[derive(Debug, Parser)]
#[command(args_conflicts_with_subcommands = true)]
struct BenchArgs {
    #[command(subcommand)]
    command: Option<BenchCommand>,
    /// Which parts to run; all when none is named.
    parts: Vec<BenchPart>,
    /// The `tenure` command to measure. Default: the one beside this program.
    #[arg(long, value_name = "PATH")]
    client: Option<PathBuf>,
}

#[derive(Debug, Subcommand)]
enum BenchCommand {
    /// Everything on PostgreSQL, as a table.
    Postgres(postgres::PostgresFigureOptions),
    /// Everything on Redis, as a table.
    Redis(figures::FigureOptions<redis::RedisFigure>),
    /// Plays a part in what is measured.
    #[command(hide = true)]
    Role {
        #[command(subcommand)]
        role: roles::Role,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
enum BenchPart {
    /// `is_leader()` beside an atomic load and a bare clock read.
    IsLeader,
    /// Hand-over on SQLite beside a push and a durable write.
    Handover,
    /// Many elections in one process beside one batched transaction.
    Elections,
    /// Start to leadership, takeover after kill -9, and memory of the command.
    Processes,
    /// Leaders with a command that are killed one after the other.
    Crashes,
    /// Store calls of one leader and nine followers.
    Load,
}

fn main() -> ExitCode {
    match run(BenchArgs::parse()) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("bench: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run(args: BenchArgs) -> Result<(), Box<dyn Error>> {
    match args.command {
        Some(BenchCommand::Postgres(options)) => return postgres::run(options),
        Some(BenchCommand::Redis(options)) => return redis::run(options),
        Some(BenchCommand::Role { role }) => return roles::play(role),
        None => {}
    }
    let parts = if args.parts.is_empty() { BenchPart::value_variants().to_vec() } else { args.parts };
    for part in parts {
        match part {
            BenchPart::IsLeader => is_leader::run()?,
            BenchPart::Handover => sqlite::handover::run()?,
            BenchPart::Elections => sqlite::elections::run()?,
            BenchPart::Processes => sqlite::processes::run(&processes::tenure_command(args.client.clone())?)?,
            BenchPart::Crashes => sqlite::processes::kill_in_a_row(&processes::tenure_command(args.client.clone())?)?,
            BenchPart::Load => load::run()?,
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_pages_show_parts_that_exist() {
        let benchmarks: Vec<_> =
            tenure_pages::xtask_commands().into_iter().filter(|words| words[0] == "bench").collect();
        assert!(!benchmarks.is_empty());
        for words in benchmarks {
            if let Err(error) = BenchArgs::try_parse_from(&words) {
                panic!("{words:?}: {error}");
            }
        }
    }
}
