//! The command line of `tenure cron`.

use std::ffi::OsString;
use std::str::FromStr;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{Args, Subcommand};
use jiff::Timestamp;
use tenure::cron::{Interrupted, Missed, Overlap, UnknownPolicy};

use super::{CandidateArgs, EnvironmentArgs, ReportArgs};
use crate::duration::parse as duration;

/// Arguments of `tenure cron`.
#[derive(Debug, Args)]
#[command(args_conflicts_with_subcommands = true, arg_required_else_help = true)]
pub struct CronArgs {
    /// A subcommand, for anything but running jobs.
    #[command(subcommand)]
    pub action: Option<CronCommand>,
    /// The jobs to run.
    #[command(flatten)]
    pub run: CronRunArgs,
}

/// The subcommands of `tenure cron`.
#[derive(Debug, Subcommand)]
pub enum CronCommand {
    /// Check a crontab or an expression, and show when its jobs fire next.
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Show the jobs of elections: the outcome of their last runs, and when they fire next.
    #[command(after_help = STATUS_EXAMPLES)]
    Status(CronStatusArgs),
    /// Have the leader run a job once, as soon as possible.
    #[command(after_help = RUN_NOW_EXAMPLES)]
    RunNow(SteerArgs),
    /// Pause a job: no tick fires until it is resumed, whoever leads.
    #[command(after_help = PAUSE_EXAMPLES)]
    Pause(SteerArgs),
    /// Resume a paused job.
    #[command(after_help = RESUME_EXAMPLES)]
    Resume(SteerArgs),
    /// Forget a job: its runs, and which of its ticks are already decided.
    #[command(after_help = FORGET_EXAMPLES)]
    Forget(ForgetArgs),
}

/// Arguments of `tenure cron` without a subcommand.
#[derive(Debug, Args)]
pub struct CronRunArgs {
    /// Crontab file; or, with `-- CMD`, a cron expression such as "*/5 * * * *".
    #[arg(value_name = "FILE|EXPRESSION")]
    pub target: Option<OsString>,
    /// The election. Default: the one named in the file, or else the file name without .toml; for a single job, `cron-` and the
    /// job's name.
    #[arg(long, value_name = "NAME")]
    pub election: Option<String>,
    /// The candidate.
    #[command(flatten)]
    pub candidate: CandidateArgs,
    /// Reports on standard error.
    #[command(flatten)]
    pub report: ReportArgs,
    /// The environment of the commands.
    #[command(flatten)]
    pub environment: EnvironmentArgs,
    // Last, because its heading counts for all that follows.
    /// The job, if there is an expression.
    #[command(flatten)]
    pub job: JobArgs,
    /// The job's command and its arguments.
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// A job on the command line.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of one job, with `-- CMD`")]
pub struct JobArgs {
    /// Time zone of the expression, such as Europe/Berlin. Default: UTC.
    #[arg(long, value_name = "ZONE", visible_alias = "time-zone", requires = "command")]
    pub tz: Option<String>,
    /// Job name. Default: the name of the program, with a hash of its arguments if it has any.
    #[arg(long, value_name = "JOB", requires = "command")]
    pub name: Option<String>,
    /// What to do with ticks that came due without a leader. Default: once.
    #[arg(long, requires = "command", value_parser = policy::<Missed>(&["skip", "once", "all"]))]
    pub missed: Option<Missed>,
    /// Maximum age at which a missed tick is still run. Default: 24h.
    #[arg(long, value_name = "DURATION", requires = "command", value_parser = duration)]
    pub window: Option<Duration>,
    /// What to do with a tick while the previous run is still going. Default: skip, which queues with --missed all.
    #[arg(long, requires = "command", value_parser = policy::<Overlap>(&["skip", "queue", "allow"]))]
    pub overlap: Option<Overlap>,
    /// What to do with a run that was cut off when its leader went away. Default: leave.
    #[arg(long, requires = "command", value_parser = policy::<Interrupted>(&["leave", "again"]))]
    pub interrupted: Option<Interrupted>,
    /// Time limit of a run, after which it gets SIGTERM, and SIGKILL after the grace period. Default: none but the end
    /// of the leadership.
    #[arg(long, value_name = "DURATION", requires = "command", value_parser = longer_than_nothing)]
    pub timeout: Option<Duration>,
    /// Delay each tick by up to this much; the delay is derived from the job and the tick.
    #[arg(long, value_name = "DURATION", requires = "command", value_parser = duration)]
    pub jitter: Option<Duration>,
    /// Number of retries of a failed run, for the same tick. Default: 0.
    #[arg(long, value_name = "N", requires = "command", value_parser = clap::value_parser!(u32).range(..=i64::from(MAX_RETRIES)))]
    pub retries: Option<u32>,
    /// Delay before the first retry; doubles with each further one, up to an hour. Default: 30s.
    #[arg(long, value_name = "DURATION", requires = "command", value_parser = duration)]
    pub retry_after: Option<Duration>,
}

/// The greatest number of retries: a job with more would never give up.
pub const MAX_RETRIES: u32 = 1_000;

/// Arguments of `tenure cron check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// Crontab file, or a cron expression such as "*/5 * * * *".
    #[arg(value_name = "FILE|EXPRESSION")]
    pub target: OsString,
    /// Time zone of the expression, such as Europe/Berlin. Default: UTC.
    #[arg(long, value_name = "ZONE", visible_alias = "time-zone")]
    pub tz: Option<String>,
    /// Show the ticks after this time, such as 2030-03-30T12:00:00Z. Default: now.
    #[arg(long, value_name = "TIME")]
    pub from: Option<Timestamp>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tenure cron status`.
#[derive(Debug, Args)]
pub struct CronStatusArgs {
    /// Show only this election, or that of a crontab (if it ends with .toml or has a slash). Default: all in the namespace.
    #[arg(value_name = "NAME|FILE")]
    pub target: Option<OsString>,
    /// Show this many of each job's latest runs, instead of a summary.
    #[arg(long, value_name = "N")]
    pub runs: Option<usize>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tenure cron forget`.
#[derive(Debug, Args)]
pub struct ForgetArgs {
    /// The election.
    pub election: String,
    /// The job.
    pub job: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tenure cron run-now`, `pause` and `resume`.
#[derive(Debug, Args)]
pub struct SteerArgs {
    /// The election.
    pub election: String,
    /// The job.
    pub job: String,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Parses a policy by its name, from a list that completions can offer.
fn policy<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = UnknownPolicy> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| name.parse())
}

fn longer_than_nothing(text: &str) -> Result<Duration, String> {
    duration(text).and_then(|limit| if limit.is_zero() { Err("must be longer than 0s".to_owned()) } else { Ok(limit) })
}

pub(super) const EXAMPLES: &str = "\
Examples:
  tenure cron crontab.toml
  tenure cron \"*/5 * * * *\" -- ./sweep
  tenure cron \"30 4 * * MON-FRI\" --tz Europe/Berlin --name report --timeout 1h -- ./report --full

Start the same command in several places: each tick fires once among them, and never more than once,
whatever happens. With `-- CMD` the first argument is an expression, otherwise a file; write ./check
for a file that is named like a subcommand. A crontab looks like this (see docs/jobs.md):

  election = \"housekeeping\"
  time-zone = \"Europe/Berlin\"

  [jobs.backup]
  schedule = \"30 4 * * *\"
  command = [\"backup\", \"--all\"]
  timeout = \"2h\"

  [jobs.sweep]
  schedule = \"*/5 * * * *\"
  command = \"find /var/cache/app -mmin +60 -delete\"   # a string is run by /bin/sh -c

Commands get TENURE_ELECTION, TENURE_CANDIDATE, TENURE_TERM, TENURE_JOB, TENURE_TICK (the due time,
such as 2030-01-01T04:30:00Z) and TENURE_RETRY (the number of failures before, usually 0). They get
no input, and not the address of the store. When leadership ends, all running commands and their
descendants get SIGTERM, then SIGKILL, before another candidate can lead. On SIGTERM or SIGINT,
tenure does the same and exits; a second signal kills them at once. On SIGHUP it reloads the file:
jobs are added, changed and removed, and current runs continue.";

const CHECK_EXAMPLES: &str = "\
Exits with 2 and lists all errors if the file or the expression cannot be used.

Examples:
  tenure cron check crontab.toml
  tenure cron check \"30 2 * * *\" --tz Europe/Berlin --from 2030-03-30T00:00:00Z --json";

const STATUS_EXAMPLES: &str = "\
A run is shown as interrupted if its leader went away before it recorded the outcome.

Examples:
  tenure cron status
  tenure cron status housekeeping --runs 10
  tenure cron status ./crontab.toml --json";

const RUN_NOW_EXAMPLES: &str = "\
Stores the request; the leader runs the job within ten seconds: once, outside its schedule, with a
tick of its own. It first waits for the end of a current run, or of a pause. A scheduled tick that
fires in the meantime counts as the requested run. `tenure cron status` shows the outcome. Exits
with 1 if there is no such job.

Example:
  tenure cron run-now housekeeping backup";

const PAUSE_EXAMPLES: &str = "\
The pause is kept in the store, so it survives failovers and restarts. A current run continues.
Ticks that come due during the pause count as missed: when the job is resumed, its `missed` and
`window` apply as if there had been no leader. Exits with 1 if there is no such job.

Example:
  tenure cron pause housekeeping backup";

const RESUME_EXAMPLES: &str = "\
The leader notices within ten seconds. Exits with 1 if there is no such job.

Example:
  tenure cron resume housekeeping backup";

const FORGET_EXAMPLES: &str = "\
Removes everything the store keeps of the job. If the current leader has the job, it starts over at
the present: nothing counts as missed, and no past tick fires twice. Use it for jobs that were
removed from the configuration, and for a job that does not fire because a wrong clock has decided
its ticks far into the future. Exits with 1 if there is no such job.

Example:
  tenure cron forget housekeeping backup";
