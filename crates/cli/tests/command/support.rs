//! A scenario for one test of the command, on the store that needs nothing to be installed.

use std::fs::OpenOptions;
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use serde_json::Value;
use tenure::store::postgres::{Migration, PostgresConfig};
use tenure_testkit::running::RunningProcess;
use tenure_testkit::scenario::{ELECTION, Scenario};
use tenure_testkit::stores::{Postgres, Sqlite};

/// With a store that commands find who only look.
pub(crate) fn scenario() -> Scenario {
    let scenario = scenario_without_store();
    let file = OpenOptions::new().write(true).create_new(true).mode(0o600).open(scenario.path("tenure.db"));
    file.unwrap();
    scenario
}

/// Without a store.
pub(crate) fn scenario_without_store() -> Scenario {
    Scenario::new(&Sqlite, tenure())
}

pub(crate) fn tenure() -> &'static Path {
    Path::new(env!("CARGO_BIN_EXE_tenure"))
}

/// What `tenure run` or `tenure lock` is given to run this command.
pub(crate) fn arguments(scenario: &Scenario, subcommand: &str, options: &[&str], command: &[&str]) -> Vec<String> {
    let words = [options, &["--"], command].concat();
    [subcommand, ELECTION]
        .map(str::to_owned)
        .into_iter()
        .chain(scenario.timing().options())
        .chain(words.into_iter().map(str::to_owned))
        .collect()
}

/// A `tenure cron` of one job, `test`, that runs this command every second. The candidate's id is the one in the options.
pub(crate) fn every_second(scenario: &Scenario, options: &[&str], command: &[&str]) -> (String, RunningProcess) {
    let id = options.iter().skip_while(|option| **option != "--id").nth(1).copied().unwrap_or_default();
    let mut tenure = scenario.tenure(["cron", "* * * * * *", "--name", "test"]);
    tenure.args(scenario.timing().options()).args(options).arg("--").args(command);
    (id.to_owned(), RunningProcess::start(&mut tenure))
}

/// The next event of this name that it tells on its standard error.
pub(crate) fn event(running: &RunningProcess, name: &str) -> Value {
    running.stderr().find(name, |line| serde_json::from_str(line).ok().filter(|event: &Value| event["event"] == name))
}

/// What `tenure cron status` says of the jobs of the election, with so many runs.
pub(crate) fn jobs(scenario: &Scenario, runs: usize) -> Value {
    scenario.json(&["cron", "status", "cron-test", "--runs", &runs.to_string(), "--json"])
}

/// PostgreSQL with the tables that the library makes.
pub(crate) const WITH_TABLES: Postgres = Postgres { tables };

fn tables(role: &str) -> String {
    let config = PostgresConfig::from_url(&"postgres://owner@127.0.0.1/postgres".parse().unwrap()).unwrap();
    Migration::new(&config).role(role).unwrap().script()
}
