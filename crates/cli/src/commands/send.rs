//! `tenure send`: a message to whoever leads.

use std::io::Read;

use serde::Serialize;
use tenure::store::mailbox::PAYLOAD_MAX;
use tenure::{ChannelName, MessageId, Sender, Tenure};

use crate::args::{Global, SendArgs};
use crate::exit::{Exit, Failure};
use crate::options::open_for;
use crate::output::{json_line, print};

/// What was sent, as `tenure send --json` and `tenure broadcast --json` print it.
#[derive(Debug, Serialize)]
struct SentLine<'a> {
    id: String,
    election: &'a str,
    channel: &'a str,
}

pub(super) async fn execute(global: &Global, args: &SendArgs) -> Result<Exit, Failure> {
    let (tenure, payload) = prepare(global, args)?;
    let id = tenure.send_json(&args.name, &args.channel, &payload).await?;
    report(args, id)
}

/// Checks what is to be sent before anything is opened.
pub(super) fn prepare(global: &Global, args: &SendArgs) -> Result<(Tenure, String), Failure> {
    ChannelName::new(&args.channel).map_err(tenure::Error::from)?;
    let sender = args.sender.as_ref().map(Sender::new).transpose().map_err(tenure::Error::from)?;
    let payload = if args.payload == "-" { from_stdin()? } else { args.payload.clone() };
    let mut tenure = open_for(global, &args.name)?;
    if let Some(sender) = sender {
        tenure = tenure.sender(sender);
    }
    Ok((tenure, payload))
}

/// Tells under which id it went out.
pub(super) fn report(args: &SendArgs, id: MessageId) -> Result<Exit, Failure> {
    let id = id.to_string();
    if args.json {
        let line = SentLine { id, election: &args.name, channel: &args.channel };
        print(|out| json_line(out, &line))?;
    } else {
        print(|out| writeln!(out, "sent {id}"))?;
    }
    Ok(Exit::Success)
}

/// All of standard input, without the line break at its end, and no more than anybody may send.
fn from_stdin() -> Result<String, Failure> {
    let limit = u64::try_from(PAYLOAD_MAX).unwrap_or(u64::MAX).saturating_add(2);
    let usage = |message: String| Failure::new(Exit::Usage, message);
    let mut read = Vec::new();
    let into = std::io::stdin().lock().take(limit).read_to_end(&mut read);
    into.map_err(|error| usage(format!("cannot read a message from standard input: {error}")))?;
    let without_break = read.strip_suffix(b"\n").unwrap_or(&read);
    let payload = without_break.strip_suffix(b"\r").unwrap_or(without_break);
    if payload.len() > PAYLOAD_MAX {
        let message = format!(
            "the message on standard input is longer than {PAYLOAD_MAX} bytes; keep it elsewhere and send where it is"
        );
        return Err(usage(message));
    }
    let text = str::from_utf8(payload);
    text.map(str::to_owned).map_err(|error| usage(format!("the message on standard input is not UTF-8 text: {error}")))
}
