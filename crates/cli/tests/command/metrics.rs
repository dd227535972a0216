//! `--metrics`: what a real command serves, and what no client can do to it.

use std::io::{Read, Write};
use std::net::{TcpListener, TcpStream};
use std::time::{Duration, Instant};

use rustix::process::Signal;
use tenure::metrics::ALL;
use tenure_testkit::candidate::CandidateProcess;
use tenure_testkit::promtool::promtool;
use tenure_testkit::running::RunningProcess;
use tenure_testkit::scenario::{ELECTION, sh};
use tenure_testkit::{PATIENCE, eventually};

use crate::support::scenario;

/// Where a command says that it serves metrics.
fn address(running: &RunningProcess) -> String {
    let of = |line: &str| Some(line.split_once("http://")?.1.split_once("/metrics")?.0.to_owned());
    running.stderr().find("the address of metrics", of)
}

/// Sends a request and gives back the connection on which the answer will come.
fn ask(address: &str, request: &str) -> TcpStream {
    let mut stream = TcpStream::connect(address).unwrap();
    stream.set_read_timeout(Some(PATIENCE)).unwrap();
    write!(stream, "{request} HTTP/1.1\r\nHost: {address}\r\n\r\n").unwrap();
    stream
}

/// The whole answer: each ends with its connection.
fn answer(mut stream: TcpStream) -> String {
    let mut answer = String::new();
    stream.read_to_string(&mut answer).unwrap();
    answer
}

fn page(address: &str) -> String {
    let answer = answer(ask(address, "GET /metrics"));
    let (head, page) = answer.split_once("\r\n\r\n").unwrap();
    assert!(head.starts_with("HTTP/1.1 200 ") && head.contains("text/plain; version=0.0.4"), "{head}");
    page.to_owned()
}

fn value(page: &str, metric: &str) -> Option<f64> {
    // Those of an older system have its one label.
    let kind = if metric.starts_with("tenure_") { ",key_kind=\"election\"" } else { "" };
    let start = format!("{metric}{{key_class=\"{ELECTION}\"{kind}}} ");
    page.lines().find_map(|line| line.strip_prefix(&start)?.parse().ok())
}

fn is_leader(candidate: &CandidateProcess, address: &str) {
    drop(candidate.event("elected"));
    eventually("the page to say so", || value(&page(address), "tenure_is_leader") == Some(1.0));
}

#[test]
fn prometheus_reads_what_a_command_serves() {
    let scenario = scenario();
    let mut candidate = scenario.candidate_running("a", &["--metrics", "127.0.0.1:0"], &sh("sleep 1000"));
    let address = address(&candidate.running);
    assert!(address.starts_with("127.0.0.1:") && !address.ends_with(":0"), "{address}");
    is_leader(&candidate, &address);
    drop(candidate.event("renewed"));
    eventually("a renewal", || value(&page(&address), "tenure_renewal_seconds_count") > Some(0.0));
    let page = page(&address);
    promtool(&["check", "metrics"], &page);
    assert!(value(&page, "tenure_term") >= Some(1.0) && value(&page, "tenure_expiry_seconds") > Some(0.0), "{page}");
    assert!(value(&page, "leader_renewals_total") >= Some(1.0) && page.contains("tenure_renewal_seconds_bucket"));
    // A command without jobs has none to tell of.
    for metric in ALL.iter().filter(|metric| !metric.is_per_job) {
        assert!(page.contains(&format!("# HELP {} {}", metric.name, metric.help)), "no {}: {page}", metric.name);
    }
    let known = |name: &str| ALL.iter().any(|metric| metric.name == name);
    let mut shown = page.lines().filter_map(|line| line.strip_prefix("# TYPE ")?.split(' ').next());
    assert!(shown.all(known), "{page}");
    candidate.signal(Signal::TERM);
    assert_eq!(candidate.code(), 143);
    assert!(TcpStream::connect(&address).is_err(), "it ends with the command");
}

#[test]
fn other_places_have_nothing() {
    let scenario = scenario();
    let candidate = scenario.elect_with("a", ELECTION, &["--metrics", ":0"]);
    let address = address(&candidate.running);
    assert!(address.starts_with("127.0.0.1:"), "{address}: a port alone is for this machine only");
    for request in ["GET /other", "GET /metrics/x", "POST /metrics", "DELETE /", "GET /../metrics"] {
        let answer = answer(ask(&address, request));
        assert!(answer.starts_with("HTTP/1.1 404 "), "{request}: {answer}");
    }
    let hint = answer(ask(&address, "GET /"));
    assert!(hint.starts_with("HTTP/1.1 200 ") && hint.ends_with("metrics are at /metrics\n"), "{hint}");
}

#[test]
fn addresses_that_cannot_be_used_are_refused_at_the_start() {
    let scenario = scenario();
    let taken = TcpListener::bind("127.0.0.1:0").unwrap();
    let taken = taken.local_addr().unwrap().to_string();
    for (address, advice) in [
        (taken.as_str(), "choose another one, or 0"),
        ("192.0.2.1:9095", "choose one of its own"),
        ("example.org:9095", "such as 127.0.0.1:9095"),
        ("no port", "such as 127.0.0.1:9095"),
    ] {
        for command in
            [&["elect", ELECTION, "--metrics", address][..], &["run", ELECTION, "--metrics", address, "--", "true"]]
        {
            let finished = scenario.finish(command);
            assert_eq!(finished.code, Some(2), "{finished:?}");
            assert!(finished.stderr.contains(advice) && finished.stdout.is_empty(), "{finished:?}");
        }
    }
}

#[test]
fn a_page_read_right_after_a_pause_shows_no_leader() {
    let scenario = scenario();
    let paused = scenario.elect_with("a", ELECTION, &["--metrics", "127.0.0.1:0"]);
    let address = address(&paused.running);
    is_leader(&paused, &address);
    let successor = scenario.elect("b");
    successor.stands_by();
    paused.signal(Signal::STOP);
    drop(successor.event("elected"));
    // The kernel takes the question; it is the first thing to be answered.
    let question = ask(&address, "GET /metrics");
    paused.signal(Signal::CONT);
    let page = answer(question);
    assert_eq!(value(&page, "tenure_is_leader"), Some(0.0), "{page}");
    assert_eq!(value(&page, "tenure_expiry_seconds"), Some(0.0), "{page}");
}

#[test]
fn clients_that_never_finish_hold_nothing_up() {
    let scenario = scenario();
    let mut candidate = scenario.elect_with("a", ELECTION, &["--renewals", "--metrics", "127.0.0.1:0"]);
    let address = address(&candidate.running);
    is_leader(&candidate, &address);
    let stuck: Vec<TcpStream> = (0..60)
        .map(|number| {
            let mut stream = TcpStream::connect(&address).unwrap();
            // Some say nothing at all, some begin.
            stream.write_all(&b"GET /metrics HTTP/1.1\r\nX: "[..number % 27]).unwrap();
            stream
        })
        .collect();
    let open = || std::fs::read_dir(format!("/proc/{}/fd", candidate.running.process.pid)).unwrap().count();
    eventually("most of them to be sent away", || open() < 60);
    for _ in 0..5 {
        drop(candidate.event("renewed"));
    }
    drop(stuck);
    assert_eq!(value(&page(&address), "tenure_is_leader"), Some(1.0), "the next is served again");
    let _stuck = ask(&address, "GET");
    candidate.signal(Signal::TERM);
    assert_eq!(candidate.code(), 143);
}

#[test]
fn idle_connections_do_not_keep_prometheus_out() {
    let scenario = scenario();
    let candidate = scenario.candidate_running("a", &["--metrics", "127.0.0.1:0"], &sh("sleep 1000"));
    let address = address(&candidate.running);
    is_leader(&candidate, &address);
    let idle: Vec<TcpStream> = (0..40).map(|_| TcpStream::connect(&address).unwrap()).collect();
    let began = Instant::now();
    assert_eq!(value(&page(&address), "tenure_is_leader"), Some(1.0));
    assert!(
        began.elapsed() < Duration::from_secs(4),
        "it was answered before the idle ones were sent away for being idle"
    );
    drop(idle);
}

#[test]
fn a_password_is_no_label() {
    let scenario = scenario();
    let store = "redis://someone:canary-7f3a@127.0.0.1:1/";
    let mut command = scenario.bare(["--store", store, "elect", "tenant:canary-4711", "--metrics", "127.0.0.1:0"]);
    let running = RunningProcess::start(&mut command);
    let address = address(&running);
    let failures = "tenure_campaign_failures_total{key_class=\"tenant\",key_kind=\"election\"} ";
    let counts = |line: &str| line.strip_prefix(failures).is_some_and(|count| count != "0");
    eventually("a failure to be counted", || page(&address).lines().any(counts));
    let page = page(&address);
    assert!(
        page.contains("tenure_store_errors_total{key_class=\"tenant\",key_kind=\"election\",kind=\"unavailable\"}"),
        "{page}"
    );
    assert!(!page.contains("canary") && !page.contains("someone"), "{page}");
}
