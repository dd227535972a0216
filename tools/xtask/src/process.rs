//! Runs child processes and hands on what they print, line by line.

use std::env;
use std::ffi::OsString;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::{Duration, Instant};

use crate::silence::{self, SilenceWatch};

/// Where a line came from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stream {
    Stdout,
    Stderr,
}

/// The cargo that runs us, so that a toolchain chosen with `cargo +name` holds for the children too.
pub(crate) fn cargo() -> Command {
    Command::new(env::var_os("CARGO").unwrap_or_else(|| OsString::from("cargo")))
}

/// Where cargo puts what it builds in this workspace.
pub(crate) fn target_directory(root: &Path) -> PathBuf {
    env::var_os("CARGO_TARGET_DIR").map_or_else(|| root.join("target"), PathBuf::from)
}

/// How a command would be typed.
pub(crate) fn describe(command: &Command) -> String {
    let program = command.get_program().to_string_lossy();
    // The full path of the toolchain's cargo says nothing to a reader.
    let program = if program.ends_with("/cargo") { "cargo".into() } else { program };
    command.get_args().fold(program.into_owned(), |typed, argument| typed + " " + &argument.to_string_lossy())
}

/// The same command, on processors that would be idle otherwise: whatever else wakes up takes them at once.
pub(crate) fn when_idle(command: &Command) -> Command {
    through(&["chrt", "--idle", "0"], command)
}

/// The same command, which succeeds if it fails.
pub(crate) fn expected_to_fail(command: &Command) -> Command {
    through(&["sh", "-c", "! \"$@\"", "sh"], command)
}

/// The same command, started by another one.
fn through(starter: &[&str], command: &Command) -> Command {
    let mut started = Command::new(starter[0]);
    started.args(&starter[1..]).arg(command.get_program()).args(command.get_args());
    if let Some(directory) = command.get_current_dir() {
        started.current_dir(directory);
    }
    for (name, value) in command.get_envs() {
        match value {
            Some(value) => started.env(name, value),
            None => started.env_remove(name),
        };
    }
    started
}

/// Runs cargo in the foreground, with arguments that hold no spaces of their own.
pub(crate) fn run_cargo(root: &Path, arguments: &str) -> Result<(), String> {
    let mut command = cargo();
    command.args(arguments.split_whitespace()).current_dir(root);
    let typed = describe(&command);
    println!("{typed}");
    match command.status() {
        Ok(status) if status.success() => Ok(()),
        Ok(status) => Err(format!("`{typed}` ended with {status}")),
        Err(error) => Err(format!("cannot run `{typed}`: {error}")),
    }
}

/// What a command that only tells something wrote to its standard output.
pub(crate) fn output(command: &mut Command) -> Result<String, String> {
    let typed = describe(command);
    match command.stderr(Stdio::inherit()).output() {
        Ok(output) if output.status.success() => Ok(String::from_utf8_lossy(&output.stdout).into_owned()),
        Ok(output) => Err(format!("`{typed}` ended with {}", output.status)),
        Err(error) => Err(format!("cannot run `{typed}`: {error}")),
    }
}

/// Runs `command` to its end, calling `on_line` for each line in the order of arrival. What hangs is ended.
pub(crate) fn run(command: &mut Command, on_line: impl FnMut(Stream, &str)) -> io::Result<ExitStatus> {
    run_watched(command, SilenceWatch::new(silence::LIMIT), on_line)
}

/// The same, with other limits for what hangs.
pub(crate) fn run_watched(
    command: &mut Command,
    mut watch: SilenceWatch,
    mut on_line: impl FnMut(Stream, &str),
) -> io::Result<ExitStatus> {
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn()?;
    let (sender, receiver) = mpsc::channel();
    forward(child.stdout.take(), Stream::Stdout, sender.clone());
    forward(child.stderr.take(), Stream::Stderr, sender);

    let mut exited_at = None;
    loop {
        match receiver.recv_timeout(POLL) {
            Ok((stream, line)) => {
                watch.heard();
                on_line(stream, &line);
            }
            Err(RecvTimeoutError::Disconnected) => return child.wait(),
            Err(RecvTimeoutError::Timeout) => {
                if has_outlived_its_parent(&mut child, &mut exited_at)? {
                    on_line(Stream::Stderr, "note: a process it started is still running and holds its output open");
                    return child.wait();
                }
                if let Some(what) = watch.enforce(&mut child) {
                    on_line(Stream::Stderr, &what);
                }
            }
        }
    }
}

/// True once the child is gone while something else still holds its pipes: waiting for them could last for ever.
fn has_outlived_its_parent(child: &mut Child, exited_at: &mut Option<Instant>) -> io::Result<bool> {
    if exited_at.is_none() && child.try_wait()?.is_some() {
        *exited_at = Some(Instant::now());
    }
    Ok(exited_at.is_some_and(|at| at.elapsed() > PATIENCE_AFTER_EXIT))
}

fn forward(pipe: Option<impl Read + Send + 'static>, stream: Stream, lines: Sender<(Stream, String)>) {
    let Some(pipe) = pipe else { return };
    thread::spawn(move || {
        let mut reader = BufReader::new(pipe);
        let mut bytes = Vec::new();
        while matches!(reader.read_until(b'\n', &mut bytes), Ok(1..)) {
            let line = String::from_utf8_lossy(&bytes).trim_end_matches(['\r', '\n']).to_owned();
            bytes.clear();
            if lines.send((stream, line)).is_err() {
                break;
            }
        }
    });
}

const POLL: Duration = Duration::from_millis(100);
const PATIENCE_AFTER_EXIT: Duration = Duration::from_secs(2);

#[cfg(test)]
mod tests {
    use super::*;

    fn shell(script: &str) -> (bool, Vec<(Stream, String)>) {
        let mut lines = Vec::new();
        let status =
            run(Command::new("sh").args(["-c", script]), |stream, line| lines.push((stream, line.to_owned()))).unwrap();
        (status.success(), lines)
    }

    #[test]
    fn lines_arrive_with_their_stream_and_the_exit_code_counts() {
        let (success, mut lines) = shell("echo one; echo two >&2; exit 3");
        lines.sort_by_key(|(_, line)| line.clone());
        assert!(!success);
        assert_eq!(lines, [(Stream::Stdout, "one".to_owned()), (Stream::Stderr, "two".to_owned())]);
    }

    #[test]
    fn a_grandchild_that_keeps_the_pipe_open_does_not_hang_the_run() {
        let started = Instant::now();
        let (success, lines) = shell("sleep 10 & echo done");
        assert!(success);
        assert!(started.elapsed() < Duration::from_secs(8));
        assert!(lines.last().unwrap().1.contains("still running"));
    }

    #[test]
    fn what_hangs_is_ended_and_what_started_it_goes_on() {
        let mut lines = Vec::new();
        let watch = SilenceWatch::new(Duration::from_millis(300));
        let script = "sleep 60; echo went on; exec sleep 61";
        let status = run_watched(Command::new("sh").args(["-c", script]), watch, |_, line| lines.push(line.to_owned()));
        assert!(!status.unwrap().success(), "what runs nothing is ended itself");
        let said = lines.join("\n");
        let order = ["what it runs was ended", "went on", "so it was ended"].map(|words| said.find(words).unwrap());
        assert!(order.is_sorted(), "{said}");
    }

    #[test]
    fn a_command_for_idle_processors_is_the_same_otherwise() {
        let mut command = Command::new("sh");
        command.args(["-c", "chrt --pid $$ | head -1; echo $WORD; pwd"]).env("WORD", "kept").current_dir("/");
        let output = when_idle(&command).output().unwrap();
        let said = String::from_utf8_lossy(&output.stdout).into_owned();
        assert!(said.contains("SCHED_IDLE") && said.ends_with("\nkept\n/\n"), "{said}");
    }

    #[test]
    fn a_command_is_described_as_typed() {
        assert_eq!(describe(Command::new("/usr/bin/cargo").args(["fmt", "--check"])), "cargo fmt --check");
    }
}
