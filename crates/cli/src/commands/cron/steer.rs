//! `tenure cron run-now`, `pause` and `resume`: what somebody wants of a job, whoever leads.

use serde::Serialize;
use tenure::JobName;

use super::forget::unknown;
use crate::args::{Global, SteerArgs};
use crate::exit::{CommandError, Exit};
use crate::options::open_for;
use crate::output::{json_line, print};

/// What is wanted.
#[derive(Debug, Clone, Copy)]
pub(super) enum SteerOrder {
    RunNow,
    Pause,
    Resume,
}

/// As `--json` prints it.
#[derive(Debug, Serialize)]
struct SteeredLine<'a> {
    election: &'a str,
    job: &'a str,
    order: &'static str,
    known: bool,
}

pub(super) async fn execute(global: &Global, args: &SteerArgs, order: SteerOrder) -> Result<Exit, CommandError> {
    let SteerArgs { election, job, json } = args;
    JobName::new(job).map_err(tenure::Error::from)?;
    let client = open_for(global, election)?;
    let (word, known, said) = match order {
        SteerOrder::RunNow => {
            let said = "is to run once; `tenure cron status` shows when it has";
            ("run-now", client.election(election)?.run_job_now(job).await?, said)
        }
        SteerOrder::Pause => {
            let said = "is paused; no tick of it fires until it is resumed";
            ("pause", client.election(election)?.pause_job(job).await?, said)
        }
        SteerOrder::Resume => ("resume", client.election(election)?.resume_job(job).await?, "is resumed"),
    };
    if *json {
        print(|out| json_line(out, &SteeredLine { election, job, order: word, known }))?;
    } else if known {
        print(|out| writeln!(out, "{job} of {election} {said}"))?;
    }
    if known { Ok(Exit::Success) } else { Err(unknown(election, job)) }
}
