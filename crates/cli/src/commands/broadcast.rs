//! `tenure broadcast`: something for all candidates that listen.

use tenure::store::Feature;

use super::gaps;
use super::send::{nobody_leads, prepare, report, warn_of_a_stranger};
use crate::args::{Global, SendArgs};
use crate::exit::{CommandError, Exit};
use crate::stderr_writer::say;

pub(super) async fn execute(global: &Global, args: &SendArgs) -> Result<Exit, CommandError> {
    let (client, election, payload) = prepare(global, args)?;
    let id = election.broadcast_json(&args.channel, &payload).await?;
    report(args, id)?;
    if !gaps::lacks(&client, Feature::Records) {
        warn_of_a_stranger(
            global,
            &client,
            &args.name,
            "no candidate received the broadcast. The name may be mistyped",
        )
        .await;
    } else if nobody_leads(&client, &args.name).await {
        say(&format!("{} has no leader now: the broadcast may have reached no candidate", args.name));
    }
    Ok(Exit::Success)
}
