//! Certificates for servers and clients of tests, good ones and bad ones.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::scratch::Scratch;
use crate::wall_clock::FakeWallClock;

/// An authority and what it has signed. The files go when it is dropped.
pub struct Certificates {
    scratch: Scratch,
    authority: CertificateFiles,
}

/// A certificate and its key, as files in PEM format.
#[derive(Debug, Clone)]
pub struct CertificateFiles {
    /// The certificate.
    pub certificate: PathBuf,
    /// Its key.
    pub key: PathBuf,
}

impl CertificateFiles {
    /// The text of the certificate.
    #[must_use]
    pub fn certificate_pem(&self) -> Vec<u8> {
        fs::read(&self.certificate).unwrap()
    }

    /// The text of the key.
    #[must_use]
    pub fn key_pem(&self) -> Vec<u8> {
        fs::read(&self.key).unwrap()
    }
}

/// Whom a server lets in that encrypts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum TlsClients {
    /// Whoever comes.
    MayBeUnknown,
    /// Whoever has a certificate from the server's authority.
    MustBeSigned,
}

/// How a server encrypts.
#[derive(Clone)]
pub(crate) struct Tls {
    pub(crate) server: CertificateFiles,
    pub(crate) authority: CertificateFiles,
    pub(crate) clients: TlsClients,
}

impl Certificates {
    /// A new authority.
    #[must_use]
    pub fn new() -> Self {
        let scratch = Scratch::new();
        let authority = identity_at(scratch.path(), "authority");
        // Under a name of its own: of one of two with the same name a client says that it signs badly.
        let name = scratch.path().file_name().unwrap().to_string_lossy();
        let mut openssl = request(&authority, &format!("authority {name}"));
        openssl.args(["-x509", "-days", DAYS, "-out"]).arg(&authority.certificate);
        openssl.args(["-addext", "keyUsage=critical,keyCertSign,cRLSign"]);
        run(&mut openssl);
        Self { scratch, authority }
    }

    /// The authority itself: whoever trusts its certificate trusts all that it has signed.
    #[must_use]
    pub fn authority(&self) -> &CertificateFiles {
        &self.authority
    }

    /// A server on the loopback interface.
    #[must_use]
    pub fn server(&self) -> CertificateFiles {
        self.sign("server", LOOPBACK, None)
    }

    /// A server of another name and address.
    #[must_use]
    pub fn server_elsewhere(&self) -> CertificateFiles {
        self.sign("server-elsewhere", "DNS:elsewhere.test,IP:192.0.2.1", None)
    }

    /// A server on the loopback interface whose certificate was good until some days ago.
    #[must_use]
    pub fn server_expired(&self) -> CertificateFiles {
        let clock = FakeWallClock::at(self.scratch.path().join("clock"));
        clock.jump_to(-30 * 24 * 60 * 60);
        self.sign("server-expired", LOOPBACK, Some(&clock))
    }

    /// A client of this name.
    #[must_use]
    pub fn client(&self, name: &str) -> CertificateFiles {
        self.sign(name, LOOPBACK, None)
    }

    /// Lets the authority sign a new key for these names, by this clock.
    fn sign(&self, name: &str, names: &str, clock: Option<&FakeWallClock>) -> CertificateFiles {
        let identity = identity_at(self.scratch.path(), name);
        let extensions = self.scratch.path().join(format!("{name}.extensions"));
        fs::write(&extensions, format!("subjectAltName={names}\n")).unwrap();
        let signing_request = self.scratch.path().join(format!("{name}.request"));
        run(request(&identity, name).arg("-out").arg(&signing_request));
        let mut openssl = Command::new("openssl");
        openssl.args(["x509", "-req", "-days", DAYS, "-in"]).arg(&signing_request);
        openssl.arg("-CA").arg(&self.authority.certificate).arg("-CAkey").arg(&self.authority.key);
        openssl.arg("-CAcreateserial").arg("-extfile").arg(&extensions).arg("-out").arg(&identity.certificate);
        if let Some(clock) = clock {
            clock.govern(&mut openssl);
        }
        run(&mut openssl);
        identity
    }
}

impl Default for Certificates {
    fn default() -> Self {
        Self::new()
    }
}

fn identity_at(directory: &Path, name: &str) -> CertificateFiles {
    let file = |ending: &str| directory.join(format!("{name}.{ending}"));
    CertificateFiles { certificate: file("certificate.pem"), key: file("key.pem") }
}

/// Makes a key, and asks for a certificate for it.
fn request(identity: &CertificateFiles, name: &str) -> Command {
    let mut openssl = Command::new("openssl");
    openssl.args(["req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-sha256"]);
    openssl.args(["-subj", &format!("/CN={name}"), "-keyout"]).arg(&identity.key);
    openssl
}

fn run(openssl: &mut Command) {
    let output = openssl.output().expect("openssl runs; `cargo xtask test` installs it");
    assert!(output.status.success(), "{openssl:?}: {}", String::from_utf8_lossy(&output.stderr));
}

const LOOPBACK: &str = "DNS:localhost,IP:127.0.0.1";

/// More than any test takes, and less than the time that has passed for an expired one.
const DAYS: &str = "10";
