//! `tenure cron forget`: removes a job from the store.

use serde::Serialize;
use tenure::JobName;

use crate::args::{ForgetArgs, Global};
use crate::exit::{CommandError, Exit};
use crate::options::open_to_look_for;
use crate::output::{json_line, print};

/// As `tenure cron forget --json` prints it.
#[derive(Debug, Serialize)]
struct ForgottenLine<'a> {
    election: &'a str,
    job: &'a str,
    forgotten: bool,
}

pub(super) async fn execute(global: &Global, args: &ForgetArgs) -> Result<Exit, CommandError> {
    let ForgetArgs { election, job, json } = args;
    JobName::new(job).map_err(tenure::Error::from)?;
    let client = open_to_look_for(global, election)?;
    let forgotten = client.election(election)?.forget_job(job).await?;
    if *json {
        print(|out| json_line(out, &ForgottenLine { election, job, forgotten }))?;
    } else if forgotten {
        print(|out| {
            writeln!(out, "{job} of {election} is forgotten; a leader that has the job starts it over at the present")
        })?;
    }
    if forgotten {
        return Ok(Exit::Success);
    }
    Err(unknown(election, job))
}

/// Nobody has led with this job.
pub(super) fn unknown(election: &str, job: &str) -> CommandError {
    let message = format!("{election} has no job {job}; `tenure cron status {election}` lists its jobs");
    CommandError::new(Exit::Failure, message)
}
