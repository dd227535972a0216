//! The store of whoever names none.

use std::os::unix::fs::PermissionsExt;
use std::path::Path;
use std::process::Command;

use tenure_testkit::redis::{RedisOptions, RedisServer};
use tenure_testkit::running::{FinishedProcess, RunningProcess};
use tenure_testkit::scenario::{ELECTION, Scenario};

use crate::support::scenario;

fn run(scenario: &Scenario, set: impl FnOnce(&mut Command)) -> FinishedProcess {
    let mut command = scenario.bare(["run", ELECTION, "--quiet", "--", "echo", "led"]);
    set(&mut command);
    RunningProcess::start(&mut command).finish()
}

fn assert_private(directory: &Path) {
    let mode = std::fs::metadata(directory).unwrap().permissions().mode() & 0o777;
    assert_eq!(mode, 0o700, "{}: {mode:o}", directory.display());
    assert!(directory.join("tenure.db").is_file());
}

#[test]
fn it_is_made_in_the_state_directory_and_is_private() {
    let scenario = scenario();
    std::fs::create_dir(scenario.path("home")).unwrap();
    let finished = run(&scenario, |_| {});
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "led"), "{finished:?}");
    assert_private(&scenario.path("home/.local/state/tenure"));
    assert_eq!(run(&scenario, |_| {}).code, Some(0), "it is there already");
}

#[test]
fn xdg_state_home_is_honoured_if_it_is_absolute() {
    let scenario = scenario();
    std::fs::create_dir(scenario.path("home")).unwrap();
    let state = scenario.path("state");
    let finished = run(&scenario, |command| {
        command.env("XDG_STATE_HOME", &state);
    });
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert_private(&state.join("tenure"));
    assert!(!scenario.path("home/.local").exists());
    let finished = run(&scenario, |command| {
        command.env("XDG_STATE_HOME", "relative");
    });
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(!scenario.path("relative").exists());
    assert_private(&scenario.path("home/.local/state/tenure"));
}

#[test]
fn a_home_with_a_strange_name_is_as_good_as_any() {
    use std::os::unix::ffi::OsStrExt;
    for name in [&b"what? 100%"[..], b"caf\xe9"] {
        let scenario = scenario();
        let home = scenario.path("").join(std::ffi::OsStr::from_bytes(name));
        std::fs::create_dir(&home).unwrap();
        let finished = run(&scenario, |command| {
            command.env("HOME", &home);
        });
        assert_eq!(finished.code, Some(0), "{}: {finished:?}", home.display());
        assert_private(&home.join(".local/state/tenure"));
    }
}

#[test]
fn without_a_home_it_says_what_to_do() {
    let scenario = scenario();
    for home in [None, Some(""), Some("relative")] {
        let finished = run(&scenario, |command| {
            command.env_remove("HOME");
            if let Some(home) = home {
                command.env("HOME", home);
            }
        });
        assert_eq!(finished.code, Some(69), "{home:?}: {finished:?}");
        assert!(finished.stderr.contains("--store") && !finished.stderr.contains("panicked"), "{finished:?}");
    }
    let finished = run(&scenario, |command| {
        command.env("HOME", "/proc/nowhere");
    });
    assert_eq!(finished.code, Some(69), "{finished:?}");
    assert!(finished.stderr.contains("/proc/nowhere") && finished.stderr.contains("--store"), "{finished:?}");
}

#[test]
fn a_redis_in_the_environment_is_not_taken_unasked() {
    let (scenario, server) = (scenario(), RedisServer::start());
    std::fs::create_dir(scenario.path("home")).unwrap();
    let finished = run(&scenario, |command| {
        command.env("REDIS_HOST", "127.0.0.1").env("REDIS_PORT", server.port().to_string()).env("REDIS_PREFIX", "x");
    });
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "led"), "{finished:?}");
    assert_eq!(server.command(&["DBSIZE"]), redis::Value::Int(0));
    assert_private(&scenario.path("home/.local/state/tenure"));
}

#[test]
fn the_redis_of_the_environment_is_used_when_it_is_asked_for() {
    let (scenario, server) = (scenario(), RedisServer::start());
    for (host, port, prefix) in
        [("REDIS_HOST", "REDIS_PORT", "REDIS_PREFIX"), ("MUTEX_REDIS_HOST", "MUTEX_REDIS_PORT", "MUTEX_REDIS_PREFIX")]
    {
        let finished = run(&scenario, |command| {
            command.env(host, "127.0.0.1").env(port, server.port().to_string()).env(prefix, prefix);
            command.env("TENURE_STORE", "env:");
        });
        assert_eq!((finished.code, finished.stdout.as_str()), (Some(0), "led"), "{finished:?}");
        let history = format!("{{{prefix}:leader:{ELECTION}}}:history");
        assert_eq!(server.command(&["LLEN", &history]), redis::Value::Int(2), "elected and lost, in Redis");
    }
    assert!(!scenario.path("home/.local").exists(), "and no file is made");
}

#[test]
fn the_redis_of_the_environment_may_want_a_password_which_the_command_does_not_get() {
    let (scenario, server) = (scenario(), RedisServer::start_with(RedisOptions::default().password("canary")));
    for variable in ["REDIS_PASSWORD", "MUTEX_REDIS_PASSWORD"] {
        let finished = RunningProcess::start(
            scenario
                .bare(["--store", "env:", "run", ELECTION, "--fail-fast", "--", "env"])
                .envs([("REDIS_HOST", "127.0.0.1"), ("REDIS_PREFIX", "app"), (variable, "canary")])
                .env("REDIS_PORT", server.port().to_string()),
        )
        .finish();
        assert_eq!(finished.code, Some(0), "{finished:?}");
        assert!(!format!("{finished:?}").contains("canary"), "{finished:?}");
    }
}

#[test]
fn variables_that_do_not_say_enough_are_refused() {
    for (variable, word) in [
        ("REDIS_SENTINEL_HOST", "REDIS_SENTINEL_NAME"),
        // Whoever takes part in the same election has it from its package.json.
        ("REDIS_HOST", "REDIS_PREFIX"),
        ("REDIS_PREFIX", "MUTEX_REDIS_HOST"),
    ] {
        let finished = run(&scenario(), |command| {
            command.env(variable, "127.0.0.1").env("TENURE_STORE", "env:");
        });
        assert_eq!(finished.code, Some(2), "{finished:?}");
        assert!(finished.stderr.contains(word), "{finished:?}");
    }
}
