//! Servers that ask for a certificate instead of a password.

use std::fs;

use tenure::store::StoreErrorKind::{Configuration, Denied};
use tenure_testkit::certificates::{CertificateFiles, Certificates};
use tenure_testkit::postgres::{PostgresOptions, PostgresServer, TlsClients};

use crate::support::{file, refused, set_mode, trusting, visited};

/// A server that wants nothing but certificates.
fn asking(certificates: &Certificates) -> PostgresServer {
    let options = PostgresOptions::default().access_rule("hostssl all all 127.0.0.1/32 cert");
    let options = options.tls(&certificates.server(), certificates.authority(), TlsClients::MayBeUnknown);
    PostgresServer::start_with(options)
}

/// Where to find it, without a password.
fn address(server: &PostgresServer, certificates: &Certificates, options: &str) -> String {
    format!("postgres://tenure@localhost:{}/postgres?{}&{options}", server.port(), trusting(certificates))
}

fn identity(client: &CertificateFiles) -> String {
    format!("sslcert={}&sslkey={}", client.certificate.display(), client.key.display())
}

#[tokio::test]
async fn a_certificate_is_as_good_as_a_password() {
    let certificates = Certificates::new();
    let server = asking(&certificates);
    let own = identity(&certificates.client("tenure"));
    visited(&address(&server, &certificates, &own)).await;
    visited(&address(&server, &certificates, &format!("{own}&sslmode=verify-ca"))).await;
    // One for somebody else is not.
    let other = identity(&certificates.client("another"));
    refused(&address(&server, &certificates, &other), Denied, &["certificate authentication failed"]).await;
    refused(&address(&server, &certificates, ""), Denied, &["valid client certificate"]).await;
}

#[tokio::test]
async fn keys_that_cannot_be_used_are_named_with_the_reason() {
    let certificates = Certificates::new();
    let (server, directory) = (asking(&certificates), tempfile::tempdir().unwrap());
    let own = certificates.client("tenure");
    let another = certificates.client("another");
    let text = fs::read_to_string(&own.key).unwrap();
    let encrypted = text.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    for (key, why) in [
        (file(&directory, "others-may-write", 0o660, &text), "chmod"),
        (file(&directory, "all-may-read", 0o644, &text), "chmod"),
        (file(&directory, "encrypted", 0o600, &encrypted), "openssl pkey"),
        (file(&directory, "empty", 0o600, ""), "no PEM private key"),
        (directory.path().join("missing"), "cannot read"),
    ] {
        let options = format!("sslcert={}&sslkey={}", own.certificate.display(), key.display());
        let named = key.display().to_string();
        refused(&address(&server, &certificates, &options), Configuration, &[why, &named, "sslkey"]).await;
    }
    let foreign = CertificateFiles { key: another.key, ..own.clone() };
    let words = ["cannot use sslcert and sslkey"];
    refused(&address(&server, &certificates, &identity(&foreign)), Configuration, &words).await;

    // Not in the way: a key that its owner may only read.
    set_mode(&own.key, 0o400);
    visited(&address(&server, &certificates, &identity(&own))).await;
}
