//! One rule for all stores: `open` fails with the reason if the store cannot be used, and `open_lazy` does not ask.

#![allow(clippy::panic, clippy::unwrap_used, reason = "all of this is a test, its helpers too")]

use std::net::TcpListener;
use std::thread;
use std::time::{Duration, Instant};

use tenure::store::StoreErrorKind;
use tenure::store::postgres::{Migration, PostgresConfig};
use tenure::{Client, Error, StoreError};
use tenure_testkit::bound::within;
use tenure_testkit::postgres::{PostgresOptions, PostgresServer};
use tenure_testkit::redis::{RedisOptions, RedisServer};

/// Why it cannot be used. Lazily it can be opened all the same.
fn refusal(url: &str) -> StoreError {
    Client::open_lazy(url).unwrap();
    match Client::open(url) {
        Err(Error::Store(error)) => error,
        other => panic!("{url}: {other:?}"),
    }
}

fn servers(address: std::net::SocketAddr) -> [String; 3] {
    ["redis://", "postgres://app@", "postgres+advisory://app@"].map(|scheme| {
        format!("{scheme}{address}/{}", if scheme.starts_with("redis") { "" } else { "x?sslmode=disable" })
    })
}

#[test]
fn a_server_that_is_not_there_is_told_at_once() {
    let address = TcpListener::bind("127.0.0.1:0").unwrap().local_addr().unwrap();
    for url in servers(address) {
        let error = refusal(&url);
        assert_eq!(error.kind(), StoreErrorKind::Unavailable, "{url}: {error}");
        assert!(error.to_string().contains(&address.to_string()), "{url}: {error}");
    }
}

#[test]
fn a_server_that_never_answers_is_given_up() {
    let silent = TcpListener::bind("127.0.0.1:0").unwrap();
    let urls = servers(silent.local_addr().unwrap());
    thread::scope(|scope| {
        for url in &urls {
            scope.spawn(move || {
                let begun = Instant::now();
                let error = refusal(url);
                let kinds = [StoreErrorKind::TimedOut, StoreErrorKind::Unavailable];
                assert!(kinds.contains(&error.kind()), "{url}: {error}");
                assert!(error.to_string().contains("127.0.0.1"), "{url}: {error}");
                within("the check of a store", begun.elapsed(), Duration::from_secs(20));
            });
        }
    });
}

#[test]
fn a_wrong_password_is_told_and_not_shown() {
    let server = RedisServer::start_with(RedisOptions::default().password("canary"));
    let error = refusal(&format!("redis://:wrong-canary@{}", server.address()));
    assert_eq!(error.kind(), StoreErrorKind::Denied, "{error}");
    assert!(!format!("{error} {error:?}").contains("canary"), "{error:?}");
    Client::open(&server.url()).unwrap();
}

#[test]
fn a_missing_schema_and_missing_rights_are_told_until_they_are_there() {
    let server = PostgresServer::start_with(PostgresOptions::default().role("app", "secret"));
    let url = server.url_as("app", "secret");
    let error = refusal(&url);
    assert_eq!(error.kind(), StoreErrorKind::Schema, "{error}");
    assert!(error.to_string().contains("tenure migrate"), "{error}");
    let migration = || Migration::new(&PostgresConfig::from_url(&server.url().parse().unwrap()).unwrap());
    server.sql(&migration().script());
    assert_eq!(refusal(&url).kind(), StoreErrorKind::Denied);
    server.sql(&migration().role("app").unwrap().script());
    Client::open(&url).unwrap();
    Client::open(&url.replacen("postgres://", "postgres+advisory://", 1)).unwrap();
}

#[test]
fn it_may_be_opened_on_the_only_thread_of_a_runtime() {
    let place = tempfile::tempdir().unwrap();
    let url = format!("sqlite:{}", place.path().join("a.db").display());
    tokio::runtime::Builder::new_current_thread().build().unwrap().block_on(async {
        let candidacy = Client::open(&url).unwrap().election("x").unwrap().candidate().start().unwrap();
        candidacy.elected().await.unwrap();
        candidacy.stop().await;
    });
}
