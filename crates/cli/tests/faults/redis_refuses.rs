//! A Redis server that answers, and says no. Each of its errors is provoked for a while under a leader, which goes on.

use std::rc::Rc;
use std::thread;

use tenure_testkit::candidate::Candidate;
use tenure_testkit::eventually;
use tenure_testkit::process::Process;
use tenure_testkit::redis::{RedisOptions, RedisServer};
use tenure_testkit::site::Site;
use tenure_testkit::worker::Start;

use crate::{PATIENT_ENOUGH, goes_on, site_at};

/// A leader and one who stands by, on a server that is about to say no.
struct Scene {
    site: Site,
    server: Rc<RedisServer>,
    leader: Candidate,
    first: Start,
    next: Candidate,
}

impl Scene {
    fn on(options: RedisOptions) -> Self {
        let server = Rc::new(RedisServer::start_with(options));
        let site = site_at(Rc::clone(&server)).paced(PATIENT_ENOUGH);
        let leader = site.candidate("a");
        let first = site.next_start();
        let next = site.candidate("b");
        next.stands_by();
        Self { site, server, leader, first, next }
    }

    fn set(&self, setting: &str, value: &str) {
        drop(self.server.command(&["CONFIG", "SET", setting, value]));
    }

    /// Waits for the leader to tell of an error with this word in it.
    fn leader_is_refused(&self, word: &str) {
        loop {
            let error = self.leader.event("error");
            if error["reason"].as_str().unwrap().contains(word) {
                println!("{}", error["reason"]);
                return;
            }
        }
    }

    /// Checks that the leader leads on under the same term, and that the other one is still there to follow it.
    fn ends_as_it_began(mut self) {
        goes_on(&self.site, &self.first);
        self.leader.signal(rustix::process::Signal::TERM);
        assert_eq!(self.leader.code(), 143);
        assert_eq!(self.site.next_start().candidate, "b", "the other one has given up");
        assert!(!self.next.running.process.is_dead());
        self.site.judge();
    }
}

pub(crate) fn case_67_a_server_that_is_busy_with_a_script_costs_nothing() {
    let scene = Scene::on(RedisOptions::default());
    scene.set("busy-reply-threshold", "50");
    thread::scope(|scope| {
        let server = &*scene.server;
        let script = scope.spawn(|| server.try_command(&["EVAL", "while true do end", "0"]));
        scene.leader_is_refused("BUSY");
        drop(server.command(&["SCRIPT", "KILL"]));
        assert!(script.join().unwrap().is_err(), "the script was to be killed");
    });
    scene.ends_as_it_began();
}

/// Renewals write nothing that needs memory, so the leader does not even notice. Whoever stands by is told who leads.
pub(crate) fn case_67_a_server_that_is_out_of_memory_keeps_the_leader_and_grants_nothing() {
    let scene = Scene::on(RedisOptions::default());
    scene.set("maxmemory", "1");
    let refusal = scene.server.try_command(&["SET", "other", "1"]).unwrap_err();
    assert_eq!(refusal.code(), Some("OOM"));
    goes_on(&scene.site, &scene.first);
    let elsewhere = scene.site.elect_with("c", "another", &[]);
    let error = elsewhere.event("error");
    assert!(error["reason"].as_str().unwrap().contains("OOM"), "{error}");
    scene.set("maxmemory", "0");
    elsewhere.event("elected");
    scene.ends_as_it_began();
}

pub(crate) fn case_67_a_server_that_loads_its_data_costs_nothing() {
    // A second or so, during which it answers every few keys.
    let options = RedisOptions::default().line("key-load-delay 150").line("loading-process-events-interval-bytes 1024");
    let scene = Scene::on(options);
    let fill = "for i = 1, 5000 do redis.call('SET', 'filler:' .. i, i) end";
    drop(scene.server.command(&["EVAL", fill, "0"]));
    drop(scene.server.command(&["SAVE"]));
    scene.server.restart();
    scene.leader_is_refused("LOADING");
    eventually("a server that has loaded", || scene.server.info("persistence", "loading").as_deref() == Some("0"));
    scene.ends_as_it_began();
}

pub(crate) fn case_67_a_server_that_became_a_replica_for_a_while_costs_nothing() {
    let scene = Scene::on(RedisOptions::default());
    // Of a primary that never answers.
    drop(scene.server.command(&["REPLICAOF", "127.0.0.1", "1"]));
    scene.leader_is_refused("READONLY");
    drop(scene.server.command(&["REPLICAOF", "NO", "ONE"]));
    scene.ends_as_it_began();
}

pub(crate) fn case_67_a_server_that_misses_its_replicas_costs_nothing() {
    let scene = Scene::on(RedisOptions::default());
    scene.set("min-replicas-to-write", "1");
    scene.leader_is_refused("NOREPLICAS");
    scene.set("min-replicas-to-write", "0");
    scene.ends_as_it_began();
}

pub(crate) fn case_67_a_server_that_cannot_save_costs_nothing() {
    let scene = Scene::on(RedisOptions::default().line("enable-protected-configs local"));
    let gone = scene.site.path("gone");
    std::fs::create_dir(&gone).unwrap();
    scene.set("dir", gone.to_str().unwrap());
    std::fs::remove_dir(&gone).unwrap();
    scene.set("save", "3600 1000000");
    drop(scene.server.command(&["BGSAVE"]));
    scene.leader_is_refused("MISCONF");
    scene.set("stop-writes-on-bgsave-error", "no");
    scene.ends_as_it_began();
}

/// The scripts are gone, and are brought again in the same breath.
pub(crate) fn case_67_a_server_that_forgot_all_scripts_costs_nothing() {
    let scene = Scene::on(RedisOptions::default());
    drop(scene.server.command(&["SCRIPT", "FLUSH"]));
    assert!(!Process::open(scene.first.pid).is_dead());
    goes_on(&scene.site, &scene.first);
    assert!(scene.site.events().iter().all(|event| event["event"] != "error"), "{:#?}", scene.site.events());
    scene.ends_as_it_began();
}
