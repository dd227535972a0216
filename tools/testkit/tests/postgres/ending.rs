//! What is left of servers: nothing.

use std::io::{Read, stdin};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rustix::process::Signal;
use tenure_testkit::postgres::{PostgresOptions, PostgresServer};
use tenure_testkit::process::ProcessHandle;
use tenure_testkit::role;
use tenure_testkit::running::RunningProcess;

#[test]
fn dropping_it_ends_its_processes_and_removes_its_directory_and_its_memory() {
    let server = PostgresServer::start();
    let _session = server.session("postgres");
    let (processes, directory, memory) = (all_of(&server), server.directory().to_owned(), memory_of(&server));
    assert!(processes.len() > 3 && !processes.iter().any(ProcessHandle::is_dead));
    assert!(directory.exists() && has_memory(&memory));
    drop(server);
    assert!(processes.iter().all(ProcessHandle::is_dead));
    assert!(!directory.exists() && !has_memory(&memory));
}

#[test]
fn one_that_is_paused_ends_just_so() {
    let server = PostgresServer::start();
    let _session = server.session("postgres");
    let processes = all_of(&server);
    let _pause = server.pause();
    drop(server);
    assert!(processes.iter().all(ProcessHandle::is_dead));
}

#[test]
fn one_that_was_killed_leaves_nothing_either() {
    let server = PostgresServer::start();
    let (directory, memory) = (server.directory().to_owned(), memory_of(&server));
    server.kill();
    drop(server);
    assert!(!directory.exists() && !has_memory(&memory));
}

#[test]
fn a_directory_that_was_given_stays_with_its_data() {
    let directory = tempfile::tempdir().unwrap();
    let options = PostgresOptions::default().directory(&directory.path().join("postgres")).role("a", "b");
    PostgresServer::start_with(options.clone()).sql("CREATE TABLE a (b int)");
    assert!(directory.path().join("postgres/log").exists());
    assert!(PostgresServer::start_with(options).sql("SELECT * FROM a").is_empty());
}

#[test]
fn a_panic_ends_it() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let panics = std::thread::spawn(move || {
        let server = PostgresServer::start();
        sender.send(all_of(&server)).unwrap();
        panic!("as a test does that fails");
    });
    let processes = receiver.recv().unwrap();
    assert!(panics.join().is_err());
    assert!(processes.iter().all(ProcessHandle::is_dead));
}

#[test]
fn one_in_a_static_ends_with_the_process_and_the_next_one_removes_its_directory() {
    let mut owned = OwnedServer::start("owner of a server");
    // The end of its input lets it end.
    drop(owned.owner.child().stdin.take());
    assert_eq!(owned.owner.code(), 0);
    let directory = owned.expect_end();
    let next = OwnedServer::start("owner of a server");
    assert!(!Path::new(&directory).exists() && Path::new(&next.directory).exists());
    next.clear();
}

#[test]
fn one_in_a_static_ends_with_the_process_that_is_killed() {
    let mut owned = OwnedServer::start("owner of a server");
    owned.owner.signal(Signal::KILL);
    owned.owner.exit();
    owned.clear();
}

#[test]
fn one_that_stands_still_ends_with_the_process_that_is_killed() {
    let mut owned = OwnedServer::start("owner of a server that stands still");
    owned.owner.signal(Signal::KILL);
    owned.owner.exit();
    owned.clear();
}

/// A test program that keeps a server in a static, says where it is, and ends when its input does.
pub(crate) fn own_a_server() {
    own(|_| {});
}

/// The same, with all of the server's processes standing still.
pub(crate) fn own_a_paused_server() {
    own(|server| std::mem::forget(server.pause()));
}

fn own(treat: impl FnOnce(&PostgresServer)) {
    static SERVER: OnceLock<PostgresServer> = OnceLock::new();
    let server = std::thread::spawn(|| SERVER.get_or_init(PostgresServer::start)).join().unwrap();
    let _session = server.session("postgres");
    let pids: Vec<_> = all_of(server).iter().map(|process| process.pid.as_raw_nonzero().to_string()).collect();
    treat(server);
    println!("server {} {} {}", pids.join(","), memory_of(server), server.directory().display());
    stdin().read_to_end(&mut Vec::new()).unwrap();
}

/// A server of another process.
struct OwnedServer {
    owner: RunningProcess,
    processes: Vec<ProcessHandle>,
    memory: String,
    directory: String,
}

impl OwnedServer {
    fn start(role: &str) -> Self {
        let words = role::command(role);
        let owner = RunningProcess::start(Command::new(&words[0]).args(&words[1..]).stdin(Stdio::piped()));
        let (processes, memory, directory) = owner.stdout().find("the server of an owner", |line| {
            let mut words = line.split_once("server ")?.1.splitn(3, ' ');
            let pids = words.next()?.split(',').map(|pid| pid.parse().map(ProcessHandle::open));
            Some((pids.collect::<Result<Vec<_>, _>>().ok()?, words.next()?.to_owned(), words.next()?.to_owned()))
        });
        Self { owner, processes, memory, directory }
    }

    /// Waits for the end of all processes of the server, and returns where it was.
    fn expect_end(&self) -> String {
        self.processes.iter().for_each(|process| process.await_end("a process of a server whose owner is gone"));
        assert!(!has_memory(&self.memory));
        self.directory.clone()
    }

    /// Ends it, and removes what the next process would remove.
    fn clear(mut self) {
        self.owner.signal(Signal::KILL);
        self.owner.exit();
        let directory = self.expect_end();
        // Another test may have started an owner meanwhile, which has removed it already.
        let _ = std::fs::remove_dir_all(Path::new(&directory).parent().unwrap());
    }
}

fn all_of(server: &PostgresServer) -> Vec<ProcessHandle> {
    server.process().children().into_iter().chain([server.process()]).collect()
}

/// The number under which the kernel keeps some memory for it, which belongs to no process.
fn memory_of(server: &PostgresServer) -> String {
    let lock_file = std::fs::read_to_string(server.directory().join("data/postmaster.pid")).unwrap();
    lock_file.lines().nth(6).unwrap().split_whitespace().nth(1).unwrap().to_owned()
}

fn has_memory(id: &str) -> bool {
    let all = std::fs::read_to_string("/proc/sysvipc/shm").unwrap();
    all.lines().any(|line| line.split_whitespace().nth(1) == Some(id))
}
