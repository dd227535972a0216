//! Servers that encrypt, and whom a candidate believes to be one.

use std::path::Path;

use tenure::store::StoreErrorKind;
use tenure_core::WriteOutcome;
use tenure_testkit::certificates::{CertificateFiles, Certificates};
use tenure_testkit::redis::{RedisOptions, RedisServer, TlsClients};

use crate::support::{StoreCandidate, assert_told, open, until};

#[tokio::test]
async fn a_server_of_another_authority_name_or_time_is_not_believed() {
    let (certificates, others) = (Certificates::new(), Certificates::new());
    for (identity, authority, word) in [
        (others.server(), &others, "tls_ca=FILE"),
        (certificates.server_elsewhere(), &certificates, "is for another host"),
        (certificates.server_expired(), &certificates, "expired"),
    ] {
        let server = encrypted(&identity, authority, TlsClients::MayBeUnknown);
        let url = format!("{}?{}", server.url(), trusting(&certificates.authority().certificate));
        let error = StoreCandidate::new(&open(&url), "e", "a").refused().await;
        assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::NotSent, &["certificate", word]);
    }
}

#[tokio::test]
async fn a_server_is_believed_under_its_name_and_its_address() {
    let certificates = Certificates::new();
    let server = encrypted(&certificates.server(), &certificates, TlsClients::MayBeUnknown);
    let trusting = trusting(&certificates.authority().certificate);
    let by_address = StoreCandidate::new(&open(&format!("{}?{trusting}", server.url())), "e", "a");
    by_address.granted().await;
    StoreCandidate::new(&open(&format!("rediss://localhost:{}?{trusting}", server.port())), "e", "b").held().await;
    // Without the certificate of its authority it is nobody.
    let error = StoreCandidate::new(&open(&server.url()), "e", "c").refused().await;
    assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::NotSent, &["certificate"]);
}

#[tokio::test]
async fn a_server_that_demands_a_certificate_takes_none_from_strangers() {
    let (certificates, others) = (Certificates::new(), Certificates::new());
    let server = encrypted(&certificates.server(), &certificates, TlsClients::MustBeSigned);
    let trusting = trusting(&certificates.authority().certificate);
    let as_client = |client: &CertificateFiles| {
        format!("&tls_cert={}&tls_key={}", client.certificate.display(), client.key.display())
    };
    let candidate = |more: &str| StoreCandidate::new(&open(&format!("{}?{trusting}{more}", server.url())), "e", "a");
    for more in [String::new(), as_client(&others.client("stranger"))] {
        let error = candidate(&more).refused().await;
        assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::NotSent, &["cannot connect"]);
    }
    candidate(&as_client(&certificates.client("friend"))).granted().await;
}

#[tokio::test]
async fn nobody_falls_back_to_a_connection_that_is_not_encrypted() {
    let server = RedisServer::start();
    let error = StoreCandidate::new(&open(&server.url().replace("redis:", "rediss:")), "e", "a").refused().await;
    assert!(error.to_string().contains("check"), "{error}");
    // A server that does not encrypt may take the greeting for the beginning of a command, and wait for the rest of it.
    assert_told(&error, StoreErrorKind::Unavailable, WriteOutcome::NotSent, &[]);
    assert_eq!(server.calls("evalsha"), 0);

    let certificates = Certificates::new();
    let server = encrypted(&certificates.server(), &certificates, TlsClients::MayBeUnknown);
    let error = StoreCandidate::new(&open(&server.url().replace("rediss:", "redis:")), "e", "a").refused().await;
    assert_told(
        &error,
        StoreErrorKind::Unavailable,
        WriteOutcome::NotSent,
        &["closed the connection at once", "rediss://"],
    );
}

#[tokio::test]
async fn a_certificate_that_expires_ends_no_connection_and_begins_none() {
    let certificates = Certificates::new();
    let server = encrypted(&certificates.server(), &certificates, TlsClients::MayBeUnknown);
    let url = format!("{}?{}", server.url(), trusting(&certificates.authority().certificate));
    let leader = StoreCandidate::new(&open(&url), "e", "a");
    let term = leader.granted().await;

    present(&server, &certificates.server_expired());
    leader.keeps(term).await;
    server.command(&["CLIENT", "KILL", "TYPE", "normal", "SKIPME", "yes"]);
    until("a connection that is refused", async || {
        let error = leader.renew(term).await.err()?;
        error.to_string().contains("expired").then_some(())
    })
    .await;

    present(&server, &certificates.server());
    leader.keeps(term).await;
}

/// Whoever connects from now on sees this certificate.
fn present(server: &RedisServer, identity: &CertificateFiles) {
    let [certificate, key] = [&identity.certificate, &identity.key].map(|path| path.to_str().unwrap());
    server.command(&["CONFIG", "SET", "tls-cert-file", certificate, "tls-key-file", key]);
}

fn encrypted(server: &CertificateFiles, certificates: &Certificates, clients: TlsClients) -> RedisServer {
    RedisServer::start_with(RedisOptions::default().tls(server, certificates.authority(), clients))
}

fn trusting(authority: &Path) -> String {
    format!("tls_ca={}", authority.display())
}
