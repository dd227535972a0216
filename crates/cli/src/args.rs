//! The command line.

mod cron;
mod examples;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};
use tenure_sys::StandardStream;

pub use self::cron::{
    CheckArgs, CronArgs, CronCommand, CronRunArgs, CronStatusArgs, ForgetArgs, JobArgs, MAX_RETRIES, SteerArgs,
};
use crate::duration::parse as duration;
use crate::exit::EXIT_CODES;
use crate::metrics::MetricsArgs;

/// Leader election for anything you can start from a shell.
#[derive(Debug, Parser)]
#[command(
    name = "tenure",
    version,
    about = "Leader election for any program: run it on one machine at a time, with automatic failover.",
    after_help = EXIT_CODES,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
    /// The subcommand.
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
pub struct Global {
    /// Address of the store: sqlite:PATH, postgres://HOST/DATABASE (also postgres+advisory), redis://HOST:PORT (also rediss,
    /// redis+sentinel, redis+cluster), env: (the Redis server of MUTEX_REDIS_HOST or REDIS_HOST, with the keys of
    /// LeaderService) or memory:.
    /// Default: a SQLite file in your state directory.
    #[arg(long, value_name = "URL", env = "TENURE_STORE", hide_env_values = true, global = true)]
    pub store: Option<String>,
    /// Namespace of the elections; the same name in two namespaces is two elections.
    #[arg(long, value_name = "NS", env = "TENURE_NAMESPACE", default_value = "default", global = true)]
    pub namespace: String,
    /// Log level or filter for standard error: error, warn, info, debug, trace, or a filter such as tenure=debug.
    #[arg(long, value_name = "FILTER", env = "TENURE_LOG", default_value = "error,tenure::store=warn", global = true)]
    pub log: String,
}

/// The subcommands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a command only while leading.
    #[command(after_help = examples::RUN)]
    Run(RunArgs),
    /// Run a command once, under a lock.
    #[command(after_help = examples::LOCK)]
    Lock(LockArgs),
    /// Run jobs on a cron schedule, each tick once across all instances.
    #[command(after_help = cron::EXAMPLES)]
    Cron(Box<CronArgs>),
    /// Campaign without a command; print one JSON line per event.
    #[command(after_help = examples::ELECT)]
    Elect(ElectArgs),
    /// Show the leader of each election; with --leads, tell by the exit code whether a candidate leads.
    #[command(after_help = examples::STATUS)]
    Status(StatusArgs),
    /// Print changes of leadership as they happen, until interrupted.
    Watch(WatchArgs),
    /// Show past changes of leadership, newest first.
    History(HistoryArgs),
    /// Ask the leader to hand over.
    Resign(ResignArgs),
    /// Remove unused elections and locks from the store, with all their data.
    #[command(after_help = examples::FORGET)]
    Forget(ForgetElectionArgs),
    /// Create or upgrade the tables of the store (PostgreSQL only); raise the terms of a store that replaces another one.
    #[command(after_help = examples::MIGRATE)]
    Migrate(MigrateArgs),
    /// Send a message to the leader, present or future.
    #[command(after_help = examples::SEND)]
    Send(SendArgs),
    /// Send a message to all listening candidates, at most once.
    #[command(after_help = examples::BROADCAST)]
    Broadcast(SendArgs),
    /// List the messages that wait for the leader, or the dead letters; requeue dead letters.
    #[command(after_help = examples::MESSAGES)]
    Messages(MessagesArgs),
    /// Check the store and the timing; exit with 1 if a check fails.
    Doctor(DoctorArgs),
    /// Watch three candidates go through a crash and a hand-over, on the given store or on a temporary SQLite file.
    Demo,
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
    },
}

impl Command {
    /// Whether this subcommand starts the user's commands, under guards.
    #[must_use]
    pub fn starts_commands(&self) -> bool {
        match self {
            Self::Run(_) | Self::Lock(_) => true,
            Self::Cron(args) => args.action.is_none(),
            _ => false,
        }
    }

    /// What it tells programs, and acts as if they had heard it.
    #[must_use]
    pub fn prints_to(&self) -> Option<StandardStream> {
        let of_events = |report: &ReportArgs| report.json.then_some(StandardStream::Error);
        match self {
            // Standard output is that of their commands.
            Self::Run(args) => of_events(&args.report),
            Self::Lock(args) => of_events(&args.report),
            Self::Cron(args) if args.action.is_none() => of_events(&args.run.report),
            _ => Some(StandardStream::Output),
        }
    }
}

/// The candidate and its timing.
#[derive(Debug, Args)]
pub struct CandidateArgs {
    /// Candidate id; must differ between instances. Default: host name, process id and a random suffix.
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Priority, 0 to 10; candidates with a lower one wait a little longer before campaigning.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u8).range(0..=10))]
    pub priority: u8,
    /// Metadata to publish while leading; repeatable.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub metadata: Vec<(String, String)>,
    /// Exit with 69 if the store cannot be used at startup, instead of retrying. Later failures are retried in any case.
    #[arg(long)]
    pub fail_fast: bool,
    /// The durations.
    #[command(flatten)]
    pub timing: TimingArgs,
}

/// The durations.
#[derive(Debug, Clone, Default, Args)]
pub struct TimingArgs {
    /// Named set of durations: fast (ttl 15s), normal (30s, the default) or patient (90s).
    #[arg(long, value_name = "NAME", conflicts_with = "ttl")]
    pub preset: Option<String>,
    /// Lifetime of a lease without renewal, such as 15s or 500ms. The other durations are derived from it.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub ttl: Option<Duration>,
    /// Interval between renewals.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub renew: Option<Duration>,
    /// Time that work has to stop before it is killed.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub grace: Option<Duration>,
}

/// Arguments of `tenure run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The election.
    #[arg(allow_negative_numbers = true)]
    pub name: String,
    /// The candidate.
    #[command(flatten)]
    pub candidate: CandidateArgs,
    /// What to do when the command exits by itself; tenure resigns first in any case. After a run of less than 10s it waits
    /// before the next start, up to 30s after many short runs in a row.
    #[arg(long, value_enum, default_value_t = Restart::No)]
    pub restart: Restart,
    /// Exit with 75 if another candidate leads, instead of standing by.
    #[arg(long)]
    pub no_wait: bool,
    /// Reports on standard error.
    #[command(flatten)]
    pub report: ReportArgs,
    /// The command's environment.
    #[command(flatten)]
    pub environment: EnvironmentArgs,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// The environment of commands of `tenure run`, `tenure lock` and `tenure cron`.
#[derive(Debug, Clone, Args)]
pub struct EnvironmentArgs {
    /// Keep this variable in the command's environment although it carries store credentials; repeatable.
    #[arg(long, value_name = "NAME")]
    pub keep_env: Vec<OsString>,
}

/// What `tenure run`, `tenure lock` and `tenure cron` report on standard error.
#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// Report events as JSON lines on standard error.
    #[arg(long)]
    pub json: bool,
    /// Also report each renewal and each failed attempt.
    #[arg(long, requires = "json")]
    pub renewals: bool,
    /// Report only errors and recoveries of the store.
    #[arg(long, short, conflicts_with = "json")]
    pub quiet: bool,
    /// Where to serve metrics.
    #[command(flatten)]
    pub metrics: MetricsArgs,
}

/// Arguments of `tenure lock`.
#[derive(Debug, Args)]
pub struct LockArgs {
    /// The lock.
    #[arg(allow_negative_numbers = true)]
    pub name: String,
    /// The candidate.
    #[command(flatten)]
    pub candidate: CandidateArgs,
    /// Time to wait for the lock, such as 30s; exit with 75 after that. Default: no limit.
    #[arg(long, value_name = "DURATION", value_parser = duration, conflicts_with = "no_wait")]
    pub wait: Option<Duration>,
    /// Exit with 75 if the lock is not free, instead of waiting for it.
    #[arg(long)]
    pub no_wait: bool,
    /// Reports on standard error.
    #[command(flatten)]
    pub report: ReportArgs,
    /// The command's environment.
    #[command(flatten)]
    pub environment: EnvironmentArgs,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// When to campaign again after the command has exited by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Restart {
    /// Exit with the command's code.
    No,
    /// Campaign again unless the exit code is 0.
    OnFailure,
    /// Campaign again.
    Always,
}

/// Arguments of `tenure migrate`.
#[derive(Debug, Args)]
pub struct MigrateArgs {
    /// Print the SQL instead of running it.
    #[arg(long)]
    pub print: bool,
    /// Grant this role the right to hold elections, and nothing else; repeatable.
    #[arg(long, value_name = "ROLE")]
    pub role: Vec<String>,
    /// Also add the functions of the `leader-election` recipe (try_become_leader, leader_heartbeat, step_down) to this
    /// schema, and adopt its table leader_election.
    #[arg(long, value_name = "SCHEMA", num_args = 0..=1, default_missing_value = "public")]
    pub compat: Option<String>,
    /// Also make the next term of every election in the namespace greater than N, for instance after a move from a store whose
    /// terms went up to N. Never lowers a term or ends a leadership. Works on every store but postgres+advisory.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..tenure::Term::MAX), conflicts_with = "print")]
    pub raise_terms_above: Option<u64>,
    /// Raise the terms of this election only; repeatable.
    #[arg(long, value_name = "NAME", requires = "raise_terms_above", allow_negative_numbers = true)]
    pub election: Vec<String>,
}

/// Arguments of `tenure elect`.
#[derive(Debug, Args)]
pub struct ElectArgs {
    /// The election.
    #[arg(allow_negative_numbers = true)]
    pub name: String,
    /// The candidate.
    #[command(flatten)]
    pub candidate: CandidateArgs,
    /// Print the messages on this channel while leading, and acknowledge each one after printing it; repeatable.
    #[arg(long, value_name = "CHANNEL")]
    pub channel: Vec<String>,
    /// Print the broadcasts on this channel, leading or not; repeatable.
    #[arg(long, value_name = "CHANNEL")]
    pub broadcasts: Vec<String>,
    /// Also print each renewal and each failed attempt.
    #[arg(long)]
    pub renewals: bool,
    /// Where to serve metrics.
    #[command(flatten)]
    pub metrics: MetricsArgs,
    /// Print JSON, which is the default here.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tenure status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Show only this election. Default: all in the namespace that ever had a candidate or have waiting messages.
    #[arg(allow_negative_numbers = true)]
    pub name: Option<String>,
    /// Exit with 0 if this candidate leads the election, and with 1 if not.
    #[arg(long, value_name = "CANDIDATE", requires = "name")]
    pub leads: Option<String>,
    /// Keep updating the table until interrupted; adds the last change with its reason, and jobs.
    #[arg(long, conflicts_with_all = ["json", "leads"])]
    pub watch: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tenure watch`.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Watch only this election. Default: all in the namespace.
    #[arg(allow_negative_numbers = true)]
    pub name: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tenure history`.
#[derive(Debug, Args)]
pub struct HistoryArgs {
    /// The election.
    #[arg(allow_negative_numbers = true)]
    pub name: String,
    /// Maximum number of changes to show.
    #[arg(long, short = 'n', value_name = "N", default_value_t = NonZeroUsize::MIN.saturating_add(19))]
    pub limit: NonZeroUsize,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tenure resign`.
#[derive(Debug, Args)]
pub struct ResignArgs {
    /// The election.
    #[arg(allow_negative_numbers = true)]
    pub name: String,
    /// Candidate to hand over to.
    #[arg(long, value_name = "CANDIDATE")]
    pub to: Option<String>,
    /// Time to wait for the hand-over.
    #[arg(long, value_name = "DURATION", value_parser = duration, default_value = "30s")]
    pub wait: Duration,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tenure forget`.
#[derive(Debug, Args)]
pub struct ForgetElectionArgs {
    /// The election or lock.
    #[arg(allow_negative_numbers = true, required_unless_present = "abandoned_for")]
    pub name: Option<String>,
    /// Forget all elections and locks in the namespace that were unused for this long, such as 720h.
    #[arg(long, value_name = "DURATION", value_parser = duration, conflicts_with = "name")]
    pub abandoned_for: Option<Duration>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tenure send` and `tenure broadcast`.
#[derive(Debug, Args)]
pub struct SendArgs {
    /// The election.
    #[arg(allow_negative_numbers = true)]
    pub name: String,
    /// The channel.
    pub channel: String,
    /// The message: JSON of at most 64 KiB (some stores allow less), or - to read it from standard input.
    #[arg(value_name = "JSON", allow_negative_numbers = true)]
    pub payload: String,
    /// Sender id; messages from one sender on one channel stay in order. Default: host name, process id and a random suffix.
    #[arg(long, value_name = "ID")]
    pub sender: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tenure messages`.
#[derive(Debug, Args)]
pub struct MessagesArgs {
    /// The election. Without one, the message counts of all elections in the namespace are shown.
    #[arg(allow_negative_numbers = true)]
    pub name: Option<String>,
    /// List the dead letters, which failed too many times, instead of the waiting messages.
    #[arg(long, alias = "aside", requires = "name")]
    pub dead_letters: bool,
    /// Maximum number of messages, or of elections, to show.
    #[arg(long, short = 'n', value_name = "N", default_value_t = NonZeroUsize::MIN.saturating_add(99))]
    pub limit: NonZeroUsize,
    /// Requeue these dead letters.
    #[arg(long, value_name = "ID", num_args = 1.., requires = "name", conflicts_with_all = ["dead_letters", "requeue_all"])]
    pub requeue: Vec<String>,
    /// Requeue all dead letters.
    #[arg(long, requires = "name", conflicts_with = "dead_letters")]
    pub requeue_all: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tenure doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// The durations to check.
    #[command(flatten)]
    pub timing: TimingArgs,
    /// Number of candidates to predict the load for.
    #[arg(long, value_name = "N", default_value_t = 3, value_parser = clap::value_parser!(u32).range(1..))]
    pub candidates: u32,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

fn key_value(text: &str) -> Result<(String, String), String> {
    match text.split_once('=') {
        Some((key, value)) if !key.is_empty() => Ok((key.to_owned(), value.to_owned())),
        _ => Err("write KEY=VALUE, such as zone=eu-1".to_owned()),
    }
}

#[cfg(test)]
mod tests {
    use clap::CommandFactory;

    use super::*;

    #[test]
    fn the_definition_is_consistent() {
        Cli::command().debug_assert();
    }

    #[test]
    fn metadata_need_a_key() {
        assert_eq!(key_value("a=b=c"), Ok(("a".to_owned(), "b=c".to_owned())));
        assert!(key_value("=b").is_err() && key_value("ab").is_err());
    }
}
