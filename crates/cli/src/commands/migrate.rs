//! `tenure migrate`: creates the tables of a store, and raises terms above those of another one.

use std::sync::Arc;

use tenure::store::postgres::{Migration, PostgresConfig};
use tenure::store::{self, Store, check_raise};
use tenure::{ElectionName, Namespace, StoreUrl, Term};

use crate::args::{Global, MigrateArgs};
use crate::exit::{CommandError, Exit};
use crate::options::open_default_store;
use crate::output::print;

pub(super) async fn execute(global: &Global, args: &MigrateArgs) -> Result<Exit, CommandError> {
    let raising = Raising::new(global, args)?;
    let url: Option<StoreUrl> = global.store.as_deref().map(str::parse).transpose().map_err(tenure::Error::from)?;
    match &url {
        Some(url) if matches!(url.scheme(), "postgres" | "postgresql") => migrate(url, args).await?,
        // Says what is wrong with an address that no store understands.
        Some(url) if raising.is_none() => {
            drop(store::open(url).map_err(tenure::Error::from)?);
            nothing_to_do(url.scheme())?;
        }
        None if raising.is_none() => nothing_to_do("the default store")?,
        Some(_) | None => {}
    }
    if let Some(raising) = raising {
        let store = match &url {
            Some(url) => store::open(url).map_err(tenure::Error::from)?,
            None => Arc::new(open_default_store()?),
        };
        raising.run(&store).await?;
    }
    Ok(Exit::Success)
}

async fn migrate(url: &StoreUrl, args: &MigrateArgs) -> Result<(), CommandError> {
    let migration = describe(url, args).map_err(tenure::Error::from)?;
    if args.print {
        return print(|out| out.write_all(migration.script().as_bytes()));
    }
    let outcome = migration.run().await.map_err(tenure::Error::from)?;
    let roles: String = args.role.iter().map(|role| format!("; {role} may use it")).collect();
    print(|out| writeln!(out, "{url}: {outcome}{roles}"))
}

fn describe(url: &StoreUrl, args: &MigrateArgs) -> Result<Migration, tenure::store::StoreError> {
    let mut migration = Migration::new(&PostgresConfig::from_url(url)?);
    for role in &args.role {
        migration = migration.role(role)?;
    }
    match &args.compat {
        Some(schema) => migration.compat(schema),
        None => Ok(migration),
    }
}

fn nothing_to_do(store: &str) -> Result<(), CommandError> {
    print(|out| writeln!(out, "{store} needs no migration: it creates what it needs by itself"))
}

/// What is to be raised, checked before anything is changed.
struct Raising {
    above: Term,
    namespace: Namespace,
    /// All of the namespace if there are none.
    elections: Vec<ElectionName>,
}

impl Raising {
    fn new(global: &Global, args: &MigrateArgs) -> Result<Option<Self>, CommandError> {
        let Some(above) = args.raise_terms_above.and_then(Term::new) else { return Ok(None) };
        check_raise(above).map_err(tenure::Error::from)?;
        let namespace = Namespace::new(&global.namespace).map_err(tenure::Error::from)?;
        let elections = args.election.iter().map(ElectionName::new).collect::<Result<_, _>>();
        Ok(Some(Self { above, namespace, elections: elections.map_err(tenure::Error::from)? }))
    }

    async fn run(&self, store: &Arc<dyn Store>) -> Result<(), CommandError> {
        let Self { above, namespace, elections } = self;
        let raise = async |only| store.raise_terms(namespace, only, *above).await.map_err(tenure::Error::from);
        if elections.is_empty() {
            let raised = raise(None).await?;
            // A mistyped path or namespace would look like a success otherwise.
            let known = store.elections(namespace).await.map_err(tenure::Error::from)?.len();
            let note = if known == 0 { "; no election is known there yet" } else { "" };
            print(|out| {
                writeln!(out, "all next terms in namespace {namespace} are above {above}; {raised} raised{note}")
            })?;
        }
        for name in elections {
            let change = if raise(Some(name)).await? == 0 { "it already was" } else { "raised" };
            print(|out| writeln!(out, "the next term of {name} is above {above}; {change}"))?;
        }
        Ok(())
    }
}
