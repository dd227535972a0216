//! `tenure cron run-now`, `pause` and `resume`: orders about a job, whichever candidate leads.

use serde::Serialize;
use tenure::cron::WrittenSchedule;
use tenure::store::ledger::JobOrder;
use tenure::{Election, JobName};

use super::forget::unknown;
use crate::args::{Global, SteerArgs};
use crate::exit::{CommandError, Exit};
use crate::options::open_for;
use crate::output::{json_line, print};
use crate::stderr_writer::say;

/// As `--json` prints it.
#[derive(Debug, Serialize)]
struct SteeredLine<'a> {
    election: &'a str,
    job: &'a str,
    order: String,
    known: bool,
}

pub(super) async fn execute(global: &Global, args: &SteerArgs, order: JobOrder) -> Result<Exit, CommandError> {
    let SteerArgs { election, job, json } = args;
    JobName::new(job).map_err(tenure::Error::from)?;
    let client = open_for(global, election)?;
    let contest = client.election(election)?;
    let (known, said) = match order {
        JobOrder::RunNow => {
            check_somebody_has_it(&contest, job).await?;
            (contest.run_job_now(job).await?, "will run once; `tenure cron status` shows the outcome")
        }
        JobOrder::Pause => (contest.pause_job(job).await?, "is paused; no tick fires until it is resumed"),
        JobOrder::Resume => (contest.resume_job(job).await?, "is resumed"),
    };
    if *json {
        print(|out| json_line(out, &SteeredLine { election, job, order: order.to_string(), known }))?;
    } else if known {
        print(|out| writeln!(out, "{job} of {election} {said}"))?;
    }
    if !known {
        return Err(unknown(election, job));
    }
    // What was asked for is written down: that it cannot be told who leads is no failure.
    if matches!(order, JobOrder::RunNow) && contest.observe().await.is_ok_and(|seen| seen.lease.is_none()) {
        say(&format!("nobody leads {election} now: {job} runs when somebody does who has it"));
    }
    Ok(Exit::Success)
}

/// A job that is gone from the jobs of whoever led last is run by nobody: an order would wait for ever.
async fn check_somebody_has_it(contest: &Election, job: &str) -> Result<(), CommandError> {
    let reports = contest.jobs(0).await?;
    let is_gone =
        |report: &&tenure::cron::JobReport| report.job.as_str() == job && WrittenSchedule::of(report).is_absent();
    if reports.iter().find(is_gone).is_none() {
        return Ok(());
    }
    let election = contest.name();
    let message = format!(
        "{job} was removed from the jobs of {election}, so nobody would run it and nothing was asked for; put it back into the \
         file and send `tenure cron` a SIGHUP, or remove what is left of it with `tenure cron forget {election} {job}`"
    );
    Err(CommandError::new(Exit::Failure, message))
}
