//! Help texts and completions.

use tenure_testkit::running::RunningProcess;

use crate::support::scenario;

fn help(args: &[&str]) -> String {
    let scenario = scenario();
    let finished = RunningProcess::start(&mut scenario.bare(args)).finish();
    assert_eq!(finished.code, Some(0), "{args:?}: {finished:?}");
    assert_eq!(finished.stderr, "", "{args:?}");
    finished.stdout
}

#[test]
fn every_command_explains_itself() {
    for command in [
        "run",
        "lock",
        "cron",
        "elect",
        "status",
        "watch",
        "history",
        "resign",
        "send",
        "broadcast",
        "messages",
        "doctor",
        "demo",
        "completions",
    ] {
        let text = help(&[command, "--help"]);
        assert!(text.contains(&format!("Usage: tenure {command}")), "{text}");
        assert!(help(&["--help"]).contains(&format!("\n  {command} ")), "{command} is not listed");
    }
}

#[test]
fn the_help_lists_the_exit_codes_and_gives_examples() {
    let text = help(&["--help"]);
    assert!(text.contains("Exit codes:"), "{text}");
    for code in ["0 ", "1 ", "2 ", "69 ", "70 ", "75 ", "76 ", "126 ", "127 ", "128+N "] {
        assert!(text.lines().any(|line| line.trim_start().starts_with(code)), "no {code} in {text}");
    }
    for command in ["run", "lock", "cron", "elect"] {
        let text = help(&[command, "--help"]);
        assert!(text.contains("Examples:") && text.contains(&format!("  tenure {command} ")), "{text}");
    }
    assert!(help(&["--version"]).starts_with("tenure "));
}

#[test]
fn the_commands_about_jobs_explain_themselves() {
    for command in ["check", "status", "forget"] {
        let text = help(&["cron", command, "--help"]);
        assert!(text.contains(&format!("Usage: tenure cron {command}")), "{text}");
        assert!(text.contains(&format!("  tenure cron {command} ")), "{text}");
    }
    assert!(help(&["completions", "bash"]).contains("--interrupted"));
}

#[test]
fn there_are_completions_for_the_usual_shells() {
    for shell in ["bash", "zsh", "fish"] {
        let script = help(&["completions", shell]);
        assert!(script.contains("tenure") && script.contains("resign"), "{shell}: {script}");
    }
}
