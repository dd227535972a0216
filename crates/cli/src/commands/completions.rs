//! `tenure completions`: for the shell.

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::{CommandError, Exit};
use crate::output::print;

pub(super) fn execute(shell: Shell) -> Result<Exit, CommandError> {
    // The generator panics when it cannot write, so it writes to where it always can.
    let mut script = Vec::new();
    clap_complete::generate(shell, &mut Cli::command(), "tenure", &mut script);
    print(|out| out.write_all(&script))?;
    Ok(Exit::Success)
}
