//! `tenure send`: sends a message to the leader.

use std::io::Read;

use serde::Serialize;
use serde_json::value::RawValue;
use tenure::store::Observation;
use tenure::store::mailbox::MAX_PAYLOAD;
use tenure::{ChannelName, Client, Election, MessageId, Sender};

use super::gaps;
use crate::args::{Global, SendArgs};
use crate::exit::{CommandError, Exit};
use crate::options::{open_to_look_for, store_shown};
use crate::output::{json_line, print};
use crate::stderr_writer::say;

/// What was sent, as `tenure send --json` and `tenure broadcast --json` print it.
#[derive(Debug, Serialize)]
struct SentLine<'a> {
    id: String,
    election: &'a str,
    channel: &'a str,
}

pub(super) async fn execute(global: &Global, args: &SendArgs) -> Result<Exit, CommandError> {
    let (client, election, payload) = prepare(global, args)?;
    let id = election.send_json(&args.channel, &payload).await?;
    report(args, id)?;
    if gaps::keeps_messages(&client) {
        let kept = "the message waits for its first leader. If the name is mistyped, `tenure messages` lists where \
                    messages wait";
        warn_of_a_stranger(global, &client, &args.name, kept).await;
    } else if nobody_leads(&client, &args.name).await {
        let store = client.store().capabilities().name;
        say(&format!(
            "{} has no leader now, and the {store} store keeps no messages: the message may be lost",
            args.name
        ));
    }
    Ok(Exit::Success)
}

/// Says that an election is not known to the store, where stores know such things: its name may be mistyped.
pub(super) async fn warn_of_a_stranger(global: &Global, client: &Client, name: &str, what_now: &str) {
    // What was asked for is done: that it cannot be told who is there is no failure.
    let Ok(election) = client.election(name) else { return };
    let Ok(seen) = election.observe().await else { return };
    if seen == Observation::default() {
        tell_of_a_stranger(global, name, what_now);
    }
}

/// Says that an election has never had a candidate, and what that means.
pub(super) fn tell_of_a_stranger(global: &Global, name: &str, what_now: &str) {
    let (namespace, store) = (&global.namespace, store_shown(global));
    say(&format!("{name} in namespace {namespace} of {store} has never had a candidate: {what_now}"));
}

/// Whether nobody leads, as far as is known.
pub(super) async fn nobody_leads(client: &Client, name: &str) -> bool {
    let Ok(election) = client.election(name) else { return false };
    election.observe().await.is_ok_and(|seen| seen.lease.is_none())
}

/// Checks what is to be sent before anything is opened.
pub(super) fn prepare(global: &Global, args: &SendArgs) -> Result<(Client, Election, String), CommandError> {
    ChannelName::new(&args.channel).map_err(tenure::Error::from)?;
    let sender = args.sender.as_ref().map(Sender::new).transpose().map_err(tenure::Error::from)?;
    let payload = if args.payload == "-" { from_stdin()? } else { args.payload.clone() };
    check_json(&payload)?;
    // A mistyped path must not become a new file that swallows the message.
    let client = open_to_look_for(global, &args.name)?;
    let mut election = client.election(&args.name)?;
    if let Some(sender) = sender {
        election = election.with_sender(sender)?;
    }
    Ok((client, election, payload))
}

/// Most who send something else mean a text, and the shell has taken its quotes.
fn check_json(payload: &str) -> Result<(), CommandError> {
    let parsed: Result<&RawValue, _> = serde_json::from_str(payload);
    parsed.map(drop).map_err(|error| {
        let message = format!(
            "the message is not JSON: {error}. A text has quotes of its own, which the shell must leave: '\"like this\"'; \
             an object looks like '{{\"day\": 1}}'"
        );
        CommandError::new(Exit::Usage, message)
    })
}

/// Tells under which id it went out.
pub(super) fn report(args: &SendArgs, id: MessageId) -> Result<(), CommandError> {
    let id = id.to_string();
    if args.json {
        let line = SentLine { id, election: &args.name, channel: &args.channel };
        print(|out| json_line(out, &line))
    } else {
        print(|out| writeln!(out, "sent {id}"))
    }
}

/// All of standard input, without the line break at its end, and no more than anybody may send.
fn from_stdin() -> Result<String, CommandError> {
    let limit = u64::try_from(MAX_PAYLOAD).unwrap_or(u64::MAX).saturating_add(2);
    let usage = |message: String| CommandError::new(Exit::Usage, message);
    let mut read = Vec::new();
    let into = std::io::stdin().lock().take(limit).read_to_end(&mut read);
    into.map_err(|error| usage(format!("cannot read a message from standard input: {error}")))?;
    let without_break = read.strip_suffix(b"\n").unwrap_or(&read);
    let payload = without_break.strip_suffix(b"\r").unwrap_or(without_break);
    if payload.len() > MAX_PAYLOAD {
        let message = format!(
            "the message on standard input is longer than {MAX_PAYLOAD} bytes; store it elsewhere and send a reference"
        );
        return Err(usage(message));
    }
    let text = str::from_utf8(payload);
    text.map(str::to_owned).map_err(|error| usage(format!("the message on standard input is not UTF-8 text: {error}")))
}
