//! `tenure cron`: jobs by the calendar, each of which runs its command under a guard.
//!
//! | file | what it holds |
//! |---|---|
//! | `source` | from the command line to jobs: a file, or an expression |
//! | `run` | the candidacy: what happens, and who is told |
//! | `crew` | the guards, one for each run that goes on |
//! | `attend` | one run of a command, from its start to its end |
//! | `check`, `status`, `steer`, `forget` | the other commands |

mod attend;
mod check;
mod crew;
mod forget;
mod run;
mod source;
mod status;
mod steer;

use self::steer::Order;
use crate::args::{CronArgs, CronCommand, Global};
use crate::exit::{Exit, Failure};

pub(super) async fn execute(global: &Global, args: CronArgs) -> Result<Exit, Failure> {
    match args.action {
        Some(CronCommand::Check(check)) => check::execute(&check),
        Some(CronCommand::Status(status)) => status::execute(global, &status).await,
        Some(CronCommand::RunNow(args)) => steer::execute(global, &args, Order::RunNow).await,
        Some(CronCommand::Pause(args)) => steer::execute(global, &args, Order::Pause).await,
        Some(CronCommand::Resume(args)) => steer::execute(global, &args, Order::Resume).await,
        Some(CronCommand::Forget(forget)) => forget::execute(global, &forget).await,
        None => run::execute(global, args.run).await,
    }
}
