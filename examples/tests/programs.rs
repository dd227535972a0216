//! The programs do what they say, and stay small.

#![expect(clippy::unwrap_used, reason = "all of this is a test, its helpers too")]

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::Command;

use rustix::process::Signal;
use tenure_testkit::running::RunningProcess;

/// One instance of the service, and where it listens.
fn serve(store: &str) -> (RunningProcess, String) {
    let mut command = Command::new(env!("CARGO_BIN_EXE_axum-service"));
    let service = RunningProcess::start(command.args([store, "127.0.0.1:0"]));
    let address = service.stdout().find("an address", |line| line.strip_prefix("listening on ").map(str::to_owned));
    (service, address)
}

/// What the service answers to the question whether it leads.
fn leads(address: &str) -> String {
    let mut connection = TcpStream::connect(address).unwrap();
    connection.write_all(b"GET /leader HTTP/1.1\r\nHost: test\r\nConnection: close\r\n\r\n").unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer.rsplit("\r\n").next().unwrap().to_owned()
}

fn works_under(service: &RunningProcess, term: u32) {
    let line = format!("working under term {term}");
    service.stdout().find(&line, |printed| (printed == line).then_some(()));
}

#[test]
fn the_service_works_only_while_it_leads_and_ends_gracefully() {
    let directory = tempfile::tempdir().unwrap();
    let store = format!("sqlite:{}/service.db", directory.path().display());
    let (mut first, first_address) = serve(&store);
    works_under(&first, 1);
    let (mut second, second_address) = serve(&store);
    assert_eq!((leads(&first_address).as_str(), leads(&second_address).as_str()), ("true", "false"));

    first.signal(Signal::TERM);
    works_under(&second, 2);
    assert_eq!(leads(&second_address), "true");
    assert_eq!(first.code(), 0);
    assert_eq!(first.stdout().rest("the end").last().unwrap(), "stopped working under term 1");

    second.signal(Signal::INT);
    assert_eq!(second.code(), 0);
    assert_eq!(second.stdout().rest("the end").last().unwrap(), "stopped working under term 2");
}

#[test]
fn plain_threads_work_and_end() {
    let output = Command::new(env!("CARGO_BIN_EXE_plain-threads")).args(["memory:", "2"]).output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let said = String::from_utf8(output.stdout).unwrap();
    assert!(said.contains("turn 1 under term 1"), "{said}");
    assert!(said.contains("elected: term 1") && said.ends_with("stopped\n"), "{said}");
}

#[test]
fn each_program_has_less_than_40_lines() {
    let programs = [
        include_str!("../axum-service.rs"),
        include_str!("../plain-threads.rs"),
        include_str!("../with-sqlx/src/bin/fenced-worker.rs"),
    ];
    for program in programs {
        assert!(program.lines().count() < 40, "{program}");
    }
}
