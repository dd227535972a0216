//! Several hosts, of which one is the primary.

use std::net::TcpListener;

use tenure::store::StoreErrorKind::{ReadOnly, Unavailable};
use tenure_testkit::ports::free_port;
use tenure_testkit::postgres::{PASSWORD, PostgresServer, Standby};

use crate::support::{refused, visited, was_visited};

fn address(ports: &[u16], options: &str) -> String {
    let hosts: Vec<String> = ports.iter().map(|port| format!("127.0.0.1:{port}")).collect();
    // Long enough for a busy machine, unless the options say otherwise.
    format!("postgres://tenure:{PASSWORD}@{}/postgres?connect_timeout=20&{options}", hosts.join(","))
}

#[tokio::test]
async fn a_server_that_is_down_is_passed_over() {
    let (server, down) = (PostgresServer::start(), free_port());
    visited(&address(&[down, server.port()], "")).await;
    assert!(was_visited(&server));
    refused(&address(&[down, down], ""), Unavailable, &["cannot connect"]).await;
}

#[tokio::test]
async fn a_server_that_hangs_is_passed_over() {
    let server = PostgresServer::start();
    // It takes connections, as the kernel does for it, and never says a word.
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = silent.local_addr().unwrap().port();
    visited(&address(&[port, server.port()], "connect_timeout=4")).await;
    assert!(was_visited(&server));
    refused(&address(&[port], "connect_timeout=1"), Unavailable, &["no answer within 1s"]).await;
}

#[tokio::test]
async fn a_standby_is_never_used() {
    let primary = PostgresServer::start();
    let standby = Standby::of(&primary);
    for options in ["", "target_session_attrs=any"] {
        refused(&address(&[standby.port()], options), ReadOnly, &["standby"]).await;
        // That one of them is a standby tells more than that the other one is down.
        refused(&address(&[standby.port(), free_port()], options), ReadOnly, &["standby"]).await;
    }
    assert!(!was_visited(&primary));
    visited(&address(&[standby.port(), primary.port()], "")).await;
    assert!(was_visited(&primary));
    // In whatever order they are tried.
    for _ in 0..8 {
        visited(&address(&[standby.port(), primary.port()], "load_balance_hosts=random")).await;
    }
}
