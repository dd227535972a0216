//! `tenure broadcast`: something for all candidates that listen.

use super::send::{prepare, report};
use crate::args::{Global, SendArgs};
use crate::exit::{Exit, Failure};

pub(super) async fn execute(global: &Global, args: &SendArgs) -> Result<Exit, Failure> {
    let (tenure, payload) = prepare(global, args)?;
    let id = tenure.broadcast_json(&args.name, &args.channel, &payload).await?;
    report(args, id)
}
