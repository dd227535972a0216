//! Prerequisites of encryption: a provider of cryptography (feature `tls`), and files of certificates.

use std::io;
use std::path::Path;
#[cfg(feature = "tls")]
use std::sync::Arc;

#[cfg(feature = "tls")]
use rustls::crypto::CryptoProvider;

/// The application's provider of cryptography. An application with several providers has to choose one; if it has not,
/// this function does.
#[cfg(feature = "tls")]
#[must_use]
pub fn choose_cryptography() -> Arc<CryptoProvider> {
    let ring = || Arc::new(rustls::crypto::ring::default_provider());
    if CryptoProvider::get_default().is_none() {
        // An error means that somebody else was faster.
        let _ = rustls::crypto::ring::default_provider().install_default();
    }
    CryptoProvider::get_default().cloned().unwrap_or_else(ring)
}

/// Reads the file named by an option of an address.
///
/// # Errors
/// What to say when it cannot be read.
pub fn read_file(option: &str, path: &Path) -> Result<Vec<u8>, String> {
    std::fs::read(path).map_err(|error| unreadable(option, path, &error))
}

/// The error message for an unreadable file that an option or a variable names.
#[must_use]
pub fn unreadable(option: &str, path: &Path, error: &io::Error) -> String {
    format!("cannot read {}, the file of {option}: {error}", path.display())
}
