//! Servers that encrypt.

use std::process::Command;

use tenure_testkit::certificates::{CertificateFiles, Certificates};
use tenure_testkit::postgres::{PASSWORD, PostgresOptions, PostgresServer, SqlSession, TlsClients};

#[test]
fn a_good_certificate_is_accepted_by_whoever_trusts_its_authority() {
    let (certificates, others) = (Certificates::new(), Certificates::new());
    let server = encrypting(&certificates.server(), &certificates, TlsClients::MayBeUnknown);
    assert_eq!(ask(&server, &certificates, None), Ok("t".to_owned()));
    assert_refused(ask(&server, &others, None), "certificate verify failed");
}

#[test]
fn nobody_comes_in_without_encryption() {
    let certificates = Certificates::new();
    let server = encrypting(&certificates.server(), &certificates, TlsClients::MayBeUnknown);
    let refused = SqlSession::open(&server.url()).err().unwrap();
    assert_eq!(refused.code(), Some("28000"), "{refused}");
    assert!(refused.to_string().contains("no encryption"), "{refused}");
    assert_eq!(server.value("SHOW ssl").as_deref(), Some("on"));
}

#[test]
fn bad_certificates_can_be_had() {
    let certificates = Certificates::new();
    for (identity, why) in [
        (certificates.server_expired(), "certificate verify failed"),
        (certificates.server_elsewhere(), "does not match"),
    ] {
        let server = encrypting(&identity, &certificates, TlsClients::MayBeUnknown);
        assert_refused(ask(&server, &certificates, None), why);
    }
}

#[test]
fn a_server_may_demand_a_certificate_of_its_clients() {
    let (certificates, others) = (Certificates::new(), Certificates::new());
    let server = encrypting(&certificates.server(), &certificates, TlsClients::MustBeSigned);
    assert_eq!(ask(&server, &certificates, Some(&certificates.client("anybody"))), Ok("t".to_owned()));
    assert!(ask(&server, &certificates, Some(&others.client("anybody"))).is_err());
    assert_refused(ask(&server, &certificates, None), "requires a valid client certificate");
}

#[test]
fn a_rule_of_the_test_can_let_certificates_be_enough() {
    let certificates = Certificates::new();
    let options = PostgresOptions::default().access_rule("hostssl all all 127.0.0.1/32 cert");
    let options = options.tls(&certificates.server(), certificates.authority(), TlsClients::MayBeUnknown);
    let server = PostgresServer::start_with(options);
    assert_eq!(ask(&server, &certificates, Some(&certificates.client("tenure"))), Ok("t".to_owned()));
    assert_refused(
        ask(&server, &certificates, Some(&certificates.client("another"))),
        "certificate authentication failed",
    );
}

fn encrypting(identity: &CertificateFiles, certificates: &Certificates, clients: TlsClients) -> PostgresServer {
    PostgresServer::start_with(PostgresOptions::default().tls(identity, certificates.authority(), clients))
}

/// Whether the connection is encrypted of one who trusts this authority, and is this client, if any; or why there is none.
fn ask(server: &PostgresServer, trusted: &Certificates, client: Option<&CertificateFiles>) -> Result<String, String> {
    let mut psql = Command::new("psql");
    psql.args(["-X", "-A", "-t", "-c", "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"]);
    psql.env("PGHOST", "127.0.0.1").env("PGPORT", server.port().to_string()).env("PGDATABASE", "postgres");
    psql.env("PGUSER", "tenure").env("PGPASSWORD", PASSWORD).env("PGSSLMODE", "verify-full");
    psql.env("PGSSLROOTCERT", &trusted.authority().certificate);
    // A file that is not there means none, whatever whoever runs the tests may have.
    let none = CertificateFiles { certificate: "/nonexistent".into(), key: "/nonexistent".into() };
    let client = client.unwrap_or(&none);
    psql.env("PGSSLCERT", &client.certificate).env("PGSSLKEY", &client.key);
    let output = psql.output().unwrap();
    let [said, complaint] =
        [output.stdout, output.stderr].map(|text| String::from_utf8(text).unwrap().trim().to_owned());
    if output.status.success() { Ok(said) } else { Err(complaint) }
}

fn assert_refused(answer: Result<String, String>, why: &str) {
    let complaint = answer.unwrap_err();
    assert!(complaint.contains(why), "{complaint}");
}
