//! Encryption, if built in.

use redis::{Client, ConnectionInfo, RedisResult};
#[cfg(feature = "tls")]
use redis::{ClientTlsConfig, TlsCertificates};
#[cfg(feature = "tls")]
use tenure_store::remote::cryptography::choose_cryptography;

/// Whether TLS is built in.
pub(super) const IS_BUILT_IN: bool = cfg!(feature = "tls");

/// The error where it is not.
const MISSING: &str = "this program was built without TLS for Redis; build it with the feature redis-tls of tenure";

/// Refuses to encrypt where TLS is not built in.
pub(super) fn check(is_encrypted: bool, is_built_in: bool) -> Result<(), String> {
    if is_encrypted && !is_built_in { Err(MISSING.to_owned()) } else { Ok(()) }
}

/// The certificates named by an address, in PEM.
#[derive(Clone)]
pub(super) struct CertificateBundle {
    /// The trusted authorities; those of the system if there are none.
    pub(super) authority: Option<Vec<u8>>,
    /// The client certificate, and its key.
    pub(super) client: Option<(Vec<u8>, Vec<u8>)>,
}

impl CertificateBundle {
    /// A client that encrypts.
    #[cfg(feature = "tls")]
    pub(super) fn client(&self, info: ConnectionInfo) -> RedisResult<Client> {
        // The driver takes what is chosen.
        let _ = choose_cryptography();
        let client_tls =
            self.client.clone().map(|(client_cert, client_key)| ClientTlsConfig { client_cert, client_key });
        Client::build_with_tls(info, TlsCertificates { client_tls, root_cert: self.authority.clone() })
    }

    /// Always an error: TLS is not built in.
    #[cfg(not(feature = "tls"))]
    pub(super) fn client(&self, _: ConnectionInfo) -> RedisResult<Client> {
        Err((redis::ErrorKind::InvalidClientConfig, MISSING).into())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encryption_that_is_not_built_in_is_refused_with_the_name_of_its_feature() {
        assert!(check(true, false).unwrap_err().contains("the feature redis-tls"));
        assert!(check(false, false).is_ok() && check(true, true).is_ok());
    }
}
