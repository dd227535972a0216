//! What these tests share: servers that encrypt, and a short way to see whether an address leads somewhere.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use tempfile::TempDir;
use tenure::StoreError;
use tenure::store::StoreErrorKind;
use tenure::store::postgres::{Migration, PostgresConfig};
use tenure_testkit::certificates::{CertificateFiles, Certificates};
use tenure_testkit::postgres::{PASSWORD, PostgresOptions, PostgresServer, TlsClients};

/// Logs in and does something there: it makes the schema.
pub(crate) async fn visit(url: &str) -> Result<(), StoreError> {
    visit_with(&PostgresConfig::from_url(&url.parse()?)?).await
}

pub(crate) async fn visit_with(config: &PostgresConfig) -> Result<(), StoreError> {
    Migration::new(config).run().await.map(drop)
}

/// Logs in, or fails the test.
pub(crate) async fn visited(url: &str) {
    visit(url).await.unwrap_or_else(|error| panic!("{url}: {error}"));
}

/// Is refused, with this said about it.
pub(crate) async fn refused(url: &str, kind: StoreErrorKind, words: &[&str]) -> StoreError {
    let error = visit(url).await.err().unwrap_or_else(|| panic!("{url} was accepted"));
    assert_eq!(error.kind(), kind, "{url}: {error}");
    for word in words {
        assert!(error.to_string().contains(word), "{url}: {word:?} is not in {error}");
    }
    error
}

/// Whether somebody has been there.
pub(crate) fn was_visited(server: &PostgresServer) -> bool {
    server.value("SELECT to_regnamespace('tenure') IS NOT NULL").as_deref() == Some("t")
}

pub(crate) fn encrypting(server: &CertificateFiles, certificates: &Certificates) -> PostgresServer {
    let options = PostgresOptions::default();
    PostgresServer::start_with(options.tls(server, certificates.authority(), TlsClients::MayBeUnknown))
}

/// An address without a host of its own, for options to say where it is.
pub(crate) fn address(server: &PostgresServer, options: &str) -> String {
    format!("postgres://tenure:{PASSWORD}@:{}/postgres?{options}", server.port())
}

/// The option that trusts whatever this authority has signed.
pub(crate) fn trusting(certificates: &Certificates) -> String {
    format!("sslrootcert={}", certificates.authority().certificate.display())
}

/// A file with this mode, which goes with the directory.
pub(crate) fn file(directory: &TempDir, name: &str, mode: u32, text: impl AsRef<[u8]>) -> PathBuf {
    let path = directory.path().join(name);
    fs::write(&path, text).unwrap();
    set_mode(&path, mode);
    path
}

pub(crate) fn set_mode(path: &Path, mode: u32) {
    fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
}
