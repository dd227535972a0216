//! One command to the server, until its answer.

use redis::{Cmd, Value, cmd};

use super::script::Script;

/// A command, and the key by which a cluster finds the server for it.
pub(super) struct Call {
    pub(super) route: String,
    pub(super) order: CallCommand,
}

pub(super) enum CallCommand {
    /// A script, and the call that refers to it.
    Script(&'static Script, Cmd),
    Plain(Cmd),
}

impl Call {
    /// The command for the first attempt.
    pub(super) fn command(&self) -> Cmd {
        match &self.order {
            CallCommand::Script(_, command) | CallCommand::Plain(command) => command.clone(),
        }
    }

    /// The command for a server that does not know the script.
    pub(super) fn in_full(&self) -> Cmd {
        match &self.order {
            CallCommand::Script(script, command) => script.in_full(command),
            CallCommand::Plain(command) => command.clone(),
        }
    }
}

/// The commands for calls whose script the server did not know: each script is sent once, and known from then on.
pub(super) fn in_full_once(calls: &[&Call]) -> Vec<Cmd> {
    let mut brought: Vec<*const Script> = Vec::new();
    let command = |call: &&Call| match &call.order {
        CallCommand::Script(script, _) if !brought.contains(&std::ptr::from_ref(*script)) => {
            brought.push(*script);
            call.in_full()
        }
        CallCommand::Script(..) | CallCommand::Plain(_) => call.command(),
    };
    calls.iter().map(command).collect()
}

/// Precedes a command for a slot that is about to arrive.
pub(super) fn asking() -> Cmd {
    cmd("ASKING")
}

/// Whether the server asks for the whole script.
pub(super) fn lacks_script(answer: &Value) -> bool {
    matches!(answer, Value::ServerError(error) if error.code() == "NOSCRIPT")
}
