//! What it takes to open a store that another process has open.

use std::ffi::OsString;
use std::fmt;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::store::{self, Store, StoreError, StoreUrl, Variables};

/// The address of a store, and the variables that it is read with. Both may hold passwords, and neither is printed.
#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct StoreAccess {
    place: Place,
    variables: Vec<(String, String)>,
}

#[derive(Clone, PartialEq, Eq, Serialize, Deserialize)]
enum Place {
    Address(String),
    /// The bytes of the path of a SQLite file: not every path fits into an address.
    File(Vec<u8>),
}

/// The variables that may hold credentials for the store of an address, or name files with such.
#[must_use]
pub fn credential_variables(address: &str) -> &'static [&'static str] {
    match address {
        address if address.starts_with("postgres") => &["PGPASSWORD", "PGPASSFILE", "PGSSLCERT", "PGSSLKEY"],
        address if address.starts_with("env:") => &["MUTEX_REDIS_PASSWORD", "REDIS_PASSWORD"],
        _ => &[],
    }
}

impl StoreAccess {
    /// To the store of an address, with the credentials that are in the environment of this process.
    #[must_use]
    pub fn by_address(address: &str) -> Self {
        let found = |name: &&str| std::env::var(name).ok().map(|value| ((*name).to_owned(), value));
        let variables = credential_variables(address).iter().filter_map(found).collect();
        Self { place: Place::Address(address.to_owned()), variables }
    }

    /// To a SQLite file.
    #[must_use]
    pub fn by_path(path: &Path) -> Self {
        Self { place: Place::File(path.as_os_str().as_bytes().to_vec()), variables: Vec::new() }
    }

    /// Opens the store, and creates no file.
    pub(super) fn open(&self) -> Result<Arc<dyn Store>, StoreError> {
        let variables = Variables::with(self.variables.iter().cloned());
        match &self.place {
            Place::Address(address) => store::open_existing_with(&address.parse::<StoreUrl>()?, &variables),
            Place::File(path) => open_file(&PathBuf::from(OsString::from_vec(path.clone()))),
        }
    }
}

#[cfg(feature = "sqlite")]
fn open_file(path: &Path) -> Result<Arc<dyn Store>, StoreError> {
    Ok(Arc::new(store::sqlite::SqliteStore::open_existing(path)?))
}

#[cfg(not(feature = "sqlite"))]
fn open_file(path: &Path) -> Result<Arc<dyn Store>, StoreError> {
    let message = format!("{} is a SQLite file, and this program has no SQLite", path.display());
    Err(StoreError::not_sent(store::StoreErrorKind::Configuration, message))
}

impl fmt::Debug for StoreAccess {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("StoreAccess").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_is_handed_over_whole_and_prints_nothing() {
        let variables = vec![("PGPASSWORD".to_owned(), "canary".to_owned())];
        let by_address = StoreAccess { variables, ..StoreAccess::by_address("postgres://app:canary@db") };
        let by_path = StoreAccess::by_path(Path::new("/canary\u{1}"));
        for access in [by_address, by_path] {
            let written = serde_json::to_vec(&access).unwrap();
            assert_eq!(serde_json::from_slice::<StoreAccess>(&written).unwrap(), access);
            assert_eq!(format!("{access:?}"), "StoreAccess { .. }");
        }
    }
}
