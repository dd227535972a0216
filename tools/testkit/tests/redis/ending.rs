//! What is left of servers: nothing.

use std::io::{Read, stdin};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use rustix::process::Signal;
use tenure_testkit::process::ProcessHandle;
use tenure_testkit::redis::{RedisOptions, RedisServer};
use tenure_testkit::role;
use tenure_testkit::running::RunningProcess;

#[test]
fn dropping_it_ends_its_process_and_removes_its_directory() {
    let server = RedisServer::start();
    let (process, directory) = (server.process(), server.directory().to_owned());
    assert!(!process.is_dead() && directory.exists());
    drop(server);
    assert!(process.is_dead());
    assert!(!directory.exists());
}

#[test]
fn one_that_is_paused_ends_just_so() {
    let server = RedisServer::start();
    let process = server.process();
    let _pause = server.pause();
    drop(server);
    assert!(process.is_dead());
}

#[test]
fn a_directory_that_was_given_stays() {
    let directory = tempfile::tempdir().unwrap();
    let given = directory.path().join("redis");
    drop(RedisServer::start_with(RedisOptions::default().directory(&given)));
    assert!(given.join("log").exists());
}

#[test]
fn a_panic_ends_it() {
    let (sender, receiver) = std::sync::mpsc::channel();
    let panics = std::thread::spawn(move || {
        let server = RedisServer::start();
        sender.send(server.process()).unwrap();
        panic!("as a test does that fails");
    });
    let process = receiver.recv().unwrap();
    assert!(panics.join().is_err());
    assert!(process.is_dead());
}

#[test]
fn one_in_a_static_ends_with_the_process_and_the_next_one_removes_its_directory() {
    let (mut owner, server, directory) = start_owner();
    // The end of its input lets it end.
    drop(owner.child().stdin.take());
    assert_eq!(owner.code(), 0);
    server.await_end("a server whose owner ended");
    expect_sweep(&directory);
}

#[test]
fn one_in_a_static_ends_with_the_process_that_is_killed() {
    let (mut owner, server, directory) = start_owner();
    owner.signal(Signal::KILL);
    owner.exit();
    server.await_end("a server whose owner was killed");
    expect_sweep(&directory);
}

/// A test program that keeps a server in a static, says where it is, and ends when its input does.
pub(crate) fn own_a_server() {
    static SERVER: OnceLock<RedisServer> = OnceLock::new();
    let server = std::thread::spawn(|| SERVER.get_or_init(RedisServer::start)).join().unwrap();
    println!("server {} {}", server.process().pid.as_raw_nonzero(), server.directory().display());
    stdin().read_to_end(&mut Vec::new()).unwrap();
}

fn start_owner() -> (RunningProcess, ProcessHandle, String) {
    let words = role::command("owner of a server");
    let owner = RunningProcess::start(Command::new(&words[0]).args(&words[1..]).stdin(Stdio::piped()));
    let (pid, directory) = owner.stdout().find("the server of an owner", |line| {
        let (pid, directory) = line.split_once("server ")?.1.split_once(' ')?;
        Some((pid.parse().ok()?, directory.to_owned()))
    });
    (owner, ProcessHandle::open(pid), directory)
}

/// A further owner removes what one has left that is gone. What it leaves itself is removed here.
fn expect_sweep(directory: &str) {
    let (owner, server, other) = start_owner();
    assert!(!Path::new(directory).exists() && Path::new(&other).exists());
    drop(owner);
    server.await_end("a server whose owner was killed");
    // Another test may have started an owner meanwhile, which has removed it already.
    let _ = std::fs::remove_dir_all(Path::new(&other).parent().unwrap());
}
