//! Short ways to start other processes, and to listen to them.

use std::process::{Command, Stdio};

use tenure_testkit::netns::Namespace;
use tenure_testkit::role;
use tenure_testkit::running::RunningProcess;

/// A namespace, or a clear word about what is missing: these tests are not skipped.
pub(crate) fn namespace() -> Namespace {
    Namespace::new().unwrap_or_else(|error| panic!("the tests of namespaces cannot run here: {error}"))
}

/// Starts a process in a role with this `env`, which takes the place of the one that the role begins with.
pub(crate) fn start_with(mut env: Command, role: &str) -> RunningProcess {
    RunningProcess::start(env.args(&role::command(role)[1..]).stdin(Stdio::piped()))
}

pub(crate) fn start(role: &str) -> RunningProcess {
    start_with(Command::new("env"), role)
}

pub(crate) fn start_in(namespace: &Namespace, role: &str) -> RunningProcess {
    start_with(namespace.command("env"), role)
}

/// What it says next.
pub(crate) fn says(running: &RunningProcess) -> String {
    running.stdout().find("a word", |line| line.strip_prefix('@').map(str::to_owned))
}

/// Whether it has said this so far.
pub(crate) fn has_said(running: &RunningProcess, words: &str) -> bool {
    running.stdout().record().lines().iter().any(|line| line.strip_prefix('@') == Some(words))
}
