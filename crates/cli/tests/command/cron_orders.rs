//! What somebody wants of a job, whoever leads: run it now, pause it, resume it.

use serde_json::Value;
use tenure_testkit::eventually;
use tenure_testkit::running::RunningProcess;
use tenure_testkit::scenario::{Scenario, sh};

use crate::support::{event, jobs, scenario};

/// A job that fires once a year, and leads.
fn yearly(scenario: &Scenario) -> RunningProcess {
    let mut tenure = scenario.tenure(["cron", "@yearly", "--name", "test", "--json"]);
    tenure.args(scenario.timing().options()).arg("--").args(sh("echo $TENURE_TICK"));
    let running = RunningProcess::start(&mut tenure);
    event(&running, "elected");
    eventually("the job", || !jobs(scenario, 1).as_array().unwrap().is_empty());
    running
}

fn ordered(scenario: &Scenario, order: &str) -> Option<i32> {
    scenario.finish(["cron", order, "cron-test", "test"]).code
}

#[test]
fn a_job_that_is_to_run_now_runs_once() {
    let scenario = scenario();
    let running = yearly(&scenario);
    assert_eq!((ordered(&scenario, "run-now"), ordered(&scenario, "run-now")), (Some(0), Some(0)));
    let ended = event(&running, "ended");
    assert_eq!(ended["outcome"], "succeeded", "{ended}");
    assert_eq!(running.stdout().next("the run"), ended["tick"].as_str().unwrap());
    eventually("the end of the run", || jobs(&scenario, 9)[0]["runs"][0]["outcome"] == "succeeded");
    let job = jobs(&scenario, 9)[0].take();
    assert_eq!((&job["fired"], &job["requested_at"]), (&1.into(), &Value::Null), "{job}");
}

#[test]
fn a_job_that_is_paused_does_not_run_before_it_is_resumed() {
    let scenario = scenario();
    let running = yearly(&scenario);
    assert_eq!((ordered(&scenario, "pause"), ordered(&scenario, "run-now")), (Some(0), Some(0)));
    let job = jobs(&scenario, 9)[0].take();
    assert!(job["paused_at"].is_string() && job["requested_at"].is_string(), "{job}");
    assert_eq!(job["next"], Value::Null, "it does not fire: {job}");
    let shown = scenario.finish(["cron", "status", "cron-test"]).stdout;
    assert!(shown.contains(" - (paused) "), "{shown}");
    assert_eq!(ordered(&scenario, "resume"), Some(0));
    running.stdout().next("the run that was asked for");
    let job = jobs(&scenario, 9)[0].take();
    assert_eq!((&job["paused_at"], &job["enabled"]), (&Value::Null, &true.into()), "{job}");
    assert!(job["next"].is_string(), "{job}");
}

#[test]
fn a_job_that_is_disabled_shows_no_next_run_with_or_without_its_file() {
    let scenario = scenario();
    let file = scenario.path("crontab.toml");
    let write = |enabled: bool| {
        let job = format!("[jobs.off]\nschedule = '@yearly'\ncommand = ['true']\nenabled = {enabled}\n");
        std::fs::write(&file, format!("election = 'cron-test'\n{job}")).unwrap();
    };
    let of_file = || scenario.json(&["cron", "status", file.to_str().unwrap(), "--json"])[0].take();
    write(false);
    let untold = of_file();
    assert_eq!((&untold["next"], &untold["enabled"]), (&Value::Null, &false.into()), "{untold}");
    let running =
        RunningProcess::start(scenario.tenure(["cron"]).arg(&file).arg("--json").args(scenario.timing().options()));
    event(&running, "elected");
    eventually("the job", || !jobs(&scenario, 1).as_array().unwrap().is_empty());
    for job in [jobs(&scenario, 1)[0].take(), of_file()] {
        assert_eq!((&job["next"], &job["enabled"]), (&Value::Null, &false.into()), "{job}");
        assert_eq!(job["schedule"], "0 0 1 1 * UTC", "{job}");
    }
    let shown = scenario.finish(["cron", "status", "cron-test"]).stdout;
    assert!(shown.contains(" - (disabled) "), "{shown}");
    write(true);
    let enabled = of_file();
    assert!(enabled["next"].is_string() && enabled["enabled"] == true, "the file comes first: {enabled}");
    running.signal(rustix::process::Signal::HUP);
    eventually("whoever leads to read it again", || jobs(&scenario, 1)[0]["enabled"] == true);
    assert!(jobs(&scenario, 1)[0]["next"].is_string());
}

#[test]
fn a_job_that_nobody_knows_takes_no_orders() {
    let scenario = scenario();
    let _running = yearly(&scenario);
    for order in ["run-now", "pause", "resume"] {
        let refused = scenario.finish(["cron", order, "cron-test", "other"]);
        assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{refused:?}");
        assert!(refused.stderr.contains("cron-test has no job other"), "{refused:?}");
    }
}

/// What is shown of a job: with `--json`, and to people.
fn shown(scenario: &Scenario, job: &str) -> (Value, String) {
    let jobs = jobs(scenario, 1);
    let of_job = |line: &&Value| line["job"] == job;
    let line = jobs.as_array().unwrap().iter().find(of_job).unwrap_or_else(|| panic!("{job}: {jobs}")).clone();
    let table = scenario.finish(["cron", "status", "cron-test"]).stdout;
    (line, table.lines().find(|line| line.contains(&format!("  {job}  "))).unwrap_or_default().to_owned())
}

#[test]
fn a_job_that_was_removed_is_not_due_and_is_not_to_be_run() {
    let scenario = scenario();
    let file = scenario.path("crontab.toml");
    let write = |names: &[&str]| {
        let jobs: String =
            names.iter().map(|name| format!("[jobs.{name}]\nschedule = '@yearly'\ncommand = ['true']\n")).collect();
        std::fs::write(&file, format!("election = 'cron-test'\n{jobs}")).unwrap();
    };
    write(&["kept", "gone"]);
    let running =
        RunningProcess::start(scenario.tenure(["cron"]).arg(&file).arg("--json").args(scenario.timing().options()));
    event(&running, "elected");
    eventually("the jobs", || jobs(&scenario, 1).as_array().unwrap().len() == 2);
    assert!(shown(&scenario, "gone").0["next"].is_string());
    write(&["kept"]);
    running.signal(rustix::process::Signal::HUP);
    eventually("the leader to tell of it", || shown(&scenario, "gone").0["idle"] == "removed");
    let (line, row) = shown(&scenario, "gone");
    assert_eq!((&line["next"], &line["schedule"]), (&Value::Null, &"0 0 1 1 * UTC".into()), "{line}");
    assert!(row.contains(" - (removed) "), "{row}");
    let (kept, _) = shown(&scenario, "kept");
    assert!(kept["next"].is_string() && kept["idle"].is_null(), "{kept}");
    let refused = scenario.finish(["cron", "run-now", "cron-test", "gone"]);
    assert_eq!((refused.code, refused.stdout.as_str()), (Some(1), ""), "{refused:?}");
    assert!(refused.stderr.contains("gone was removed from the jobs of cron-test"), "{refused:?}");
    assert_eq!(shown(&scenario, "gone").0["requested_at"], Value::Null);
    write(&["kept", "gone"]);
    running.signal(rustix::process::Signal::HUP);
    eventually("it to be back", || shown(&scenario, "gone").0["next"].is_string());
}

#[test]
fn nothing_is_due_while_nobody_leads() {
    let scenario = scenario();
    let mut running = yearly(&scenario);
    running.signal(rustix::process::Signal::TERM);
    assert_eq!(running.code(), 143);
    let (line, row) = shown(&scenario, "test");
    assert_eq!((&line["next"], &line["idle"]), (&Value::Null, &"no_leader".into()), "{line}");
    assert!(row.contains(" - (nobody leads) "), "{row}");
    let ordered = scenario.finish(["cron", "run-now", "cron-test", "test"]);
    assert_eq!(ordered.code, Some(0), "{ordered:?}");
    assert!(ordered.stderr.contains("nobody leads cron-test now: test runs when somebody does"), "{ordered:?}");
    let running = yearly(&scenario);
    running.stdout().next("the run that was asked for");
}
