//! The surroundings in which an address is read: variables, files and the current user. Tests of the parser make their
//! own.

use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, OnceLock};
use std::{env, fs};

use rustls::RootCertStore;
use tenure_store::Variables;

/// Everything the parser needs besides the address.
pub(crate) trait Environment {
    /// A variable of the environment, unless it is empty.
    fn variable(&self, name: &str) -> Option<String>;

    /// The kind of this file.
    fn look(&self, path: &Path) -> io::Result<FileKind>;

    /// The content of a file.
    fn read(&self, path: &Path) -> io::Result<Vec<u8>>;

    /// The home directory of the current user.
    fn home(&self) -> Option<PathBuf>;

    /// The name of the current user.
    fn user(&self) -> Option<String>;

    /// The authorities that the system trusts.
    fn authorities(&self) -> Result<Arc<RootCertStore>, String>;
}

/// The properties of a file without its content.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct FileKind {
    pub(crate) is_plain: bool,
    pub(crate) is_directory: bool,
    /// Its permissions, as in `chmod`.
    pub(crate) mode: u32,
    pub(crate) owner: u32,
}

/// The environment of this process, with these variables.
#[derive(Default)]
pub(crate) struct ProcessEnvironment {
    pub(crate) variables: Variables,
}

impl Environment for ProcessEnvironment {
    fn variable(&self, name: &str) -> Option<String> {
        self.variables.get(name)
    }

    fn look(&self, path: &Path) -> io::Result<FileKind> {
        let found = fs::metadata(path)?;
        let (is_plain, is_directory) = (found.is_file(), found.is_dir());
        Ok(FileKind { is_plain, is_directory, mode: found.mode() & 0o7777, owner: found.uid() })
    }

    fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
        fs::read(path)
    }

    fn home(&self) -> Option<PathBuf> {
        env::home_dir()
    }

    fn user(&self) -> Option<String> {
        whoami::username().ok()
    }

    fn authorities(&self) -> Result<Arc<RootCertStore>, String> {
        // Reading hundreds of files takes a while, and they seldom change. Only a failure is tried again.
        static FOUND: OnceLock<Arc<RootCertStore>> = OnceLock::new();
        if let Some(found) = FOUND.get() {
            return Ok(Arc::clone(found));
        }
        let mut roots = RootCertStore::empty();
        roots.add_parsable_certificates(rustls_native_certs::load_native_certs().certs);
        if roots.is_empty() {
            return Err(
                "this system has no CA certificates; install them (ca-certificates), or give a file with sslrootcert"
                    .to_owned(),
            );
        }
        Ok(Arc::clone(FOUND.get_or_init(|| Arc::new(roots))))
    }
}

/// An environment made up by tests.
#[cfg(test)]
pub(super) mod made_up {
    use std::collections::HashMap;

    use rustls::pki_types::{Der, TrustAnchor};

    use super::*;

    #[derive(Default)]
    pub(in super::super) struct FakeEnvironment {
        pub(in super::super) variables: HashMap<&'static str, &'static str>,
        /// Mode, owner and content; a directory if the content is `None`.
        pub(in super::super) files: HashMap<PathBuf, (u32, u32, Option<Vec<u8>>)>,
    }

    impl FakeEnvironment {
        pub(in super::super) fn new(variables: &[(&'static str, &'static str)]) -> Self {
            Self { variables: variables.iter().copied().collect(), files: HashMap::new() }
        }

        pub(in super::super) fn file(mut self, path: &str, mode: u32, text: impl Into<Vec<u8>>) -> Self {
            self.files.insert(path.into(), (mode, 1000, Some(text.into())));
            self
        }

        pub(in super::super) fn directory(mut self, path: &str) -> Self {
            self.files.insert(path.into(), (0o755, 0, None));
            self
        }

        fn find(&self, path: &Path) -> io::Result<&(u32, u32, Option<Vec<u8>>)> {
            self.files.get(path).ok_or_else(|| io::ErrorKind::NotFound.into())
        }
    }

    impl Environment for FakeEnvironment {
        fn variable(&self, name: &str) -> Option<String> {
            self.variables.get(name).map(|value| (*value).to_owned())
        }

        fn look(&self, path: &Path) -> io::Result<FileKind> {
            let (mode, owner, contents) = self.find(path)?;
            let is_plain = contents.is_some();
            Ok(FileKind { is_plain, is_directory: !is_plain, mode: *mode, owner: *owner })
        }

        fn read(&self, path: &Path) -> io::Result<Vec<u8>> {
            self.find(path)?.2.clone().ok_or_else(|| io::ErrorKind::IsADirectory.into())
        }

        fn home(&self) -> Option<PathBuf> {
            Some("/me".into())
        }

        fn user(&self) -> Option<String> {
            Some("me".to_owned())
        }

        fn authorities(&self) -> Result<Arc<RootCertStore>, String> {
            // Nobody has signed anything with it, but it is one.
            let name = Der::from_slice(b"nobody");
            let nobody = TrustAnchor { subject: name.clone(), subject_public_key_info: name, name_constraints: None };
            Ok(Arc::new(RootCertStore { roots: vec![nobody] }))
        }
    }
}
