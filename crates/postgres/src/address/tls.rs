//! Encryption: whether to encrypt, and how to verify the server.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_cert_signed_by_trust_anchor;
use rustls::crypto::{CryptoProvider, verify_tls12_signature, verify_tls13_signature};
use rustls::pki_types::{CertificateDer, ServerName, UnixTime};
use rustls::server::ParsedCertificate;
use rustls::{ClientConfig, DigitallySignedStruct, Error, RootCertStore, SignatureScheme};
use tenure_store::remote::cryptography::choose_cryptography;
use tokio_postgres_rustls::MakeRustlsConnect;

use super::certificates::{ClientCertificate, authorities, identity};
use super::hosts::HostAddress;
use super::settings::UrlSettings;

/// Whether and how a connection is encrypted.
#[derive(Clone)]
pub(crate) enum Encryption {
    Off,
    On(MakeRustlsConnect),
}

/// The checks on a server, as in `sslmode`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mode {
    Disable,
    Require,
    VerifyCa,
    VerifyFull,
}

impl Mode {
    /// The configured mode.
    pub(super) fn setting(settings: &UrlSettings<'_>) -> Result<Option<Self>, String> {
        if let Some(setting) = settings.get("sslmode")
            && matches!(setting.value.as_str(), "prefer" | "allow")
        {
            return Err(format!(
                "{}: {} lets a man in the middle turn encryption off; use verify-full, or disable if you want no \
                 encryption",
                setting.source, setting.value
            ));
        }
        let modes = [
            ("disable", Self::Disable),
            ("require", Self::Require),
            ("verify-ca", Self::VerifyCa),
            ("verify-full", Self::VerifyFull),
        ];
        settings.choice("sslmode", &modes)
    }

    /// The mode that applies to a server at this address.
    pub(super) fn at(place: &HostAddress, setting: Option<Self>) -> Self {
        match setting {
            // Servers do not encrypt on sockets.
            _ if place.is_socket() => Self::Disable,
            Some(mode) => mode,
            // What does not leave the machine can be read only by those who can read the process, too.
            None if place.is_local() => Self::Disable,
            None => Self::VerifyFull,
        }
    }
}

/// The encryption for every server that is encrypted: all of them get the same.
pub(super) fn encryption(
    mode: Mode,
    settings: &UrlSettings<'_>,
    warnings: &mut Vec<String>,
) -> Result<Encryption, String> {
    if mode == Mode::Disable {
        return Ok(Encryption::Off);
    }
    let check = match (mode, authorities(settings)?) {
        (Mode::Disable | Mode::VerifyFull, found) => CertificateCheck::Full(match found {
            Some(roots) => roots,
            None => settings.environment.authorities()?,
        }),
        (Mode::VerifyCa | Mode::Require, Some(roots)) => CertificateCheck::Authority(roots),
        (Mode::VerifyCa, None) => {
            return Err(
                "sslmode=verify-ca needs sslrootcert=FILE: otherwise any certificate of an authority that the system \
                 trusts is accepted"
                    .to_owned(),
            );
        }
        (Mode::Require, None) if settings.get("sslrootcert").is_some() => {
            return Err("sslrootcert=system needs sslmode=verify-full".to_owned());
        }
        (Mode::Require, None) => {
            warnings.push(
                "sslmode=require without sslrootcert trusts any server: a man in the middle can read and change \
                 everything; use verify-full"
                    .to_owned(),
            );
            CertificateCheck::Nothing
        }
    };
    connector(check, identity(settings)?)
}

/// The default encryption, with the authorities that the system trusts.
pub(super) fn usual_encryption(roots: Arc<RootCertStore>) -> Result<Encryption, String> {
    connector(CertificateCheck::Full(roots), None)
}

/// The encryption that the application has configured.
pub(super) fn given_encryption(config: ClientConfig) -> Encryption {
    Encryption::On(MakeRustlsConnect::new(config))
}

/// The checks on the server's certificate.
enum CertificateCheck {
    Nothing,
    /// Its authority.
    Authority(Arc<RootCertStore>),
    /// Its authority and its name.
    Full(Arc<RootCertStore>),
}

fn connector(check: CertificateCheck, identity: Option<ClientCertificate>) -> Result<Encryption, String> {
    let unusable = |error: Error| format!("cannot set up encryption: {error}");
    let provider = choose_cryptography();
    // These are TLS 1.2 and 1.3.
    let builder = ClientConfig::builder_with_provider(Arc::clone(&provider));
    let builder = builder.with_safe_default_protocol_versions().map_err(unusable)?;
    let lenient = |roots| Arc::new(Lenient { roots, provider: Arc::clone(&provider) });
    let builder = match check {
        CertificateCheck::Full(roots) => {
            let verifier = WebPkiServerVerifier::builder_with_provider(roots, Arc::clone(&provider)).build();
            builder.with_webpki_verifier(verifier.map_err(|error| format!("sslrootcert: {error}"))?)
        }
        CertificateCheck::Authority(roots) => {
            builder.dangerous().with_custom_certificate_verifier(lenient(Some(roots)))
        }
        CertificateCheck::Nothing => builder.dangerous().with_custom_certificate_verifier(lenient(None)),
    };
    let config = match identity {
        Some(ClientCertificate { chain, key }) => builder
            .with_client_auth_cert(chain, key)
            .map_err(|error| format!("cannot use sslcert and sslkey: {error}"))?,
        None => builder.with_no_client_auth(),
    };
    Ok(given_encryption(config))
}

/// Does not look at the name in a certificate, and without authorities not at who has signed it either. That the server
/// has the key of the certificate is checked in any case: without that, not even the handshake would be its own.
#[derive(Debug)]
struct Lenient {
    roots: Option<Arc<RootCertStore>>,
    provider: Arc<CryptoProvider>,
}

impl ServerCertVerifier for Lenient {
    fn verify_server_cert(
        &self,
        certificate: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        if let Some(roots) = &self.roots {
            let certificate = ParsedCertificate::try_from(certificate)?;
            let algorithms = self.provider.signature_verification_algorithms.all;
            verify_server_cert_signed_by_trust_anchor(&certificate, roots, intermediates, now, algorithms)?;
        }
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls12_signature(message, certificate, signature, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        let algorithms = &self.provider.signature_verification_algorithms;
        verify_tls13_signature(message, certificate, signature, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.provider.signature_verification_algorithms.supported_schemes()
    }
}
