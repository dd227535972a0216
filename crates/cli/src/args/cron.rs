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
    /// Something else than running jobs.
    #[command(subcommand)]
    pub action: Option<CronCommand>,
    /// Which jobs to run.
    #[command(flatten)]
    pub run: CronRunArgs,
}

/// What there is to do about jobs besides running them.
#[derive(Debug, Subcommand)]
pub enum CronCommand {
    /// Check a file or an expression, and show when its jobs fire next.
    #[command(after_help = CHECK_EXAMPLES)]
    Check(CheckArgs),
    /// Show the jobs of elections: how their last runs ended, and when they fire next.
    #[command(after_help = STATUS_EXAMPLES)]
    Status(CronStatusArgs),
    /// Run a job once, as soon as may be, by whoever leads.
    #[command(after_help = RUN_NOW_EXAMPLES)]
    RunNow(SteerArgs),
    /// Pause a job, whoever leads: no tick of it fires until it is resumed.
    #[command(after_help = PAUSE_EXAMPLES)]
    Pause(SteerArgs),
    /// Resume a job that was paused.
    #[command(after_help = RESUME_EXAMPLES)]
    Resume(SteerArgs),
    /// Forget a job: its runs, and up to where its ticks are decided.
    #[command(after_help = FORGET_EXAMPLES)]
    Forget(ForgetArgs),
}

/// Which jobs to run.
#[derive(Debug, Args)]
pub struct CronRunArgs {
    /// A file of jobs; or, with `-- CMD`, a cron expression such as "*/5 * * * *".
    #[arg(value_name = "FILE|EXPRESSION")]
    pub target: Option<OsString>,
    /// The election. Default: what the file says, or else its name without .toml; for one job, its name after `cron-`.
    #[arg(long, value_name = "NAME")]
    pub election: Option<String>,
    /// Who stands.
    #[command(flatten)]
    pub candidate: CandidateArgs,
    /// What to tell.
    #[command(flatten)]
    pub report: ReportArgs,
    /// What the commands are given.
    #[command(flatten)]
    pub environment: EnvironmentArgs,
    // Last, because its heading counts for all that follows.
    /// The job, if there is an expression.
    #[command(flatten)]
    pub job: JobArgs,
    /// What the job runs: the command and its arguments.
    #[arg(last = true, value_name = "CMD")]
    pub command: Vec<OsString>,
}

/// A job on the command line.
#[derive(Debug, Args)]
#[command(next_help_heading = "Options of one job, with `-- CMD`")]
pub struct JobArgs {
    /// The time zone the expression is meant in, such as Europe/Berlin. Default: UTC.
    #[arg(long, value_name = "ZONE", visible_alias = "time-zone", requires = "command")]
    pub tz: Option<String>,
    /// The job's name. Default: the name of the program, with a number that follows from its arguments if it has any.
    #[arg(long, value_name = "JOB", requires = "command")]
    pub name: Option<String>,
    /// What becomes of ticks at which nobody led. Default: once.
    #[arg(long, requires = "command", value_parser = policy::<Missed>(&["skip", "once", "all"]))]
    pub missed: Option<Missed>,
    /// How old a missed tick may be and still be wanted. Default: 24h.
    #[arg(long, value_name = "DURATION", requires = "command", value_parser = duration)]
    pub window: Option<Duration>,
    /// What becomes of a tick while the last run still goes on. Default: skip; with --missed all it waits.
    #[arg(long, requires = "command", value_parser = policy::<Overlap>(&["skip", "queue", "allow"]))]
    pub overlap: Option<Overlap>,
    /// What becomes of a run that was cut off because its leader was gone. Default: leave.
    #[arg(long, requires = "command", value_parser = policy::<Interrupted>(&["leave", "again"]))]
    pub interrupted: Option<Interrupted>,
    /// How long a run may take. Then it gets SIGTERM, and SIGKILL after the grace. Default: as long as it leads.
    #[arg(long, value_name = "DURATION", requires = "command", value_parser = longer_than_nothing)]
    pub timeout: Option<Duration>,
    /// Each tick fires up to this much later; by how much follows from the job and the tick.
    #[arg(long, value_name = "DURATION", requires = "command", value_parser = duration)]
    pub jitter: Option<Duration>,
    /// How often a run that failed is tried again, for the same tick. Default: 0.
    #[arg(long, value_name = "N", requires = "command", value_parser = clap::value_parser!(u32).range(..=i64::from(RETRIES_MAX)))]
    pub retries: Option<u32>,
    /// How long after its first failure; twice as long after each that follows, up to an hour. Default: 30s.
    #[arg(long, value_name = "DURATION", requires = "command", value_parser = duration)]
    pub retry_after: Option<Duration>,
}

/// A job that is tried more often never gives up.
pub const RETRIES_MAX: u32 = 1_000;

/// Arguments of `tenure cron check`.
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// A file of jobs, or a cron expression such as "*/5 * * * *".
    #[arg(value_name = "FILE|EXPRESSION")]
    pub target: OsString,
    /// The time zone an expression is meant in, such as Europe/Berlin. Default: UTC.
    #[arg(long, value_name = "ZONE", visible_alias = "time-zone")]
    pub tz: Option<String>,
    /// Show what comes after this moment, such as 2030-03-30T12:00:00Z. Default: now.
    #[arg(long, value_name = "TIME")]
    pub from: Option<Timestamp>,
    /// Print JSON.
    #[arg(long)]
    pub json: bool,
}

/// Arguments of `tenure cron status`.
#[derive(Debug, Args)]
pub struct CronStatusArgs {
    /// Only this election; or that of a file, if it ends with .toml or has a slash. Default: all of the namespace.
    #[arg(value_name = "NAME|FILE")]
    pub target: Option<OsString>,
    /// Show so many of each job's latest runs.
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

/// The names of a policy, which completions can offer.
fn policy<T>(names: &'static [&'static str]) -> impl TypedValueParser<Value = T>
where
    T: FromStr<Err = UnknownPolicy> + Clone + Send + Sync + 'static,
{
    PossibleValuesParser::new(names).try_map(|name| name.parse())
}

fn longer_than_nothing(text: &str) -> Result<Duration, String> {
    duration(text)
        .and_then(|limit| if limit.is_zero() { Err("it must be longer than 0s".to_owned()) } else { Ok(limit) })
}

pub(super) const EXAMPLES: &str = "\
Examples:
  tenure cron crontab.toml
  tenure cron \"*/5 * * * *\" -- ./sweep
  tenure cron \"30 4 * * MON-FRI\" --tz Europe/Berlin --name report --timeout 1h -- ./report --full

Start the same in several places: each tick fires once among them, and at most once whatever happens. With `-- CMD` the
first argument is an expression, without it a file; a file called like a command of `tenure cron` is given as ./check. A file
looks like this (docs/cron.md has all of it):

  election = \"housekeeping\"
  time-zone = \"Europe/Berlin\"

  [jobs.backup]
  schedule = \"30 4 * * *\"
  command = [\"backup\", \"--all\"]
  timeout = \"2h\"

  [jobs.sweep]
  schedule = \"*/5 * * * *\"
  command = \"find /var/cache/app -mmin +60 -delete\"   # a string is run by /bin/sh -c

Commands get TENURE_ELECTION, TENURE_CANDIDATE, TENURE_TERM, TENURE_JOB, TENURE_TICK (when it was due, such as
2030-01-01T04:30:00Z) and TENURE_RETRY (how often it failed before, mostly 0), no input, and not the store's address. When leadership ends, all running commands and their
descendants get SIGTERM, then SIGKILL, before anybody else may lead. SIGTERM or SIGINT to tenure does the same and exits;
asked twice, it kills them at once. SIGHUP makes it read its file again: jobs are added, changed and removed, and runs go on.";

const CHECK_EXAMPLES: &str = "\
It exits with 2 and tells all that is wrong if the file or the expression cannot be used.

Examples:
  tenure cron check crontab.toml
  tenure cron check \"30 2 * * *\" --tz Europe/Berlin --from 2030-03-30T00:00:00Z --json";

const STATUS_EXAMPLES: &str = "\
A run is interrupted if its leader was gone before it told how the run ended.

Examples:
  tenure cron status
  tenure cron status housekeeping --runs 10
  tenure cron status ./crontab.toml --json";

const RUN_NOW_EXAMPLES: &str = "\
It is written down in the store, and whoever leads runs the job within ten seconds: once, beside its calendar, under a tick of
its own. A run that goes on is waited for, and so is the end of a pause. A tick that fires meanwhile counts as the run. `tenure
cron status` shows its outcome. It exits with 1 if there is no such job.

Example:
  tenure cron run-now housekeeping backup";

const PAUSE_EXAMPLES: &str = "\
It is written down in the store, so it lasts over failovers and restarts. A run that goes on goes on. Ticks that come due meanwhile
are missed: when the job is resumed they follow its `missed` and `window`, as if nobody had led. It exits with 1 if there is no such
job.

Example:
  tenure cron pause housekeeping backup";

const RESUME_EXAMPLES: &str = "\
Whoever leads notices within ten seconds. It exits with 1 if there is no such job.

Example:
  tenure cron resume housekeeping backup";

const FORGET_EXAMPLES: &str = "\
Nothing of the job is kept. If somebody leads who has it, it begins anew: at the present, so that nothing counts as missed
and no tick fires twice that is in the past. Use it for jobs that are gone from the configuration, and for one that does
not fire because a clock that was wrong has decided its ticks far into the future. It exits with 1 if there is no such job.

Example:
  tenure cron forget housekeeping backup";
