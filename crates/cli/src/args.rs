//! The command line.

mod cron;
mod examples;

use std::ffi::OsString;
use std::num::NonZeroUsize;
use std::time::Duration;

use clap::{Args, Parser, Subcommand, ValueEnum};

pub use self::cron::{
    CheckArgs, CronArgs, CronCommand, CronRunArgs, CronStatusArgs, ForgetArgs, JobArgs, RETRIES_MAX, SteerArgs,
};
use crate::duration::parse as duration;
use crate::exit::EXIT_CODES;
use crate::metrics::MetricsArgs;

/// Leader election for anything you can start from a shell.
#[derive(Debug, Parser)]
#[command(
    name = "tenure",
    version,
    about = "Runs a program in one of many places at a time, and fails over by itself.",
    after_help = EXIT_CODES,
    propagate_version = true,
    subcommand_required = true,
    arg_required_else_help = true
)]
pub struct Cli {
    /// Options of every command.
    #[command(flatten)]
    pub global: Global,
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// Options of every command.
#[derive(Debug, Args)]
pub struct Global {
    /// The store: sqlite:PATH, postgres://HOST/DATABASE (also postgres+advisory), redis://HOST:PORT (also rediss,
    /// redis+sentinel, redis+cluster), env: (the Redis of MUTEX_REDIS_HOST or REDIS_HOST, under the keys of LeaderService)
    /// or memory:.
    /// Default: a SQLite file in your state directory.
    #[arg(long, value_name = "URL", env = "TENURE_STORE", hide_env_values = true, global = true)]
    pub store: Option<String>,
    /// Elections of the same name in different namespaces do not meet.
    #[arg(long, value_name = "NS", env = "TENURE_NAMESPACE", default_value = "default", global = true)]
    pub namespace: String,
    /// What to log to standard error: error, warn, info, debug, trace, or a filter such as tenure=debug.
    #[arg(long, value_name = "FILTER", env = "TENURE_LOG", default_value = "error,tenure::store=warn", global = true)]
    pub log: String,
}

/// What to do.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run a command only while leading.
    #[command(after_help = examples::RUN)]
    Run(RunArgs),
    /// Run a command once, under a lock.
    #[command(after_help = examples::LOCK)]
    Lock(LockArgs),
    /// Run jobs by the calendar, each once across all instances.
    #[command(after_help = cron::EXAMPLES)]
    Cron(Box<CronArgs>),
    /// Campaign without a command; print one JSON line per event.
    #[command(after_help = examples::ELECT)]
    Elect(ElectArgs),
    /// Show who leads; with --leads, answer whether a candidate does by the exit code.
    #[command(after_help = examples::STATUS)]
    Status(StatusArgs),
    /// Show changes of leadership as they happen, until interrupted.
    Watch(WatchArgs),
    /// Show past changes of leadership, newest first.
    History(HistoryArgs),
    /// Ask the leader to hand over.
    Resign(ResignArgs),
    /// Remove all that the store keeps of elections and locks that nobody uses.
    #[command(after_help = examples::FORGET)]
    Forget(ForgetElectionArgs),
    /// Make the tables that a store needs, or bring them up to date (only PostgreSQL has any); raise the terms of a store that
    /// takes the place of another.
    #[command(after_help = examples::MIGRATE)]
    Migrate(MigrateArgs),
    /// Send a message to whoever leads, now or later.
    #[command(after_help = examples::SEND)]
    Send(SendArgs),
    /// Tell all candidates that listen something, at most once.
    #[command(after_help = examples::BROADCAST)]
    Broadcast(SendArgs),
    /// Show the messages that wait for the leader, or that were set aside; put them back in line.
    #[command(after_help = examples::MESSAGES)]
    Messages(MessagesArgs),
    /// Check the store and the timing; exit with 1 when something is wrong.
    Doctor(DoctorArgs),
    /// Three candidates, a crash and a hand-over, to look at; on the store that is named, or else on a SQLite file that
    /// is removed afterwards.
    Demo,
    /// Print completions for a shell.
    Completions {
        /// Which shell.
        shell: clap_complete::Shell,
    },
}

impl Command {
    /// Whether it starts commands of others, under guards.
    #[must_use]
    pub fn starts_commands(&self) -> bool {
        match self {
            Self::Run(_) | Self::Lock(_) => true,
            Self::Cron(args) => args.action.is_none(),
            _ => false,
        }
    }
}

/// Who stands, and with which timing.
#[derive(Debug, Args)]
pub struct CandidateArgs {
    /// The candidate's label; must differ between instances. Default: host name, process id, random suffix.
    #[arg(long, value_name = "ID")]
    pub id: Option<String>,
    /// Priority of the candidate, 0 to 10; lower ones wait a little on a vacancy.
    #[arg(long, value_name = "N", default_value_t = 10, value_parser = clap::value_parser!(u8).range(0..=10))]
    pub priority: u8,
    /// Published while leading; may be given several times.
    #[arg(long, value_name = "KEY=VALUE", value_parser = key_value)]
    pub metadata: Vec<(String, String)>,
    /// Exit with 69 when the store cannot be used at the start, instead of trying on. Later failures are survived as always.
    #[arg(long)]
    pub fail_fast: bool,
    /// The durations.
    #[command(flatten)]
    pub timing: TimingArgs,
}

/// The durations.
#[derive(Debug, Clone, Default, Args)]
pub struct TimingArgs {
    /// Durations by name: fast (ttl 15s), normal (30s, the default) or patient (90s).
    #[arg(long, value_name = "NAME", conflicts_with = "ttl")]
    pub preset: Option<String>,
    /// How long a lease lasts without renewal, such as 15s or 500ms. The rest is derived from it.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub ttl: Option<Duration>,
    /// How often to renew.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub renew: Option<Duration>,
    /// How long work may take to stop before it is killed.
    #[arg(long, value_name = "DURATION", value_parser = duration)]
    pub grace: Option<Duration>,
}

/// Arguments of `tenure run`.
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The election.
    #[arg(allow_negative_numbers = true)]
    pub name: String,
    /// Who stands.
    #[command(flatten)]
    pub candidate: CandidateArgs,
    /// What to do when the command ends by itself; resigns first in any case. After a run of less than 10s the command is
    /// left alone for a moment, up to 30s after many in a row.
    #[arg(long, value_enum, default_value_t = Restart::No)]
    pub restart: Restart,
    /// Exit with 75 when somebody else leads, instead of standing by.
    #[arg(long)]
    pub no_wait: bool,
    /// What to tell.
    #[command(flatten)]
    pub report: ReportArgs,
    /// What the command is given.
    #[command(flatten)]
    pub environment: EnvironmentArgs,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// What the commands of `tenure run`, `tenure lock` and `tenure cron` are given.
#[derive(Debug, Clone, Args)]
pub struct EnvironmentArgs {
    /// Let commands have this variable, although it carries credentials of the store; may be given several times.
    #[arg(long, value_name = "NAME")]
    pub keep_env: Vec<OsString>,
}

/// What `tenure run`, `tenure lock` and `tenure cron` tell on standard error.
#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// Report events as JSON lines on standard error.
    #[arg(long)]
    pub json: bool,
    /// Report each renewal, and each attempt that failed, too.
    #[arg(long, requires = "json")]
    pub renewals: bool,
    /// Report errors only, and when the store answers again.
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
    /// Who wants it.
    #[command(flatten)]
    pub candidate: CandidateArgs,
    /// How long to wait for the lock, such as 30s; then exit with 75. Default: for ever.
    #[arg(long, value_name = "DURATION", value_parser = duration, conflicts_with = "no_wait")]
    pub wait: Option<Duration>,
    /// Exit with 75 when the lock is not free, instead of waiting for it.
    #[arg(long)]
    pub no_wait: bool,
    /// What to tell.
    #[command(flatten)]
    pub report: ReportArgs,
    /// What the command is given.
    #[command(flatten)]
    pub environment: EnvironmentArgs,
    /// The command and its arguments.
    #[arg(last = true, required = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// When to campaign again after the command has ended by itself.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Restart {
    /// Exit with the command's code.
    No,
    /// Campaign again unless it ended with 0.
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
    /// A role that shall be able to hold elections, and do nothing else; may be given several times.
    #[arg(long, value_name = "ROLE")]
    pub role: Vec<String>,
    /// Also add the functions of the `leader-election` recipe (try_become_leader, leader_heartbeat, step_down) to this
    /// schema, and take over its table leader_election.
    #[arg(long, value_name = "SCHEMA", num_args = 0..=1, default_missing_value = "public")]
    pub compat: Option<String>,
    /// Also make the next term of every election in the namespace greater than N, as after a move from a store whose terms went
    /// up to N. Terms never fall by it, and whoever leads goes on. Any store but postgres+advisory can do it.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u64).range(1..tenure::Term::MAX), conflicts_with = "print")]
    pub raise_terms_above: Option<u64>,
    /// Raise the terms of this election only; may be given several times.
    #[arg(long, value_name = "NAME", requires = "raise_terms_above", allow_negative_numbers = true)]
    pub election: Vec<String>,
}

/// Arguments of `tenure elect`.
#[derive(Debug, Args)]
pub struct ElectArgs {
    /// The election.
    #[arg(allow_negative_numbers = true)]
    pub name: String,
    /// Who stands.
    #[command(flatten)]
    pub candidate: CandidateArgs,
    /// Print the messages on this channel while leading, and settle each once it is printed; may be given several times.
    #[arg(long, value_name = "CHANNEL")]
    pub channel: Vec<String>,
    /// Print what is broadcast to all candidates on this channel, whoever leads; may be given several times.
    #[arg(long, value_name = "CHANNEL")]
    pub broadcasts: Vec<String>,
    /// Print each renewal, and each attempt that failed, too.
    #[arg(long)]
    pub renewals: bool,
    /// Where to serve metrics.
    #[command(flatten)]
    pub metrics: MetricsArgs,
    /// Print JSON, as it does without being asked.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tenure status`.
#[derive(Debug, Args)]
pub struct StatusArgs {
    /// Only this election. Default: all of the namespace that anybody ever stood in, or that messages wait for.
    #[arg(allow_negative_numbers = true)]
    pub name: Option<String>,
    /// Exit with 0 if this candidate leads the election, with 1 if it does not.
    #[arg(long, value_name = "CANDIDATE", requires = "name")]
    pub leads: Option<String>,
    /// Keep the table up to date until interrupted, with the last change and its reason, and jobs.
    #[arg(long, conflicts_with_all = ["json", "leads"])]
    pub watch: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tenure watch`.
#[derive(Debug, Args)]
pub struct WatchArgs {
    /// Only this election. Default: all of the namespace.
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
    /// How many changes at most.
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
    /// Who should lead next.
    #[arg(long, value_name = "CANDIDATE")]
    pub to: Option<String>,
    /// How long to wait for the hand-over.
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
    /// Forget all of the namespace that nobody has used for so long, such as 720h.
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
    /// The message: JSON text of at most 64 KiB (less where the store says so), or - to read it from standard input.
    #[arg(value_name = "JSON", allow_negative_numbers = true)]
    pub payload: String,
    /// The sender's label; messages of one sender on one channel keep their order. Default: host name, process id,
    /// random suffix.
    #[arg(long, value_name = "ID")]
    pub sender: Option<String>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tenure messages`.
#[derive(Debug, Args)]
pub struct MessagesArgs {
    /// The election. Default: how many messages each election of the namespace has.
    #[arg(allow_negative_numbers = true)]
    pub name: Option<String>,
    /// Show those that were set aside after too many attempts, instead of those that wait.
    #[arg(long, requires = "name")]
    pub aside: bool,
    /// How many messages at most, or how many elections.
    #[arg(long, short = 'n', value_name = "N", default_value_t = NonZeroUsize::MIN.saturating_add(99))]
    pub limit: NonZeroUsize,
    /// Put these messages, which were set aside, back in line.
    #[arg(long, value_name = "ID", num_args = 1.., requires = "name", conflicts_with_all = ["aside", "requeue_all"])]
    pub requeue: Vec<String>,
    /// Put all messages that were set aside back in line.
    #[arg(long, requires = "name", conflicts_with = "aside")]
    pub requeue_all: bool,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tenure doctor`.
#[derive(Debug, Args)]
pub struct DoctorArgs {
    /// The durations to judge.
    #[command(flatten)]
    pub timing: TimingArgs,
    /// How many candidates to predict for.
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
