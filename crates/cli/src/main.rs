//! The `tenure` command: from the command line to the library, and back to an exit code.

use std::env;
use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use tenure_cli::args::Cli;
use tenure_cli::commands::execute;
use tenure_cli::exit::{Exit, Failure};
use tenure_cli::supervise::guard;
use tenure_cli::voice::{self, Voice};
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    if env::args_os().nth(1).is_some_and(|command| command == guard::COMMAND) {
        return guard::run();
    }
    let outcome = Cli::try_parse().map_or_else(|error| Err(usage(&error)), run);
    let exit = outcome.unwrap_or_else(|Failure { exit, message }| {
        if !message.is_empty() {
            voice::say(&message);
        }
        exit
    });
    voice::flush();
    exit.into()
}

fn run(cli: Cli) -> Result<Exit, Failure> {
    let filter = EnvFilter::try_new(&cli.global.log).map_err(|error| {
        Failure::new(Exit::Usage, format!("cannot use the log filter {:?}: {error}", cli.global.log))
    })?;
    let colours = std::io::stderr().is_terminal();
    tracing_subscriber::fmt().with_env_filter(filter).with_ansi(colours).with_writer(|| Voice).init();
    // The permanent main thread runs everything: a guard started from a thread that ends would end with it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    runtime.block_on(execute(cli))
}

/// Help and version are printed by clap itself and are no failure.
fn usage(error: &clap::Error) -> Failure {
    let exit = if error.use_stderr() { Exit::Usage } else { Exit::Success };
    // There is nobody to tell when the terminal is gone.
    let _ = error.print();
    Failure::new(exit, "")
}
