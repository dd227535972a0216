//! The files of certificates and keys named by an address, or found where PostgreSQL's own clients look.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use rustls::RootCertStore;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use tenure_store::remote::cryptography::unreadable;

use super::settings::{Setting, UrlSettings};

/// A client certificate, with those that lead to its authority, and its key.
pub(super) struct ClientCertificate {
    pub(super) chain: Vec<CertificateDer<'static>>,
    pub(super) key: PrivateKeyDer<'static>,
}

/// A file, and the setting that names it.
struct NamedFile {
    path: PathBuf,
    source: &'static str,
}

/// Whether the address or the environment names certificates, which shows the intent to use them.
pub(super) fn are_named(settings: &UrlSettings<'_>) -> bool {
    ["sslrootcert", "sslcert", "sslkey"].into_iter().any(|name| settings.get(name).is_some())
}

/// The authorities of the named file, or of the usual one. `None` stands for those of the system.
pub(super) fn authorities(settings: &UrlSettings<'_>) -> Result<Option<Arc<RootCertStore>>, String> {
    if settings.value("sslrootcert").is_some_and(|value| value == "system") {
        return Ok(None);
    }
    let Some(file) = named_or_usual(settings, "sslrootcert", "root.crt") else { return Ok(None) };
    let mut roots = RootCertStore::empty();
    for certificate in certificates(settings, &file)? {
        roots.add(certificate).map_err(|error| format!("{} ({}): {error}", file.path.display(), file.source))?;
    }
    Ok(Some(Arc::new(roots)))
}

/// The client certificate, if any.
pub(super) fn identity(settings: &UrlSettings<'_>) -> Result<Option<ClientCertificate>, String> {
    let certificate = named_or_usual(settings, "sslcert", "postgresql.crt");
    let key = named_or_usual(settings, "sslkey", "postgresql.key");
    let (certificate, key) = match (certificate, key) {
        (Some(certificate), Some(key)) => (certificate, key),
        _ if settings.get("sslcert").is_none() && settings.get("sslkey").is_none() => return Ok(None),
        _ => return Err("sslcert and sslkey must be given together".to_owned()),
    };
    Ok(Some(ClientCertificate { chain: certificates(settings, &certificate)?, key: private_key(settings, &key)? }))
}

fn named_or_usual(settings: &UrlSettings<'_>, option: &'static str, usual: &str) -> Option<NamedFile> {
    if let Some(Setting { value, source }) = settings.get(option) {
        return Some(NamedFile { path: PathBuf::from(value), source });
    }
    let path = settings.environment.home()?.join(".postgresql").join(usual);
    settings.environment.look(&path).is_ok().then_some(NamedFile { path, source: option })
}

fn certificates(settings: &UrlSettings<'_>, file: &NamedFile) -> Result<Vec<CertificateDer<'static>>, String> {
    let text = read(settings, file)?;
    let found: Result<Vec<_>, _> = CertificateDer::pem_slice_iter(&text).collect();
    match found {
        Ok(found) if !found.is_empty() => Ok(found),
        Ok(_) | Err(_) => Err(format!("{} ({}) contains no PEM certificates", file.path.display(), file.source)),
    }
}

fn private_key(settings: &UrlSettings<'_>, file: &NamedFile) -> Result<PrivateKeyDer<'static>, String> {
    let about = |why: &str| format!("{} ({}) {why}", file.path.display(), file.source);
    let kind = settings.environment.look(&file.path).map_err(|error| cannot_read(file, &error))?;
    // The same as PostgreSQL's own clients demand: a key of root may be for a group.
    let others = if kind.owner == 0 { 0o037 } else { 0o077 };
    if kind.mode & others != 0 {
        return Err(about("is a key that other users can read; chmod 0600, or 0640 if root owns it"));
    }
    let text = read(settings, file)?;
    PrivateKeyDer::from_pem_slice(&text).map_err(|_| {
        let is_encrypted = String::from_utf8_lossy(&text).contains("ENCRYPTED");
        about(if is_encrypted {
            "is encrypted, which is not supported; decrypt it (openssl pkey)"
        } else {
            "contains no PEM private key"
        })
    })
}

fn read(settings: &UrlSettings<'_>, file: &NamedFile) -> Result<Vec<u8>, String> {
    settings.environment.read(&file.path).map_err(|error| cannot_read(file, &error))
}

fn cannot_read(file: &NamedFile, error: &std::io::Error) -> String {
    unreadable(file.source, Path::new(&file.path), error)
}

#[cfg(test)]
mod tests {
    use super::super::environment::made_up::FakeEnvironment;
    use super::*;

    #[test]
    fn a_key_that_others_may_use_is_refused() {
        let named = |path: &str| NamedFile { path: path.into(), source: "sslkey" };
        for (mode, owner, is_refused) in [
            (0o600, 1000, false),
            (0o400, 1000, false),
            (0o640, 1000, true),
            (0o604, 1000, true),
            (0o640, 0, false),
            (0o660, 0, true),
            (0o644, 0, true),
        ] {
            let mut environment = FakeEnvironment::default();
            environment.files.insert("/key".into(), (mode, owner, Some(b"canary".to_vec())));
            let url = "postgres://".parse().unwrap();
            let settings = UrlSettings::of(&url, &environment).unwrap();
            // What is in it is no key either way.
            let error = private_key(&settings, &named("/key")).unwrap_err();
            assert_eq!(error.contains("chmod"), is_refused, "{mode:o} of {owner}: {error}");
            assert!(error.starts_with("/key (sslkey)") && !error.contains("canary"), "{error}");
        }
    }

    #[test]
    fn files_where_other_clients_look_are_used_if_they_are_there() {
        let found = |environment: &FakeEnvironment| {
            let url = "postgres://db?sslmode=require".parse().unwrap();
            let settings = UrlSettings::of(&url, environment).unwrap();
            (authorities(&settings).map(|roots| roots.is_some()), identity(&settings).map(|own| own.is_some()))
        };
        assert_eq!(found(&FakeEnvironment::default()), (Ok(false), Ok(false)));
        let only_key = FakeEnvironment::default().file("/me/.postgresql/postgresql.key", 0o600, "");
        assert_eq!(found(&only_key), (Ok(false), Ok(false)));
        let both = only_key.file("/me/.postgresql/postgresql.crt", 0o600, "");
        let both = both.file("/me/.postgresql/root.crt", 0o600, "");
        let (authorities, identity) = found(&both);
        assert!(authorities.unwrap_err().contains("/me/.postgresql/root.crt"));
        assert!(identity.unwrap_err().contains("/me/.postgresql/postgresql.crt"));
    }
}
