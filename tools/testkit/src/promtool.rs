//! Prometheus' own tool, to judge what it will have to read.

use std::io::Write;
use std::process::{Command, Stdio};

/// Runs `promtool` with these arguments and this input. Anything it has to say against them is a failure, and so is its
/// absence.
pub fn promtool(args: &[&str], input: &str) {
    let mut promtool = Command::new("promtool");
    promtool.args(args).stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = promtool
        .spawn()
        .unwrap_or_else(|error| panic!("cannot run promtool: {error}; `cargo xtask test --only packages` installs it"));
    let mut stdin = child.stdin.take().unwrap();
    // When this fails it has given up already, and its exit code says so.
    let _ = stdin.write_all(input.as_bytes());
    drop(stdin);
    let output = child.wait_with_output().unwrap();
    let said = [output.stdout, output.stderr].map(|said| String::from_utf8_lossy(&said).into_owned()).concat();
    assert!(output.status.success(), "promtool {}: {said}\n{input}", args.join(" "));
}
