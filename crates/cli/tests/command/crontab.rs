//! Files of jobs: what is read, what is refused, and what `tenure cron check` shows.

use std::path::Path;

use serde_json::Value;
use tenure_testkit::running::FinishedProcess;
use tenure_testkit::scenario::Scenario;

use crate::support::scenario;

const CANARY: &str = "canary-7f3a";

/// Writes a file and checks it.
fn check(scenario: &Scenario, text: &str, options: &[&str]) -> FinishedProcess {
    std::fs::write(scenario.path("crontab.toml"), text).unwrap();
    scenario.finish([&["cron", "check", "crontab.toml"], options].concat())
}

/// Checks a file that cannot be used, and returns what is told of it.
fn refused(text: &str) -> String {
    let scenario = scenario();
    let finished = check(&scenario, text, &[]);
    assert_eq!((finished.code, finished.stdout.as_str()), (Some(2), ""), "{text}: {finished:?}");
    let run = scenario.finish(["cron", "crontab.toml"]);
    assert_eq!((run.code, &run.stderr), (Some(2), &finished.stderr), "whoever runs it is told the same");
    finished.stderr.strip_prefix("tenure: ").unwrap().to_owned()
}

#[test]
fn the_example_can_be_used() {
    let scenario = scenario();
    let example = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/crontab.toml");
    let finished = scenario.finish(["cron", "check", example.to_str().unwrap()]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("in the election housekeeping; no errors"), "{finished:?}");
}

#[test]
fn the_next_five_ticks_are_shown_in_the_zone_of_the_job_and_in_utc() {
    let scenario = scenario();
    let text = "time-zone = 'Europe/Berlin'\n\
                [jobs.night]\nschedule = '30 2 * * *'\ncommand = 'true'\n\
                [jobs.noon]\nschedule = '0 12 29 2 *'\ntime-zone = 'Asia/Tokyo'\ncommand = ['true']\njitter = '30s'\n\
                [jobs.off]\nschedule = '@daily'\ncommand = ['true']\nenabled = false\n";
    let finished = check(&scenario, text, &["--from", "2030-03-30T00:00:00Z", "--json"]);
    assert_eq!(finished.code, Some(0), "{finished:?}");
    let checked: Value = serde_json::from_str(&finished.stdout).unwrap();
    assert_eq!(
        (&checked["election"], &checked["errors"]),
        (&Value::from("crontab"), &Value::from(Vec::<Value>::new()))
    );
    let [night, noon, off] = [0, 1, 2].map(|index| &checked["jobs"][index]);
    assert_eq!((&night["job"], &night["time_zone"]), (&Value::from("night"), &Value::from("Europe/Berlin")));
    let ticks: Vec<&str> =
        night["next"].as_array().unwrap().iter().map(|next| next["tick"].as_str().unwrap()).collect();
    let days = ["03-30T01:30", "03-31T01:00", "04-01T00:30", "04-02T00:30", "04-03T00:30"];
    assert_eq!(ticks, days.map(|day| format!("2030-{day}:00Z")), "half past two is left out on 31 March");
    assert_eq!(night["next"][1]["local"], "Sun 2030-03-31 03:00:00 +02:00");
    assert_eq!(noon["next"][0]["local"], "Sun 2032-02-29 12:00:00 +09:00");
    let fires_at = noon["next"][0]["fires_at"].as_str().unwrap();
    assert!(("2032-02-29T03:00:00".."2032-02-29T03:00:31").contains(&fires_at), "{fires_at}");
    assert_eq!(off["enabled"], false);
    let shown = check(&scenario, text, &["--from", "2030-03-30T00:00:00Z"]).stdout;
    assert!(shown.contains("Sun 2030-03-31 03:00:00 +02:00  2030-03-31T01:00:00.000Z"), "{shown}");
    assert!(shown.contains("never: disabled"), "{shown}");
    assert_eq!(shown.matches("\nnight ").count(), 5, "{shown}");
}

#[test]
fn an_expression_can_be_checked_too() {
    let scenario = scenario();
    let options = ["--tz", "Europe/Berlin", "--from", "2030-03-30T00:00:00Z"];
    let finished = scenario.finish([&["cron", "check", "30 2 * * *"][..], &options].concat());
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("Sun 2030-03-31 03:00:00 +02:00  2030-03-31T01:00:00.000Z"), "{finished:?}");
    for (arguments, word) in [
        (&["61 * * * *"][..], "minute"),
        (&["0 0 30 2 *"], "never matches"),
        (&["@sometimes"], "@hourly"),
        (&["* * * * *", "--tz", "Berlin"], "`Europe/Berlin`"),
        (&["* * * * *", "--from", "tomorrow"], "--from"),
        (&["no-such-file.toml"], "no-such-file.toml: cannot be read"),
        (&["no-such-file.toml", "--tz", "UTC"], "in a file, write `time-zone"),
    ] {
        let finished = scenario.finish([&["cron", "check"], arguments].concat());
        assert_eq!(finished.code, Some(2), "{arguments:?}: {finished:?}");
        assert!(finished.stderr.contains(word), "{arguments:?}: {finished:?}");
    }
}

#[test]
fn all_that_is_wrong_is_told_with_its_line() {
    let told = refused(
        "election = ''\n\
         time-zone = 'Europe/Berlln'\n\
         shedule = 1\n\
         ttl = '3'\n\
         [jobs.a]\n\
         schedule = '*/99 * * * *'\n\
         time-zone = 'Nowhere'\n\
         command = []\n\
         missed = 'sometimes'\n\
         window = 5\n\
         [jobs.b]\n\
         comand = 'true'\n\
         timeout = '0s'\n\
         enabled = 'yes'\n\
         env = { 'A=B' = 'x', TENURE_TERM = '1', C = 2 }\n",
    );
    let words = [
        (1, "empty"),
        (2, "`Europe/Berlin`"),
        (3, "unknown key `shedule`; use election,"),
        (4, "`ttl` cannot be \"3\": write a number and a unit"),
        (6, "job a: `schedule` cannot be used: invalid minute \"*/99\" in the cron expression: a step of 99 is larger"),
        (7, "job a: `time-zone` cannot be used"),
        (8, "job a: `command` is empty"),
        (9, "job a: `missed` cannot be used: unknown value \"sometimes\"; use `skip`, `once` or `all`"),
        (10, "job a: `window` must be a string, but is of type integer"),
        (11, "job b: `schedule` is missing"),
        (11, "job b: `command` is missing"),
        (12, "job b: unknown key `comand`; use schedule,"),
        (13, "job b: `timeout` must be longer than 0s"),
        (14, "job b: `enabled` must be true or false, but is of type string"),
        (15, "job b: `env.A=B` is not a valid variable name"),
        (15, "job b: `env.TENURE_TERM` is set by tenure itself"),
        (15, "job b: `env.C` must be a string, but is of type integer"),
    ];
    for (line, word) in words {
        let prefix = format!("crontab.toml:{line}: ");
        let found = told.lines().any(|told| told.starts_with(&prefix) && told.contains(word));
        assert!(found, "no {word:?} in line {line}: {told}");
    }
    assert_eq!(told.lines().count(), words.len(), "{told}");
}

#[test]
fn what_is_no_crontab_is_refused() {
    for (text, word) in [
        ("", "has no job; write a table [jobs.NAME]"),
        ("jobs = 1", "`jobs` must be a table"),
        ("[jobs]", "holds 0 jobs"),
        ("[jobs.a", "crontab.toml:1: invalid TOML"),
        ("\n\n[jobs.a]\nschedule = '@daily'\nschedule = '@daily'\n", "crontab.toml:5: invalid TOML: duplicate key"),
        ("ttl = '15s'\npreset = 'fast'\n[jobs.a]\nschedule='@daily'\ncommand='x'", "exclude each other"),
        ("ttl = '3s'\nrenew = '2s'\n[jobs.a]\nschedule='@daily'\ncommand='x'", "crontab.toml:1: "),
        ("[jobs.a]\nschedule='@daily'\ncommand=\"a\\u0000b\"", "NUL"),
        ("[jobs.a]\nschedule='@daily'\ncommand=['']", "names no program"),
        ("[jobs.'']\nschedule='@daily'\ncommand='x'", "empty"),
    ] {
        let told = refused(text);
        assert!(told.contains(word), "{text:?}: {told}");
    }
}

#[test]
fn no_error_shows_a_command_or_a_variable() {
    for text in [
        "[jobs.a]\nschedule = '61 * * * *'\ncommand = ['backup', '--password', 'CANARY']\n",
        "[jobs.a]\nschedule = '@daily'\nenv = { PASSWORD = 'CANARY }\n",
        "[jobs.a]\nschedule = '@daily'\ncommand = 'backup CANARY\n",
        "[jobs.a]\nschedule = '@daily'\ncommand = { a = 'CANARY' }\nenv = ['CANARY']\n",
        "[jobs.a]\nschedule = '@daily'\ncommand = [['CANARY']]\nenv = { A = ['CANARY'] }\n",
    ] {
        let told = refused(&text.replace("CANARY", CANARY));
        assert!(!told.is_empty() && !told.contains(CANARY), "{told}");
    }
}

#[test]
fn what_cannot_be_meant_is_told() {
    let scenario = scenario();
    std::fs::write(scenario.path("crontab.toml"), "").unwrap();
    for (arguments, word) in [
        (&["*/5 * * * *"][..], "add a command: `tenure cron \"*/5 * * * *\" -- CMD`"),
        (&["crontab.toml", "--", "true"], "to use the file of this name, leave out `-- CMD`"),
        (&["no-such-file"], "no-such-file: cannot be read"),
        (&["--quiet"], "say which jobs to run"),
        (&["crontab.toml", "--tz", "UTC"], "CMD"),
        (&["* * * * *", "--missed", "never", "--", "true"], "once"),
        (&["* * * * *", "--timeout", "0s", "--", "true"], "longer than 0s"),
        (&["* * * * *", "--name", "", "--", "true"], "empty"),
        (&["* * * * *", "--election", "", "--", "true"], "empty"),
        (&["forget", "nightly", ""], "empty"),
        (&["status", ""], "empty"),
    ] {
        let finished = scenario.finish([&["cron"], arguments].concat());
        assert_eq!(finished.code, Some(2), "{arguments:?}: {finished:?}");
        assert!(finished.stderr.contains(word), "{arguments:?}: {finished:?}");
    }
}
