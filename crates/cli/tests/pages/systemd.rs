//! The unit in `docs/operations.md`: systemd understands it, and what it starts ends as it says.

use std::fs;
use std::process::Command;

use rustix::process::Signal;
use tenure_testkit::running::RunningProcess;

use crate::stage::Stage;

pub(crate) fn unit([unit]: [String; 1]) {
    let stage = Stage::new();
    let state = stage.path("state");
    fs::create_dir(&state).unwrap();
    stage.program("consume", "exec sleep 600");
    let tenure = env!("CARGO_BIN_EXE_tenure");
    let unit = unit
        .replace("/usr/local/bin/tenure", tenure)
        .replace("/usr/local/bin/consume", stage.path("consume").to_str().unwrap())
        .replace("/var/lib/mail-queue", state.to_str().unwrap());
    understood(&stage, &unit);

    let (name, store) = value(&unit, "Environment").split_once('=').unwrap();
    let words: Vec<&str> = value(&unit, "ExecStart").split(' ').collect();
    let mut command = Command::new(words[0]);
    command.args(&words[1..]).env(name, store).current_dir(stage.path(""));
    let mut service = RunningProcess::start(&mut command);
    service.stderr().find("a leader", |line| line.contains("leading mail-queue, term 1").then_some(()));
    assert!(state.join("tenure.db").is_file(), "its store is in its directory");
    assert_eq!(value(&unit, "KillMode"), "mixed", "only tenure is told to stop");
    service.signal(Signal::TERM);
    assert_eq!(service.code().to_string(), value(&unit, "SuccessExitStatus"));
}

/// systemd says what it does not know and goes on without it, so it has to say nothing.
fn understood(stage: &Stage, unit: &str) {
    let file = stage.path("mail-queue.service");
    fs::write(&file, unit).unwrap();
    let mut verify = Command::new("systemd-analyze");
    let finished = RunningProcess::start(verify.args(["--man=no", "verify"]).arg(&file)).finish();
    assert_eq!((finished.code, finished.stdout.as_str(), finished.stderr.as_str()), (Some(0), "", ""), "{unit}");
}

fn value<'a>(unit: &'a str, key: &str) -> &'a str {
    let value = unit.lines().find_map(|line| line.strip_prefix(key)?.strip_prefix('='));
    value.unwrap_or_else(|| panic!("no {key} in {unit}"))
}
