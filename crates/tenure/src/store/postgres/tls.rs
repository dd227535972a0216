//! Encryption.

use tokio_postgres_rustls::MakeRustlsConnect;

/// Whether and how a connection is encrypted.
#[derive(Clone)]
pub(super) enum Encryption {
    Off,
    On(MakeRustlsConnect),
}
