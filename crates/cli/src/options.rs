//! Converts arguments into the library's types: checked, completed, and with errors that say what to do.

use std::ffi::OsString;
use std::fs::DirBuilder;
use std::os::unix::fs::DirBuilderExt;
use std::path::PathBuf;
use std::sync::Arc;

use tenure::crash::{StoreAccess, credential_variables};
use tenure::store::sqlite::SqliteStore;
use tenure::{CandidacyBuilder, CandidateId, Client, Namespace, Preset, Priority, StoreUrl, Timing};

use crate::args::{CandidateArgs, EnvironmentArgs, Global, TimingArgs};
use crate::exit::{CommandError, Exit};

/// The file of the default store.
const DEFAULT_NAME: &str = "tenure.db";

/// Opens the store the options name, or the default one.
///
/// # Errors
/// When the namespace or the address cannot be used, or the store cannot be opened.
pub fn open(global: &Global) -> Result<Client, CommandError> {
    let namespace =
        Namespace::new(&global.namespace).map_err(|error| CommandError::new(Exit::Usage, error.to_string()))?;
    let client = Client::builder().namespace(namespace);
    Ok(match &global.store {
        // Candidates wait for a store that is away, and say so; `--fail-fast` decides how long.
        Some(url) => client.open_lazy(url)?,
        // By its path: the name of a home directory need not fit into an address. A Redis that happens to be in the
        // environment, as in many containers, is not taken for the one that is meant: `--store env:` asks for it.
        None => client.with_store(Arc::new(open_default_store()?))?,
    })
}

/// Opens the default store, and creates it if it is missing.
///
/// # Errors
/// When no directory is known for it, or it cannot be opened.
pub fn open_default_store() -> Result<SqliteStore, CommandError> {
    Ok(SqliteStore::open(default_database()?).map_err(tenure::Error::from)?)
}

/// Opens the store for commands that only look and create no file.
///
/// # Errors
/// As [`open`], and when there is no such file.
pub fn open_to_look(global: &Global) -> Result<Client, CommandError> {
    let namespace =
        Namespace::new(&global.namespace).map_err(|error| CommandError::new(Exit::Usage, error.to_string()))?;
    let client = Client::builder().namespace(namespace);
    Ok(match &global.store {
        Some(url) => client.open_existing(url)?,
        None => {
            let store = SqliteStore::open_existing(default_directory()?.join(DEFAULT_NAME));
            client.with_store(Arc::new(store.map_err(tenure::Error::from)?))?
        }
    })
}

/// The store that the options name, for people.
#[must_use]
pub fn store_shown(global: &Global) -> String {
    match &global.store {
        Some(url) => url.parse::<StoreUrl>().map_or_else(|_| "the store".to_owned(), |url| url.to_string()),
        None => match default_directory() {
            Ok(directory) => format!("sqlite:{}", directory.join(DEFAULT_NAME).display()),
            Err(_) => "the default store".to_owned(),
        },
    }
}

/// What guards and commands do not find in their environment, and what guards are told instead.
#[derive(Debug, Clone)]
pub struct Credentials {
    /// Variables that may carry credentials of the store.
    pub hidden: Vec<OsString>,
    /// What a guard needs to open the store after a crash.
    pub access: StoreAccess,
}

impl Credentials {
    /// Those of the store in these options. Some variables may be kept in the environment.
    ///
    /// # Errors
    /// When no directory is known for the default store.
    pub fn new(global: &Global, environment: &EnvironmentArgs) -> Result<Self, CommandError> {
        let access = match &global.store {
            Some(url) => StoreAccess::by_address(url),
            None => StoreAccess::by_path(&default_directory()?.join(DEFAULT_NAME)),
        };
        Ok(Self { hidden: hidden_variables(global, environment), access })
    }
}

/// The variables that may carry credentials of the store in these options, except for those to keep.
fn hidden_variables(global: &Global, environment: &EnvironmentArgs) -> Vec<OsString> {
    let of_the_store = global.store.as_deref().map_or(&[][..], credential_variables);
    // The address, too, may carry a password.
    let names = ["TENURE_STORE"].iter().chain(of_the_store).map(OsString::from);
    names.filter(|name| !environment.keep_env.contains(name)).collect()
}

/// Checks the name and opens the store: a name that cannot be used must not leave a file behind.
///
/// # Errors
/// As [`open`], and when the name cannot be used.
pub fn open_for(global: &Global, name: &str) -> Result<Client, CommandError> {
    tenure::ElectionName::new(name).map_err(tenure::Error::from)?;
    open(global)
}

/// Checks the name and opens the store to look at it.
///
/// # Errors
/// As [`open_to_look`], and when the name cannot be used.
pub fn open_to_look_for(global: &Global, name: &str) -> Result<Client, CommandError> {
    tenure::ElectionName::new(name).map_err(tenure::Error::from)?;
    open_to_look(global)
}

/// What is to be checked of a candidate before anything is opened.
#[derive(Debug)]
pub struct CandidacyOptions {
    id: Option<CandidateId>,
    priority: Priority,
    metadata: Vec<(String, String)>,
    /// The durations.
    pub timing: Timing,
}

impl CandidacyOptions {
    /// Checks the arguments.
    ///
    /// # Errors
    /// When the id, the metadata or the timing cannot be used.
    pub fn new(args: &CandidateArgs) -> Result<Self, CommandError> {
        let id = args.id.as_ref().map(CandidateId::new).transpose().map_err(tenure::Error::from)?;
        let bytes = args.metadata.iter().map(|(key, value)| key.len() + value.len()).sum();
        if bytes > tenure::Error::MAX_METADATA_BYTES {
            return Err(tenure::Error::Metadata { bytes }.into());
        }
        Ok(Self {
            id,
            priority: Priority::new(args.priority).unwrap_or_default(),
            metadata: args.metadata.clone(),
            timing: timing(&args.timing)?,
        })
    }

    /// Describes the candidacy to the library.
    ///
    /// # Errors
    /// When the name cannot be used.
    pub fn describe(self, client: &Client, name: &str) -> Result<CandidacyBuilder, CommandError> {
        let mut candidacy = client.election(name)?.candidate().timing(self.timing).priority(self.priority);
        if let Some(id) = self.id {
            candidacy = candidacy.id(id);
        }
        Ok(self.metadata.into_iter().fold(candidacy, |candidacy, (key, value)| candidacy.metadata(key, value)))
    }
}

/// The timing the options describe.
///
/// # Errors
/// When the durations do not fit together; the message shows the numbers.
pub fn timing(args: &TimingArgs) -> Result<Timing, CommandError> {
    let usage = |message: String| CommandError::new(Exit::Usage, message);
    let preset = args.preset.as_deref().unwrap_or_default();
    let preset = if preset.is_empty() {
        Preset::default()
    } else {
        preset.parse().map_err(|error: tenure::UnknownPreset| usage(error.to_string()))?
    };
    let mut builder = Timing::builder(args.ttl.unwrap_or(preset.timing().ttl()));
    if let Some(renew) = args.renew {
        builder = builder.renew_every(renew);
    }
    if let Some(grace) = args.grace {
        builder = builder.grace(grace);
    }
    builder.build().map_err(|error| usage(error.to_string()))
}

/// `tenure/tenure.db` in the user's state directory, which is made if it is not there.
fn default_database() -> Result<PathBuf, CommandError> {
    let directory = default_directory()?;
    DirBuilder::new().recursive(true).mode(0o700).create(&directory).map_err(|error| {
        let message = format!(
            "cannot create {} for the default store: {error}; choose a store with --store",
            directory.display()
        );
        CommandError::new(Exit::StoreUnavailable, message)
    })?;
    Ok(directory.join(DEFAULT_NAME))
}

fn default_directory() -> Result<PathBuf, CommandError> {
    let from = |variable: &str| std::env::var_os(variable).map(PathBuf::from).filter(|path| path.is_absolute());
    let state = from("XDG_STATE_HOME").or_else(|| from("HOME").map(|home| home.join(".local/state")));
    let Some(state) = state else {
        let message = "no home directory for the default store; choose a store with --store or TENURE_STORE";
        return Err(CommandError::new(Exit::StoreUnavailable, message));
    };
    Ok(state.join("tenure"))
}
