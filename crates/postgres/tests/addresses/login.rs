//! Logging in: passwords from files, and sockets.

use tenure::store::StoreErrorKind::Denied;
use tenure_testkit::postgres::{PASSWORD, PostgresServer};

use crate::support::{file, refused, set_mode, visited, was_visited};

#[tokio::test]
async fn a_password_can_be_in_a_file_that_nobody_else_reads() {
    let (server, directory) = (PostgresServer::start(), tempfile::tempdir().unwrap());
    let port = server.port();
    let lines =
        format!("# passwords\n127.0.0.1:1:*:*:wrong\n127.0.0.1:{port}:postgres:tenure:{PASSWORD}\n*:*:*:*:wrong\n");
    let passfile = file(&directory, "passwords", 0o600, lines);
    let url = |host: &str| format!("postgres://tenure@{host}:{port}/postgres?passfile={}", passfile.display());
    visited(&url("127.0.0.1")).await;
    // Another line is about this one.
    refused(&url("localhost"), Denied, &["password authentication failed"]).await;
    set_mode(&passfile, 0o640);
    refused(&url("127.0.0.1"), Denied, &["asks for a password"]).await;
}

#[tokio::test]
async fn a_server_is_found_at_its_socket() {
    let server = PostgresServer::start();
    let directory = server.directory().display().to_string();
    let (port, escaped) = (server.port(), directory.replace('/', "%2F"));
    for url in [
        format!("postgres://tenure@/postgres?host={directory}&port={port}"),
        format!("postgres://tenure@{escaped}:{port}/postgres"),
        // Sockets are not encrypted, and need not be.
        format!("postgres://tenure@{escaped}:{port}/postgres?sslmode=verify-full"),
    ] {
        visited(&url).await;
    }
    assert!(was_visited(&server));
}

#[tokio::test]
async fn each_of_several_servers_gets_its_own_password() {
    let (first, second, directory) = (PostgresServer::start(), PostgresServer::start(), tempfile::tempdir().unwrap());
    first.create_role("app", "first-password");
    second.create_role("app", "second-password");
    second.sql("GRANT CREATE ON DATABASE postgres TO app");
    let [one, two] = [first.port(), second.port()];
    let lines = format!("*:{one}:*:*:not-the-password\n*:{two}:*:*:second-password\n");
    let passfile = file(&directory, "passwords", 0o600, lines);
    let hosts = format!("127.0.0.1:{one},127.0.0.1:{two}");
    visited(&format!("postgres://app@{hosts}/postgres?connect_timeout=20&passfile={}", passfile.display())).await;
    assert!(was_visited(&second) && !was_visited(&first));
    assert!(first.log().contains("password authentication failed"), "{}", first.log());
}
