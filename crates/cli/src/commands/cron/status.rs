//! `tenure cron status`: how jobs stand.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use serde::Serialize;
use tenure::cron::{Calendar, Job, JobReport, Tick, WrittenSchedule};
use tenure::{Client, Clock, ElectionName, Term};

use crate::args::{CronStatusArgs, Global};
use crate::crontab::Crontab;
use crate::duration::show;
use crate::exit::{CommandError, Exit};
use crate::job::{RunLine, shown};
use crate::message::on_one_line;
use crate::options::{open_to_look, store_shown};
use crate::output::{json_line, print, table, timestamp};
use crate::stderr_writer::say;

/// A job as `tenure cron status --json` prints it.
#[derive(Debug, Serialize)]
struct JobStatusLine {
    election: String,
    job: String,
    /// Expression and time zone.
    schedule: String,
    /// Its next tick by the calendar, if it fires then, as far as is known.
    next: Option<String>,
    /// Why it does not fire, if that is known.
    idle: Option<IdleReason>,
    /// Whether its configuration lets it fire at all.
    enabled: bool,
    fired: u64,
    missed: u64,
    skipped: u64,
    /// Since when it is paused.
    paused_at: Option<String>,
    /// When a run was asked for that has not begun.
    requested_at: Option<String>,
    /// The newest first.
    runs: Vec<RunLine>,
}

/// Why a job does not fire, whatever the calendar says.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum IdleReason {
    /// The job is gone from those of the leader; or, without a leader, from the given file.
    Removed,
    /// The job is in the given file, and the leader does not have it yet.
    NotLoaded,
    Paused,
    Disabled,
    NoLeader,
}

impl IdleReason {
    fn in_words(self) -> &'static str {
        match self {
            Self::Removed => "- (removed)",
            Self::NotLoaded => "- (not loaded)",
            Self::Paused => "- (paused)",
            Self::Disabled => "- (disabled)",
            Self::NoLeader => "- (nobody leads)",
        }
    }
}

pub(super) async fn execute(global: &Global, args: &CronStatusArgs) -> Result<Exit, CommandError> {
    let (election, jobs) = which(args.target.as_deref())?;
    let client = open_to_look(global)?;
    client.store().check_ledger()?;
    let names = match &election {
        Some(name) => vec![name.clone()],
        None => client.observe_all().await?.into_iter().map(|(name, _)| name.to_string()).collect(),
    };
    let mut lines = Vec::new();
    let mut exit = Exit::Success;
    for name in &names {
        match look(&client, name, &jobs, args.runs.unwrap_or(1)).await {
            Ok(found) => lines.extend(found),
            Err(tenure::Error::Store(error)) if error.damaged_record().is_some() => {
                say(&error.to_string());
                exit = Exit::Failure;
            }
            Err(error) => return Err(error.into()),
        }
    }
    if args.json {
        print(|out| json_line(out, &lines))?;
    } else if lines.is_empty() {
        let store = store_shown(global);
        let of = election.map(|name| format!(" of {name}")).unwrap_or_default();
        print(|out| writeln!(out, "no jobs{of} in namespace {} of {store}", global.namespace))?;
    } else if args.runs.is_some() {
        let rows: Vec<Vec<String>> = lines.iter().flat_map(run_rows).collect();
        print(|out| {
            table(out, &["ELECTION", "JOB", "DUE", "OUTCOME", "TOOK", "RETRIES", "TERM", "CANDIDATE", "REASON"], &rows)
        })?;
    } else {
        let rows: Vec<Vec<String>> = lines.iter().map(row).collect();
        let headings =
            ["ELECTION", "JOB", "SCHEDULE", "LAST RUN", "OUTCOME", "TOOK", "NEXT", "FIRED", "MISSED", "SKIPPED"];
        print(|out| table(out, &headings, &rows))?;
    }
    Ok(exit)
}

/// Which election is meant, and the jobs of its file if it was given.
fn which(target: Option<&OsStr>) -> Result<(Option<String>, Vec<Job>), CommandError> {
    let Some(target) = target else { return Ok((None, Vec::new())) };
    let is_file = target.as_bytes().ends_with(b".toml") || target.as_bytes().contains(&b'/');
    if is_file {
        let (crontab, errors) = Crontab::read(Path::new(target));
        errors.check()?;
        return Ok((Some(crontab.election), crontab.entries.into_iter().map(|entry| entry.job).collect()));
    }
    let name =
        target.to_str().ok_or_else(|| CommandError::new(Exit::Usage, "the name of the election is not UTF-8"))?;
    ElectionName::new(name).map_err(tenure::Error::from)?;
    Ok((Some(name.to_owned()), Vec::new()))
}

/// The jobs that an election has or had, and those of its file that it has not had yet.
async fn look(client: &Client, name: &str, jobs: &[Job], max_runs: usize) -> Result<Vec<JobStatusLine>, tenure::Error> {
    let election = client.election(name)?;
    let reports = election.jobs(max_runs).await?;
    // Asked later: whoever leads then leads under no earlier term than any run it was just told of.
    let leads = election.observe().await?.lease.map(|lease| lease.leader.term);
    let now = Tick::at_or_before_ms(Clock::boottime().unix_ms());
    let of_file: BTreeMap<&str, &Job> = jobs.iter().map(|job| (job.name().as_str(), job)).collect();
    let mut lines: BTreeMap<String, JobStatusLine> = BTreeMap::new();
    for report in &reports {
        let mut line = told(name, report, leads, now);
        match of_file.get(report.job.as_str()) {
            // The file was asked about, and its last leader may have had another one.
            Some(job) if line.enabled != job.policy().enabled => {
                line.enabled = job.policy().enabled;
                line.next = job.schedule().next_after(now).map(shown);
                line.idle = line.idle.filter(|idle| *idle != IdleReason::Disabled).or(disabled(line.enabled));
            }
            None if !jobs.is_empty() && leads.is_none() => line.idle = Some(IdleReason::Removed),
            Some(_) | None => {}
        }
        lines.insert(line.job.clone(), line);
    }
    for job in jobs {
        lines.entry(job.name().to_string()).or_insert_with(|| untold(name, job, leads, now));
    }
    let true_of = |line: JobStatusLine| JobStatusLine { next: line.next.filter(|_| line.idle.is_none()), ..line };
    Ok(lines.into_values().map(true_of).collect())
}

/// A job of a file that no leader has had.
fn untold(election: &str, job: &Job, leads: Option<Term>, now: Tick) -> JobStatusLine {
    let enabled = job.policy().enabled;
    let unknown = if leads.is_some() { IdleReason::NotLoaded } else { IdleReason::NoLeader };
    JobStatusLine {
        election: election.to_owned(),
        job: job.name().to_string(),
        schedule: job.schedule().to_string(),
        next: job.schedule().next_after(now).map(shown),
        idle: disabled(enabled).or(Some(unknown)),
        enabled,
        fired: 0,
        missed: 0,
        skipped: 0,
        paused_at: None,
        requested_at: None,
        runs: Vec::new(),
    }
}

fn told(election: &str, report: &JobReport, leads: Option<Term>, now: Tick) -> JobStatusLine {
    let schedule = WrittenSchedule::of(report);
    let removed = schedule.is_absent().then_some(IdleReason::Removed);
    let paused = report.paused_at_unix_ms.map(|_| IdleReason::Paused);
    let no_leader = leads.is_none().then_some(IdleReason::NoLeader);
    JobStatusLine {
        election: election.to_owned(),
        job: report.job.to_string(),
        schedule: schedule.text().to_owned(),
        next: schedule.next_after(report.mark.max(now)).map(shown),
        idle: removed.or(paused).or(disabled(schedule.is_enabled())).or(no_leader),
        enabled: schedule.is_enabled(),
        fired: report.fired,
        missed: report.missed,
        skipped: report.skipped,
        paused_at: report.paused_at_unix_ms.map(timestamp),
        requested_at: report.requested.map(shown),
        runs: report.runs.iter().map(|run| RunLine::new(run, leads)).collect(),
    }
}

fn disabled(is_enabled: bool) -> Option<IdleReason> {
    (!is_enabled).then_some(IdleReason::Disabled)
}

fn row(line: &JobStatusLine) -> Vec<String> {
    let last = line.runs.first();
    vec![
        line.election.clone(),
        line.job.clone(),
        on_one_line(&line.schedule),
        last.map_or_else(dash, |run| run.tick.clone()),
        last.map_or_else(dash, |run| run.outcome_in_words().to_owned()),
        last.map_or_else(dash, took),
        next(line),
        line.fired.to_string(),
        line.missed.to_string(),
        line.skipped.to_string(),
    ]
}

/// When it fires next, for people.
fn next(line: &JobStatusLine) -> String {
    match (line.idle, &line.requested_at) {
        // A run that was asked for does not follow the calendar.
        (None | Some(IdleReason::Disabled), Some(_)) => "now".to_owned(),
        (Some(idle), _) => idle.in_words().to_owned(),
        (None, None) => line.next.clone().unwrap_or_else(dash),
    }
}

fn run_rows(line: &JobStatusLine) -> Vec<Vec<String>> {
    let row = |run: &RunLine| {
        vec![
            line.election.clone(),
            line.job.clone(),
            run.tick.clone(),
            run.outcome_in_words().to_owned(),
            took(run),
            run.retries.map_or_else(dash, |retries| retries.to_string()),
            run.term.to_string(),
            run.candidate.clone(),
            run.reason.as_deref().map_or_else(dash, on_one_line),
        ]
    };
    line.runs.iter().map(row).collect()
}

fn took(run: &RunLine) -> String {
    run.took_ms.map_or_else(dash, |took| show(std::time::Duration::from_millis(took)))
}

fn dash() -> String {
    "-".to_owned()
}
