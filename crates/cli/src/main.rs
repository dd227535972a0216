//! The `tenure` command.

use std::env;
use std::process::ExitCode;

use tenure_cli::supervise::guard;

fn main() -> ExitCode {
    if env::args_os().nth(1).is_some_and(|command| command == guard::COMMAND) {
        return guard::run();
    }
    ExitCode::SUCCESS
}
