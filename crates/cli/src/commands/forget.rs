//! `tenure forget`: removes what the store keeps of elections and locks that nobody uses.

use std::time::Duration;

use tenure::store::Forgetting;

use crate::args::{ForgetElectionArgs, Global};
use crate::exit::{CommandError, Exit};
use crate::options::{open_to_look, open_to_look_for};
use crate::output::{json_line, print};

pub(super) async fn execute(global: &Global, args: &ForgetElectionArgs) -> Result<Exit, CommandError> {
    let forgotten = match (&args.name, args.abandoned_for) {
        (Some(name), _) => forget(global, name).await?,
        (None, idle_for) => forget_abandoned(global, idle_for.unwrap_or(Duration::MAX)).await?,
    };
    if args.json {
        print(|out| json_line(out, &forgotten))?;
    } else if forgotten.is_empty() {
        print(|out| writeln!(out, "nothing in namespace {} was abandoned for so long", global.namespace))?;
    } else {
        print(|out| forgotten.iter().try_for_each(|name| writeln!(out, "{name} is forgotten")))?;
    }
    Ok(Exit::Success)
}

async fn forget(global: &Global, name: &str) -> Result<Vec<String>, CommandError> {
    match open_to_look_for(global, name)?.election(name)?.forget().await? {
        Forgetting::Forgotten => Ok(vec![name.to_owned()]),
        Forgetting::InUse(used) => Err(CommandError::new(Exit::Failure, format!("{name} is not forgotten: {used}"))),
        _ => {
            let message = format!("there is nothing to forget of {name} in namespace {}", global.namespace);
            Err(CommandError::new(Exit::Failure, message))
        }
    }
}

async fn forget_abandoned(global: &Global, idle_for: Duration) -> Result<Vec<String>, CommandError> {
    let forgotten = open_to_look(global)?.forget_abandoned(idle_for).await?;
    Ok(forgotten.iter().map(ToString::to_string).collect())
}
