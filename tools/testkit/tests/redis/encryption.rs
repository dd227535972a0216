//! Servers that encrypt: with certificates that are good, and with such as no client may accept.

use redis::{Client, ClientTlsConfig, RedisResult, TlsCertificates};
use tenure_testkit::certificates::{CertificateFiles, Certificates};
use tenure_testkit::redis::{RedisOptions, RedisServer, TlsClients};

#[test]
fn a_good_certificate_is_accepted_by_whoever_trusts_its_authority() {
    let certificates = Certificates::new();
    let server = encrypting(&certificates.server(), &certificates);
    assert_eq!(server.url(), format!("rediss://{}", server.address()));
    assert_eq!(ping(&server, &certificates, None).unwrap(), "PONG");
}

#[test]
fn nobody_comes_in_without_encryption() {
    let certificates = Certificates::new();
    let server = encrypting(&certificates.server(), &certificates);
    let plain = Client::open(format!("redis://{}", server.address())).unwrap();
    assert!(plain.get_connection().and_then(|mut connection| redis::cmd("PING").exec(&mut connection)).is_err());
}

#[test]
fn an_expired_certificate_is_refused() {
    let certificates = Certificates::new();
    let server = encrypting(&certificates.server_expired(), &certificates);
    assert_refused(ping(&server, &certificates, None), "certificate expired");
}

#[test]
fn a_certificate_for_another_host_is_refused() {
    let certificates = Certificates::new();
    let server = encrypting(&certificates.server_elsewhere(), &certificates);
    assert_refused(ping(&server, &certificates, None), "certificate not valid for name");
}

#[test]
fn a_certificate_of_another_authority_is_refused() {
    let (certificates, others) = (Certificates::new(), Certificates::new());
    let server = encrypting(&others.server(), &certificates);
    assert_refused(ping(&server, &certificates, None), "UnknownIssuer");
}

#[test]
fn a_server_may_demand_a_certificate_of_its_clients() {
    let (certificates, others) = (Certificates::new(), Certificates::new());
    let server = encrypting_for(&certificates.server(), &certificates, TlsClients::MustBeSigned);
    assert_eq!(ping(&server, &certificates, Some(&certificates.client("a"))).unwrap(), "PONG");
    assert!(ping(&server, &certificates, Some(&others.client("a"))).is_err());
    assert!(ping(&server, &certificates, None).is_err());
}

fn encrypting(identity: &CertificateFiles, certificates: &Certificates) -> RedisServer {
    encrypting_for(identity, certificates, TlsClients::MayBeUnknown)
}

fn encrypting_for(identity: &CertificateFiles, certificates: &Certificates, clients: TlsClients) -> RedisServer {
    RedisServer::start_with(RedisOptions::default().tls(identity, certificates.authority(), clients))
}

/// Asks as one who trusts this authority, and is this client, if any.
fn ping(server: &RedisServer, trusted: &Certificates, client: Option<&CertificateFiles>) -> RedisResult<String> {
    let client_tls =
        client.map(|client| ClientTlsConfig { client_cert: client.certificate_pem(), client_key: client.key_pem() });
    let certificates = TlsCertificates { client_tls, root_cert: Some(trusted.authority().certificate_pem()) };
    let mut connection = Client::build_with_tls(server.url(), certificates)?.get_connection()?;
    redis::cmd("PING").query(&mut connection)
}

fn assert_refused(answer: RedisResult<String>, why: &str) {
    let error = answer.unwrap_err().to_string();
    assert!(error.contains(why), "{error}");
}
