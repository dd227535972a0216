//! The `tenure` command: from the command line to the library, and back to an exit code.

use std::collections::VecDeque;
use std::env;
use std::io::IsTerminal;
use std::process::ExitCode;

use clap::Parser;
use tenure_cli::args::Cli;
use tenure_cli::commands::execute;
use tenure_cli::crash_helper;
use tenure_cli::exit::{CommandError, Exit};
use tenure_cli::log::Sparing;
use tenure_cli::start;
use tenure_cli::stderr_writer::{self, LogWriter};
use tenure_cli::supervise::{guard, init, procfs};
use tenure_sys::StandardStream;
use tracing_subscriber::EnvFilter;

fn main() -> ExitCode {
    // One that stays blocked could not end us. An error means that nothing was blocked, or that nothing can be done about it.
    let _ = tenure_sys::unblock_signals();
    let mut arguments: VecDeque<_> = env::args_os().collect();
    let first = arguments.get(1).cloned().unwrap_or_default();
    if first == guard::COMMAND {
        return guard::run(arguments.get(2).cloned());
    }
    if crash_helper::is_meant(&first) {
        return crash_helper::run(arguments.get(2).map(std::ffi::OsString::as_os_str));
    }
    let is_alone = first == init::COMMAND;
    if is_alone {
        arguments.remove(1);
        init::settle();
    }
    let parsed = Cli::try_parse_from(arguments);
    let outcome = parsed.map_or_else(|error| Err(usage(&error)), |cli| run(cli, is_alone));
    let exit = outcome.unwrap_or_else(|CommandError { exit, message }| {
        if !message.is_empty() {
            stderr_writer::say(&message);
        }
        exit
    });
    let is_told = stderr_writer::flush();
    // A failure says more about the command than about its events.
    let events_are_lost = stderr_writer::is_for_programs() && !is_told && exit.code() == 0;
    if events_are_lost { Exit::OutputFailed.into() } else { exit.into() }
}

fn run(cli: Cli, is_alone: bool) -> Result<Exit, CommandError> {
    if cli.command.prints_to() == Some(StandardStream::Error) {
        stderr_writer::write_for_programs();
    }
    start::check(&cli.command)?;
    let filter = EnvFilter::try_new(&cli.global.log).map_err(|error| {
        CommandError::new(Exit::Usage, format!("cannot use the log filter {:?}: {error}", cli.global.log))
    })?;
    let colours = std::io::stderr().is_terminal() && !stderr_writer::is_for_programs();
    tracing_subscriber::fmt()
        .with_env_filter(filter)
        .with_ansi(colours)
        .event_format(Sparing::default())
        .with_writer(|| LogWriter)
        .init();
    // The permanent main thread runs everything: a guard started from a thread that ends would end with it.
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    if cli.command.starts_commands() {
        procfs::check()
            .map_err(|error| CommandError::new(Exit::NotExecutable, format!("cannot run a command here: {error}")))?;
        if !is_alone && init::is_needed() {
            return runtime.block_on(init::run());
        }
    }
    runtime.block_on(execute(cli))
}

/// Help and version are printed by clap itself and are no failure.
fn usage(error: &clap::Error) -> CommandError {
    let exit = if error.use_stderr() { Exit::Usage } else { Exit::Success };
    // There is nobody to tell when the terminal is gone.
    let _ = error.print();
    CommandError::new(exit, "")
}
