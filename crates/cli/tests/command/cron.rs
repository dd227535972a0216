//! `tenure cron`: what fires, what the commands are told, and how it is shown.

use std::sync::Arc;
use std::time::Duration;

use rustix::process::Signal;
use serde_json::Value;
use tenure::store::ledger::{Act, Claim, Claimed, Finish, OpenJob, OpenJobs, RunOutcome, Tick};
use tenure::store::{Campaign, ElectionKey, Store};
use tenure::{CandidateId, ElectionName, JobName, Namespace, Priority};
use tenure_core::{CampaignReply, Nonce};
use tenure_testkit::eventually;
use tenure_testkit::running::RunningProcess;
use tenure_testkit::scenario::{Scenario, sh};
use tenure_testkit::stores::Redis;

use crate::support::{WITH_TABLES, event, every_second, jobs, scenario, tenure};

/// What the runs of a test have written, one line each.
fn journal(scenario: &Scenario) -> Vec<(String, String)> {
    let text = std::fs::read_to_string(scenario.path("journal")).unwrap_or_default();
    let whole = text.rfind('\n').map_or("", |end| &text[..end]);
    whole.lines().filter_map(|line| line.split_once(' ')).map(|(a, b)| (a.to_owned(), b.to_owned())).collect()
}

const WRITE: &str = "echo $TENURE_TICK $TENURE_CANDIDATE >> journal";

#[test]
fn each_tick_fires_once_among_two_and_goes_on_when_one_is_killed() {
    each_tick_fires_once(&scenario());
}

#[test]
fn each_tick_fires_once_on_redis_too() {
    each_tick_fires_once(&Scenario::new(&Redis, tenure()));
}

#[test]
fn each_tick_fires_once_on_postgres_too() {
    each_tick_fires_once(&Scenario::new(&WITH_TABLES, tenure()));
}

fn each_tick_fires_once(scenario: &Scenario) {
    let mut candidates = ["a", "b"].map(|id| every_second(scenario, &["--id", id], &sh(WRITE)));
    eventually("two runs", || journal(scenario).len() >= 2);
    let first = journal(scenario)[0].1.clone();
    candidates.sort_by_key(|(id, _)| *id != first);
    let [(_, mut killed), (_, mut other)] = candidates;
    killed.signal(Signal::KILL);
    killed.exit();
    eventually("two runs of the other one", || {
        journal(scenario).iter().filter(|(_, candidate)| *candidate != first).count() >= 2
    });
    other.signal(Signal::TERM);
    assert_eq!(other.exit().code(), Some(143));
    let ticks: Vec<String> = journal(scenario).into_iter().map(|(tick, _)| tick).collect();
    assert!(ticks.is_sorted() && ticks.windows(2).all(|pair| pair[0] != pair[1]), "{ticks:?}");
    let fired = jobs(scenario, 1)[0]["fired"].as_u64().unwrap();
    assert!(fired >= u64::try_from(ticks.len()).unwrap(), "{fired} {ticks:?}");
}

#[test]
fn commands_of_a_file_are_told_of_their_run_and_nothing_of_the_store() {
    let scenario = scenario();
    std::fs::create_dir(scenario.path("below")).unwrap();
    let text = "election = 'nightly'\nttl = '30s'\nrenew = '500ms'\ngrace = '300ms'\n\
                [jobs.told]\nschedule = '* * * * * *'\ndirectory = 'below'\nenv = { GIVEN = 'given', KEPT = 'mine' }\n\
                command = 'echo $TENURE_ELECTION $TENURE_CANDIDATE $TENURE_TERM $TENURE_JOB $TENURE_TICK \
                [$TENURE_STORE] $GIVEN $KEPT $(basename $(pwd)) [$(cat)]'\n";
    std::fs::write(scenario.path("jobs.toml"), text).unwrap();
    let mut command = scenario.bare(["cron", "jobs.toml", "--id", "a", "--json"]);
    let running = RunningProcess::start(command.env("TENURE_STORE", scenario.store()).env("KEPT", "theirs"));
    let fired = event(&running, "fired");
    assert_eq!((&fired["job"], &fired["again"], &fired["count"]), (&"told".into(), &false.into(), &0.into()));
    let tick = fired["tick"].as_str().unwrap();
    let told = running.stdout().next("the command");
    let words: Vec<&str> = told.split(' ').collect();
    assert!(words[2].parse::<u64>().unwrap() > 0, "{told}");
    let expected = ["nightly", "a", words[2], "told", tick, "[]", "given", "mine", "below", "[]"];
    assert_eq!(words, expected);
    assert!(tick.len() == 20 && tick.ends_with('Z'), "{tick}");
    let ended = event(&running, "ended");
    assert_eq!((&ended["outcome"], &ended["tick"]), (&"succeeded".into(), &tick.into()));
    assert!(ended["took_ms"].is_u64(), "{ended}");
    for field in ["event", "election", "candidate", "pid", "term", "reason", "at", "boot_ns"] {
        assert!(ended.get(field).is_some(), "no {field} in {ended}");
    }
}

#[test]
fn it_is_told_and_shown_how_runs_ended() {
    let scenario = scenario();
    for (script, why) in [("exit 3", "failed: exit code 3"), ("kill -9 $$", "failed: killed by signal 9")] {
        let (_, mut running) = every_second(&scenario, &["--id", "a", "--json"], &sh(script));
        let ended = event(&running, "ended");
        assert_eq!((&ended["outcome"], &ended["reason"]), (&"failed".into(), &why.into()), "{ended}");
        let job = jobs(&scenario, 100)[0].take();
        assert!(job["next"].as_str().unwrap() > job["runs"][0]["tick"].as_str().unwrap(), "{job}");
        running.signal(Signal::TERM);
        assert_eq!(running.exit().code(), Some(143));
        let job = jobs(&scenario, 100)[0].take();
        let told = job["runs"].as_array().unwrap().iter().find(|run| run["tick"] == ended["tick"]).unwrap();
        assert_eq!(
            (&told["outcome"], &told["reason"], &told["candidate"]),
            (&"failed".into(), &why.into(), &"a".into())
        );
        assert_eq!(job["schedule"], "* * * * * * UTC");
        assert_eq!((&job["next"], &job["idle"]), (&Value::Null, &"no_leader".into()), "{job}");
    }
}

#[test]
fn a_command_that_is_not_there_fails_its_run_and_nothing_else() {
    let scenario = scenario();
    let (_, running) = every_second(&scenario, &[], &["no-such-command"]);
    for _ in 0..2 {
        running.stderr().find("the failure", |line| {
            line.contains("failed: cannot run no-such-command: No such file or directory").then_some(())
        });
    }
}

#[test]
fn people_are_told_in_sentences_unless_they_want_quiet() {
    let scenario = scenario();
    let (_, mut loud) = every_second(&scenario, &["--timeout", "1h"], &["true"]);
    for words in ["leading cron-test, term ", "job test fired, due 20", "job test, due 20", ", succeeded after "] {
        loud.stderr().find(words, |line| line.contains(words).then_some(()));
    }
    loud.signal(Signal::TERM);
    loud.exit();
    let (_, mut quiet) = every_second(&scenario, &["--quiet"], &sh("echo out; exit 4"));
    quiet.stdout().next("the command");
    let line = quiet.stderr().next("the failure");
    assert!(line.contains("job test, due 20") && line.ends_with("failed: exit code 4"), "{line}");
    quiet.signal(Signal::TERM);
    quiet.exit();
}

#[test]
fn jobs_are_shown_for_people_by_election_and_by_file() {
    let scenario = scenario();
    let status = |arguments: &[&str]| {
        let finished = scenario.finish([&["cron", "status"], arguments].concat());
        assert_eq!(finished.code, Some(0), "{finished:?}");
        finished.stdout
    };
    assert_eq!(status(&[]), format!("no jobs in namespace default of {}", scenario.store()));
    assert_eq!(status(&["mistyped"]), format!("no jobs of mistyped in namespace default of {}", scenario.store()));
    let (_, mut running) = every_second(&scenario, &["--id", "a"], &["true"]);
    running.stderr().find("the end of a run", |line| line.contains("succeeded").then_some(()));
    running.signal(Signal::TERM);
    running.exit();
    for shown in [status(&[]), status(&["cron-test"])] {
        assert!(shown.starts_with("ELECTION   JOB   SCHEDULE         LAST RUN"), "{shown}");
        assert!(shown.contains("cron-test  test  * * * * * * UTC  20") && shown.contains("  succeeded  "), "{shown}");
    }
    let runs = status(&["cron-test", "--runs", "10"]);
    assert!(runs.contains("  succeeded  ") && runs.contains("  a  "), "{runs}");
    let text = "election = 'cron-test'\n[jobs.new]\nschedule = '@yearly'\ncommand = 'true'\n";
    std::fs::write(scenario.path("crontab.toml"), text).unwrap();
    let by_file = scenario.json(&["cron", "status", "crontab.toml", "--json"]);
    let names: Vec<&Value> = by_file.as_array().unwrap().iter().map(|job| &job["job"]).collect();
    assert_eq!(names, ["new", "test"]);
    assert_eq!((&by_file[0]["fired"], &by_file[0]["runs"]), (&0.into(), &Value::from(Vec::<Value>::new())));
}

#[test]
fn a_tick_that_was_given_back_is_shown_as_such() {
    let scenario = scenario();
    let store = tenure::store::open(&scenario.store().parse().unwrap()).unwrap();
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(give_a_tick_back(&*store));
    let job = jobs(&scenario, 1)[0].take();
    assert_eq!((&job["fired"], &job["runs"][0]["outcome"]), (&0.into(), &"not_begun".into()), "{job}");
    assert_eq!((&job["runs"][0]["tick"], &job["runs"][0]["reason"]), (&"1970-01-01T00:03:20Z".into(), &Value::Null));
    for options in [&[][..], &["--runs", "3"]] {
        let shown = scenario.finish([&["cron", "status", "cron-test"], options].concat()).stdout;
        assert!(shown.contains("  not started, given back  ") && !shown.contains("not_begun"), "{shown}");
    }
}

/// Leads, claims a tick, and says that it never began.
async fn give_a_tick_back(store: &dyn Store) {
    let key = ElectionKey { namespace: Namespace::default(), name: ElectionName::new("cron-test").unwrap() };
    let (candidate, nonce, job) = (CandidateId::new("a").unwrap(), Nonce::from_bits(7), JobName::new("test").unwrap());
    let campaign = Campaign {
        key: key.clone(),
        candidate: candidate.clone(),
        nonce,
        ttl: Duration::from_secs(60),
        priority: Priority::MAX,
        metadata: Arc::default(),
        stand_by_for: Duration::from_secs(60),
    };
    let CampaignReply::Granted { term } = store.campaign(&[campaign]).await.remove(0).unwrap() else {
        panic!("nobody else leads")
    };
    let (tick, schedule) = (Tick::from_unix_s(200), "* * * * * * UTC".into());
    let jobs = vec![OpenJob { job: job.clone(), schedule, from: Tick::from_unix_s(100) }];
    let ledger = store.ledger().unwrap();
    ledger.open(&OpenJobs { key: key.clone(), nonce, term, jobs }).await.unwrap();
    let claim = Claim { key: key.clone(), nonce, term, candidate, job: job.clone(), tick, act: Act::Run, missed: 0 };
    assert_eq!(ledger.claim(&[claim]).await.remove(0).unwrap(), Claimed::Granted);
    let finish =
        Finish { key, nonce, term, job, tick, took: Duration::ZERO, retries: 0, outcome: RunOutcome::NotBegun };
    assert!(ledger.finish(&[finish]).await.remove(0).unwrap());
}

#[test]
fn a_job_can_be_forgotten() {
    let scenario = scenario();
    let (_, mut running) = every_second(&scenario, &["--json"], &["true"]);
    event(&running, "ended");
    running.signal(Signal::TERM);
    running.exit();
    let forget = || scenario.finish(["cron", "forget", "cron-test", "test"]);
    let finished = forget();
    assert_eq!(finished.code, Some(0), "{finished:?}");
    assert!(finished.stdout.contains("starts it over at the present"), "{finished:?}");
    assert_eq!(jobs(&scenario, 1), Value::from(Vec::<Value>::new()));
    let finished = forget();
    assert_eq!(finished.code, Some(1), "{finished:?}");
    assert!(finished.stderr.contains("cron-test has no job test"), "{finished:?}");
}

#[test]
fn a_store_that_keeps_no_jobs_is_refused() {
    let scenario = scenario();
    let store = ["--store", "postgres+advisory://127.0.0.1:1/app"];
    for arguments in [&["cron", "* * * * *", "--", "true"][..], &["cron", "status", "x"], &["cron", "forget", "x", "y"]]
    {
        let finished = RunningProcess::start(&mut scenario.bare([&store, arguments].concat())).finish();
        assert_eq!(finished.code, Some(69), "{arguments:?}: {finished:?}");
        assert!(finished.stderr.contains("keeps no jobs; use one that does"), "{arguments:?}: {finished:?}");
    }
}
