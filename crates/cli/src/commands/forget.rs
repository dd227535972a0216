//! `tenure forget`: removes unused elections and locks from the store.

use std::time::Duration;

use tenure::Client;
use tenure::store::Forgetting;

use super::status;
use crate::args::{ForgetElectionArgs, Global};
use crate::exit::{CommandError, Exit};
use crate::message::printable;
use crate::options::{open_to_look, open_to_look_for};
use crate::output::{json_line, print};

pub(super) async fn execute(global: &Global, args: &ForgetElectionArgs) -> Result<Exit, CommandError> {
    let name = args.name.as_deref();
    let client = match name {
        Some(name) => open_to_look_for(global, name)?,
        None => open_to_look(global)?,
    };
    // Asked before: afterwards nothing is left to count. A mailbox that cannot be read is no reason to keep it.
    let messages = status::messages(&client, name).await.ok().flatten().unwrap_or_default();
    let forgotten = match name {
        Some(name) => forget(global, &client, name).await?,
        None => forget_abandoned(&client, args.abandoned_for.unwrap_or(Duration::MAX)).await?,
    };
    if args.json {
        print(|out| json_line(out, &forgotten))?;
    } else if forgotten.is_empty() {
        print(|out| writeln!(out, "nothing in namespace {} was abandoned for that long", global.namespace))?;
    } else {
        let with_it = |name: &String| match messages.get(name) {
            Some(Ok((_, count))) if *count > 0 => format!(", and {}", status::dead_letters(*count)),
            Some(_) | None => String::new(),
        };
        print(|out| {
            forgotten.iter().try_for_each(|name| writeln!(out, "{} is forgotten{}", printable(name), with_it(name)))
        })?;
    }
    Ok(Exit::Success)
}

async fn forget(global: &Global, client: &Client, name: &str) -> Result<Vec<String>, CommandError> {
    match client.election(name)?.forget().await? {
        Forgetting::Forgotten => Ok(vec![name.to_owned()]),
        Forgetting::InUse(used) => Err(CommandError::new(Exit::Failure, format!("{name} is not forgotten: {used}"))),
        _ => {
            let message = format!("nothing to forget: there is no {name} in namespace {}", global.namespace);
            Err(CommandError::new(Exit::Failure, message))
        }
    }
}

async fn forget_abandoned(client: &Client, idle_for: Duration) -> Result<Vec<String>, CommandError> {
    let forgotten = client.store().forget_abandoned(idle_for).await?;
    Ok(forgotten.iter().map(ToString::to_string).collect())
}
