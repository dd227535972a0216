//! Servers that encrypt, those that do not, and whom one believes to be one.

use std::sync::Arc;

use rustls::pki_types::CertificateDer;
use rustls::pki_types::pem::PemObject;
use rustls::{ClientConfig, RootCertStore};
use tenure::store::StoreErrorKind::{Configuration, Denied, Unavailable};
use tenure::store::postgres::PostgresConfig;
use tenure_testkit::certificates::Certificates;
use tenure_testkit::postgres::{PASSWORD, PostgresOptions, PostgresServer, TlsClients};

use crate::support::{address, encrypting, refused, trusting, visit_with, visited, was_visited};

#[tokio::test]
async fn a_server_is_believed_under_its_names_and_no_other() {
    let certificates = Certificates::new();
    let server = encrypting(&certificates.server(), &certificates);
    let trusting = trusting(&certificates);
    for options in [
        "host=127.0.0.1&sslmode=verify-full",
        "host=localhost&sslmode=verify-full",
        // Whoever names an authority wants it to be asked, even here.
        "host=localhost",
        // The name counts, wherever the server is.
        "host=localhost&hostaddr=127.0.0.1&sslmode=verify-full",
        "hostaddr=127.0.0.1&sslmode=verify-full",
    ] {
        visited(&address(&server, &format!("{options}&{trusting}"))).await;
    }
    let elsewhere = format!("host=db.example&hostaddr=127.0.0.1&{trusting}");
    refused(&address(&server, &elsewhere), Unavailable, &["certificate", "not valid for name", "db.example"]).await;
    // Not even the address helps if it is given as a name.
    let by_name = format!("host=127.0.0.2&hostaddr=127.0.0.1&{trusting}");
    refused(&address(&server, &by_name), Unavailable, &["not valid for name"]).await;
}

#[tokio::test]
async fn a_server_of_another_authority_name_or_time_is_not_believed() {
    let (certificates, others) = (Certificates::new(), Certificates::new());
    let trusting = trusting(&certificates);
    for (identity, authority, word, is_believed_by_authority) in [
        (others.server(), &others, "UnknownIssuer; give the certificate of its authority with sslrootcert", false),
        (certificates.server_expired(), &certificates, "expired", false),
        (certificates.server_elsewhere(), &certificates, "not valid for name", true),
    ] {
        let server = encrypting(&identity, authority);
        let with = |mode: &str| address(&server, &format!("host=localhost&sslmode={mode}&{trusting}"));
        refused(&with("verify-full"), Unavailable, &["certificate", word]).await;
        // With an authority, `require` is as strict as `verify-ca`.
        for mode in ["verify-ca", "require"] {
            if is_believed_by_authority {
                visited(&with(mode)).await;
            } else {
                refused(&with(mode), Unavailable, &["certificate", word]).await;
            }
        }
    }
}

#[tokio::test]
async fn require_without_an_authority_believes_anybody_who_encrypts() {
    let others = Certificates::new();
    let server = encrypting(&others.server_expired(), &others);
    visited(&address(&server, "host=localhost&sslmode=require")).await;
    let plain = PostgresServer::start();
    refused(
        &address(&plain, "host=localhost&sslmode=require"),
        Unavailable,
        &["does not support TLS", "sslmode=disable"],
    )
    .await;
    assert!(!was_visited(&plain));
}

#[tokio::test]
async fn old_protocols_are_not_spoken() {
    let certificates = Certificates::new();
    let options =
        PostgresOptions::default().tls(&certificates.server(), certificates.authority(), TlsClients::MayBeUnknown);
    let old =
        options.clone().setting("ssl_min_protocol_version", "TLSv1").setting("ssl_max_protocol_version", "TLSv1.1");
    let url = |server: &PostgresServer| address(server, &format!("host=localhost&{}", trusting(&certificates)));
    refused(&url(&PostgresServer::start_with(old)), Unavailable, &["cannot connect"]).await;
    let older = PostgresServer::start_with(options.setting("ssl_max_protocol_version", "TLSv1.2"));
    visited(&url(&older)).await;
    let lenient = format!("host=localhost&sslmode=verify-ca&{}", trusting(&certificates));
    visited(&address(&older, &lenient)).await;
}

#[tokio::test]
async fn whoever_does_not_encrypt_is_sent_away_by_a_server_that_does() {
    let certificates = Certificates::new();
    let server = encrypting(&certificates.server(), &certificates);
    for options in ["host=localhost", "host=localhost&sslmode=disable"] {
        refused(&address(&server, options), Denied, &["no encryption"]).await;
    }
}

#[tokio::test]
async fn a_server_elsewhere_has_to_encrypt_even_if_nobody_says_so() {
    let server = PostgresServer::start();
    let elsewhere = "host=db.example&hostaddr=127.0.0.1";
    refused(&address(&server, elsewhere), Unavailable, &["does not support TLS", "sslmode=disable"]).await;
    assert!(!was_visited(&server));
    visited(&address(&server, &format!("{elsewhere}&sslmode=disable"))).await;
    assert!(was_visited(&server));
}

#[tokio::test]
async fn a_login_can_be_bound_to_the_certificate() {
    let certificates = Certificates::new();
    let rule = "hostssl all plain 127.0.0.1/32 password";
    let options = PostgresOptions::default().access_rule(rule).role("plain", PASSWORD);
    let options = options.tls(&certificates.server(), certificates.authority(), TlsClients::MayBeUnknown);
    let server = PostgresServer::start_with(options);
    for mode in ["verify-full", "verify-ca"] {
        let bound = format!("host=localhost&channel_binding=require&sslmode={mode}&{}", trusting(&certificates));
        visited(&address(&server, &bound)).await;
        // Whoever asks for the password itself may be anybody.
        refused(&address(&server, &format!("{bound}&user=plain")), Unavailable, &["channel binding"]).await;
    }
}

#[tokio::test]
async fn files_that_cannot_be_read_are_named() {
    let server = PostgresServer::start();
    let options = "host=db.example&sslrootcert=/nowhere/root.pem";
    refused(&address(&server, options), Configuration, &["/nowhere/root.pem", "sslrootcert"]).await;
}

#[tokio::test]
async fn an_application_can_bring_its_own_configurations() {
    let certificates = Certificates::new();
    let server = encrypting(&certificates.server(), &certificates);
    let mut driver = tokio_postgres::Config::new();
    driver.host("localhost").port(server.port()).user("tenure").password(PASSWORD).dbname("postgres");
    let tls = |certificates: &Certificates| {
        let mut roots = RootCertStore::empty();
        roots.add(CertificateDer::from_pem_slice(&certificates.authority().certificate_pem()).unwrap()).unwrap();
        let provider = Arc::new(rustls::crypto::ring::default_provider());
        let builder = ClientConfig::builder_with_provider(provider).with_safe_default_protocol_versions().unwrap();
        builder.with_root_certificates(roots).with_no_client_auth()
    };
    visit_with(&PostgresConfig::from_driver(&driver, Some(tls(&certificates))).unwrap()).await.unwrap();
    let others = PostgresConfig::from_driver(&driver, Some(tls(&Certificates::new()))).unwrap();
    assert!(visit_with(&others).await.unwrap_err().to_string().contains("UnknownIssuer"));
    // Without any, a server on this machine is not encrypted to.
    let plain = PostgresConfig::from_driver(&driver, None).unwrap();
    assert!(visit_with(&plain).await.unwrap_err().to_string().contains("no encryption"));
}
