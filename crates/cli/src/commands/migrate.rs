//! `tenure migrate`: the tables of a store.

use tenure::StoreUrl;
use tenure::store::postgres::{Migration, PostgresConfig};

use crate::args::{Global, MigrateArgs};
use crate::exit::{CommandError, Exit};
use crate::output::print;

pub(super) async fn execute(global: &Global, args: &MigrateArgs) -> Result<Exit, CommandError> {
    let Some(address) = &global.store else {
        return nothing_to_do("the default store");
    };
    let url: StoreUrl = address.parse().map_err(tenure::Error::from)?;
    if !matches!(url.scheme(), "postgres" | "postgresql") {
        // Says what is wrong with an address that no store understands.
        drop(tenure::Client::open(address)?);
        return nothing_to_do(url.scheme());
    }
    let migration = describe(&url, args).map_err(tenure::Error::from)?;
    if args.print {
        print(|out| out.write_all(migration.script().as_bytes()))?;
    } else {
        migration.run().await.map_err(tenure::Error::from)?;
        print(|out| writeln!(out, "the schema of {url} is up to date"))?;
    }
    Ok(Exit::Success)
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

fn nothing_to_do(store: &str) -> Result<Exit, CommandError> {
    print(|out| writeln!(out, "{store} needs no migration: it makes by itself what it needs"))?;
    Ok(Exit::Success)
}
