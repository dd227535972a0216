//! One file per command.

mod beginning;
mod broadcast;
mod completions;
mod cron;
mod demo;
mod doctor;
mod elect;
mod event_printer;
mod forget;
mod gaps;
mod guarded;
mod history;
mod live;
mod lock;
mod messages;
mod migrate;
mod resign;
mod restart_delay;
mod run;
mod send;
mod status;
mod watch;

use crate::args::{Cli, Command};
use crate::exit::{CommandError, Exit};

/// Executes the command line.
///
/// # Errors
/// When it cannot; the failure says why and with which code to exit.
pub async fn execute(cli: Cli) -> Result<Exit, CommandError> {
    let global = &cli.global;
    match cli.command {
        Command::Run(args) => run::execute(global, args).await,
        Command::Lock(args) => lock::execute(global, args).await,
        Command::Cron(args) => cron::execute(global, *args).await,
        Command::Elect(args) => elect::execute(global, &args).await,
        Command::Status(args) => status::execute(global, &args).await,
        Command::Watch(args) => watch::execute(global, &args).await,
        Command::History(args) => history::execute(global, &args).await,
        Command::Resign(args) => resign::execute(global, &args).await,
        Command::Forget(args) => forget::execute(global, &args).await,
        Command::Migrate(args) => migrate::execute(global, &args).await,
        Command::Send(args) => send::execute(global, &args).await,
        Command::Broadcast(args) => broadcast::execute(global, &args).await,
        Command::Messages(args) => messages::execute(global, &args).await,
        Command::Doctor(args) => doctor::execute(global, &args).await,
        Command::Demo => demo::execute(global).await,
        Command::Completions { shell } => completions::execute(shell),
    }
}
