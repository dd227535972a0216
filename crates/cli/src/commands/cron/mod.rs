//! `tenure cron`: jobs by the calendar, each of which runs its command under a guard.
//!
//! | file | what it holds |
//! |---|---|
//! | `source` | from the command line to jobs: a file, or an expression |
//! | `run` | the candidacy: what happens, and who is told |
//! | `guard_pool` | the guards, one for each run that goes on |
//! | `supervise_run` | one run of a command, from its start to its end |
//! | `check`, `status`, `steer`, `forget` | the other commands |

mod check;
mod forget;
mod guard_pool;
mod run;
mod source;
mod status;
mod steer;
mod supervise_run;

use tenure::store::ledger::JobOrder;

use crate::args::{CronArgs, CronCommand, Global};
use crate::exit::{CommandError, Exit};

pub(super) async fn execute(global: &Global, args: CronArgs) -> Result<Exit, CommandError> {
    match args.action {
        Some(CronCommand::Check(check)) => check::execute(&check),
        Some(CronCommand::Status(status)) => status::execute(global, &status).await,
        Some(CronCommand::RunNow(args)) => steer::execute(global, &args, JobOrder::RunNow).await,
        Some(CronCommand::Pause(args)) => steer::execute(global, &args, JobOrder::Pause).await,
        Some(CronCommand::Resume(args)) => steer::execute(global, &args, JobOrder::Resume).await,
        Some(CronCommand::Forget(forget)) => forget::execute(global, &forget).await,
        None => run::execute(global, args.run).await,
    }
}
