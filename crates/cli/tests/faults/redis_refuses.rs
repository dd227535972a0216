//! A Redis server that answers, and says no. Each of its errors is provoked for a while under a leader, which goes on.

use std::thread;

use tenure_testkit::eventually;
use tenure_testkit::process::ProcessHandle;
use tenure_testkit::redis::{RedisOptions, RedisServer};

use crate::goes_on;
use crate::two_candidates::TwoCandidates;

/// A scene on a server of this kind.
fn on(options: RedisOptions) -> TwoCandidates<RedisServer> {
    TwoCandidates::on(RedisServer::start_with(options))
}

fn set(candidates: &TwoCandidates<RedisServer>, setting: &str, value: &str) {
    drop(candidates.server.command(&["CONFIG", "SET", setting, value]));
}

pub(crate) fn case_67_a_server_that_is_busy_with_a_script_costs_nothing() {
    let candidates = on(RedisOptions::default());
    set(&candidates, "busy-reply-threshold", "50");
    thread::scope(|scope| {
        let server = &*candidates.server;
        let script = scope.spawn(|| server.try_command(&["EVAL", "while true do end", "0"]));
        candidates.leader_is_refused("BUSY");
        drop(server.command(&["SCRIPT", "KILL"]));
        assert!(script.join().unwrap().is_err(), "the script was to be killed");
    });
    candidates.ends_as_it_began();
}

/// Renewals write nothing that needs memory, so the leader does not even notice. Whoever stands by is told who leads.
pub(crate) fn case_67_a_server_that_is_out_of_memory_keeps_the_leader_and_grants_nothing() {
    let candidates = on(RedisOptions::default());
    set(&candidates, "maxmemory", "1");
    let refusal = candidates.server.try_command(&["SET", "other", "1"]).unwrap_err();
    assert_eq!(refusal.code(), Some("OOM"));
    goes_on(&candidates.scenario, &candidates.first);
    let elsewhere = candidates.scenario.elect_with("c", "another", &[]);
    let error = elsewhere.event("error");
    assert!(error["reason"].as_str().unwrap().contains("OOM"), "{error}");
    set(&candidates, "maxmemory", "0");
    elsewhere.event("elected");
    candidates.ends_as_it_began();
}

pub(crate) fn case_67_a_server_that_loads_its_data_costs_nothing() {
    // A second at least, during which it answers every few keys. On a busy machine it would take many.
    let options = RedisOptions::default().line("key-load-delay 150").line("loading-process-events-interval-bytes 1024");
    let candidates = on(options);
    let fill = "for i = 1, 5000 do redis.call('SET', 'filler:' .. i, i) end";
    drop(candidates.server.command(&["EVAL", fill, "0"]));
    drop(candidates.server.command(&["SAVE"]));
    candidates.server.restart();
    candidates.leader_is_refused("LOADING");
    set(&candidates, "key-load-delay", "0");
    eventually("a server that has loaded", || candidates.server.info("persistence", "loading").as_deref() == Some("0"));
    candidates.ends_as_it_began();
}

pub(crate) fn case_67_a_server_that_became_a_replica_for_a_while_costs_nothing() {
    let candidates = on(RedisOptions::default());
    // Of a primary that never answers.
    drop(candidates.server.command(&["REPLICAOF", "127.0.0.1", "1"]));
    candidates.leader_is_refused("READONLY");
    drop(candidates.server.command(&["REPLICAOF", "NO", "ONE"]));
    candidates.ends_as_it_began();
}

pub(crate) fn case_67_a_server_that_misses_its_replicas_costs_nothing() {
    let candidates = on(RedisOptions::default());
    set(&candidates, "min-replicas-to-write", "1");
    candidates.leader_is_refused("NOREPLICAS");
    set(&candidates, "min-replicas-to-write", "0");
    candidates.ends_as_it_began();
}

pub(crate) fn case_67_a_server_that_cannot_save_costs_nothing() {
    let candidates = on(RedisOptions::default().line("enable-protected-configs local"));
    let gone = candidates.scenario.path("gone");
    std::fs::create_dir(&gone).unwrap();
    set(&candidates, "dir", gone.to_str().unwrap());
    std::fs::remove_dir(&gone).unwrap();
    set(&candidates, "save", "3600 1000000");
    drop(candidates.server.command(&["BGSAVE"]));
    candidates.leader_is_refused("MISCONF");
    set(&candidates, "stop-writes-on-bgsave-error", "no");
    candidates.ends_as_it_began();
}

/// The scripts are gone, and are brought again in the same breath.
pub(crate) fn case_67_a_server_that_forgot_all_scripts_costs_nothing() {
    let candidates = on(RedisOptions::default());
    drop(candidates.server.command(&["SCRIPT", "FLUSH"]));
    assert!(!ProcessHandle::open(candidates.first.pid).is_dead());
    goes_on(&candidates.scenario, &candidates.first);
    assert!(
        candidates.scenario.events().iter().all(|event| event["event"] != "error"),
        "{:#?}",
        candidates.scenario.events()
    );
    candidates.ends_as_it_began();
}
