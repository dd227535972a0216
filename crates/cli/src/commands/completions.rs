//! `tenure completions`: for the shell.

use std::io;

use clap::CommandFactory;
use clap_complete::Shell;

use crate::args::Cli;
use crate::exit::Exit;

pub(super) fn execute(shell: Shell) -> Exit {
    clap_complete::generate(shell, &mut Cli::command(), "tenure", &mut io::stdout());
    Exit::Success
}
